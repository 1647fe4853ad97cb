//! Why a strategy is refused for a module, told from its bytes.

use super::info::{ModuleInfo, Segment};
use crate::strategy::{InstanceFrom, MemoryFrom, Strategy};

impl ModuleInfo {
    /// Why an engine refuses it that runs core modules only.
    #[must_use]
    pub fn component_refusal(&self) -> Option<String> {
        let reason = "it is a component, and this engine runs core modules only";
        self.component.is_some().then(|| reason.to_owned())
    }

    /// Why an engine refuses it whose runtime, as it is built here, has no vectors.
    #[must_use]
    pub fn vector_refusal(&self) -> Option<String> {
        let reason = "it uses vector instructions (simd128), which this engine does not have";
        self.uses_vectors.then(|| reason.to_owned())
    }

    /// Why a strategy is refused for this module; `None` when it is not. A component
    /// always is: an engine that runs components has reasons of its own.
    #[must_use]
    pub fn refusal(&self, strategy: Strategy) -> Option<String> {
        if let Some(reason) = self.component_refusal() {
            return Some(reason);
        }
        match (strategy.instance, strategy.memory) {
            // A pool of ours holds instances that are reset in place.
            (InstanceFrom::Reuse | InstanceFrom::PoolingLate, _)
            | (InstanceFrom::Pooling, MemoryFrom::Tracked) => self.reuse_refusal(),
            (InstanceFrom::Recreate, memory) if memory.restores_in_place() => self.image_refusal(),
            _ => None,
        }
    }

    /// Why an instance of this module cannot be made clean in place.
    #[must_use]
    pub fn reuse_refusal(&self) -> Option<String> {
        if self.drops_segments {
            return Some(
                "the module drops passive segments (data.drop or elem.drop), which cannot be \
                 brought back in place"
                    .to_owned(),
            );
        }
        if self.mutable_globals.iter().any(|global| !global.is_number) {
            return Some(
                "the module sets a global that is not a number; its value cannot be saved"
                    .to_owned(),
            );
        }
        None
    }

    /// Why the initial memory cannot be told from the bytes alone. That of a
    /// component has many: see [`ComponentInfo::image_refusal`](super::ComponentInfo::image_refusal).
    #[must_use]
    pub fn image_refusal(&self) -> Option<String> {
        self.component_refusal().or_else(|| image_refusal(self.has_start, &self.segments))
    }
}

/// Why a module's initial memory cannot be told from the bytes alone.
pub(super) fn image_refusal(has_start: bool, segments: &[Segment]) -> Option<String> {
    if has_start {
        return Some(
            "the module has a start function, which would run on a memory that is initialised \
             already"
                .to_owned(),
        );
    }
    if segments.iter().any(|segment| segment.offset.is_none()) {
        return Some("a data segment's place is only known at instantiation".to_owned());
    }
    None
}
