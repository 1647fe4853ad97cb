//! Common to all memories of a module: the content, its image and the method of reset.

use super::{Image, InitialContent, Region, ResetMethod};
use crate::error::{Error, Result};
use std::sync::Arc;

/// Everything that is needed to reset the memories of one module.
#[derive(Debug, Clone)]
pub struct MemoryTemplate {
    pub(super) content: Arc<InitialContent>,
    pub(super) image: Option<Arc<Image>>,
    pub(super) reset: ResetMethod,
    /// Mapped behind the content.
    pub(super) region: Option<Arc<Region>>,
}

impl MemoryTemplate {
    /// A template for a content. Fails when the size of the content is not made of [pages of the
    /// host](crate::host_page), or the image cannot be made.
    pub fn new(content: InitialContent, reset: ResetMethod) -> Result<Self> {
        let (size, page) = (content.size(), crate::host_page());
        if !size.is_multiple_of(page) {
            let reason = format!("a memory of {size} bytes is not made of pages of {page} bytes");
            return Err(Error::Unsuitable(reason));
        }
        let image = match reset {
            ResetMethod::Segments => None,
            ResetMethod::Drop => Image::new(&content, false)?,
            _ => Image::new(&content, !content.is_captured)?,
        };
        Ok(Self { content: Arc::new(content), image: image.map(Arc::new), reset, region: None })
    }

    /// The same with a region in the place of the last bytes, which all memories of the template
    /// then have read-only. Such memories do not grow. Fails when the memory is not larger than the
    /// region, or contains something there.
    pub fn sharing(self, region: Option<Arc<Region>>) -> Result<Self> {
        let Some(region) = region else { return Ok(self) };
        let content = self.content.without_end(region.length()).ok_or_else(|| {
            let (length, size) = (region.length(), self.size());
            Error::Unsuitable(format!(
                "its memory of {size} bytes has no room for a region of {length} bytes at its end: \
                 give it more heap pages"
            ))
        })?;
        Ok(Self { content: Arc::new(content), region: Some(region), ..self })
    }

    /// The image that memories are to be mapped from, where there is one.
    pub fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// How memories are made clean.
    pub fn reset(&self) -> ResetMethod {
        self.reset
    }

    /// Size of a clean memory without its region, bytes.
    pub fn size(&self) -> usize {
        self.content.size()
    }

    /// Size of a clean memory with its region, bytes.
    pub fn whole_size(&self) -> usize {
        self.size() + self.region.as_ref().map_or(0, |region| region.length())
    }

    /// The same for a memory that has grown to `size` bytes and is otherwise clean; `None` if that
    /// is not made of pages.
    pub(super) fn grown(&self, size: usize) -> Option<Self> {
        let content = Arc::new(self.content.of_size(size));
        let is_of_pages = content.size().is_multiple_of(crate::host_page());
        is_of_pages.then(|| Self { content, region: None, ..self.clone() })
    }
}
