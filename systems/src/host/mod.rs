//! A host over HTTP: it offers the functions of components and modules.
//!
//! | header | meaning |
//! |---|---|
//! | `X-Contract` | the component or module, by its file's name without the ending |
//! | `X-Func` | the function; without it, a GET lists the functions with their types |
//! | `X-Codec` | the component that turns the body into JSON |
//! | `X-Target` | the component that provides what the contract imports |
//!
//! The body of a call is a list of the parameters in the codec's format. The answer is the list
//! of the results. A function that takes bytes needs no codec: it gets the body as it is.
//!
//! A thread receives and sends; others call, each on instances of its own.

mod catalogue;
mod http;
mod pool;
mod refusal;
mod server;
mod values;
mod worker;

pub use catalogue::{Catalogue, File, Load};
pub use http::Limits;
pub use refusal::Refusal;
pub use server::{Ended, Server};
pub use worker::{Call, Conduct, Output, State, Worker};
