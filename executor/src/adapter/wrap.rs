//! Typed closures around host functions.

#[doc(hidden)]
#[macro_export]
macro_rules! __wrap_host_function {
    (match $ty:ident of $types:ident, $function:ident, $guest:ty => $waiting:path, $carry:path,
        |$closure:ident| $wrap:expr, else $other:expr) => {
        $crate::__wrap_host_function! {
            @arms $ty $types ($function, $guest, $waiting, $carry, $closure, $wrap) $other;
            [] [a I32] [a I64]
            [a I32, b I32] [a I32, b I64] [a I64, b I32] [a I64, b I64]
            [a I32, b I32, c I32] [a I32, b I32, c I64] [a I32, b I64, c I32]
            [a I32, b I64, c I64] [a I64, b I32, c I32] [a I64, b I32, c I64]
            [a I64, b I64, c I32] [a I64, b I64, c I64]
        }
    };
    (@arms $ty:ident $types:ident $parts:tt $other:expr;
        $([$($name:ident $param:ident),*])*) => {
        match ($ty.params(), $ty.results()) {
            $(
                ([$($types::$param),*], []) => {
                    $crate::__wrap_host_function!(@closure $parts (i32) (|_| ()) $($name $param)*)
                }
                ([$($types::$param),*], [$types::I32]) => {
                    $crate::__wrap_host_function!(@closure $parts (i32) (|it| it) $($name $param)*)
                }
                ([$($types::$param),*], [$types::I64]) => {
                    $crate::__wrap_host_function!(@closure $parts (i64) (|it| it) $($name $param)*)
                }
            )*
            _ => $other,
        }
    };
    (@closure ($function:ident, $guest:ty, $waiting:path, $carry:path, $closure:ident, $wrap:expr)
        ($result:ident) $end:tt $($name:ident $param:ident)*) => {{
        let $closure = move |guest: $guest, $($name: $crate::__wrap_host_function!(@$param)),*| {
            let params = [$($crate::Value::$param($name)),*];
            let mut result: $result = 0;
            let give = |_, value| {
                result = <$result as $crate::HostValue>::from_value(value).unwrap_or_default();
            };
            let ended = $crate::adapter::answer(&mut $waiting(guest), &$function, params, give);
            ended.map(|()| $end(result)).map_err($carry)
        };
        $wrap
    }};
    (@I32) => { i32 };
    (@I64) => { i64 };
}

/// Defines a host function by a typed closure, for runtimes that allocate in each call of a
/// function whose types they know only as values. There are closures for up to three integers and
/// at most one integer as the result.
///
/// ```ignore
/// wrap_host_function! {
///     // A type of the runtime's, with `params` and `results`, and the enumeration of its types.
///     match ty of ValType,
///     // The host function; the guest as the runtime gives it to closures, and how it waits.
///     function, Caller<'_, State> => WaitingGuest,
///     // The runtime's error of a trap.
///     carry,
///     |closure| Func::wrap(store, closure),
///     else untyped(store, function, ty)
/// }
/// ```
pub use __wrap_host_function as wrap_host_function;
