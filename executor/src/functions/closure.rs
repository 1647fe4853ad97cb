//! Closures with typed parameters as host functions.

use super::HostCall;
use crate::outcome::Trap;
use crate::{Signature, Value, ValueType};

/// A number or vector that a closure takes or gives.
pub trait HostValue: Copy {
    /// Its WebAssembly type.
    const TYPE: ValueType;

    /// Takes it out of a value; `None` if that has another type.
    fn from_value(value: Value) -> Option<Self>;

    /// Makes a value of it.
    fn into_value(self) -> Value;
}

macro_rules! host_values {
    ($($ty:ty: $kind:ident, $from:expr, $into:expr;)*) => {
        $(impl HostValue for $ty {
            const TYPE: ValueType = ValueType::$kind;

            #[inline]
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => Some($from(value)),
                    _ => None,
                }
            }

            #[inline]
            fn into_value(self) -> Value {
                Value::$kind($into(self))
            }
        })*
    };
}

host_values! {
    i32: I32, std::convert::identity, std::convert::identity;
    u32: I32, i32::cast_unsigned, u32::cast_signed;
    i64: I64, std::convert::identity, std::convert::identity;
    u64: I64, i64::cast_unsigned, u64::cast_signed;
    f32: F32, f32::from_bits, f32::to_bits;
    f64: F64, f64::from_bits, f64::to_bits;
    u128: V128, std::convert::identity, std::convert::identity;
}

/// Parameters or results: nothing, one value, or a tuple of up to nine.
pub trait HostValues {
    /// Their types.
    fn types() -> Vec<ValueType>;

    /// Puts them into their places, of which there are as many.
    fn give(self, places: &mut [Value]);

    /// Takes them out of values; `None` if number or types are others.
    fn take(values: &[Value]) -> Option<Self>
    where
        Self: Sized;
}

impl<T: HostValue> HostValues for T {
    fn types() -> Vec<ValueType> {
        vec![T::TYPE]
    }

    #[inline]
    fn give(self, places: &mut [Value]) {
        places[0] = self.into_value();
    }

    fn take(values: &[Value]) -> Option<Self> {
        match *values {
            [value] => T::from_value(value),
            _ => None,
        }
    }
}

/// A closure that is a host function: it takes the call and up to nine numbers, and gives
/// [`HostValues`] or a trap.
#[diagnostic::on_unimplemented(
    message = "this closure is no host function",
    note = "write `|call: &mut HostCall<'_>, a: i32| Ok(a)`, with the first type as it is here",
    note = "numbers are i32, u32, i64, u64, f32, f64 and u128, for vectors"
)]
pub trait HostClosure<P, R>: Send + Sync + 'static {
    /// Its type.
    fn signature(&self) -> Signature;

    /// Runs it. The error is the closure's trap.
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), Trap>;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        #[allow(non_snake_case, unused_variables, unused_mut, clippy::unused_unit)]
        impl<$($name: HostValue),*> HostValues for ($($name,)*) {
            fn types() -> Vec<ValueType> {
                vec![$($name::TYPE),*]
            }

            #[inline]
            fn give(self, places: &mut [Value]) {
                let ($($name,)*) = self;
                places.copy_from_slice(&[$($name.into_value()),*]);
            }

            fn take(values: &[Value]) -> Option<Self> {
                let mut rest = values.iter();
                let taken = ($($name::from_value(*rest.next()?)?,)*);
                rest.next().is_none().then_some(taken)
            }
        }

        #[allow(non_snake_case)]
        impl<Closure, R, $($name,)*> HostClosure<($($name,)*), R> for Closure
        where
            Closure: Fn(&mut HostCall<'_>, $($name),*) -> Result<R, Trap> + Send + Sync + 'static,
            R: HostValues,
            $($name: HostValue,)*
        {
            fn signature(&self) -> Signature {
                Signature::new(&[$($name::TYPE),*], &R::types())
            }

            #[inline]
            fn run(&self, call: &mut HostCall<'_>) -> Result<(), Trap> {
                let [$($name),*] = *call.params() else { return Err(call.misfit()) };
                $(let Some($name) = $name::from_value($name) else { return Err(call.misfit()) };)*
                let results = self(call, $($name),*)?;
                call.put(results);
                Ok(())
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);

impl HostCall<'_> {
    /// The error of a backend that passes other values than the import's.
    #[cold]
    fn misfit(&self) -> Trap {
        self.refuse(format!(
            "it was called with other values than its type has: {:?}",
            self.params()
        ))
    }
}
