//! The components and modules of a host, loaded when first needed.

use super::cache::{Cache, Most};
use super::files::{Files, Found, Version};
use super::loaded::Loaded;
use super::{Refusal, text_of};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use touchstone_executor::Module;
use touchstone_executor::guest::{GuestModule, composed, text};

/// Loads guests for calls by several threads.
pub trait Load: Send + Sync {
    /// Loads a component or a module. Fails if no executor of the host can run it.
    fn load(&self, name: &str, wasm: &[u8]) -> anyhow::Result<Guest>;

    /// Finds most of what [`load`](Self::load) refuses, without compiling.
    fn check(&self, name: &str, wasm: &[u8]) -> anyhow::Result<()>;
}

pub struct Guest {
    pub guest: GuestModule,
    pub module: Arc<dyn Module>,
    /// Size of module and code.
    pub bytes: usize,
}

/// The offer of a host.
pub struct Catalogue {
    contracts: Box<dyn Files>,
    codecs: Box<dyn Files>,
    loader: Box<dyn Load>,
    cache: Mutex<Cache<Which, [Version; 2], Slot>>,
    checks: Option<Checks>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Which {
    Codec(Arc<str>),
    Contract(Arc<str>, Option<Arc<str>>),
}

type Slot = OnceLock<Result<Arc<Loaded>, Failed>>;

struct Failed {
    refusal: Refusal,
    when: Instant,
}

/// Pause before a failed load is tried again: the cause may be temporary.
const RETRY: Duration = Duration::from_secs(1);

/// Receives the name of an unusable file and the reason.
pub type Tell = Box<dyn Fn(&str, &str) + Send + Sync>;

struct Checks {
    tell: Tell,
    left: Mutex<Vec<Which>>,
}

/// Short names of codecs in requests.
const SHORT: [(&str, &str); 2] = [("json", "wasm_serde_json"), ("toml", "wasm_serde_toml")];
/// Most names in a message.
const SHOWN: usize = 20;

impl Catalogue {
    /// A catalogue of these files, with a bound of loaded guests beside those of running calls.
    pub fn new(
        contracts: Box<dyn Files>,
        codecs: Box<dyn Files>,
        loader: Box<dyn Load>,
        most: Most,
    ) -> Self {
        Self { contracts, codecs, loader, cache: Mutex::new(Cache::new(most)), checks: None }
    }

    /// Lets idle threads check all files once and report unusable ones.
    pub fn checked(mut self, tell: Tell) -> Self {
        for (name, reason) in [&self.contracts, &self.codecs].map(|files| files.left_out()).concat()
        {
            tell(&text::name(&name), &text::line(&reason));
        }
        // Taken from the end.
        let contracts = self.contracts.names().into_iter().rev();
        let contracts = contracts.map(|name| Which::Contract(name, None));
        let codecs = self.codecs.names().into_iter().rev().map(Which::Codec);
        let left = Mutex::new(contracts.chain(codecs).collect());
        self.checks = Some(Checks { tell, left });
        self
    }

    /// Checks the next unchecked file, if there is one.
    pub(super) fn check_next(&self) -> bool {
        let Some(Checks { tell, left }) = &self.checks else { return false };
        let next = left.lock().pop();
        let Some(next) = next else { return false };
        let (files, name) = match &next {
            Which::Codec(name) => (&self.codecs, name),
            Which::Contract(name, _) => (&self.contracts, name),
        };
        if let Some(found) = files.find(name)
            && let Err(error) = files.read(&found).and_then(|wasm| self.loader.check(name, &wasm))
        {
            tell(&text::name(name), &text_of(&error));
        }
        true
    }

    pub(super) fn has_unchecked(&self) -> bool {
        self.checks.as_ref().is_some_and(|checks| !checks.left.lock().is_empty())
    }

    /// The names of the contracts, for a message.
    pub(super) fn contracts(&self) -> String {
        shown(&*self.contracts)
    }

    /// The names of the codecs, for a message.
    pub(super) fn codecs(&self) -> String {
        shown(&*self.codecs)
    }

    pub(super) fn codec(&self, name: &str) -> Result<Arc<Loaded>, Refusal> {
        let short = SHORT.iter().find(|(short, _)| *short == name);
        let found = find(&*self.codecs, "codec", short.map_or(name, |(_, name)| name))?;
        let which = Which::Codec(Arc::clone(&found.name));
        self.loaded(&which, &*self.codecs, &found, None)
    }

    /// A contract, loaded with its target.
    pub(super) fn contract(
        &self,
        name: &str,
        target: Option<&str>,
    ) -> Result<Arc<Loaded>, Refusal> {
        let files = &*self.contracts;
        let found = find(files, "contract", name)?;
        let target = target.map(|name| find(files, "target", name)).transpose()?;
        let with = target.as_ref().map(|target| Arc::clone(&target.name));
        let which = Which::Contract(Arc::clone(&found.name), with);
        self.loaded(&which, files, &found, target.as_ref())
    }

