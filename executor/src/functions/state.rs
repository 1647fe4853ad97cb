//! State that belongs to an instance.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// State of the host for each instance, with its initial value. A reset brings back the value of
/// the clean instance: the initial one, or the one that its start function left.
///
/// The value is cloned when a host function first asks for it in an instance. A clone of this
/// handle stands for the same state.
///
/// ```
/// use touchstone_executor::{Functions, HostCall, State};
///
/// let log = State::new(Vec::<i32>::new());
/// Functions::none().wrap("env", "note", move |call: &mut HostCall<'_>, number: i32| {
///     call.state(&log).push(number);
///     Ok(())
/// });
/// ```
pub struct State<T> {
    initial: Arc<dyn Stored>,
    _value: PhantomData<fn() -> T>,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self { initial: Arc::clone(&self.initial), _value: PhantomData }
    }
}

impl<T: Clone + Send + Sync + 'static> State<T> {
    /// State with an initial value.
    pub fn new(initial: T) -> Self {
        Self { initial: Arc::new(initial), _value: PhantomData }
    }
}

/// A value without its type.
trait Stored: Any + Send + Sync {
    fn copy(&self) -> Box<dyn Stored>;
    fn any(&mut self) -> &mut dyn Any;
}

impl<T: Clone + Send + Sync + 'static> Stored for T {
    fn copy(&self) -> Box<dyn Stored> {
        Box::new(self.clone())
    }

    fn any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The states of one instance that its host functions have asked for.
#[derive(Default)]
pub(crate) struct States(Vec<(Arc<dyn Stored>, Box<dyn Stored>)>);

impl States {
    pub(crate) fn get<T: Clone + Send + Sync + 'static>(&mut self, state: &State<T>) -> &mut T {
        let is_it = |(initial, _): &(Arc<dyn Stored>, _)| Arc::ptr_eq(initial, &state.initial);
        let place = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push((Arc::clone(&state.initial), (*state.initial).copy()));
            self.0.len() - 1
        });
        let value = (*self.0[place].1).any().downcast_mut();
        value.expect("a state has the type of its handle")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Clone for States {
    fn clone(&self) -> Self {
        Self(
            self.0.iter().map(|(initial, value)| (Arc::clone(initial), (**value).copy())).collect(),
        )
    }
}
