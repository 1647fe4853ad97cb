//! Sources of components and modules.

use std::sync::Arc;

/// Components or modules by their names.
pub trait Files: Send + Sync {
    /// The current file of this name; `None` if there is none. `-` and `_` are equal.
    fn find(&self, name: &str) -> Option<Found>;

    /// Bytes of the module or component.
    fn read(&self, found: &Found) -> anyhow::Result<Vec<u8>>;

    /// All names, in order.
    fn names(&self) -> Vec<Arc<str>>;

    /// Files without a usable name, with the reasons.
    fn left_out(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// A file and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: Arc<str>,
    /// Changes with the content.
    pub version: Version,
}

/// Device, inode, size, and the times of the last changes of content and inode, s and ns each.
pub type Version = [i128; 7];

/// A module or a component in memory.
pub struct File {
    pub name: Arc<str>,
    pub wasm: Vec<u8>,
}

/// A name as requests are compared with it.
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
