//! Reasons for which an instance cannot be reset.

/// The reason why a module or an instance cannot be reset in place.
///
/// After an error of a reset, the instance must not be called again: make a new one, in a new
/// store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no module or component that can be rewritten.
    #[error(transparent)]
    Guest(#[from] touchstone_guest::Error),
    /// The module drops passive segments (`data.drop`, `elem.drop`). Nothing brings one back.
    #[error("the module drops passive segments, which cannot be brought back in place")]
    DropsSegments,
    /// The module uses structures or arrays of a garbage-collected heap.
    #[error("the module uses garbage-collected objects, which cannot be brought back in place")]
    CollectedObjects,
    /// A mutable global holds a reference that is none to a function.
    #[error("the mutable global {name} holds a reference, which cannot be saved")]
    ReferenceGlobal {
        /// The name under which [`prepare`](crate::prepare) exports the global.
        name: String,
    },
    /// The module or component was not rewritten by [`prepare`](crate::prepare).
    #[error("the instance's module was not prepared: compile what `prepare` returns")]
    NotPrepared,
    /// The engine's configuration was not set up by [`configure`](crate::configure), the engine has
    /// the pooling allocator, or the host made the memory with [`wasmtime::Memory::new`].
    #[error(
        "a memory is Wasmtime's own: call `configure`, use no pooling allocator, and let a module \
         make the memory instead of `Memory::new`"
    )]
    ForeignMemory,
    /// Another snapshot resets a memory of the instance, which imports or exports the memory.
    #[error("another snapshot resets a memory of the instance")]
    MemoryTaken,
    /// The call has grown a table, which cannot shrink.
    #[error("a table has grown, which cannot be undone in place")]
    TableGrown,
    /// A component has handles that it had not given back, or a call needed more than the snapshot
    /// allows.
    #[error("handles are in use: the component, or another one in the store, holds some")]
    HandlesLeft,
    /// A function of the component has failed, after which none can be called.
    #[error("the component cannot be entered: {0:#}")]
    Trapped(wasmtime::Error),
    /// An earlier reset has failed.
    #[error("an earlier reset has failed")]
    Unusable,
    /// The system refuses.
    #[error(transparent)]
    System(#[from] touchstone_memory::Error),
    /// Wasmtime refuses.
    #[error("{0:#}")]
    Wasmtime(wasmtime::Error),
}

impl From<wasmtime::Error> for Error {
    fn from(error: wasmtime::Error) -> Self {
        Self::Wasmtime(error)
    }
}
