//! The state inside a component: functions that were added to it save and restore it.

use super::{Place, listening};
use std::sync::Arc;
use touchstone_guest::StateCall;
use wasmtime::component::TypedFunc;
use wasmtime::{Result, Store};

/// A function that was added to a component: see
/// [`ComponentInfo::reset_functions`](touchstone_guest::ComponentInfo::reset_functions).
type StateFunction = TypedFunc<(u32, u32), (u32,)>;

/// Globals and tables of the core instances in a component, and the order of its handles.
pub struct SavedState(Vec<StateFunction>);

impl SavedState {
    /// Saves the state, by all functions that were added to the component. Also returns the
    /// memories that its core instances define. Fails when a function traps.
    pub fn new<T: 'static>(
        store: &mut Store<T>,
        functions: Vec<StateFunction>,
    ) -> Result<(Self, Vec<Arc<Place>>)> {
        let (saved, places) = listening(|| {
            functions.iter().try_for_each(|function| {
                function.call(&mut *store, (StateCall::Save as u32, 0)).map(drop)
            })
        });
        saved?;
        Ok((Self(functions), places))
    }

    /// Brings the state back. Puts so many handles in order. Each memory whose size has changed is
    /// looked at again. `false` where the state cannot come back: a table has grown, or more
    /// handles were in use. Fails when a function traps; then no function of the component can be
    /// called again.
    #[inline]
    pub fn restore<T: 'static>(&self, store: &mut Store<T>, handles: u32) -> Result<bool> {
        for function in &self.0 {
            if function.call(&mut *store, (StateCall::Restore as u32, handles))? != (0,) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
