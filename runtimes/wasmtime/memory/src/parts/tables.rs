//! Tables with their first entries.

use wasmtime::{AsContextMut, Ref, Result, Table, TableType};

/// A table with a copy of its first entries in a table of the same store: copying back is one call.
#[derive(Debug, Clone, Copy)]
pub struct SavedTable {
    table: Table,
    first: Table,
}

impl SavedTable {
    /// Saves the entries that a table has now. Fails when the copy does not fit into the store's
    /// limits.
    pub fn new(mut store: impl AsContextMut, table: Table) -> Result<Self> {
        let size = table.size(&store);
        let ty = table.ty(&store);
        // The copy has 32-bit indices, whatever the table has.
        let minimum = u32::try_from(size)?;
        let ty = TableType::new(ty.element().clone(), minimum, None);
        let null = Ref::null(ty.element().heap_type());
        let first = Table::new(&mut store, ty, null)?;
        Table::copy(&mut store, &first, 0, &table, 0, size)?;
        Ok(Self { table, first })
    }

    /// Brings the entries back. `false` if the table has grown, which cannot be undone. Fails when
    /// Wasmtime refuses to copy.
    #[inline]
    pub fn restore(&self, mut store: impl AsContextMut) -> Result<bool> {
        let size = self.first.size(&store);
        if self.table.size(&store) != size {
            return Ok(false);
        }
        Table::copy(&mut store, &self.table, 0, &self.first, 0, size)?;
        Ok(true)
    }
}
