//! Modules of whose data Wasmtime's compiler makes no image to be mapped copy-on-write.

use crate::engine::Compiler;
use crate::settings;
use touchstone_executor::Strategy;
use touchstone_executor::guest::{ModuleInfo, Segment};

/// Bytes of an image that is made however sparse the data in it is.
pub(crate) const fn always(compiler: Compiler) -> u64 {
    match compiler {
        Compiler::Nearcore => 0,
        // Wasmtime's default.
        Compiler::Cranelift | Compiler::Winch | Compiler::Pulley => 16 << 20,
    }
}

/// Why a strategy with images of Wasmtime's is refused for a module.
pub(crate) fn refusal(compiler: Compiler, strategy: Strategy, info: &ModuleInfo) -> Option<String> {
    // Where no segment is placed, no image is needed.
    if settings::class(strategy) != settings::IMAGE || info.segment_trap.is_some() {
        return None;
    }
    let modules = info.component.iter().flat_map(|component| &component.modules);
    let mut all = modules.map(|module| &module.segments).chain([&info.segments]);
    all.any(|segments| is_sparse(segments, always(compiler))).then(|| {
        format!(
            "its data lies so far apart that Wasmtime makes no image of it to be mapped \
             copy-on-write (under these settings, it makes every image of up to {} bytes)",
            always(compiler)
        )
    })
}

/// `true` if data segments span at least twice the bytes that they contain, and at least `always`
/// bytes: then Wasmtime's compiler leaves them as they are.
fn is_sparse(segments: &[Segment], always: u64) -> bool {
    let filled = segments.iter().filter(|segment| !segment.bytes.is_empty());
    let places = filled.filter_map(|segment| {
        let start = segment.offset? as usize;
        Some((start, start + segment.bytes.len()))
    });
    let (mut from, mut to, mut bytes) = (usize::MAX, 0, 0);
    for (start, end) in places {
        (from, to, bytes) = (from.min(start), to.max(end), bytes + (end - start));
    }
    let reach = to.saturating_sub(from);
    bytes > 0 && reach >= 2 * bytes && reach as u64 >= always
}
