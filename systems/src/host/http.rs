//! Requests and answers of HTTP.

use super::connections::Turn;
use super::format::wants_json;
use super::pool::{Ask, Pool};
use super::worker::{Call, Output};
use super::{Catalogue, Refusal};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// Limits of requests.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub body: usize,
    /// Bytes of a request's headers; at least 8192.
    pub headers: usize,
    pub answer: usize,
    /// Time of a call with its waiting for a thread. Also of a request's headers and body to
    /// arrive, and of a client to take a part of the answer.
    pub time: Duration,
    /// Open connections. A further one replaces one whose client keeps the host waiting.
    pub connections: u32,
    /// Calls waiting for a thread.
    pub waiting: usize,
    pub threads: usize,
}

pub(super) struct Service {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) pool: Pool,
    pub(super) limits: Limits,
}

type Answer = Response<Full<Bytes>>;

impl Service {
    /// The answer to a request.
    pub(super) async fn answer(&self, request: Request<Incoming>, turn: &Turn) -> Answer {
        let result = self.result(request, turn).await;
        turn.is_the_clients();
        match result {
            Ok(Output::Text(text)) => response(StatusCode::OK, "text/plain; charset=utf-8", text),
            Ok(Output::Json(json)) => response(StatusCode::OK, "application/json", json),
            Ok(Output::Bytes(bytes)) => response(StatusCode::OK, "application/octet-stream", bytes),
            Err(refusal) => refused(&refusal),
        }
    }

    async fn result(&self, request: Request<Incoming>, turn: &Turn) -> Result<Output, Refusal> {
        turn.is_the_clients();
        let (head, body) = request.into_parts();
        if head.uri.path() != "/" {
            return Err(Refusal::Path);
        }
        let header = |name| text(&head.headers, name);
        let [contract, function] = [header("X-Contract")?, header("X-Func")?];
        let [codec, target] = [header("X-Codec")?, header("X-Target")?];
        let contract = contract.ok_or_else(|| Refusal::Missing {
            header: "X-Contract",
            known: self.catalogue.contracts(),
        });
        let ask = match (&head.method, function) {
            (&Method::GET | &Method::HEAD, None) => Ask::List(contract?),
            (&Method::POST, function) => {
                let function = function.ok_or_else(|| Refusal::Missing {
                    header: "X-Func",
                    known: "the functions that a GET without it lists".to_owned(),
                });
                let (contract, function) = (contract?, function?);
                let json = wants_json(&head.headers);
                let body = self.body(body).await?;
                Ask::Call(Call { contract, function, codec, target, body, json })
            }
            (method, _) => return Err(Refusal::Method(method.to_string())),
        };
        turn.is_the_hosts();
        self.asked(ask).await
    }

    async fn body(&self, body: Incoming) -> Result<Bytes, Refusal> {
        let Limits { body: most, time, .. } = self.limits;
        let whole = Limited::new(body, most).collect();
        match tokio::time::timeout(time, whole).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge(most)),
            Ok(Err(error)) => Err(Refusal::Broken(error.to_string())),
            Err(_) => Err(Refusal::TooSlow(time.as_millis())),
        }
    }

    /// The answer of a thread of the pool.
    async fn asked(&self, ask: Ask) -> Result<Output, Refusal> {
        let time = self.limits.time;
        let answered = self.pool.ask(ask)?;
        match tokio::time::timeout(time, answered).await {
            Ok(Ok(Err(Refusal::TooLong(_)))) | Err(_) => Err(Refusal::TooLong(time.as_millis())),
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Refusal::Failed("the call was dropped".to_owned())),
        }
    }
}

/// A header's text, if the header exists.
fn text(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Refusal::Repeated(name));
    }
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Refusal::NoText(name))?;
    Ok(Some(text.to_owned()))
}

fn response(status: StatusCode, content: &'static str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response
}

fn refused(refusal: &Refusal) -> Answer {
    let status = StatusCode::from_u16(refusal.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = format!("{refusal}\n");
    let mut response = response(status, "text/plain; charset=utf-8", text.into());
    let headers = response.headers_mut();
    match refusal {
        Refusal::Method(_) => {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
        }
        // The rest of the body is not read.
        Refusal::TooLarge(_) | Refusal::TooSlow(_) | Refusal::Broken(_) => {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}
