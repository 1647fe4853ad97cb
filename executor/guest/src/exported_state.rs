//! Guests for hosts that link and call them with a runtime's own interface, and reset their
//! instances in place. Imports and data stay as they are; only what a reset has to reach is added.

use super::component_reset;
use super::info::ModuleInfo;
use super::patch::Patch;
use super::{ADDED, text};
use crate::error::{Result, refused, unhostable};
use wasm_encoder::{ConstExpr, ExportKind, ValType};
use wasmparser::ExternalKind;

/// Export of a module [with its state exported](with_exported_state) that holds nothing: a host
/// sees by it that there is no state but that under names which begin with [`ADDED`].
pub const STATE_EXPORTED: &str = "__touchstone_state_exported";

/// The guest with exports, under names that begin with [`ADDED`], of all state that a call can
/// change. Of a module these are its memories, the mutable globals that it sets, imports or
/// exports, and, if it writes tables, all tables. A component gets the functions of
/// [`ComponentInfo::reset_functions`](super::ComponentInfo::reset_functions), which put handles in
/// order also where it has only those of the host's resources.
///
/// # Errors
///
/// When the guest cannot be read, has exports with such names, or is a component whose instances
/// cannot be reset in place.
pub fn with_exported_state(wasm: &[u8]) -> Result<Vec<u8>> {
    let info = ModuleInfo::read(wasm)?;
    let Some(mut component) = info.component.clone() else { return core(wasm, &info) };
    component.count_host_handles();
    refused(component.reset_refusal())?;
    if component.reset_functions().is_empty() {
        return unhostable("the component has no state: no call can leave anything behind");
    }
    component_reset::resettable(wasm, &component, None)
}

fn core(wasm: &[u8], info: &ModuleInfo) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    let layout = patch.layout();
    if let Some((name, ..)) = layout.exports.iter().find(|(name, ..)| name.starts_with(ADDED)) {
        return unhostable(format!(
            "it exports '{}': names that begin with {ADDED} are the host's",
            text::name(name)
        ));
    }
    let is_set = |index: u32| {
        let mut globals = info.mutable_globals.iter();
        globals.any(|global| global.index == index && global.written)
    };
    let is_exported = |index: u32| {
        let mut exports = layout.exports.iter();
        exports.any(|(_, kind, of)| *kind == ExternalKind::Global && *of == index)
    };
    let globals = (0..).zip(&layout.globals).filter(|(index, ty)| {
        let is_foreign = *index < layout.imported.globals || is_exported(*index);
        ty.mutable && (is_foreign || is_set(*index))
    });
    let globals: Vec<u32> = globals.map(|(index, _)| index).collect();
    let (memories, tables) = (layout.memories.len() as u32, layout.tables.len() as u32);
    // Those of others may be written by others.
    let tables = if info.writes_tables { tables } else { layout.imported.tables };
    let marker = patch.global(ValType::I32, &ConstExpr::i32_const(0));
    patch.export(STATE_EXPORTED, ExportKind::Global, marker);
    for memory in 0..memories {
        patch.export(&format!("{ADDED}memory_{memory}"), ExportKind::Memory, memory);
    }
    for global in globals {
        patch.export(&format!("{ADDED}global_{global}"), ExportKind::Global, global);
    }
    for table in 0..tables {
        patch.export(&format!("{ADDED}table_{table}"), ExportKind::Table, table);
    }
    patch.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    fn exported(text: &str) -> Vec<String> {
        let wasm = with_exported_state(&wat::parse_str(text).unwrap()).unwrap();
        ModuleInfo::read(&wasm).unwrap();
        let layout = Layout::of(&wasm).unwrap();
        let names = layout.exports.iter().map(|(name, ..)| name.clone());
        names.filter(|name| name.starts_with(ADDED) && name != STATE_EXPORTED).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn exactly_what_can_change_is_exported() {
        let names = exported(
            r#"(module
                (import "env" "shared" (global (mut i32))) (import "env" "constant" (global i32))
                (import "env" "memory" (memory 1)) (memory 2)
                (global $unset (mut i32) (i32.const 0)) (global $set (mut i64) (i64.const 0))
                (global (export "theirs") (mut f32) (f32.const 0)) (table 1 funcref)
                (func (export "f") (global.set $set (i64.const 1))))"#,
        );
        let expected = ["memory_0", "memory_1", "global_0", "global_3", "global_4"];
        assert_eq!(names, expected.map(|name| format!("{ADDED}{name}")));
        let written = "(module (import \"env\" \"t\" (table 1 funcref)) (table 1 funcref)
            (func (table.set 1 (i32.const 0) (ref.null func))))";
        assert_eq!(exported(written), [0, 1].map(|table| format!("{ADDED}table_{table}")));
        assert_eq!(exported("(module)"), [""; 0]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn once_is_enough() {
        let once = with_exported_state(&wat::parse_str("(module)").unwrap()).unwrap();
        assert!(with_exported_state(&once).unwrap_err().to_string().contains(ADDED));
    }

    /// Data and start functions stay, and a driver of handles is added for those of the host.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn a_component_keeps_its_data_and_may_have_handles() {
        let text = r#"(component
            (import "host:a/b" (instance $host (export "r" (type (sub resource)))))
            (alias export $host "r" (type $r))
            (core func $drop (canon resource.drop $r))
            (core module $m (import "" "drop" (func (param i32))) (memory 1)
                (data (i32.const 0) "data"))
            (core instance (instantiate $m (with "" (instance (export "drop" (func $drop)))))))"#;
        let wasm = with_exported_state(&wat::parse_str(text).unwrap()).unwrap();
        let info = ModuleInfo::read(&wasm).unwrap().component.unwrap();
        assert!(info.has_resources() && info.modules[0].segments.len() == 1);
        assert!(with_exported_state(&wat::parse_str("(component)").unwrap()).is_err());
    }
}
