//! Looks for libclang where the build of Wasm3's bindings will look, and tries
//! it, some seconds before that build would fail with other words.

use clang_sys::{
    CXDiagnostic_Error, CXUnsavedFile, clang_createIndex, clang_disposeDiagnostic,
    clang_disposeIndex, clang_disposeTranslationUnit, clang_getDiagnostic,
    clang_getDiagnosticSeverity, clang_getNumDiagnostics, clang_parseTranslationUnit,
};
use std::ffi::{CString, c_char, c_int, c_ulong};

/// Headers of the compiler and the system that Wasm3's header includes.
const HEADERS: &str = "#include <stddef.h>\n#include <stdint.h>\n#include <inttypes.h>\n";
const ARGUMENTS: &str = "BINDGEN_EXTRA_CLANG_ARGS";

fn main() {
    for name in ["LIBCLANG_PATH", "LLVM_CONFIG_PATH", "LD_LIBRARY_PATH", ARGUMENTS] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let problem = match clang_sys::load() {
        Err(_) => "was not found",
        Ok(()) if !finds_headers() => "does not find the C compiler's headers",
        Ok(()) => return,
    };
    println!(
        "cargo::error=the bindings of Wasm3 are made with libclang, which {problem}: run `make \
         libclang`, which prepares it without root"
    );
}

/// Parses the headers as the bindings' build does.
fn finds_headers() -> bool {
    let arguments = std::env::var(ARGUMENTS).unwrap_or_default();
    let arguments: Vec<CString> =
        arguments.split_ascii_whitespace().filter_map(|word| CString::new(word).ok()).collect();
    let arguments: Vec<*const c_char> = arguments.iter().map(|word| word.as_ptr()).collect();
    let name = c"headers.h";
    let mut file = CXUnsavedFile {
        Filename: name.as_ptr(),
        Contents: HEADERS.as_ptr().cast(),
        Length: HEADERS.len() as c_ulong,
    };
    // SAFETY: the library is loaded; all pointers lead to values that outlive
    // the calls, and what was made is disposed of once.
    unsafe {
        let index = clang_createIndex(0, 0);
        let unit = clang_parseTranslationUnit(
            index,
            name.as_ptr(),
            arguments.as_ptr(),
            arguments.len() as c_int,
            &raw mut file,
            1,
            0,
        );
        let mut fine = !unit.is_null();
        if fine {
            for number in 0..clang_getNumDiagnostics(unit) {
                let diagnostic = clang_getDiagnostic(unit, number);
                fine &= clang_getDiagnosticSeverity(diagnostic) < CXDiagnostic_Error;
                clang_disposeDiagnostic(diagnostic);
            }
            clang_disposeTranslationUnit(unit);
        }
        clang_disposeIndex(index);
        fine
    }
}
