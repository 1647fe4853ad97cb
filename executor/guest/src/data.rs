//! Data segments of a module whose memory comes with its content.
//!
//! The content of active segments is not needed then, and a segment costs something in every
//! new instance even when it is empty. So what no instruction names goes altogether. Active
//! segments that instructions name count as dropped after instantiation; one empty segment
//! stands for all of them. Passive ones that are named stay as they are. The guest sees no
//! difference.

use super::patch::{Body, Patch};
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use wasm_encoder::{ConstExpr, DataCountSection, DataSection, Instruction, SectionId};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// Leaves out the content of active segments.
pub(super) fn leave_out(patch: &mut Patch<'_>) -> Result<()> {
    let wasm = patch.original();
    let named = named(wasm)?;
    let mut left = DataSection::new();
    // New indices of the named segments, and that of the one that stands for active ones.
    let (mut places, mut dropped) = (BTreeMap::new(), None);
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::DataSection(section) = payload? else { continue };
        for (index, segment) in (0..).zip(section) {
            let segment = segment?;
            if !named.contains(&index) {
                continue;
            }
            let next = left.len();
            let place = match segment.kind {
                DataKind::Active { .. } => *dropped.get_or_insert_with(|| {
                    left.active(0, &ConstExpr::i32_const(0), []);
                    next
                }),
                DataKind::Passive => {
                    left.passive(segment.data.iter().copied());
                    next
                }
            };
            places.insert(index, place);
        }
    }
    if left.is_empty() {
        patch.remove(SectionId::Data);
        patch.remove(SectionId::DataCount);
        return Ok(());
    }
    if places.iter().any(|(old, new)| old != new) {
        patch.rewrite(&mut |body: &mut Body<'_>, operator: &Operator<'_>| {
            let place = name(operator).and_then(|old| places.get(&old).copied());
            let Some(data_index) = place else { return false };
            body.emit(&match *operator {
                Operator::MemoryInit { mem, .. } => Instruction::MemoryInit { mem, data_index },
                _ => Instruction::DataDrop(data_index),
            });
            true
        })?;
    }
    // Without a count no instruction names a segment, and nothing is left.
    patch.replace(SectionId::DataCount, &DataCountSection { count: left.len() });
    patch.replace(SectionId::Data, &left);
    Ok(())
}

/// The segment that an instruction names.
fn name(operator: &Operator<'_>) -> Option<u32> {
    match operator {
        Operator::MemoryInit { data_index, .. } | Operator::DataDrop { data_index } => {
            Some(*data_index)
        }
        _ => None,
    }
}

