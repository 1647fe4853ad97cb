//! Data segments of a module whose memory comes with its content.
//!
//! The content of active segments is not needed then, and a segment costs something in every
//! new instance even when it is empty. Instructions name segments by index, so those behind
//! the last named one go altogether, and the active ones in front of it become empty. Like
//! every active segment those count as dropped after instantiation: the guest sees no
//! difference.

use super::rewrite::unreadable;
use crate::error::Result;
use wasm_encoder::{ConstExpr, DataSection};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// The data section that is left; empty when nothing is.
///
/// # Errors
///
/// When the module cannot be read.
pub(super) fn emptied(wasm: &[u8]) -> Result<DataSection> {
    let named = named(wasm)?;
    let mut data = DataSection::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::DataSection(section) = payload.map_err(unreadable)? else { continue };
        for segment in section.into_iter().take(named) {
            let segment = segment.map_err(unreadable)?;
            match segment.kind {
                DataKind::Active { .. } => data.active(0, &ConstExpr::i32_const(0), []),
                DataKind::Passive => data.passive(segment.data.iter().copied()),
            };
        }
    }
    Ok(data)
}

/// Number of segments up to the last one that an instruction names.
fn named(wasm: &[u8]) -> Result<usize> {
    let (mut may_name, mut named) = (false, 0);
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(unreadable)? {
            // Without it no instruction may name a segment.
            Payload::DataCountSection { .. } => may_name = true,
            Payload::CodeSectionEntry(body) if may_name => {
                let mut operators = body.get_operators_reader().map_err(unreadable)?;
                while !operators.eof() {
                    if let Operator::MemoryInit { data_index, .. }
                    | Operator::DataDrop { data_index } = operators.read().map_err(unreadable)?
                    {
                        named = named.max(data_index as usize + 1);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use crate::guest::{GuestModule, HeapPages, ModuleInfo};
    use wasmparser::{Parser, Payload};

    /// Length of the data section that is left, and the number in the data count section.
    fn left(text: &str) -> (Option<u32>, Option<u32>) {
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let wasm = guest.without_data().unwrap();
        // Validates, too.
        assert_eq!(ModuleInfo::read(&wasm).unwrap().data_bytes, 0);
        let (mut data, mut count) = (None, None);
        for payload in Parser::new(0).parse_all(&wasm) {
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

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn those_up_to_the_last_named_one_stay() {
        let segments = r#"(memory 1) (data (i32.const 0) "a") (data "b") (data (i32.const 9) "c")
             (data "d") (data (i32.const 5) "e")"#;
        let init = |index: u32| {
            let text = format!(
                "(module {segments} (func)
                   (func (memory.init {index} (i32.const 0) (i32.const 0) (i32.const 0))))"
            );
            left(&text)
        };
        assert_eq!(init(0), (Some(1), Some(1)));
        assert_eq!(init(3), (Some(4), Some(4)));
        assert_eq!(init(4), (Some(5), Some(5)));
        let drop = format!("(module {segments} (func (data.drop 1)))");
        assert_eq!(left(&drop), (Some(2), Some(2)));
    }
}
