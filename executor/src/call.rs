//! Options of one call: context, limits, and the handle to interrupt it.

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::outcome::{Trap, TrapKind};
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Options of one call: [`Instance::invoke`](crate::Instance::invoke).
///
/// ```
/// use std::time::Duration;
/// use touchstone_executor::{CallOptions, Context, InterruptHandle, Limits};
///
/// let mut user = String::from("alice");
/// let handle = InterruptHandle::new();
/// let options = CallOptions {
///     context: Some(Context::new(&mut user)),
///     limits: Limits { deadline: Some(Duration::from_millis(50)), ..Limits::default() },
///     interrupt: Some(handle.clone()),
/// };
/// # drop(options);
/// // On any thread:
/// handle.interrupt();
/// ```
#[derive(Debug, Default)]
pub struct CallOptions<'a> {
    /// A value that the host functions of this call may use.
    pub context: Option<Context<'a>>,
    /// Limits of this call.
    pub limits: Limits,
    /// The handle by which any thread can end this call.
    pub interrupt: Option<InterruptHandle>,
}

impl CallOptions<'_> {
    /// Ends a call whose handle was interrupted before, at its start. Fails with
    /// [`TrapKind::Interrupted`].
    pub fn check_interrupt(&self) -> Result<(), Trap> {
        self.interrupt.as_ref().map_or(Ok(()), InterruptHandle::check)
    }
}

/// Limits of one call. A call beyond a limit ends in a trap, except growth, which fails as it
/// does at the module's own maximum. An engine [refuses](Error::LimitUnsupported) a limit that it
/// cannot enforce.
///
/// The depth of the stack is no limit of a call, because no runtime takes one for a single call. A
/// guest beyond the engine's own ends with [`TrapKind::StackOverflow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Time from each entry into the guest, in place of [`Config::deadline`]. The trap is
    /// [`TrapKind::DeadlineExceeded`]. The module must be compiled and loaded as
    /// [interruptible](crate::Config::interruptible). On Wasmtime, a guest may run for 20 ms
    /// longer. Others look at the clock after so many functions, loops and operators, about each
    /// millisecond.
    ///
    /// [`Config::deadline`]: crate::Config::deadline
    pub deadline: Option<Duration>,
    /// Operators that the guest may execute, by the runtime's own count. The trap is
    /// [`TrapKind::OutOfFuel`]. The module must be compiled and loaded as
    /// [metered](crate::Config::metered).
    pub fuel: Option<u64>,
    /// Pages of 64 KiB that the memory may have. Growth beyond them fails.
    pub pages: Option<u32>,
    /// Entries that each table may have. Growth beyond them fails.
    pub table_entries: Option<u32>,
}

/// The limits that a live instance enforces in each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names are those of the limits")]
pub struct EnforcedLimits {
    pub deadline: bool,
    pub fuel: bool,
    pub pages: bool,
    pub table_entries: bool,
}

impl EnforcedLimits {
    /// Refuses a limit that is not among them. Fails with [`Error::LimitUnsupported`].
    pub fn check(self, options: &CallOptions<'_>) -> Result<()> {
        let CallOptions { limits, interrupt, .. } = options;
        let (deadline, fuel) = (limits.deadline.is_some(), limits.fuel.is_some());
        let (pages, entries) = (limits.pages.is_some(), limits.table_entries.is_some());
        let lacking = [
            (deadline, self.deadline, "a deadline", INTERRUPTIBLE),
            (interrupt.is_some(), self.deadline, "an interrupt", INTERRUPTIBLE),
            (fuel, self.fuel, "fuel", METERED),
            (pages, self.pages, "pages", ""),
            (entries, self.table_entries, "table entries", ""),
        ];
        match lacking.into_iter().find(|(wanted, enforced, ..)| *wanted && !enforced) {
            Some((_, _, limit, remedy)) => Err(Error::LimitUnsupported { limit, remedy }),
            None => Ok(()),
        }
    }
}

