//! Reasons to refuse a module, known from its bytes.

use crate::{
    Feature, Features, FunctionImport, ModuleInfo, Segment, Signature, imports, info, text,
};
use std::collections::HashMap;

impl FunctionImport {
    /// `true` if its answers may differ from one start function's call to that of the next
    /// instance. Other functions of WASI on files need one that `path_open` has opened.
    fn may_change_between_starts(&self) -> bool {
        match &*self.module {
            imports::WASI => {
                self.name.starts_with("path_")
                    || ["fd_readdir", "fd_filestat_get"].contains(&&*self.name)
            }
            "env" => imports::STORAGE.contains(&&*self.name),
            _ => false,
        }
    }
}

impl ModuleInfo {
    /// Why an engine refuses it that runs core modules only.
    pub fn component_refusal(&self) -> Option<String> {
        let reason = "it is a component, and this engine runs core modules only";
        self.component.is_some().then(|| reason.to_owned())
    }

    /// Why an engine with these features refuses it, whatever the strategy is.
    pub fn feature_refusal(&self, features: Features) -> Option<String> {
        let missing = self.features.minus(features);
        (!missing.is_empty()).then(|| format!("it uses {missing}, which this engine does not have"))
    }

    /// Why engines that find imports by their names alone cannot link the module.
    pub fn import_refusal(&self) -> Option<String> {
        self.twofold_import.clone()
    }

    /// The same, found once: it takes a look at every import.
    pub(super) fn find_twofold_import(&self) -> Option<String> {
        let mut known = HashMap::new();
        self.imports.iter().find_map(|FunctionImport { module, name, signature }| {
            // Types that are not known may differ.
            let first = known.insert((module, name), signature);
            let differs = |first: &Option<Signature>| first.is_none() || first != signature;
            first.is_some_and(differs).then(|| {
                format!(
                    "it imports {}.{} with two types, and this engine looks imports up by name",
                    text::name(module),
                    text::name(name)
                )
            })
        })
    }

    /// Why an instance of this module cannot be made clean in place.
    pub fn reuse_refusal(&self) -> Option<String> {
        let memories = self.memories_refusal();
        let reason = if memories.is_some() {
            return memories;
        } else if self.features.has(Feature::GarbageCollection) {
            "the module uses garbage-collected objects, whose content cannot be brought back in \
             place"
        } else if self.has_start
            && self.imports.iter().any(FunctionImport::may_change_between_starts)
        {
            "the module has a start function and imports functions whose answers change (a \
             storage, or the files of WASI); it would run once and not for each instance"
        } else if self.drops_segments {
            "the module drops passive segments (data.drop or elem.drop), which cannot be brought \
             back in place"
        } else if self.mutable_globals.iter().any(|global| !global.is_number) {
            "the module sets a global that is not a number; its value cannot be saved"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    /// The reason why the bytes do not determine the initial memory. That of a component has many:
    /// see [`ComponentInfo::image_refusal`](super::ComponentInfo::image_refusal).
    pub fn image_refusal(&self) -> Option<String> {
        self.component_refusal()
            .or_else(|| self.memories_refusal())
            .or_else(|| image_refusal(self.has_start, &self.segments))
    }

    /// The reason why its data lies in too many places for an image; `None` if it does not.
    pub fn scattered(&self) -> Option<String> {
        info::scattered(&self.segments)
    }

    /// Why Touchstone's memories cannot take the place of the module's.
    pub(super) fn memories_refusal(&self) -> Option<String> {
        let feature = [Feature::MultiMemory, Feature::Memory64]
            .into_iter()
            .find(|feature| self.features.has(*feature))?;
        Some(format!(
            "the module uses {feature}; Touchstone's memories stand for one memory with 32-bit \
             addresses"
        ))
    }
}

/// The reason why the bytes do not determine a module's initial memory.
pub(super) fn image_refusal(has_start: bool, segments: &[Segment]) -> Option<String> {
    let reason = if has_start {
        "the module has a start function, which would run on a memory that is initialised already"
    } else if segments.iter().any(|segment| segment.offset.is_none()) {
        "a data segment's place is only known at instantiation"
    } else {
        return info::scattered(segments);
    };
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::ModuleInfo;

    /// Every strategy of every engine asks, and there may be a hundred thousand imports.
    #[test]
    fn imports_are_looked_through_once() {
        let text = r#"(module (import "env" "f" (func)) (import "env" "f" (func (param i32))))"#;
        let mut info = ModuleInfo::read(&wat::parse_str(text).unwrap()).unwrap();
        let refusal = info.import_refusal();
        assert!(refusal.as_ref().unwrap().contains("env.f with two types"), "{refusal:?}");
        info.imports.clear();
        assert_eq!(info.import_refusal(), refusal);
    }

    /// The storage is not a part of the instance; where nothing changes, once is as good as often.
    #[test]
    fn a_start_function_with_answers_that_change_runs_for_each_instance() {
        let refusal = |module: &str, name: &str, start: &str| {
            let text = format!(
                r#"(module (import "{module}" "{name}" (func $f)) (func $s (call $f)) {start})"#
            );
            ModuleInfo::read(&wat::parse_str(text).unwrap()).unwrap().reuse_refusal()
        };
        for (module, name) in [
            ("env", "ext_storage_get_version_1"),
            ("wasi_snapshot_preview1", "path_open"),
            ("wasi_snapshot_preview1", "fd_readdir"),
        ] {
            assert!(refusal(module, name, "(start $s)").unwrap().contains("start function"));
            assert_eq!(refusal(module, name, ""), None);
        }
        for (module, name) in
            [("env", "ext_logging_log_version_1"), ("wasi_snapshot_preview1", "fd_write")]
        {
            assert_eq!(refusal(module, name, "(start $s)"), None);
        }
    }
}
