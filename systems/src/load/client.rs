//! A client on one thread: open connections with one request at a time on each.

use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Longest head of an answer, bytes.
const HEAD: usize = 64 << 10;
/// The end of an answer's head.
const BLANK: &[u8] = b"\r\n\r\n";
/// Time before a planned request at which the client stops sleeping: a timer may be a millisecond
/// late.
const AWAKE: Duration = Duration::from_millis(2);
/// Longest sleep of the client.
const NAP: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct Request {
    pub bytes: Vec<u8>,
    pub status: u16,
    pub answer: Vec<u8>,
}

/// An answered request. Times count from the start of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// Planned time; in a closed loop the time of sending.
    pub planned: Duration,
    /// Time of the complete answer.
    pub done: Duration,
    /// `true` if the answer was the expected one.
    pub right: bool,
}

impl Made {
    /// The time from the planned time to the answer.
    pub fn latency(&self) -> Duration {
        self.done.saturating_sub(self.planned)
    }
}

/// Connections to a host, and the repeated request.
pub struct Client {
    poll: Poll,
    address: SocketAddr,
    connections: Vec<Connection>,
    /// Connections without a request.
    idle: Vec<usize>,
    request: Request,
}

struct Connection {
    stream: TcpStream,
    /// Planned time of the current request.
    planned: Option<Duration>,
    sent: usize,
    received: Vec<u8>,
}

pub enum Plan<'a> {
    /// A closed loop: one after another on each connection, until this time and this number.
    Closed(Duration, usize),
    /// An open loop: at these ascending times, or as soon as a connection is free.
    Open(&'a [Duration]),
}

impl Client {
    pub fn connect(address: SocketAddr, connections: usize, request: Request) -> Result<Self> {
        let poll = Poll::new().context("cannot wait for sockets")?;
        let connections = (0..connections).map(|place| connect(&poll, address, place));
        let connections: Vec<Connection> = connections.collect::<Result<_>>()?;
        let idle = (0..connections.len()).collect();
        Ok(Self { poll, address, connections, idle, request })
    }

    /// Sends requests and waits for answers until `end`. Later answers are left out.
    pub fn run(&mut self, plan: &Plan<'_>, end: Duration) -> Result<Vec<Made>> {
        let mut events = Events::with_capacity(self.connections.len().max(1));
        let (mut made, mut next) = (Vec::new(), 0);
        let started = Instant::now();
        loop {
            let now = started.elapsed();
            let planned = |next: usize| match plan {
                Plan::Closed(until, least) => (now < *until || next < *least).then_some(now),
                Plan::Open(times) => times.get(next).copied(),
            };
            while let Some(at) = planned(next).filter(|at| *at <= now)
                && let Some(place) = self.idle.pop()
            {
                next += 1;
                self.connections[place].planned = Some(at);
                self.go_on(place, started, &mut made)?;
            }
            let is_busy = self.idle.len() < self.connections.len();
            let due = planned(next);
            if due.is_none() && !is_busy {
                return Ok(made);
            }
            if now >= end {
                self.reconnect()?;
                return Ok(made);
            }
            let sleep = match (plan, due) {
                // Free connections wait for it.
                (Plan::Open(_), Some(due)) if !self.idle.is_empty() => {
                    due.saturating_sub(now).saturating_sub(AWAKE)
                }
                _ => NAP,
            };
            let sleep = sleep.min(NAP).min(end.saturating_sub(now));
            match self.poll.poll(&mut events, Some(sleep)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                waited => waited.context("cannot wait for sockets")?,
            }
            for event in &events {
                self.go_on(event.token().0, started, &mut made)?;
            }
        }
    }

