//! Support of strategies, and by which means.

use crate::error::{Error, Result};
use crate::guest::{Features, ModuleInfo};
use crate::memory::{KEEP_RESIDENT, ResetMethod};
use crate::strategy::{InstanceFrom, MemoryFrom, Strategy};

/// A backend's support of a strategy.
///
/// ```
/// use touchstone_executor::guest::GuestModule;
/// use touchstone_executor::{Engine, Strategy};
///
/// /// The strategies that an engine has for a guest.
/// fn usable(engine: &dyn Engine, guest: &GuestModule) -> Vec<Strategy> {
///     let mut all = Strategy::all();
///     all.retain(|strategy| engine.support_for(*strategy, guest).is_supported());
///     all
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// The runtime implements the strategy.
    Native,
    /// Touchstone implements the strategy on top of the runtime.
    Emulated {
        /// The means, in a phrase that fits a footnote.
        how: &'static str,
    },
    /// The strategy is unsupported.
    Unsupported {
        /// The reason, in a phrase that fits a footnote.
        reason: String,
    },
}

impl MemoryFrom {
    /// How Touchstone's memories of this kind are made clean.
    pub fn reset_method(self) -> ResetMethod {
        let limit = KEEP_RESIDENT;
        match self {
            Self::Segments => ResetMethod::Segments,
            Self::CopyOnWrite => ResetMethod::Drop,
            Self::Resident => ResetMethod::Resident { limit },
            Self::Gated => ResetMethod::Gated { limit },
            Self::Tracked => ResetMethod::Tracked { limit },
        }
    }
}

impl Support {
    /// The reason why the memories of an interpreter cannot have a
    /// [`Region`](crate::memory::Region).
    pub const NO_REGION: &str = "its interpreter writes to memories itself: a write to a read-only \
                                 page would be a fault of the host";

    /// A refusal with its reason.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported { reason: reason.into() }
    }

    /// This support, or the refusal for the guest if there is one.
    #[must_use]
    pub fn unless(self, refusal: Option<String>) -> Self {
        match refusal {
            Some(reason) if self.is_supported() => Self::Unsupported { reason },
            _ => self,
        }
    }

    /// Nothing, or the refusal as an error. Fails with [`Error::Unsupported`] with the reason.
    pub fn check(self, engine: &'static str, strategy: Strategy) -> Result<()> {
        match self {
            Self::Unsupported { reason } => Err(Error::Unsupported { engine, strategy, reason }),
            Self::Native | Self::Emulated { .. } => Ok(()),
        }
    }

    /// `true` if calls are possible.
    pub fn is_supported(&self) -> bool {
        !matches!(self, Self::Unsupported { .. })
    }

    /// The support of an interpreter that makes instances from what it has translated, and whose
    /// memories Touchstone's can replace.
    pub fn of_interpreter(runtime: &str, strategy: Strategy) -> Self {
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Interpreted, _) => Self::Native,
            (InstanceFrom::Pooling, _) => {
                Self::unsupported(format!("{runtime} has no pooling allocator"))
            }
            (InstanceFrom::Recreate, MemoryFrom::Segments) => {
                Self::unsupported("`interpreted` already makes a new instance per call")
            }
            (InstanceFrom::Recreate, memory) => Self::on_recycled_memory(memory),
            (InstanceFrom::Reuse, _) => Self::reset_in_place(strategy),
        }
    }

    /// One instance on Touchstone's memory, reset in place: the usual implementation of
    /// `instance_reuse…`, also in Touchstone's pool.
    pub fn reset_in_place(strategy: Strategy) -> Self {
        Self::unless_refused(
            strategy.memory,
            match strategy.memory {
                _ if strategy.pooled => {
                    "Touchstone's pool with instances of instance_reuse_tracked, reset when one is \
                     given back"
                }
                MemoryFrom::Segments => {
                    "one instance on Touchstone's memory; all pages dropped, then data segments, \
                     mutable globals and tables written back"
                }
                MemoryFrom::CopyOnWrite => {
                    "one instance on Touchstone's memory, mapped copy-on-write; all pages dropped, \
                     then mutable globals and tables written back"
                }
                MemoryFrom::Resident => {
                    "one instance on Touchstone's memory, mapped copy-on-write; written pages found \
                     with PAGEMAP_SCAN and restored in place, then mutable globals and tables"
                }
                MemoryFrom::Tracked => {
                    "one instance on Touchstone's memory, mapped copy-on-write; written pages found \
                     by write faults and restored in place, then mutable globals and tables"
                }
                MemoryFrom::Gated => {
                    "one instance on Touchstone's memory, mapped copy-on-write; written pages known \
                     from a scan and the thread's page faults, restored in place, then mutable \
                     globals and tables"
                }
            },
        )
    }

    /// A new instance per call on a recycled memory of Touchstone's: the usual implementation of
    /// `recreate_instance_cow` and similar strategies. Unsupported with copied data segments.
    pub fn on_recycled_memory(memory: MemoryFrom) -> Self {
        Self::unless_refused(
            memory,
            match memory {
                MemoryFrom::Segments => {
                    return Self::unsupported("a recycled memory needs an image");
                }
                MemoryFrom::CopyOnWrite => {
                    "a new instance each call on Touchstone's recycled memory, mapped copy-on-write; \
                     all pages dropped"
                }
                MemoryFrom::Resident => {
                    "a new instance each call on Touchstone's recycled memory, mapped copy-on-write; \
                     written pages found with PAGEMAP_SCAN and restored in place"
                }
                MemoryFrom::Tracked => {
                    "a new instance each call on Touchstone's recycled memory, mapped copy-on-write; \
                     written pages found by write faults and restored in place"
                }
                MemoryFrom::Gated => {
                    "a new instance each call on Touchstone's recycled memory, mapped copy-on-write; \
                     written pages known from a scan and the thread's page faults, restored in place"
                }
            },
        )
    }

    /// Emulated by this means, if this machine can reset memories of this kind.
    pub fn unless_refused(memory: MemoryFrom, how: &'static str) -> Self {
        match memory.reset_method().refusal() {
            Some(reason) => Self::unsupported(reason),
            None => Self::Emulated { how },
        }
    }
}

impl Strategy {
    /// The reason why this strategy is refused for a module by an engine with these features;
    /// `None` when it is not. A component always is: an engine that runs components has reasons of
    /// its own.
    pub fn refusal(self, info: &ModuleInfo, features: Features) -> Option<String> {
        info.component_refusal()
            .or_else(|| info.feature_refusal(features))
            .or_else(|| self.state_refusal(info))
    }

    fn state_refusal(self, info: &ModuleInfo) -> Option<String> {
        match (self.instance, self.memory) {
            (InstanceFrom::Reuse, memory) => {
                let has_image = memory != MemoryFrom::Segments;
                info.reuse_refusal().or_else(|| info.scattered().filter(|_| has_image))
            }
            (InstanceFrom::Recreate, memory) if memory.restores_in_place() => info.image_refusal(),
            _ => None,
        }
    }
}
