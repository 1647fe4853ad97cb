//! A Redis stream that survives a restart of Redis.

use super::wire::Message;
use anyhow::{Context, Result, bail};
use prost::Message as _;
use redis::{Connection, ConnectionAddr, IntoConnectionInfo, RedisResult};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const STREAM: &str = "messages";
/// Longest absence of Redis.
const AWAY: Duration = Duration::from_secs(120);
/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(2);
/// Longest time for an answer, more than [`WAIT_MS`].
const ANSWER: Duration = Duration::from_secs(120);
/// Longest wait for a new message, ms.
const WAIT_MS: u64 = 20;
/// Most messages taken at once.
const MOST: u64 = 64;

pub(super) fn connect(socket: &Path) -> RedisResult<Connection> {
    let address = ConnectionAddr::Unix(socket.to_owned()).into_connection_info()?;
    let connection = redis::Client::open(address)?.get_connection()?;
    connection.set_read_timeout(Some(ANSWER))?;
    Ok(connection)
}

/// A connection that reconnects when it breaks.
pub(super) struct Queue {
    socket: PathBuf,
    connection: Option<Connection>,
}

type Entries = Vec<(String, Vec<Vec<u8>>)>;

impl Queue {
    pub(super) fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), connection: None }
    }

    /// Appends messages with ascending sequence numbers, except those that the stream has.
    pub(super) fn append(&mut self, messages: &[Message]) -> Result<()> {
        self.insist(|connection, is_new| {
            // An earlier attempt may have appended some of them.
            let next = if is_new { next(connection)? } else { 0 };
            let mut pipe = redis::pipe();
            for message in messages.iter().filter(|message| message.sequence >= next) {
                let id = id(message.sequence);
                pipe.cmd("XADD").arg(STREAM).arg(id).arg("m").arg(message.encode_to_vec());
                pipe.ignore();
            }
            if pipe.is_empty() { Ok(()) } else { pipe.query(connection) }
        })
    }

    /// The messages from a sequence number on, in order; none if none arrives for a while.
    pub(super) fn from(&mut self, sequence: u64) -> Result<Vec<Message>> {
        let after = format!("{sequence}-0");
        let found = self.insist(|connection, _| {
            let mut read = redis::cmd("XREAD");
            read.arg("COUNT").arg(MOST).arg("BLOCK").arg(WAIT_MS).arg("STREAMS").arg(STREAM);
            read.arg(&after).query::<Option<Vec<(String, Entries)>>>(connection)
        })?;
        let entries = found.into_iter().flatten().flat_map(|(_, entries)| entries);
        entries
            .map(|(id, fields)| {
                let body = fields.get(1).with_context(|| format!("the entry {id} is empty"))?;
                Message::decode(&body[..]).with_context(|| format!("the entry {id} is no message"))
            })
            .collect()
    }

    /// Repeats an operation until Redis answers. Tells it whether the connection is new.
    fn insist<T>(
        &mut self,
        operation: impl Fn(&mut Connection, bool) -> RedisResult<T>,
    ) -> Result<T> {
        let until = Instant::now() + AWAY;
        loop {
            let is_new = self.connection.is_none();
            let connection = match self.connection.take() {
                Some(connection) => Ok(connection),
                None => connect(&self.socket),
            };
            let done = connection.and_then(|mut connection| {
                let done = operation(&mut connection, is_new)?;
                self.connection = Some(connection);
                Ok(done)
            });
            match done {
                Ok(done) => return Ok(done),
                Err(error) if Instant::now() >= until => {
                    bail!("Redis is away for {} s: {error}", AWAY.as_secs());
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

/// The stream's number of a message: 0-0 is none.
fn id(sequence: u64) -> String {
    format!("{}-0", sequence + 1)
}

/// The sequence number after the last one in the stream.
fn next(connection: &mut Connection) -> RedisResult<u64> {
    let mut last = redis::cmd("XREVRANGE");
    last.arg(STREAM).arg("+").arg("-").arg("COUNT").arg(1);
    let entries: Entries = last.query(connection)?;
    let number = entries.first().and_then(|(id, _)| id.split('-').next()?.parse().ok());
    Ok(number.unwrap_or(0))
}
