//! Link arguments for all that links libwasmedge.
//!
//! Programs do not find a library in a folder of the project. It may also need a newer C library
//! than the system's, which then lies beside it with its loader.

use std::path::Path;

/// The variable that `make wasmedge` sets: the folder with the library and
/// whatever it needs at run time. Not set: the system's own ways find it.
pub const FOLDER: &str = "TOUCHSTONE_WASMEDGE_LIB";

/// Loaders that can lie in the folder.
const LOADERS: [&str; 2] = ["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];

/// Prints the link arguments for the final artifacts of the package whose build
/// script calls this, if the backend is part of the build.
pub fn link() {
    println!("cargo::rerun-if-env-changed={FOLDER}");
    if !cfg!(feature = "wanted") {
        return;
    }
    for argument in arguments(std::env::var(FOLDER).ok().as_deref()) {
        println!("cargo::rustc-link-arg={argument}");
    }
}

/// The arguments for a folder.
fn arguments(folder: Option<&str>) -> Vec<String> {
    let Some(folder) = folder else { return Vec::new() };
    let mut arguments = vec![format!("-Wl,-rpath,{folder}")];
    if let Some(loader) = LOADERS.iter().find(|name| Path::new(folder).join(name).exists()) {
        // DT_RPATH, which holds for the libraries of libraries as well; and the
        // linker is not to ask the system's C library for what the newer has.
        arguments.push("-Wl,--disable-new-dtags,--allow-shlib-undefined".to_owned());
        arguments.push(format!("-Wl,--dynamic-linker={folder}/{loader}"));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_folder_nothing_is_asked_of_the_linker() {
        assert!(arguments(None).is_empty());
    }

    #[test]
    fn a_loader_is_taken_where_there_is_one() {
        assert_eq!(arguments(Some("/nowhere")), ["-Wl,-rpath,/nowhere"]);
    }
}
