//! The guests that are compiled into the host.

use guest_support::native::Export;
use touchstone_executor::guest::GuestModule;

/// The digests of the built modules, which the guests' sources are checked
/// against: a guest is known by its digest and by nothing else.
const DIGESTS: &str = include_str!("../../../test-runtime/built/SHA256SUMS");

/// A guest that is compiled into the host.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Its name in the list of digests, without `.wasm`.
    name: &'static str,
    /// What it exports.
    pub(crate) exports: &'static [Export],
}

/// All of them: one line each.
static GUESTS: &[Guest] = &[
    Guest { name: "test-runtime", exports: test_runtime::EXPORTS },
    Guest { name: "large-runtime", exports: large_runtime::EXPORTS },
    Guest { name: "core-runtime", exports: core_runtime::EXPORTS },
    Guest { name: "json-module", exports: json_module::EXPORTS },
    Guest { name: "accounts", exports: accounts::EXPORTS },
    Guest { name: "records", exports: records::EXPORTS },
    Guest { name: "layouts", exports: layouts::EXPORTS },
    Guest { name: "layouts-simd", exports: layouts_simd::EXPORTS },
    Guest { name: "verify-schnorr", exports: verify_schnorr::EXPORTS },
    Guest { name: "verify-ecdsa", exports: verify_ecdsa::EXPORTS },
    Guest { name: "kernels", exports: kernels::EXPORTS },
];

/// The native code of a module; `None` unless it is one of the built guests, to
/// the byte.
pub(crate) fn find(module: &GuestModule) -> Option<&'static Guest> {
    let digest: String = module.sha256().iter().map(|byte| format!("{byte:02x}")).collect();
    let name = DIGESTS.lines().find_map(|line| {
        let (listed, file) = line.split_once(char::is_whitespace)?;
        (listed == digest).then(|| file.trim_start_matches([' ', '*']))
    })?;
    GUESTS.iter().find(|guest| name.strip_suffix(".wasm") == Some(guest.name))
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
        for guest in GUESTS {
            for extra in [0, 2048] {
                let heap = HeapPages { extra, ..HeapPages::default() };
                let module = GuestModule::new("any name", &built(guest.name), heap).unwrap();
                assert_eq!(find(&module).map(|found| found.name), Some(guest.name));
                let mut exported: Vec<_> =
                    module.info().exports.iter().map(|export| export.name.as_str()).collect();
                let mut native: Vec<_> = guest.exports.iter().map(|export| export.name).collect();
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
        assert!(find(&module).is_none());
    }

    /// The host must run the code that the module was built from.
    #[test]
    fn the_guests_use_the_same_crates_as_the_modules() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let dependencies = |path: String| -> Vec<String> {
            let manifest = std::fs::read_to_string(path).unwrap();
            let list = manifest.split("[dependencies]\n").nth(1).unwrap();
            let list = list.split("\n[").next().unwrap().lines();
            let list = list.filter(|line| !line.is_empty() && !line.starts_with('#'));
            // Left out on the host; its manifest says why.
            list.filter(|line| !line.starts_with("wasmi ")).map(str::to_owned).collect()
        };
        for Guest { name, .. } in GUESTS {
            assert_eq!(
                dependencies(format!("{root}/runtimes/native/guests/{name}/Cargo.toml")),
                dependencies(format!("{root}/test-runtime/{name}/Cargo.toml")),
                "{name}"
            );
        }
    }
}
