//! Instances with the state that a reset brings back.

use crate::Error;
use crate::parts::{Place, Restored, SavedState, SavedTable, place_of};
use std::sync::Arc;
use touchstone_guest::{ADDED, STATE_EXPORTED};
use touchstone_memory::{KEEP_RESIDENT, ResetMethod};
use wasmtime::component::{self, types::ComponentItem};
use wasmtime::{Extern, Global, Instance, Memory, Store, Val};

/// The state of one instance at the time of the snapshot, and the means to bring it back.
///
/// A reset brings back memories (content and size), the mutable globals that the module sets,
/// imports or exports, and the entries of tables. It takes no system call unless the last call has
/// grown a memory, or written pages that calls before it had not.
///
/// **Between snapshot and reset**, the instance may be called on any thread, also in calls that
/// trap. Wasmtime's own writes and those through [`Memory::data_mut`](wasmtime::Memory::data_mut)
/// are noticed. The kernel must not write to pages that nobody has written since the last reset:
/// give system calls what [`writable`](crate::writable) returns.
///
/// The snapshot belongs to one store and one instance. It may be dropped before or after them.
pub struct Clean {
    state: State,
    /// `true` while a reset is under way, and after one that failed.
    broken: bool,
}

enum State {
    Module {
        memories: Vec<(Memory, Restored)>,
        globals: Vec<(Global, Val)>,
        tables: Vec<SavedTable>,
    },
    Component {
        memories: Vec<Restored>,
        state: SavedState,
        /// Handles that a call may have at a time.
        handles: u32,
    },
}

