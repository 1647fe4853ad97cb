//! The functions of the host's allocator, the log and the input.

use super::{Functions, HostCall};
use crate::host::first;
use touchstone_guest::imports;

const MODULE: &str = "env";

/// | name | type | does |
/// |---|---|---|
/// | `ext_allocator_malloc_version_1` | `(size: i32) -> i32` | allocates by the host's allocator |
/// | `ext_allocator_free_version_1` | `(pointer: i32)` | frees such a block |
/// | `ext_logging_max_level_version_1` | `() -> i32` | highest level, 0 off … 5 trace |
/// | `ext_logging_log_version_1` | `(level: i32, target: i64, message: i64)` | logs packed texts |
/// | `input_len` | `() -> i64` | length of the input that the host keeps |
/// | `input` | `(pointer: i64)` | copies the input there |
pub(super) fn functions() -> Functions {
    let mut functions = Functions::none();
    functions
        .wrap(MODULE, imports::MALLOC, |call: &mut HostCall<'_>, size: u32| call.allocate(size))
        .wrap(MODULE, imports::FREE, |call: &mut HostCall<'_>, pointer: u32| call.free(pointer))
        .wrap(MODULE, "ext_logging_max_level_version_1", |call: &mut HostCall<'_>| {
            Ok(call.host().max_log_level())
        })
        .wrap(
            MODULE,
            "ext_logging_log_version_1",
            |call: &mut HostCall<'_>, level: u32, target: u64, message: u64| {
                if !call.logs(level) {
                    return Ok(());
                }
                let [target, message] = [target, message].map(|text| call.at(text).map(first));
                let (target, message) = (target?, message?);
                call.host().log_texts(level, &target, &message);
                Ok(())
            },
        )
        .wrap(
            MODULE,
            imports::INPUT_LENGTH,
            |call: &mut HostCall<'_>| Ok(call.input().len() as u64),
        )
        .wrap(MODULE, imports::INPUT, |call: &mut HostCall<'_>, pointer: u64| {
            let (memory, host) = call.memory_and_host();
            let length = host.input.len();
            let place = usize::try_from(pointer).ok();
            match place.and_then(|start| memory.get_mut(start..)?.get_mut(..length)) {
                Some(place) => {
                    place.copy_from_slice(&host.input);
                    Ok(())
                }
                None => {
                    Err(call
                        .refuse(format!("{length} bytes at {pointer:#x} do not fit the memory")))
                }
            }
        });
    functions
}