/// Segments that instructions name.
fn named(wasm: &[u8]) -> Result<BTreeSet<u32>> {
    let (mut may_name, mut named) = (false, BTreeSet::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            // Without it no instruction may name a segment.
            Payload::DataCountSection { .. } => may_name = true,
            Payload::CodeSectionEntry(body) if may_name => {
                let mut operators = body.get_operators_reader()?;
                while !operators.eof() {
                    named.extend(name(&operators.read()?));
                }
            }
            _ => {}
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use crate::{GuestModule, HeapPages, ModuleInfo};
    use wasmparser::{Parser, Payload};

    /// Length of the data section that is left, and the number in the data count section.
    fn left(text: &str) -> (Option<u32>, Option<u32>) {
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let wasm = guest.without_data().unwrap();
        // Validates, too.
        assert_eq!(ModuleInfo::read(&wasm).unwrap().data_bytes, 0);
        data_in(&wasm)
    }

    /// The same of a module, or of the last one in a component.
    fn data_in(wasm: &[u8]) -> (Option<u32>, Option<u32>) {
        let (mut data, mut count) = (None, None);
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.unwrap() {
                Payload::DataSection(section) => data = Some(section.count()),
                Payload::DataCountSection { count: found, .. } => count = Some(found),
                _ => {}
            }
        }
        (data, count)
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn segments_that_no_instruction_names_go() {
        let many: String = (0..1000).map(|at| format!("(data (i32.const {at}) \"x\")")).collect();
        assert_eq!(left(&format!("(module (memory 1) {many} (data \"passive\"))")), (None, None));
        // A function that names none.
        assert_eq!(left(&format!("(module (memory 1) {many} (func))")), (None, None));
        assert_eq!(left("(module (memory 1))"), (None, None));
    }

    /// All forms for Touchstone's memories.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn no_form_for_memories_with_an_image_has_its_segments() {
        let guest = |text: String| {
            let wasm = wat::parse_str(text).unwrap();
            GuestModule::new("guest", &wasm, HeapPages::default()).unwrap()
        };
        let data: String = (0..57_000).map(|at| format!("(data (i32.const {at}) \"x\")")).collect();
        let module = format!(
            "(memory 1) {data} (global $g (mut i32) (i32.const 0))
             (func (export \"f\") (global.set $g (i32.const 1)))"
        );
        let core = guest(format!("(module {module})"));
        for form in [
            core.without_data().unwrap(),
            core.with_imported_memory().unwrap(),
            core.resettable().unwrap().into_owned(),
            core.with_entries(false).unwrap().unwrap(),
            core.with_host_sized_memory().unwrap(),
        ] {
            assert_eq!(data_in(&form), (None, None));
        }
        let component = guest(format!(
            "(component (core module $m {module}) (core instance (instantiate $m)))"
        ));
        for form in [component.without_data().unwrap(), component.resettable().unwrap().into()] {
            assert_eq!(data_in(&form), (None, None));
        }
        // A start function needs them.
        let started = guest(format!("(module {module} (func $s) (start $s))"));
        assert_eq!(data_in(&started.resettable().unwrap()), (Some(57_000), None));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn an_imported_memory_has_its_content_from_the_host_where_that_is_known() {
        let bytes = |text: &str| {
            let wasm = wat::parse_str(text).unwrap();
            let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
            ModuleInfo::read(&guest.with_imported_memory().unwrap()).unwrap().data_bytes
        };
        assert_eq!(bytes("(module (memory 1) (data (i32.const 9) \"abc\"))"), 0);
        // A start function would see the difference.
        let start = "(module (memory 1) (data (i32.const 9) \"abc\") (func $f) (start $f))";
        assert_eq!(bytes(start), 3);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn what_is_named_stays_under_another_number() {
        let many: String = (0..300).map(|at| format!("(data (i32.const {at}) \"x\")")).collect();
        // 300 active ones, then the named ones, of which two are active.
        let text = format!(
            r#"(module (memory 1) {many} (data $a (i32.const 0) "a") (data $b "b") (data "c")
                 (data $d (i32.const 9) "d") (data $e "e")
                 (func (param i32) (local i64 i64)
                   (memory.init $e (i32.const 0) (i32.const 0) (i32.const 300))
                   (block (data.drop $d)) (i32.store (i32.const 300) (local.get 0))
                   (memory.init $a (i32.const 0) (i32.const 0) (i32.const 0)))
                 (func (data.drop $b)) (func))"#
        );
        let wasm = wat::parse_str(&text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let expected = r#"(module (memory 1) (export "memory" (memory 0))
             (data $a (i32.const 0) "") (data $b "b") (data $e "e")
             (func (param i32) (local i64 i64)
               (memory.init $e (i32.const 0) (i32.const 0) (i32.const 300))
               (block (data.drop $a)) (i32.store (i32.const 300) (local.get 0))
               (memory.init $a (i32.const 0) (i32.const 0) (i32.const 0)))
             (func (data.drop $b)) (func))"#;
        let wasm = |bytes: &[u8]| GuestModule::new("x", bytes, HeapPages::default()).unwrap();
        let expected = wasm(&wat::parse_str(expected).unwrap());
        let found = wasm(&guest.without_data().unwrap());
        let code = |guest: &GuestModule| -> Vec<Vec<u8>> {
            let payloads = Parser::new(0).parse_all(guest.wasm()).map(Result::unwrap);
            payloads
                .filter_map(|payload| match payload {
                    Payload::CodeSectionEntry(body) => Some(body.as_bytes().to_vec()),
                    Payload::DataSection(section) => Some(guest.wasm()[section.range()].to_vec()),
                    _ => None,
                })
                .collect()
        };
        assert_eq!(code(&found), code(&expected));
        assert_eq!(left(&text), (Some(3), Some(3)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn nothing_is_renumbered_where_the_first_ones_are_named() {
        let text = r#"(module (memory 1) (data "a") (data (i32.const 0) "b") (data "c")
             (func (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 0)) (data.drop 1)))"#;
        assert_eq!(left(text), (Some(2), Some(2)));
    }
}
