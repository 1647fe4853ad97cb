//! The guests' library: their native code, which this crate contains as a file.

use guest_support::native::{Entry, Export, Guest as Raw, Text};
use libloading::Library;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::LazyLock;
use touchstone_executor::guest::GuestModule;

/// The digests of the built modules, which the guests' sources are checked
/// against: a guest is known by its digest and by nothing else.
const DIGESTS: &str = include_str!("../../../test-runtime/built/SHA256SUMS");

/// The library, as `build.rs` built it. Contained, so that a program that is copied or
/// compared with another build always runs the code that it was built with.
static LIBRARY: &[u8] = include_bytes!(env!("TOUCHSTONE_NATIVE_LIBRARY"));

/// A guest that is compiled for the host.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Its name in the list of digests, without `.wasm`.
    name: &'static str,
    exports: &'static [Export],
}

impl Guest {
    /// The function of an export, or why there is none.
    pub(crate) fn entry(&self, export: &str) -> Result<Entry, &'static str> {
        let found = self.exports.iter().find(|found| text(found.name) == export);
        let found = found.ok_or("its native code does not export it")?;
        found.entry.ok_or(text(found.reason))
    }
}

/// All of them, or why the library cannot be loaded.
static GUESTS: LazyLock<Result<Vec<Guest>, String>> =
    LazyLock::new(|| load().map_err(|error| format!("the guests' library does not load: {error}")));

/// Loads the library for good.
fn load() -> Result<Vec<Guest>, Box<dyn std::error::Error>> {
    let mut file = File::from(memfd_create("guests", MemfdFlags::CLOEXEC)?);
    file.write_all(LIBRARY)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: what runs when it is loaded is what every Rust library has.
    let library = Box::leak(Box::new(unsafe { Library::new(path) }?));
    // SAFETY: the library's function of this name has this type.
    let list =
        unsafe { library.get::<extern "C" fn(&mut usize) -> *const Raw>(b"touchstone_guests\0") }?;
    let mut count = 0;
    let first = list(&mut count);
    // SAFETY: so many guests are a constant of the library, which stays loaded.
    let guests = unsafe { std::slice::from_raw_parts(first, count) };
    Ok(guests.iter().map(known).collect())
}

fn known(guest: &Raw) -> Guest {
    // SAFETY: so many exports are a constant of the library, which stays loaded.
    let exports = unsafe { std::slice::from_raw_parts(guest.exports, guest.count) };
    Guest { name: text(guest.name), exports }
}

/// A text of the library.
fn text(text: Text) -> &'static str {
    // SAFETY: it is a constant of the library, which stays loaded.
    std::str::from_utf8(unsafe { text.bytes() }).unwrap_or_default()
}

/// The native code of a module.
pub(crate) fn find(module: &GuestModule) -> Result<&'static Guest, &'static str> {
    let digest: String = module.sha256().iter().map(|byte| format!("{byte:02x}")).collect();
    let name = DIGESTS.lines().find_map(|line| {
        let (listed, file) = line.split_once(char::is_whitespace)?;
        (listed == digest).then(|| file.trim_start_matches([' ', '*']))
    });
    let name = name.and_then(|name| name.strip_suffix(".wasm"));
    let foreign = "the module is not one of the guests in test-runtime/native, which are compiled for the host";
    let name = name.ok_or(foreign)?;
    let guests = GUESTS.as_ref().map_err(String::as_str)?;
    guests.iter().find(|guest| guest.name == name).ok_or(foreign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::guest::HeapPages;

    fn built(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built");
        std::fs::read(format!("{folder}/{name}.wasm")).unwrap()
    }

    #[test]
    fn every_guest_is_found_by_its_bytes_and_has_every_export() {
        for guest in GUESTS.as_ref().unwrap() {
            for extra in [0, 2048] {
                let heap = HeapPages { extra, ..HeapPages::default() };
                let module = GuestModule::new("any name", &built(guest.name), heap).unwrap();
                assert_eq!(find(&module).map(|found| found.name), Ok(guest.name));
                let mut exported: Vec<_> =
                    module.info().exports.iter().map(|export| export.name.as_str()).collect();
                let mut native: Vec<_> =
                    guest.exports.iter().map(|export| text(export.name)).collect();
                exported.sort_unstable();
                native.sort_unstable();
                assert_eq!(native, exported, "{}", guest.name);
            }
        }
    }

    #[test]
    fn a_module_that_differs_is_none_of_ours() {
        let mut bytes = built("core-runtime");
        // An empty custom section: the same code in another file.
        bytes.extend([0, 1, 0]);
        let module = GuestModule::new("core-runtime", &bytes, HeapPages::default()).unwrap();
        assert!(find(&module).is_err());
    }

    /// The host must run the code that the module was built from.
    #[test]
    fn the_guests_use_the_same_crates_as_the_modules() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let dependencies = |path: String| -> Vec<String> {
            let manifest = std::fs::read_to_string(path).unwrap();
            let list = manifest.split("[dependencies]\n").nth(1).unwrap();
            let list = list.split("\n[").next().unwrap().lines();
            list.filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        for folder in std::fs::read_dir(format!("{root}/test-runtime/native")).unwrap() {
            let folder = folder.unwrap().file_name();
            let name = folder.to_str().unwrap();
            if name == "library" {
                continue;
            }
            assert_eq!(
                dependencies(format!("{root}/test-runtime/native/{name}/Cargo.toml")),
                dependencies(format!("{root}/test-runtime/{name}/Cargo.toml")),
                "{name}"
            );
        }
    }
}