    /// Sends and receives as much as a connection can now.
    fn go_on(&mut self, place: usize, started: Instant, made: &mut Vec<Made>) -> Result<()> {
        let connection = &mut self.connections[place];
        let Some(planned) = connection.planned else { return Ok(()) };
        let answer = match connection.advance(&self.request.bytes) {
            Ok(None) => return Ok(()),
            Ok(Some(answer)) => Some(answer),
            Err(_) => None,
        };
        let done = started.elapsed();
        let right = answer.as_ref().is_some_and(|(status, body)| {
            *status == self.request.status
                && connection.received.get(body.clone()) == Some(&*self.request.answer)
        });
        made.push(Made { planned, done, right });
        if answer.is_none() {
            *connection = connect(&self.poll, self.address, place)?;
        }
        (connection.planned, connection.sent) = (None, 0);
        connection.received.clear();
        self.idle.push(place);
        Ok(())
    }

    /// Reconnects connections that still wait for an answer.
    fn reconnect(&mut self) -> Result<()> {
        for (place, connection) in self.connections.iter_mut().enumerate() {
            if connection.planned.is_some() {
                *connection = connect(&self.poll, self.address, place)?;
                self.idle.push(place);
            }
        }
        Ok(())
    }
}

fn connect(poll: &Poll, address: SocketAddr, place: usize) -> Result<Connection> {
    let open = || {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        let interests = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(place), interests)?;
        std::io::Result::Ok(stream)
    };
    let stream = open().with_context(|| format!("cannot connect to {address}"))?;
    Ok(Connection { stream, planned: None, sent: 0, received: Vec::new() })
}

/// Status code and place of the body.
type Answer = (u16, std::ops::Range<usize>);

impl Connection {
    /// Sends and receives; returns a complete answer.
    fn advance(&mut self, request: &[u8]) -> Result<Option<Answer>> {
        while self.sent < request.len() {
            match self.stream.write(&request[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => bail!("the host closed the connection"),
                Ok(read) => self.received.extend(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(answer) = whole(&self.received)? {
                return Ok(Some(answer));
            }
        }
    }
}

/// The answer, if these bytes contain all of it.
fn whole(received: &[u8]) -> Result<Option<Answer>> {
    let Some(end) = received.windows(BLANK.len()).position(|window| window == BLANK) else {
        if received.len() > HEAD {
            bail!("the head of an answer has no end");
        }
        return Ok(None);
    };
    let head = std::str::from_utf8(&received[..end]).context("the head of an answer")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok()).context("no status code")?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let length: usize = length.context("an answer without its length")?;
    let begin = end + BLANK.len();
    let stop = begin.checked_add(length).context("an answer of impossible length")?;
    Ok((received.len() >= stop).then_some((status, begin..stop)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn answers_are_taken_when_they_are_whole() {
        let text = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc";
        for part in 0..text.len() {
            assert_eq!(whole(&text[..part]).unwrap(), None, "{part}");
        }
        assert_eq!(whole(text).unwrap(), Some((404, 45..48)));
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(whole(b"what\r\n\r\n").is_err());
    }

    /// A host that answers requests of four bytes with `ok`, the third one wrongly.
    fn host() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut served = 0;
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 4];
                while stream.read_exact(&mut request).is_ok() {
                    served += 1;
                    let body = if served == 3 { "no" } else { "ok" };
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{body}");
                    let _ = stream.write_all(answer.as_bytes());
                }
            }
        });
        address
    }

    #[test]
    fn every_planned_request_is_made_once_and_wrong_answers_are_found() {
        let request = Request { bytes: b"ping".to_vec(), status: 200, answer: b"ok".to_vec() };
        let mut client = Client::connect(host(), 1, request).unwrap();
        let plan: Vec<Duration> = (0..20).map(Duration::from_micros).collect();
        let made = client.run(&Plan::Open(&plan), Duration::from_secs(60)).unwrap();
        assert_eq!(made.iter().map(|made| made.planned).collect::<Vec<_>>(), plan);
        assert_eq!(made.iter().filter(|made| !made.right).count(), 1);
        assert!(made.windows(2).all(|pair| pair[0].done <= pair[1].done));
        // A request that waited for a connection counts from its planned time.
        assert!(made.iter().all(|made| made.latency() == made.done - made.planned));
    }
}
