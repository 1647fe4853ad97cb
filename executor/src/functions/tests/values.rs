//! Parameters and results of host functions.

use super::*;

#[test]
fn closures_take_and_give_all_numbers() {
    let mut functions = Functions::none();
    functions
        .wrap("env", "none", |_: &mut HostCall<'_>| Ok(()))
        .wrap("env", "one", |_: &mut HostCall<'_>, a: i32| Ok((a - 1,)))
        .wrap("env", "two", |_: &mut HostCall<'_>, a: u64, b: f32| Ok((b, a + 1)))
        .wrap("env", "three", |_: &mut HostCall<'_>, a: i64, b: f64, c: u128| Ok((c, b, a)))
        .wrap(
            "env",
            "nine",
            |_: &mut HostCall<'_>,
             a: u32,
             b: u32,
             c: u32,
             d: u32,
             e: u32,
             f: u32,
             g: u32,
             h: u32,
             i: u32| {
                Ok([a, b, c, d, e, f, g, h, i].into_iter().fold(0_u32, |sum, n| sum * 10 + n))
            },
        );
    let mut guest = guest(&functions);
    assert_eq!(guest.call(("env", "none"), &[]), Ok(vec![]));
    assert_eq!(
        guest.call(("env", "one"), &[Value::I32(i32::MIN + 1)]),
        Ok(vec![Value::I32(i32::MIN)])
    );
    let nan = 0x7fa0_0001;
    assert_eq!(
        guest.call(("env", "two"), &[Value::I64(-2), Value::F32(nan)]),
        Ok(vec![Value::F32(nan), Value::I64(-1)])
    );
    let three = [Value::I64(i64::MIN), Value::F64(7), Value::V128(u128::MAX - 1)];
    let back: Vec<_> = three.into_iter().rev().collect();
    assert_eq!(guest.call(("env", "three"), &three), Ok(back));
    assert_eq!(guest.call_integers(("env", "nine"), &[1, 2, 3, 4, 5, 6, 7, 8, 9]), Ok(123_456_789));
}

#[test]
fn results_are_taken_out_of_values_of_their_types() {
    let values = [Value::I32(-1), Value::F64(3)];
    assert_eq!(<(u32, f64)>::take(&values), Some((u32::MAX, f64::from_bits(3))));
    assert_eq!(<(u32, f64)>::take(&values[..1]), None);
    assert_eq!(<(u32,)>::take(&values), None);
    assert_eq!(<(u64, f64)>::take(&values), None);
    assert_eq!(u32::take(&values[..1]), Some(u32::MAX));
    assert_eq!(u32::take(&values), None);
    assert_eq!(<()>::take(&[]), Some(()));
    assert_eq!(<()>::take(&values), None);
}

#[test]
fn other_values_than_those_of_the_type_are_refused() {
    let mut functions = Functions::none();
    functions.wrap("env", "f", |_: &mut HostCall<'_>, a: i32| Ok(a));
    let mut guest = guest(&functions);
    for params in [&[][..], &[Value::I64(1)], &[Value::I32(1), Value::I32(2)]] {
        let reason = refusal(guest.call(F, params), "f");
        assert!(reason.starts_with("it was called with other values than"), "{reason}");
    }
}

#[test]
fn results_must_have_their_types_and_be_numbers_or_null() {
    let (i32, externref) = (ValueType::I32, ValueType::ExternRef);
    let null = Value::ExternRef(Reference::Null);
    let opaque = Value::ExternRef(Reference::Opaque);
    for (given, expected) in [
        (vec![Value::I32(5), null], Ok(vec![Value::I32(5), null])),
        (vec![Value::I32(5)], Err("its results have other types")),
        (vec![Value::I64(5), null], Err("its results have other types")),
        (vec![Value::I32(5), null, null], Err("its results have other types")),
        (vec![Value::I32(5), opaque], Err("a host gives only references that are null")),
    ] {
        let mut guest = with(&[], &[i32, externref], move |call| call.give(&given));
        match expected {
            Ok(expected) => assert_eq!(guest.call(F, &[]), Ok(expected)),
            Err(expected) => {
                let reason = refusal(guest.call(F, &[]), "f");
                assert!(reason.starts_with(expected), "{reason}");
            }
        }
    }
}

#[test]
fn a_function_sees_references_of_the_guest() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&seen);
    let mut guest = with(&[ValueType::FuncRef], &[], move |call| {
        own.lock().unwrap().extend_from_slice(call.params());
        Ok(())
    });
    let params = [Reference::Null, Reference::Opaque].map(Value::FuncRef);
    for param in params {
        assert_eq!(guest.call(F, &[param]), Ok(vec![]));
    }
    assert_eq!(*seen.lock().unwrap(), params);
}

#[test]
fn results_are_zeros_unless_given_and_the_last_ones_count() {
    let mut silent = with(&[], &[ValueType::F64, ValueType::FuncRef], |_| Ok(()));
    let zeros = vec![Value::F64(0), Value::FuncRef(Reference::Null)];
    assert_eq!(silent.call(F, &[]), Ok(zeros));
    let mut twice = with(&[], &[ValueType::I32], |call| {
        call.give(&[Value::I32(1)])?;
        call.give(&[Value::I32(2)])
    });
    assert_eq!(twice.call(F, &[]), Ok(vec![Value::I32(2)]));
}
