//! Ways to load the right module.

use super::Kind;
use crate::lab::Refused;
use crate::record::Status;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy, Support};

/// A swap method: a way to load the right module. Slowest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString,
)]
#[strum(serialize_all = "snake_case")]
pub enum Method {
    /// At each change: compile, load, instantiate.
    Recompile,
    /// Compiled beforehand. At each change: load, instantiate.
    LoadArtifact,
    /// Both loaded beforehand. At each change: instantiate.
    Instantiate,
    /// An instance of each, kept and reset in place.
    #[strum(serialize = "two_live_instances")]
    TwoLive,
    Pool,
}

/// Strategies of methods that instantiate, the best first.
const NEW_INSTANCE: [Strategy; 3] = [
    Strategy::new(InstanceFrom::Recreate, MemoryFrom::CopyOnWrite),
    Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments),
    Strategy::INTERPRETED,
];
const KEPT_INSTANCE: [Strategy; 1] = [Strategy::new(InstanceFrom::Reuse, MemoryFrom::Tracked)];
const POOL: [Strategy; 2] =
    [Strategy::new(InstanceFrom::Pooling, MemoryFrom::CopyOnWrite), Strategy::POOL];

impl Method {
    pub const ALL: [Self; 5] =
        [Self::Recompile, Self::LoadArtifact, Self::Instantiate, Self::TwoLive, Self::Pool];

    /// `true` if modules are loaded beforehand.
    pub(super) fn keeps_modules(self) -> bool {
        self >= Self::Instantiate
    }

    /// `true` if instances are kept from change to change.
    pub(super) fn keeps_instances(self) -> bool {
        self >= Self::TwoLive
    }

    /// The first of its strategies that the engine supports for both modules. Fails with
    /// [`Refused`] and the reason of the last one.
    pub fn strategy(
        self,
        engine: &dyn MeasuredEngine,
        kinds: &[Kind; 2],
    ) -> Result<Strategy, Refused> {
        let strategies: &[Strategy] = match self {
            Self::Recompile | Self::LoadArtifact | Self::Instantiate => &NEW_INSTANCE,
            Self::TwoLive => &KEPT_INSTANCE,
            Self::Pool => &POOL,
        };
        let mut reason = String::new();
        for strategy in strategies {
            let support = kinds.each_ref().map(|kind| engine.support_for(*strategy, &kind.guest));
            match support.into_iter().find(|support| !support.is_supported()) {
                Some(Support::Unsupported { reason: against }) => {
                    reason = format!("{self} with {strategy}: {against}");
                }
                _ => return Ok(*strategy),
            }
        }
        Err(Refused { status: Status::Unsupported, reason })
    }
}