    /// The guest of the current files. The first caller loads it, others wait.
    fn loaded(
        &self,
        which: &Which,
        files: &dyn Files,
        found: &Found,
        target: Option<&Found>,
    ) -> Result<Arc<Loaded>, Refusal> {
        let version = [found.version, target.map_or(Version::default(), |target| target.version)];
        let is_stale =
            |slot: &Slot| matches!(slot.get(), Some(Err(it)) if it.when.elapsed() > RETRY);
        let (slot, let_go) = self.cache.lock().get(which, version, is_stale);
        // Dropped without the lock.
        drop(let_go);
        let mut bytes = None;
        let loaded = slot.get_or_init(|| match self.load(files, found, target) {
            Ok((loaded, size)) => {
                bytes = Some(size);
                Ok(Arc::new(loaded))
            }
            Err(refusal) => Err(Failed { refusal, when: Instant::now() }),
        });
        if let Some(bytes) = bytes {
            let let_go = self.cache.lock().weigh(which, &slot, bytes);
            drop(let_go);
        }
        loaded.as_ref().map(Arc::clone).map_err(|failed| failed.refusal.clone())
    }

    /// The guest and its size in bytes.
    fn load(
        &self,
        files: &dyn Files,
        found: &Found,
        target: Option<&Found>,
    ) -> Result<(Loaded, usize), Refusal> {
        let mut name = text::name(&found.name);
        if let Some(target) = target {
            name = format!("{name} with {}", text::name(&target.name));
        }
        let load = || {
            let mut wasm = files.read(found)?;
            if let Some(target) = target {
                wasm = composed(&wasm, &files.read(target)?)?;
            }
            self.loader.load(&name, &wasm)
        };
        let guest = load()
            .map_err(|error| Refusal::Unusable { reason: text_of(&error), name: name.clone() })?;
        let bytes = guest.bytes;
        let loaded = Loaded::new(guest);
        let bytes = bytes + loaded.listing.len();
        Ok((loaded, bytes))
    }
}

fn find(files: &dyn Files, kind: &'static str, name: &str) -> Result<Found, Refusal> {
    files.find(name).ok_or_else(|| {
        let names = files.names();
        let similar = text::similar(name, names.iter().map(|name| &**name));
        let similar = similar.iter().map(|name| text::name(name)).collect();
        Refusal::Unknown { kind, name: text::name(name), similar }
    })
}

/// The first names, for a message.
fn shown(files: &dyn Files) -> String {
    let names = files.names();
    let first: Vec<String> = names.iter().take(SHOWN).map(|name| text::name(name)).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::super::loaded::tests::guest;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Loads texts; an empty text fails.
    #[derive(Default)]
    struct Texts {
        loads: Arc<AtomicUsize>,
    }

    impl Load for Texts {
        fn load(&self, _name: &str, wasm: &[u8]) -> anyhow::Result<Guest> {
            self.loads.fetch_add(1, Ordering::Relaxed);
            self.check("", wasm)?;
            Ok(guest("(module)").0)
        }

        fn check(&self, _name: &str, wasm: &[u8]) -> anyhow::Result<()> {
            anyhow::ensure!(!wasm.is_empty(), "it is\nempty\u{1b}");
            Ok(())
        }
    }

    /// A catalogue of this many files, the last one empty, and the number of loads.
    fn catalogue(files: usize, entries: usize) -> (Catalogue, Arc<AtomicUsize>) {
        let file = |at| File { name: format!("f{at}").into(), wasm: vec![0; files - 1 - at] };
        let contracts: Vec<File> = (0..files).map(file).collect();
        let loader = Texts::default();
        let (loads, most) = (Arc::clone(&loader.loads), Most { entries, bytes: usize::MAX });
        let none = Box::new(Vec::<File>::new());
        (Catalogue::new(Box::new(contracts), none, Box::new(loader), most), loads)
    }

    #[test]
    fn few_guests_stay_loaded() {
        let (catalogue, loads) = catalogue(101, 3);
        assert_eq!(loads.load(Ordering::Relaxed), 0);
        let load = |at: usize| catalogue.contract(&format!("f{at}"), None).unwrap();
        let loaded: Vec<_> = (0..100).map(|at| Arc::downgrade(&load(at))).collect();
        assert_eq!(loaded.iter().filter(|loaded| loaded.upgrade().is_some()).count(), 3);
        drop(load(99));
        assert_eq!(loads.load(Ordering::Relaxed), 100);
        drop(load(0));
        assert_eq!(loads.load(Ordering::Relaxed), 101);
    }

    #[test]
    fn files_that_cannot_be_used_are_told_of_once() {
        let (catalogue, loads) = catalogue(5, 3);
        let told = Arc::<Mutex<Vec<String>>>::default();
        let own = Arc::clone(&told);
        let tell = move |name: &str, reason: &str| own.lock().push(format!("{name}: {reason}"));
        let catalogue = catalogue.checked(Box::new(tell));
        while catalogue.check_next() {}
        assert!(!catalogue.has_unchecked());
        assert_eq!(*told.lock(), ["f4: it is empty\\u{1b}"]);
        assert_eq!(loads.load(Ordering::Relaxed), 0);
        assert_eq!(catalogue.contract("f4", None).err().unwrap().status(), 422);
    }

    #[test]
    fn messages_show_some_names() {
        let (catalogue, _) = catalogue(25, 3);
        let names = catalogue.contracts();
        assert!(names.starts_with("f0, f1, ") && names.ends_with("f19 and 5 more"), "{names}");
        let refusal = catalogue.contract("f24x", None).err().unwrap().to_string();
        assert!(refusal.contains("near: f24"), "{refusal}");
    }
}
