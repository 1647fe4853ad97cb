//! Features of WebAssembly beyond its first version, as far as engines differ in them.

use std::fmt;

/// A feature that a module can use and an engine can lack. What WebAssembly 2.0 has is
/// no feature here, except vectors and references to the host's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Feature {
    /// Vectors of 128 bits, of WebAssembly 2.0.
    Vectors,
    /// `externref`, of WebAssembly 2.0.
    HostReferences,
    /// Constant expressions that compute.
    ExtendedConst,
    /// `return_call` and its kin.
    TailCalls,
    /// More than one memory.
    MultiMemory,
    /// Memories and tables with 64-bit addresses.
    Memory64,
    /// Vector instructions whose result may depend on the processor.
    RelaxedVectors,
    /// Typed function references.
    FunctionReferences,
    /// Structures, arrays and their garbage collection.
    GarbageCollection,
    /// Tags, `throw` and `try_table`.
    Exceptions,
    /// Shared memories and atomic instructions.
    Threads,
    /// `try` and `catch`, which `try_table` has replaced.
    LegacyExceptions,
    /// Memories whose pages are not of 64 KiB.
    CustomPageSizes,
    /// Arithmetic on integers of 128 bits.
    WideArithmetic,
    /// Continuations.
    StackSwitching,
}

impl Feature {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 15] = [
        Self::Vectors,
        Self::HostReferences,
        Self::ExtendedConst,
        Self::TailCalls,
        Self::MultiMemory,
        Self::Memory64,
        Self::RelaxedVectors,
        Self::FunctionReferences,
        Self::GarbageCollection,
        Self::Exceptions,
        Self::Threads,
        Self::LegacyExceptions,
        Self::CustomPageSizes,
        Self::WideArithmetic,
        Self::StackSwitching,
    ];

    /// Name, as after "it uses".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vectors => "vector instructions (simd128)",
            Self::HostReferences => "references to the host's objects (externref)",
            Self::ExtendedConst => "extended constant expressions",
            Self::TailCalls => "tail calls",
            Self::MultiMemory => "more than one memory",
            Self::Memory64 => "64-bit memories or tables (memory64)",
            Self::RelaxedVectors => "relaxed vector instructions (relaxed-simd)",
            Self::FunctionReferences => "typed function references",
            Self::GarbageCollection => "garbage collection (structures and arrays)",
            Self::Exceptions => "exceptions",
            Self::Threads => "threads (shared memories or atomic instructions)",
            Self::LegacyExceptions => "legacy exceptions (try and catch)",
            Self::CustomPageSizes => "custom page sizes",
            Self::WideArithmetic => "wide arithmetic",
            Self::StackSwitching => "stack switching",
        }
    }

    /// Why no engine runs a module with the feature through the contract; `None` where
    /// engines may.
    pub const fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Threads => Some(
                "other threads could change a shared memory between two calls, so that no call \
                 would find a clean one; build the module without threads",
            ),
            Self::LegacyExceptions => Some(
                "the proposal was replaced; build the module with the exceptions of WebAssembly \
                 3.0 (-sWASM_LEGACY_EXCEPTIONS=0 of Emscripten)",
            ),
            Self::CustomPageSizes | Self::WideArithmetic | Self::StackSwitching => {
                Some("the proposal is not part of WebAssembly 3.0")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Features(u16);

impl Features {
    /// No feature.
    pub const NONE: Self = Self(0);
    /// Those of WebAssembly 2.0, and extended constant expressions, which every engine
    /// gets as constants.
    pub const WASM2: Self = Self::NONE
        .with(Feature::Vectors)
        .with(Feature::HostReferences)
        .with(Feature::ExtendedConst);

    /// The set and one more.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u16)
    }

    /// The features of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without one.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !(1 << feature as u16))
    }

    /// `true` if the feature is in the set.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & 1 << feature as u16 != 0
    }

    /// The features that are in this set and not in the other one.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// `true` if it has none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its features, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.has(*feature))
    }
}

impl Default for Features {
    fn default() -> Self {
        Self::NONE
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<T: IntoIterator<Item = Feature>>(features: T) -> Self {
        features.into_iter().fold(Self::NONE, Self::with)
    }
}

/// Names with commas between them: `tail calls, exceptions`.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Feature::name).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sets() {
        let all: Features = Feature::ALL.into_iter().collect();
        assert_eq!(all.iter().collect::<Vec<_>>(), Feature::ALL);
        let some = Features::WASM2.with(Feature::TailCalls);
        assert!(some.has(Feature::TailCalls) && !some.has(Feature::Exceptions));
        assert_eq!(some.minus(Features::WASM2).to_string(), "tail calls");
        assert!(some.without(Feature::TailCalls) == Features::WASM2);
        assert!(Features::NONE.is_empty() && !all.is_empty());
    }
}
