//! Two components as one: what the first imports, the second exports.

use crate::error::{Result, unhostable};
use wasm_encoder::{ComponentBuilder, ComponentExportKind};
use wasmparser::{Parser, Payload};

/// A component that exports what `user` does. Each import of `user` is the export of that name of
/// `provider`, which has an instance of its own inside. Fails when the provider lacks an import of
/// the user, or either is no component. Whether the types agree is found out when the result is
/// validated.
pub fn composed(user: &[u8], provider: &[u8]) -> Result<Vec<u8>> {
    let (user_side, provider_side) = (Outside::of(user)?, Outside::of(provider)?);
    if let Some((name, _)) = user_side.imports.iter().find(|(name, _)| !provider_side.exports(name))
    {
        return unhostable(format!("the target does not export '{name}', which it is to provide"));
    }
    let mut builder = ComponentBuilder::default();
    let provider = builder.component_raw(None, provider);
    let user = builder.component_raw(None, user);
    let none: [(&str, ComponentExportKind, u32); 0] = [];
    if !provider_side.imports.is_empty() {
        return unhostable("the target has imports of its own, which nobody provides");
    }
    let provider = builder.instantiate(None, provider, none);
    let mut given = Vec::new();
    for (name, kind) in &user_side.imports {
        given.push((name.as_str(), *kind, builder.alias_export(provider, name, *kind)));
    }
    let user = builder.instantiate(None, user, given);
    for (name, kind) in &user_side.exports {
        let index = builder.alias_export(user, name, *kind);
        builder.export(name, *kind, index, None);
    }
    Ok(builder.finish())
}

/// Imports and exports of a component: names and kinds.
#[derive(Default)]
struct Outside {
    imports: Vec<(String, ComponentExportKind)>,
    exports: Vec<(String, ComponentExportKind)>,
}

impl Outside {
    fn of(wasm: &[u8]) -> Result<Self> {
        let (mut outside, mut depth) = (Self::default(), 0_usize);
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        let import = import?;
                        let name = import.name.name.to_owned();
                        outside.imports.push((name, import.ty.kind().into()));
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        let export = export?;
                        outside.exports.push((export.name.name.to_owned(), export.kind.into()));
                    }
                }
                _ => {}
            }
        }
        Ok(outside)
    }

    fn exports(&self, name: &str) -> bool {
        self.exports.iter().any(|(own, _)| own == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModuleInfo;

    const USER: &str = r#"(component
        (import "a:b/c" (instance $c (export "f" (func (result u32)))))
        (alias export $c "f" (func $f))
        (export "g" (func $f)))"#;
    const PROVIDER: &str = r#"(component
        (core module $m (func (export "f") (result i32) (i32.const 7)))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "f")))
        (instance $c (export "f" (func $f)))
        (export "a:b/c" (instance $c)))"#;

    #[test]
    fn imports_of_one_are_exports_of_the_other() {
        let [user, provider] = [USER, PROVIDER].map(|text| wat::parse_str(text).unwrap());
        let info = ModuleInfo::read(&composed(&user, &provider).unwrap()).unwrap();
        assert_eq!(info.exports.iter().map(|export| &*export.name).collect::<Vec<_>>(), ["g"]);
        for (user, provider, says) in [
            (&user, &user, "does not export 'a:b/c'"),
            (&provider, &user, "has imports of its own"),
        ] {
            let error = composed(user, provider).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let other = wat::parse_str(PROVIDER.replace("u32", "s32")).unwrap();
        let mismatched = composed(&user, &other).unwrap();
        assert!(ModuleInfo::read(&mismatched).is_err());
    }
}
