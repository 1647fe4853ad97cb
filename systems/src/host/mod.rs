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
//! of the results: as text with types, or in JSON where the request asks for it. A function that
//! takes bytes needs no codec: it gets the body as it is.
//!
//! A thread receives and sends; others load guests and make calls, each on instances of its own.

mod cache;
mod catalogue;
mod connections;
mod files;
mod http;
mod loaded;
mod patient;
mod pool;
mod refusal;
mod server;
mod values;
mod worker;

pub use cache::Most;
pub use catalogue::{Catalogue, Guest, Load, Tell};
pub use files::{File, Files, Found, Version, plain};
pub use http::Limits;
pub use server::{Ended, Server};
pub use worker::{Conduct, State};

use refusal::{Refusal, text_of};
