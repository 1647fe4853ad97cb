//! The state that a module can change, which a reset restores.

use super::info::{FunctionImport, ModuleInfo, Table};
use crate::imports;
use crate::signature::{Signature, ValueType};
use crate::text::plural;

impl ModuleInfo {
    /// The state that the module's instructions can change, in a line: `memory (17 pages, grows),
    /// 1 global, host's allocator`. All other state is the same after every call as before.
    pub fn changeable(&self) -> String {
        let mut parts = Vec::new();
        let allocator = self.imports.iter().any(FunctionImport::is_allocator);
        if let Some(limits) = self.memory {
            let has_room = limits.minimum < limits.largest();
            let grows = self.grows_memory || allocator || self.heap_base.is_some();
            let grows = if has_room && grows { ", grows" } else { "" };
            parts.push(format!("memory ({}{grows})", counted(limits.minimum as usize, "page")));
        }
        let tables =
            |which: fn(&Table) -> bool| self.tables.iter().filter(|table| which(table)).count();
        for (count, noun) in [
            (self.mutable_globals.iter().filter(|global| global.written).count(), "global"),
            (tables(|table| table.written), "written table"),
            (tables(|table| table.grown), "growing table"),
        ] {
            if count > 0 {
                parts.push(counted(count, noun));
            }
        }
        if self.drops_segments {
            parts.push("passive segments (dropped)".to_owned());
        }
        if allocator {
            parts.push("host's allocator".to_owned());
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    }
}

impl FunctionImport {
    /// `true` for a function of the host's allocator, which has this name and type.
    fn is_allocator(&self) -> bool {
        let results = match &*self.name {
            imports::MALLOC => &[ValueType::I32][..],
            imports::FREE => &[],
            _ => return false,
        };
        self.module == "env" && self.signature == Some(Signature::new(&[ValueType::I32], results))
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(noun, count))
}
