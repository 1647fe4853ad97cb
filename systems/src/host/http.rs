//! Requests and answers of HTTP.

use super::connections::Turn;
use super::pool::{Ask, Pool};
use super::worker::{Call, Output, TEXT};
use super::{Catalogue, Refusal};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::time::Duration;

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain";

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
    pub(super) async fn answer(&self, request: Request<Incoming>, turn: &Turn) -> Answer {
        let result = self.result(request, turn).await;
        turn.is_the_clients();
        match result {
            Ok(Output(content, bytes)) => response(StatusCode::OK, content, bytes),
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
    let mut response = response(status, TEXT, text.into());
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

/// `true` for JSON results: `Accept` prefers JSON to plain text, or names neither and the body is
/// JSON.
fn wants_json(headers: &HeaderMap) -> bool {
    match [JSON, PLAIN].map(|wanted| quality(headers, wanted)) {
        [None, None] => ranges(headers, CONTENT_TYPE).any(|(range, _)| range == JSON),
        [json, text] => json.unwrap_or(0.0) > text.unwrap_or(0.0),
    }
}

fn quality(headers: &HeaderMap, wanted: &str) -> Option<f32> {
    let named = ranges(headers, ACCEPT).filter(|(range, _)| range == wanted);
    named.map(|(_, quality)| quality).reduce(f32::max)
}

/// The media types of a header with their qualities. A header that is no text names none.
fn ranges(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (String, f32)> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q="));
        (name, quality.map_or(1.0, |quality| quality.parse().unwrap_or(0.0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_what_asks_for_it() {
        for (accept, content, expected) in [
            (None, None, false),
            (Some("*/*"), Some("application/x-www-form-urlencoded"), false),
            (Some("application/json"), None, true),
            (Some("text/html, Application/JSON;q=0.9, */*;q=0.1"), None, true),
            (Some("text/plain, application/json;q=0.5"), None, false),
            (Some("text/plain"), Some("application/json"), false),
            (Some("application/json;q=0"), Some("application/json"), false),
            (Some("*/*"), Some("application/json; charset=utf-8"), true),
            (None, Some("application/json"), true),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(ACCEPT, accept), (CONTENT_TYPE, content)] {
                headers.extend(value.map(|value| (name, value.parse().unwrap())));
            }
            assert_eq!(wants_json(&headers), expected, "{accept:?} {content:?}");
        }
    }
}
