//! Constructors: exports that toolchains expect a host to call before any other one, and a
//! start function that calls them.

use crate::error::unhostable;
use crate::{ModuleInfo, Patch, Result, Signature, imports};
use wasm_encoder::Function;

/// Export of a program that has called its constructors itself when it returns.
const PROGRAM: &str = "_start";
/// Export that writes addresses into a library's data.
const RELOCATIONS: &str = "__wasm_apply_data_relocs";
/// Exports that run constructors: of a WASI reactor, which calls the other one, and of `wasm-ld`.
const CONSTRUCTORS: [&str; 2] = ["_initialize", "__wasm_call_ctors"];

/// The constructors to call before `called`, in order: of a program's `_start`, none. Before a
/// [call of waPC](imports::WAPC_CALL), `_start` is one.
pub fn constructors<'a>(info: &'a ModuleInfo, called: &str) -> Vec<&'a str> {
    if called == PROGRAM {
        return Vec::new();
    }
    let find = |name: &str| {
        let fits = |export: &&super::FunctionExport| {
            export.name == name
                && !export.imported
                && export.signature.as_ref() == Some(&Signature::default())
        };
        info.exports.iter().find(fits).map(|export| export.name.as_str())
    };
    if called == imports::WAPC_CALL {
        return [PROGRAM, imports::WAPC_INIT].into_iter().filter_map(find).collect();
    }
    let constructor = CONSTRUCTORS.into_iter().find_map(find);
    let all = find(RELOCATIONS).into_iter().chain(constructor);
    // Who asks for a constructor gets it once.
    all.take_while(|name| *name != called).collect()
}

/// The module with a start function that calls its old start function, then these exports. Fails
/// when the module cannot be read or lacks one of them.
pub fn started_with(wasm: &[u8], exports: &[&str]) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    let mut called: Vec<u32> = patch.layout().start.into_iter().collect();
    for wanted in exports {
        let mut exported = patch.layout().exported_functions();
        let Some((_, index)) = exported.find(|(name, _)| name == wanted) else {
            return unhostable(format!("it has no exported function '{wanted}'"));
        };
        called.push(index);
    }
    start_with(&mut patch, &called);
    patch.finish()
}

/// Lets these functions, by their indices in the new module, run at the start in this order.
pub(super) fn start_with(patch: &mut Patch<'_>, functions: &[u32]) {
    let start = match functions {
        [] => return,
        [only] => *only,
        _ => {
            let ty = patch.ty(&[], &[]);
            let mut body = Function::new([]);
            for function in functions {
                body.instructions().call(*function);
            }
            body.instructions().end();
            patch.function(ty, &body)
        }
    };
    patch.start(start);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, called: &str) -> Vec<String> {
        let info = ModuleInfo::read(&wat::parse_str(text).unwrap()).unwrap();
        constructors(&info, called).into_iter().map(str::to_owned).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn constructors_are_called_once_and_in_order() {
        let text = r#"(module (func (export "_initialize")) (func (export "__wasm_call_ctors"))
            (func (export "__wasm_apply_data_relocs")) (func (export "_start")) (func (export "f")))"#;
        assert_eq!(names(text, "f"), ["__wasm_apply_data_relocs", "_initialize"]);
        assert_eq!(names(text, "_initialize"), ["__wasm_apply_data_relocs"]);
        assert!(names(text, "_start").is_empty());
        let wapc = r#"(module (func (export "wapc_init")) (func (export "_start"))
            (func (export "_initialize")) (func (export "__guest_call")) (func (export "f")))"#;
        assert_eq!(names(wapc, "__guest_call"), ["_start", "wapc_init"]);
        let other = r#"(module (import "env" "i" (func $i)) (export "_initialize" (func $i))
            (func (export "__wasm_call_ctors") (param i32)) (func (export "f")))"#;
        assert!(names(other, "f").is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn the_start_function_calls_the_old_one_first() {
        let started = |text: &str, exports: &[&str]| {
            let wasm = started_with(&wat::parse_str(text).unwrap(), exports).unwrap();
            assert!(ModuleInfo::read(&wasm).unwrap().has_start);
            wasmprinter::print_bytes(wasm).unwrap()
        };
        let text = r#"(module (type (func (param i32))) (func $s) (func $i (export "_initialize"))
            (func (export "f") (type 0)) (start $s))"#;
        let text = started(text, &["_initialize"]);
        assert!(text.contains("(start 3)"), "{text}");
        assert!(text.contains("call $s") && text.contains("call $i"), "{text}");
        let text = started(r#"(module (func) (func (export "_initialize")))"#, &["_initialize"]);
        assert!(text.contains("(start 1)"), "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn a_constructor_that_is_not_there_is_an_error() {
        let wasm = wat::parse_str("(module)").unwrap();
        assert!(started_with(&wasm, &["_initialize"]).is_err());
        assert_eq!(started_with(&wasm, &[]).unwrap(), wasm);
    }
}
