//! The state that a module can change, which a reset restores.

use super::info::{FunctionImport, MemoryLimits, ModuleInfo};
use crate::imports;
use crate::signature::{Signature, ValueType};
use crate::text::plural;
use std::fmt;

/// The state that a module's instructions can change. All other state is the same after every
/// call as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changeable {
    /// The memory, whose bytes anybody can write: the guest, and the host for it.
    pub memory: Option<MemoryLimits>,
    /// `true` if the memory can grow: by an instruction, or by the host's allocator.
    pub memory_grows: bool,
    /// Mutable globals that an instruction sets, by index.
    pub globals: Vec<u32>,
    /// Tables whose entries an instruction writes, by index.
    pub tables: Vec<u32>,
    /// Tables that an instruction grows, by index.
    pub growing_tables: Vec<u32>,
    /// `true` if passive segments are dropped.
    pub segments: bool,
    /// `true` if the guest uses the host's allocator, whose lists are state too.
    /// Substrate's convention uses it for every input.
    pub allocator: bool,
}

impl Changeable {
    pub(super) fn of(info: &ModuleInfo) -> Self {
        let tables = |which: fn(&super::Table) -> bool| {
            info.tables.iter().filter(|table| which(table)).map(|table| table.index).collect()
        };
        let allocator = info.imports.iter().any(FunctionImport::is_allocator);
        let room = info.memory.is_some_and(|limits| limits.minimum < limits.largest());
        Self {
            memory: info.memory,
            memory_grows: room && (info.grows_memory || allocator || info.heap_base.is_some()),
            globals: info
                .mutable_globals
                .iter()
                .filter(|global| global.written)
                .map(|global| global.index)
                .collect(),
            tables: tables(|table| table.written),
            growing_tables: tables(|table| table.grown),
            segments: info.drops_segments,
            allocator,
        }
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

/// In a line: `memory (17 pages, grows), 1 global, host's allocator`.
impl fmt::Display for Changeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(limits) = self.memory {
            let grows = if self.memory_grows { ", grows" } else { "" };
            parts.push(format!("memory ({}{grows})", counted(limits.minimum as usize, "page")));
        }
        for (indices, noun) in [
            (&self.globals, "global"),
            (&self.tables, "written table"),
            (&self.growing_tables, "growing table"),
        ] {
            if !indices.is_empty() {
                parts.push(counted(indices.len(), noun));
            }
        }
        if self.segments {
            parts.push("passive segments (dropped)".to_owned());
        }
        if self.allocator {
            parts.push("host's allocator".to_owned());
        }
        f.write_str(&if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(noun, count))
}
