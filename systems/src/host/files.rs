//! Where a host gets its components and modules from.

use std::sync::Arc;

/// Components or modules by their names.
pub trait Files: Send + Sync {
    /// The file of that name as it is now; `None` if there is none. `-` and `_` are the same.
    fn find(&self, name: &str) -> Option<Found>;

    /// Bytes of the module or component.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is no module.
    fn read(&self, found: &Found) -> anyhow::Result<Vec<u8>>;

    /// All names, in order.
    fn names(&self) -> Vec<Arc<str>>;

    /// Files that have no name of their own, with the reasons.
    fn left_out(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// A file, and which of its contents it has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: Arc<str>,
    /// What changes with its content.
    pub version: Version,
}

/// Numbers that change with a file's content: device, inode, size, and times of the last changes.
pub type Version = [u64; 5];

/// A module or a component in memory.
pub struct File {
    /// Its name.
    pub name: Arc<str>,
    /// Its bytes.
    pub wasm: Vec<u8>,
}

/// A name as requests are compared with it.
#[must_use]
pub fn plain(name: &str) -> String {
    name.replace('-', "_")
}

impl Files for Vec<File> {
    fn find(&self, name: &str) -> Option<Found> {
        let wanted = plain(name);
        let file = self.iter().find(|file| plain(&file.name) == wanted)?;
        Some(Found { name: Arc::clone(&file.name), version: Version::default() })
    }

    fn read(&self, found: &Found) -> anyhow::Result<Vec<u8>> {
        let file = self.iter().find(|file| file.name == found.name);
        file.map(|file| file.wasm.clone()).ok_or_else(|| anyhow::anyhow!("it is gone"))
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.iter().map(|file| Arc::clone(&file.name)).collect()
    }
}