impl std::fmt::Debug for Clean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clean").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Clean {
    /// Saves the state of an instance of a module that [`prepare`](crate::prepare) has rewritten.
    /// Whatever ran before, such as a start function or a call that initialises the guest, need not
    /// run again. Fails when the state cannot be brought back, or the system has no memory or file
    /// left.
    ///
    /// # Panics
    ///
    /// If the instance is of another store.
    pub fn snapshot<T: 'static>(store: &mut Store<T>, instance: &Instance) -> Result<Self, Error> {
        if instance.get_global(&mut *store, STATE_EXPORTED).is_none() {
            return Err(Error::NotPrepared);
        }
        let exports = instance.exports(&mut *store).filter(|export| {
            let name = export.name();
            name.starts_with(ADDED) && name != STATE_EXPORTED
        });
        let exports = exports.map(|export| (export.name().to_owned(), export.into_extern()));
        let exports: Vec<(String, Extern)> = exports.collect();
        let (mut memories, mut globals, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for (name, export) in exports {
            match export {
                Extern::Memory(memory) => {
                    let place = place_of(&mut *store, &memory)?.ok_or(Error::ForeignMemory)?;
                    memories.push((memory, restored(store, place)?));
                }
                Extern::Global(global) => match global.get(&mut *store) {
                    Val::AnyRef(_) | Val::ExternRef(_) | Val::ExnRef(_) | Val::ContRef(_) => {
                        return Err(Error::ReferenceGlobal { name });
                    }
                    value => globals.push((global, value)),
                },
                Extern::Table(table) => tables.push(SavedTable::new(&mut *store, table)?),
                _ => return Err(Error::ForeignMemory),
            }
        }
        Ok(Self { state: State::Module { memories, globals, tables }, broken: false })
    }

    /// Saves the state of an instance of a component that [`prepare`](crate::prepare) has
    /// rewritten.
    ///
    /// `handles` is how many handles of resources a call may have at a time, its own and those of
    /// the host, such as streams of WASI. The snapshot sets that number with
    /// [`Store::set_max_component_handles`], so a call that needs more fails. A reset takes and
    /// gives back as many handles, about 50 ns each, and fails where the component has kept some.
    ///
    /// Snapshot and reset call functions of the component: they need a store that allows calls
    /// which are not `async`, and a little fuel and time where the host limits either. After a call
    /// that failed for whatever reason, do not reset the instance but make a new one. Fails when
    /// the state cannot be brought back, the component has handles already, or the system has no
    /// memory or file left.
    ///
    /// # Panics
    ///
    /// If the instance is of another store.
    pub fn snapshot_component<T: 'static>(
        store: &mut Store<T>,
        instance: &component::Instance,
        handles: u32,
    ) -> Result<Self, Error> {
        let component = instance.instance_pre(&*store).component().clone();
        let ty = component.component_type();
        let names = ty.exports(store.engine()).filter(|(name, export)| {
            matches!(export.ty, ComponentItem::ComponentFunc(_)) && name.starts_with(FUNCTION)
        });
        let names: Vec<String> = names.map(|(name, _)| name.to_owned()).collect();
        if names.is_empty() {
            return Err(Error::NotPrepared);
        }
        let functions = names.iter().map(|name| instance.get_typed_func(&mut *store, name));
        let functions = functions.collect::<wasmtime::Result<_>>()?;
        let (state, places) = SavedState::new(store, functions).map_err(Error::Trapped)?;
        // If any handle is in use now, one too many is taken.
        store.set_max_component_handles(handles.max(1) as usize);
        restore(store, &state, handles.max(1))?;
        store.set_max_component_handles(handles as usize);
        let memories = places.into_iter().map(|place| restored(store, place));
        let memories = memories.collect::<Result<_, _>>()?;
        Ok(Self { state: State::Component { memories, state, handles }, broken: false })
    }

    /// Brings the instance back to the state of the snapshot. The store's data stays as it is.
    /// Fails when the call has grown a table, the component has failed or has handles in use, or
    /// the kernel refuses. The instance must then not be called again, and all later resets fail.
    ///
    /// # Panics
    ///
    /// If the store is not that of the snapshot.
    #[inline]
    pub fn reset<T: 'static>(&mut self, store: &mut Store<T>) -> Result<(), Error> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(Error::Unusable);
        }
        match &mut self.state {
            State::Module { memories, globals, tables } => {
                for (memory, restored) in memories {
                    // Panics if the store is another one, whose instances might run.
                    memory.size(&*store);
                    if restored.reset()? {
                        // Wasmtime asks for size and address.
                        memory.grow(&mut *store, 0)?;
                    }
                }
                for (global, value) in globals {
                    global.set(&mut *store, *value)?;
                }
                for table in tables {
                    if !table.restore(&mut *store)? {
                        return Err(Error::TableGrown);
                    }
                }
            }
            State::Component { memories, state, handles } => {
                if store.max_component_handles() != *handles as usize {
                    return Err(Error::HandlesLeft);
                }
                // Panics if the store is another one, whose instances might run.
                restore(store, state, *handles)?;
                let mut resized = false;
                for memory in memories {
                    resized |= memory.reset()?;
                }
                if resized {
                    restore(store, state, *handles)?;
                }
            }
        }
        self.broken = false;
        Ok(())
    }

    /// The same, and then lets `host` bring back the store's data: WASI contexts, tables of
    /// resources, buffers. `host` does not run if the reset fails. Fails as [`reset`](Self::reset)
    /// does.
    ///
    /// # Panics
    ///
    /// If the store is not that of the snapshot.
    #[inline]
    pub fn reset_with<T: 'static>(
        &mut self,
        store: &mut Store<T>,
        host: impl FnOnce(&mut T),
    ) -> Result<(), Error> {
        self.reset(store)?;
        host(store.data_mut());
        Ok(())
    }
}

/// Names of the functions that `prepare` adds to a component begin with this.
const FUNCTION: &str = "touchstone-reset";

/// Takes the content that a memory of the store has now for the clean one.
fn restored<T: 'static>(_: &mut Store<T>, place: Arc<Place>) -> Result<Restored, Error> {
    if !place.claim() {
        return Err(Error::MemoryTaken);
    }
    // The best method that does not depend on the thread of a call: nobody notes that here.
    let limit = KEEP_RESIDENT;
    let methods = [ResetMethod::Tracked { limit }, ResetMethod::Resident { limit }];
    let method = methods.into_iter().find(|method| method.refusal().is_none());
    // SAFETY: the memory is that of an instance in the store, which is borrowed here alone: nothing
    // in it runs, and no slice of its memories is alive. `Clean` calls methods of the result only
    // while it has borrowed the store, which it lets Wasmtime check before. The place was claimed
    // here for the first time.
    Ok(unsafe { Restored::new(place, method.unwrap_or(ResetMethod::Drop)) }?)
}

#[inline]
fn restore<T: 'static>(
    store: &mut Store<T>,
    state: &SavedState,
    handles: u32,
) -> Result<(), Error> {
    match state.restore(store, handles) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::TableGrown),
        Err(error) if error.is::<wasmtime::Trap>() => Err(Error::Trapped(error)),
        // Wasmtime's words for its limit; it has no type for them.
        Err(error) if format!("{error:#}").contains("another handle") => Err(Error::HandlesLeft),
        Err(error) => Err(error.into()),
    }
}
