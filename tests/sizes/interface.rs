//! The public interface of the crates that an embedder uses stands in a text file beside each:
//! `interface.txt`. A change of the interface is a change of that file.
//!
//! `TOUCHSTONE_WRITE=1 cargo test --test sizes interface` writes the files again.

use quote::ToTokens;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{ImplItem, Item, TraitItem, Visibility};

const CRATES: [&str; 4] =
    ["executor", "executor/memory", "executor/guest", "runtimes/wasmtime/memory"];

/// Public items below a file, with their names beneath `path`. The lint `unreachable_pub` sees to
/// it that each `pub` is part of the interface.
fn collect(file: &Path, path: &str, all: &mut BTreeSet<String>) {
    let source =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let syntax = syn::parse_file(&source).unwrap();
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "mod") | None => file.with_file_name(""),
        Some(stem) => file.with_file_name(stem),
    };
    let is_macro = |item: &Item| matches!(item, Item::Macro(_));
    syntax.items.iter().filter(|item| !is_macro(item)).for_each(|item| {
        items(item, &folder, path, all);
    });
}

fn items(item: &Item, folder: &Path, path: &str, all: &mut BTreeSet<String>) {
    let mut add = |vis: &Visibility, text: String| {
        if matches!(vis, Visibility::Public(_)) {
            all.insert(format!("{path}{text}"));
        }
    };
    match item {
        Item::Mod(module) if !is_test(&module.attrs) => {
            let name = module.ident.to_string();
            add(&module.vis, format!("mod {name}"));
            let path = format!("{path}{name}::");
            match &module.content {
                Some((_, inner)) => {
                    inner.iter().for_each(|item| items(item, &folder.join(&name), &path, all));
                }
                None => {
                    let beside = folder.join(format!("{name}.rs"));
                    let inside = folder.join(&name).join("mod.rs");
                    let file = if beside.exists() { beside } else { inside };
                    collect(&file, &path, all);
                }
            }
        }
        Item::Fn(function) if !is_test(&function.attrs) => {
            add(&function.vis, one_line(&function.sig));
        }
        Item::Struct(of) => {
            add(&of.vis, format!("struct {}{}", of.ident, one_line(&of.generics)));
            if matches!(of.vis, Visibility::Public(_)) {
                for field in &of.fields {
                    if let (Visibility::Public(_), Some(name)) = (&field.vis, &field.ident) {
                        let ty = one_line(&field.ty);
                        all.insert(format!("{path}{}.{name}: {ty}", of.ident));
                    }
                }
            }
        }
        Item::Enum(of) if matches!(of.vis, Visibility::Public(_)) => {
            add(&of.vis, format!("enum {}", of.ident));
            for variant in &of.variants {
                let mut variant = variant.clone();
                variant.attrs.clear();
                variant.fields.iter_mut().for_each(|field| field.attrs.clear());
                all.insert(format!("{path}{}::{}", of.ident, one_line(&variant)));
            }
        }
        Item::Trait(of) if matches!(of.vis, Visibility::Public(_)) => {
            add(&of.vis, format!("trait {}{}", of.ident, one_line(&of.generics)));
            for inner in &of.items {
                let text = match inner {
                    TraitItem::Fn(function) => one_line(&function.sig),
                    TraitItem::Const(of) => format!("const {}: {}", of.ident, one_line(&of.ty)),
                    TraitItem::Type(of) => format!("type {}", of.ident),
                    _ => continue,
                };
                all.insert(format!("{path}{}::{text}", of.ident));
            }
        }
        Item::Impl(of) => {
            let ty = one_line(&of.self_ty);
            if let Some((_, of_trait, _)) = &of.trait_ {
                let _ = of_trait;
                return;
            }
            for inner in &of.items {
                match inner {
                    ImplItem::Fn(function) => {
                        add(&function.vis, format!("{ty}::{}", one_line(&function.sig)));
                    }
                    ImplItem::Const(of) => {
                        add(&of.vis, format!("{ty}::const {}: {}", of.ident, one_line(&of.ty)));
                    }
                    _ => {}
                }
            }
        }
        Item::Const(of) => add(&of.vis, format!("const {}: {}", of.ident, one_line(&of.ty))),
        Item::Static(of) => add(&of.vis, format!("static {}: {}", of.ident, one_line(&of.ty))),
        Item::Type(of) => add(&of.vis, format!("type {} = {}", of.ident, one_line(&of.ty))),
        Item::Use(of) => add(&of.vis, format!("use {}", one_line(&of.tree))),
        _ => {}
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && one_line(&attribute.meta).contains("test")
    })
}

/// Tokens as on one line, with the spaces that people write.
fn one_line(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (spaced, plain) in [
        (" :: ", "::"),
        (" : ", ": "),
        (" , ", ", "),
        (" ,", ","),
        ("& ", "&"),
        (" < ", "<"),
        (" >", ">"),
        ("< ", "<"),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        ("[ ", "["),
        (" ]", "]"),
        (" ;", ";"),
        ("->", " -> "),
        ("  ", " "),
        (" '", "'"),
        ("&'", "&'"),
        ("fn(", "fn("),
        ("::<", "<"),
        ("{ ", "{ "),
        (",)", ")"),
        (",>", ">"),
        ("+ '", "+ '"),
        ("# ", "#"),
    ] {
        text = text.replace(spaced, plain);
    }
    text
}

#[test]
fn interface_files_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for name in CRATES.iter().filter(|name| root.join(name).exists()) {
        let (mut all, folder) = (BTreeSet::new(), root.join(name));
        collect(&folder.join("src/lib.rs"), "", &mut all);
        let lines: Vec<String> = all.into_iter().collect();
        let (file, found): (PathBuf, String) =
            (folder.join("interface.txt"), lines.join("\n") + "\n");
        if std::env::var_os("TOUCHSTONE_WRITE").is_some() {
            fs::write(&file, &found).unwrap();
        } else if fs::read_to_string(&file).unwrap_or_default() != found {
            stale.push(file.display().to_string());
        }
    }
    let files = stale.join(", ");
    assert!(
        stale.is_empty(),
        "the public interface has changed: read the difference after\n\
         TOUCHSTONE_WRITE=1 cargo test --test sizes interface\n{files}"
    );
}