/// How to get a limit on an engine that can enforce it.
const INTERRUPTIBLE: &str = ": compile and load the module with `Config { interruptible: true, .. }`, on an engine that can";
const METERED: &str =
    ": compile and load the module with `Config { metered: true, .. }`, on an engine that can";

/// Ends a call from any thread. A clone stands for the same calls.
#[derive(Debug, Clone, Default)]
pub struct InterruptHandle(Arc<AtomicBool>);

impl InterruptHandle {
    /// A handle for the calls that it is passed to.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the running call, and each later one with this handle, with
    /// [`TrapKind::Interrupted`]. The guest ends within 20 ms on a machine that is not too busy,
    /// and not while a host function runs.
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Lets later calls with this handle run.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// `true` after [`interrupt`](Self::interrupt).
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// The trap of an interrupted call.
    pub(crate) fn check(&self) -> Result<(), Trap> {
        if self.is_interrupted() { Err(TrapKind::Interrupted.into()) } else { Ok(()) }
    }
}

/// The kind of a context that borrows other values.
///
/// ```
/// use touchstone_executor::{Context, ContextKind, Functions, HostCall};
///
/// struct Request<'a> {
///     path: &'a str,
///     answers: &'a mut Vec<String>,
/// }
/// struct RequestKind;
/// impl ContextKind for RequestKind {
///     type Value<'a> = Request<'a>;
/// }
///
/// Functions::none().wrap("env", "answer", |call: &mut HostCall<'_>| {
///     call.with_context::<RequestKind, _>(|request| request.answers.push(request.path.to_owned()))
/// });
/// let mut answers = Vec::new();
/// let mut request = Request { path: "/", answers: &mut answers };
/// let context = Context::of_kind::<RequestKind>(&mut request);
/// # drop(context);
/// ```
pub trait ContextKind: 'static {
    /// The type of the value.
    type Value<'a>;
}

/// The kind of a value that borrows nothing.
struct Owned<T>(PhantomData<T>);

impl<T: 'static> ContextKind for Owned<T> {
    type Value<'a> = T;
}

/// A value that the host lends to the host functions of one call.
pub struct Context<'a> {
    value: NonNull<()>,
    kind: TypeId,
    _lent: PhantomData<&'a mut ()>,
}

impl<'a> Context<'a> {
    /// A value that borrows nothing, for [`HostCall::context`](crate::HostCall::context).
    pub fn new<T: 'static>(value: &'a mut T) -> Self {
        Self::of_kind::<Owned<T>>(value)
    }

    /// A value that borrows others, for [`HostCall::with_context`](crate::HostCall::with_context).
    pub fn of_kind<K: ContextKind>(value: &'a mut K::Value<'_>) -> Self {
        let kind = TypeId::of::<K>();
        Self { value: NonNull::from(value).cast(), kind, _lent: PhantomData }
    }

    /// The value, if it has this type.
    pub(crate) fn value<T: 'static>(&mut self) -> Option<&mut T> {
        // SAFETY: the kind says that the value is a `T`, which lives and is lent for as long as
        // this is, and `self` is borrowed alone.
        (self.kind == TypeId::of::<Owned<T>>()).then(|| unsafe { self.value.cast().as_mut() })
    }

    /// Does something with the value, if it is of this kind.
    pub(crate) fn with<K: ContextKind, T>(
        &mut self,
        work: impl FnOnce(&mut K::Value<'_>) -> T,
    ) -> Option<T> {
        if self.kind != TypeId::of::<K>() {
            return None;
        }
        // SAFETY: the kind says that the value is a `K::Value` of some lifetime, which lives and
        // is lent for as long as this is, and `self` is borrowed alone. `work` accepts any
        // lifetime, so that it can put nothing shorter into the value, and take nothing out.
        Some(work(unsafe { self.value.cast::<K::Value<'_>>().as_mut() }))
    }

    /// The same for the time of a call.
    ///
    /// # Safety
    ///
    /// It must not be used when the value is not lent any more.
    pub(crate) unsafe fn unbound(self) -> Context<'static> {
        Context { value: self.value, kind: self.kind, _lent: PhantomData }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
