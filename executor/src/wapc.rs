//! waPC: a guest serves operations, which the host names, and calls operations of the host.
//!
//! A call is one of the guest's export [`CALL`] under [`Abi::Wapc`](crate::Abi::Wapc). Its input is
//! a line with the name of the operation, and the message; without a line break, all of it is the
//! name. A result of 1 is success, and the output is the guest's response. Any other result is
//! [`TrapKind::GuestError`] with the guest's text.
//!
//! Names and types are those of the crates `wapc-guest` 1.2.0 (`src/protocol.rs`) and `wapc` 2.2.0
//! (`src/wapc_functions.rs`). A host there calls the exports `_start` and `wapc_init` of a new
//! instance; here, [`started_with`](crate::guest::started_with) makes them the start function.
//! The state of a conversation belongs to the instance, and a reset brings it back.

use crate::functions::{Functions, HostCall, State};
use crate::host::{HostState, first};
use crate::outcome::{Trap, TrapKind};
use std::sync::LazyLock;

pub use touchstone_guest::imports::WAPC_CALL as CALL;

const MODULE: &str = "wapc";
/// The level of the guests' console: info.
const CONSOLE: u32 = 2;
/// The error of a host call where the host answers none.
pub(crate) const NO_HANDLER: &str = "this host answers no calls";

/// A guest's call of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The binding, a name for one of several targets.
    pub binding: String,
    /// The namespace of the operation.
    pub namespace: String,
    /// The operation.
    pub operation: String,
    /// The message.
    pub message: Vec<u8>,
}

/// The answers that guest and host gave each other in a call. An empty error is none.
#[derive(Clone, Default)]
struct Conversation {
    response: Vec<u8>,
    error: Vec<u8>,
    host_response: Vec<u8>,
    host_error: Vec<u8>,
}

static CONVERSATION: LazyLock<State<Conversation>> =
    LazyLock::new(|| State::new(Conversation::default()));

/// The functions that guests of waPC import from the module `wapc`. `handler` answers their
/// `__host_call`; the guest gets its response or its error. [`Functions::standard`] has these
/// functions with a handler that always gives an error.
///
/// ```
/// use touchstone_executor::{Config, Functions, wapc};
///
/// let answers = wapc::functions(|_, request| match &*request.operation {
///     "echo" => Ok(request.message.clone()),
///     other => Err(format!("there is no operation {other}")),
/// });
/// let config = Config { functions: Functions::standard().with(&answers), ..Config::default() };
/// # assert!(config.functions.find("wapc", "__host_call").is_some());
/// ```
pub fn functions<H>(handler: H) -> Functions
where
    H: Fn(&mut HostCall<'_>, &Request) -> Result<Vec<u8>, String> + Send + Sync + 'static,
{
    let mut functions = Functions::none();
    functions
        .wrap(MODULE, "__guest_request", |call: &mut HostCall<'_>, name: u32, message: u32| {
            let input = std::mem::take(&mut call.host().input);
            let [operation, rest] = parts(&input);
            let written = call.write(name, operation).and_then(|()| call.write(message, rest));
            call.host().input = input;
            written
        })
        .wrap(MODULE, "__guest_response", |call: &mut HostCall<'_>, at: u32, length: u32| {
            let response = call.read(at, length)?.to_vec();
            call.state(&CONVERSATION).response = response;
            Ok(())
        })
        .wrap(MODULE, "__guest_error", |call: &mut HostCall<'_>, at: u32, length: u32| {
            let error = first(call.read(at, length)?);
            call.state(&CONVERSATION).error = error;
            Ok(())
        })
        .wrap(MODULE, "__console_log", |call: &mut HostCall<'_>, at: u32, length: u32| {
            let text = first(call.read(at, length)?);
            call.host().log_texts(CONSOLE, MODULE.as_bytes(), &text);
            Ok(())
        })
        .wrap(
            MODULE,
            "__host_call",
            move |call: &mut HostCall<'_>,
                  binding: u32,
                  binding_length: u32,
                  namespace: u32,
                  namespace_length: u32,
                  operation: u32,
                  operation_length: u32,
                  message: u32,
                  length: u32| {
                let request = Request {
                    binding: name(call, binding, binding_length)?,
                    namespace: name(call, namespace, namespace_length)?,
                    operation: name(call, operation, operation_length)?,
                    message: call.read(message, length)?.to_vec(),
                };
                let answer = handler(call, &request);
                let success = i32::from(answer.is_ok());
                let conversation = call.state(&CONVERSATION);
                (conversation.host_response, conversation.host_error) = match answer {
                    Ok(response) => (response, Vec::new()),
                    Err(error) => (Vec::new(), error.into_bytes()),
                };
                Ok(success)
            },
        );
    type Answer = fn(&mut Conversation) -> &mut Vec<u8>;
    let answers: [(_, _, Answer); 2] = [
        ("__host_response_len", "__host_response", |of| &mut of.host_response),
        ("__host_error_len", "__host_error", |of| &mut of.host_error),
    ];
    for (length, copy, answer) in answers {
        functions
            .wrap(MODULE, length, move |call: &mut HostCall<'_>| {
                // The guest's lengths have 32 bits. A longer answer fits no memory.
                let length = answer(call.state(&CONVERSATION)).len();
                Ok(u32::try_from(length).unwrap_or(u32::MAX))
            })
            .wrap(MODULE, copy, move |call: &mut HostCall<'_>, at: u32| {
                let bytes = std::mem::take(answer(call.state(&CONVERSATION)));
                let written = call.write(at, &bytes);
                *answer(call.state(&CONVERSATION)) = bytes;
                written
            });
    }
    functions
}

/// The operation and the message of an input.
pub(crate) fn parts(input: &[u8]) -> [&[u8]; 2] {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    [&input[..end], input.get(end + 1..).unwrap_or_default()]
}

/// Begins a call with an input.
pub(crate) fn begin(host: &mut HostState, input: &[u8]) {
    host.set_input(input);
    *host.states.get(&CONVERSATION) = Conversation::default();
}

/// Ends a call that returned: appends the guest's response to the output. Fails with
/// [`TrapKind::GuestError`] without `success`.
pub(crate) fn end(host: &mut HostState, success: bool, output: &mut Vec<u8>) -> Result<(), Trap> {
    let Conversation { response, error, .. } = host.states.get(&CONVERSATION);
    if success {
        output.extend_from_slice(response);
        return Ok(());
    }
    let message = match error.is_empty() {
        true => "it failed without a text".to_owned(),
        false => String::from_utf8_lossy(error).into_owned(),
    };
    Err(TrapKind::GuestError { message }.into())
}

/// A name in the guest's memory.
fn name(call: &mut HostCall<'_>, at: u32, length: u32) -> Result<String, Trap> {
    let name = String::from_utf8(call.read(at, length)?.to_vec());
    name.map_err(|_| call.refuse("a name is not UTF-8"))
}
