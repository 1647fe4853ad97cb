//! Limits of tables. A memory has a limit in each guest's set-up; a table that names none
//! could be grown until the host's memory is used up.

use super::info::{ModuleInfo, Table};
use super::patch::Patch;
use crate::error::{Result, unhostable};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{SectionId, TableType};

/// Entries that all tables of a module may have together at the start: the limit that
/// the JavaScript interface has for one.
pub(super) const MOST_AT_START: u64 = 10_000_000;

/// Entries that all tables together may be grown to, where the module names no smaller
/// limit.
pub(super) const MOST_GROWN: u64 = 1_000_000;

/// Refuses a module whose tables are too large from the start.
pub(super) fn check(info: &ModuleInfo) -> Result<()> {
    let entries = info.tables.iter().fold(0_u64, |sum, table| sum.saturating_add(table.minimum));
    if entries > MOST_AT_START {
        let reason = format!(
            "its tables have {entries} entries at the start, at most {MOST_AT_START} are hosted"
        );
        return unhostable(reason);
    }
    Ok(())
}

/// Limits the tables that can be grown.
pub(super) fn limit(patch: &mut Patch<'_>, info: &ModuleInfo) -> Result<()> {
    let grown = info.tables.iter().filter(|table| table.grown).count() as u64;
    match MOST_GROWN.checked_div(grown) {
        Some(most) => patch.sections.reencode(&mut Limits(&info.tables, most), &[SectionId::Table]),
        None => Ok(()),
    }
}

/// Limits of the tables that are not encoded yet.
struct Limits<'a>(&'a [Table], u64);

impl Reencode for Limits<'_> {
    type Error = Infallible;

    fn table_type(&mut self, mut ty: wasmparser::TableType) -> Result<TableType, ReencodeError> {
        if let Some((table, rest)) = self.0.split_first() {
            self.0 = rest;
            let most = table.minimum.max(self.1);
            let most = table.maximum.map_or(most, |maximum| maximum.min(most));
            ty.maximum = if table.grown { Some(most) } else { ty.maximum };
        }
        utils::table_type(self, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::{GuestModule, HeapPages};

    fn guest(tables: &str) -> Result<GuestModule> {
        let text = format!(
            "(module {tables}
               (func (export \"grow\") (drop (table.grow 0 (ref.null func) (i32.const 1)))))"
        );
        GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default())
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn only_tables_that_grow_are_given_a_limit() {
        let limits = |tables| -> Vec<(u64, Option<u64>)> {
            let guest = guest(tables).unwrap();
            guest.info().tables.iter().map(|table| (table.minimum, table.maximum)).collect()
        };
        assert_eq!(
            limits("(table 4 funcref) (table 7 externref)"),
            [(4, Some(MOST_GROWN)), (7, None)]
        );
        assert_eq!(limits("(table 4 10 funcref)"), [(4, Some(10))]);
        assert_eq!(limits("(table 2000000 funcref)"), [(2_000_000, Some(2_000_000))]);
    }

    /// The first entries of tables that grow, and of others.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn tables_keep_their_first_entries() {
        let text = "(module (type $t (func)) (func $f) (elem declare func $f)
            (table 1 4 (ref null $t) (ref.func $f)) (table 2 (ref $t) (ref.func $f)) (table 1 funcref)
            (func (drop (table.grow 1 (ref.func $f) (i32.const 1)))))";
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let limited = wasmprinter::print_bytes(guest.wasm()).unwrap();
        let tables: Vec<&str> =
            limited.lines().map(str::trim).filter(|line| line.starts_with("(table")).collect();
        assert_eq!(
            tables,
            [
                "(table (;0;) 1 4 (ref null $t) ref.func $f)",
                "(table (;1;) 2 1000000 (ref $t) ref.func $f)",
                "(table (;2;) 1 funcref)",
            ]
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn tables_that_are_too_large_are_refused() {
        let refused = guest("(table 6000000 funcref) (table 6000000 funcref)");
        match refused {
            Err(Error::Unhostable { reason }) => assert!(reason.contains("12000000"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
