//! Contexts, limits and interrupts, with a guest without an engine.

use super::*;
use crate::host::HostState;
use crate::test_support::{FakeGuest, refusal};
use crate::{Config, Functions, HostCall};

/// A context that borrows.
struct Request<'a> {
    path: &'a str,
    answers: &'a mut Vec<String>,
}

struct RequestKind;

impl ContextKind for RequestKind {
    type Value<'a> = Request<'a>;
}

/// Of the same type, and another kind.
struct OtherKind;

impl ContextKind for OtherKind {
    type Value<'a> = Request<'a>;
}

fn guest() -> FakeGuest {
    let mut functions = Functions::none();
    functions
        .wrap("env", "count", |call: &mut HostCall<'_>| {
            let count = call.context::<u32>()?;
            *count += 1;
            Ok(*count)
        })
        .wrap("env", "answer", |call: &mut HostCall<'_>| {
            call.with_context::<RequestKind, _>(|request| {
                request.answers.push(request.path.to_owned());
                request.answers.len() as u32
            })
        })
        .wrap("env", "other", |call: &mut HostCall<'_>| {
            call.with_context::<OtherKind, _>(|_| 0_u32)
        });
    FakeGuest::new(&Config { functions, ..Config::default() })
}

fn with(context: Context<'_>) -> CallOptions<'_> {
    CallOptions { context: Some(context), ..CallOptions::default() }
}

fn count(guest: &mut FakeGuest) -> Result<u64, Trap> {
    guest.call_integers(("env", "count"), &[])
}

fn answer(guest: &mut FakeGuest, name: &str) -> Result<u64, Trap> {
    guest.call_integers(("env", name), &[])
}

#[test]
fn a_context_is_lent_for_one_call() {
    let mut guest = guest();
    let (mut one, mut two) = (5_u32, 50_u32);
    refusal(count(&mut guest), "count");
    guest.during(with(Context::new(&mut one)), |guest| {
        assert_eq!(count(guest), Ok(6));
        assert_eq!(count(guest), Ok(7));
    });
    let reason = refusal(count(&mut guest), "count");
    assert_eq!(reason, "the host's call has no context u32");
    guest.during(with(Context::new(&mut two)), |guest| assert_eq!(count(guest), Ok(51)));
    guest.during(CallOptions::default(), |guest| refusal(count(guest), "count"));
    assert_eq!((one, two), (7, 51));
}

#[test]
fn a_context_of_another_type_is_none() {
    let mut guest = guest();
    let mut wrong = 5_i32;
    guest.during(with(Context::new(&mut wrong)), |guest| {
        refusal(count(guest), "count");
        let reason = refusal(answer(guest, "answer"), "answer");
        assert!(reason.ends_with("RequestKind"), "{reason}");
    });
    assert_eq!(wrong, 5);
}

#[test]
fn a_context_may_borrow() {
    let mut guest = guest();
    let mut answers = Vec::new();
    for path in ["/a".to_owned(), "/b".to_owned()] {
        let mut request = Request { path: &path, answers: &mut answers };
        guest.during(with(Context::of_kind::<RequestKind>(&mut request)), |guest| {
            assert!(answer(guest, "answer").is_ok());
            refusal(answer(guest, "other"), "other");
            refusal(count(guest), "count");
        });
    }
    assert_eq!(answers, ["/a", "/b"]);
}

#[test]
fn a_call_is_handed_over_to_the_state_of_another_instance() {
    let mut seen = 0_u32;
    let (mut one, mut other) = (guest(), guest());
    let limits = Limits { pages: Some(3), ..Limits::default() };
    let options = CallOptions { limits, ..with(Context::new(&mut seen)) };
    one.during(options, |one| {
        one.host.hand_over_call(&mut other.host);
        assert_eq!(count(&mut other), Ok(1));
        assert_eq!(other.host.limits().pages, Some(3));
        refusal(count(one), "count");
        other.host.hand_over_call(&mut one.host);
        refusal(count(&mut other), "count");
        assert_eq!(count(one), Ok(2));
    });
}

#[test]
fn a_call_has_the_deadline_of_the_configuration_unless_it_has_its_own() {
    let [second, minute] = [1, 60].map(|seconds| Some(Duration::from_secs(seconds)));
    let config = Config { deadline: minute, ..Config::default() };
    let host = HostState::new(None, &config);
    let mut guest = FakeGuest::with_host(host, &config);
    assert_eq!(guest.host.limits(), Limits { deadline: minute, ..Limits::default() });
    assert!(!guest.host.is_limited());
    let own = Limits { deadline: second, fuel: Some(4), ..Limits::default() };
    let options = CallOptions { limits: own, ..CallOptions::default() };
    guest.during(options, |guest| {
        assert_eq!(guest.host.limits(), own);
        assert!(guest.host.is_limited());
        assert!(!guest.host.can_be_interrupted());
    });
    let pages = Limits { pages: Some(1), ..Limits::default() };
    let options = CallOptions { limits: pages, ..CallOptions::default() };
    guest.during(options, |guest| {
        assert_eq!(guest.host.limits(), Limits { deadline: minute, ..pages });
    });
    assert_eq!(guest.host.limits().deadline, minute);
    assert!(!guest.host.is_limited());
}

#[test]
fn a_handle_interrupts_the_calls_that_have_it() {
    let mut guest = guest();
    let handle = InterruptHandle::new();
    let options = || CallOptions { interrupt: Some(handle.clone()), ..CallOptions::default() };
    let checked =
        |guest: &mut FakeGuest| guest.host.start_clock().check().map_err(|trap| trap.kind);
    guest.during(options(), |guest| {
        assert!(guest.host.is_limited() && guest.host.can_be_interrupted());
        let clock = guest.host.start_clock();
        assert!(clock.runs());
        assert!(clock.check().is_ok());
        handle.interrupt();
        assert_eq!(clock.check().map_err(|trap| trap.kind), Err(TrapKind::Interrupted));
    });
    assert!(handle.is_interrupted());
    assert_eq!(checked(&mut guest), Ok(()));
    guest.during(options(), |guest| assert_eq!(checked(guest), Err(TrapKind::Interrupted)));
    handle.clear();
    guest.during(options(), |guest| assert_eq!(checked(guest), Ok(())));
    assert!(!guest.host.start_clock().runs());
}

#[test]
fn limits_that_are_not_enforced_are_refused_by_name() {
    let none = Limits::default();
    let time = Some(Duration::from_secs(1));
    let handle = || Some(InterruptHandle::new());
    let all = EnforcedLimits { deadline: true, fuel: true, pages: true, table_entries: true };
    let nothing = EnforcedLimits::default();
    for (limits, interrupt, enforced, name, remedy) in [
        (
            Limits { deadline: time, ..none },
            None,
            EnforcedLimits { deadline: false, ..all },
            "a deadline",
            "interruptible",
        ),
        (
            none,
            handle(),
            EnforcedLimits { deadline: false, ..all },
            "an interrupt",
            "interruptible",
        ),
        (
            Limits { fuel: Some(0), ..none },
            None,
            EnforcedLimits { fuel: false, ..all },
            "fuel",
            "metered",
        ),
        (
            Limits { pages: Some(0), ..none },
            None,
            EnforcedLimits { pages: false, ..all },
            "pages",
            "",
        ),
        (
            Limits { table_entries: Some(0), ..none },
            None,
            EnforcedLimits { table_entries: false, ..all },
            "table entries",
            "",
        ),
    ] {
        let options = CallOptions { limits, interrupt, ..CallOptions::default() };
        assert!(all.check(&options).is_ok());
        for enforced in [enforced, nothing] {
            let refused = enforced.check(&options).unwrap_err();
            let is_it = matches!(refused, Error::LimitUnsupported { limit, .. } if limit == name);
            assert!(is_it, "{refused}");
            assert!(refused.to_string().contains(remedy), "{refused}");
        }
    }
    assert!(nothing.check(&CallOptions::default()).is_ok());
    let mut value = 0_u32;
    assert!(nothing.check(&with(Context::new(&mut value))).is_ok());
}
