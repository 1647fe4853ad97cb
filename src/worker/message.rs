//! What parent and worker say to each other: a line for each message.

use crate::plan::Plan;
use crate::record::{Ended, Provenance};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the parent says first: all that the worker needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// Stands in every record.
    pub provenance: Provenance,
    /// How long to sample.
    pub plan: Plan,
    /// Names of the cells and pairs to do.
    pub todo: Vec<String>,
    /// Where in the run the worker begins.
    pub place: Place,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Cells and pairs that were run.
    pub done: usize,
    /// Those of the whole run.
    pub total: usize,
    /// How long it took so far.
    pub elapsed: Duration,
}

/// What the parent says when a record is kept.
pub(super) const KEPT: &str = "kept";

/// What a worker says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// A cell or pair begins.
    Begin(&'a str),
    /// A record, as it is to stand in the file.
    Record(&'a str),
    /// A cell or pair ended.
    End(Ended, &'a str),
    /// The worker cannot go on, and it is not a cell's fault.
    Broken(&'a str),
    /// All is done.
    Done,
}

const ENDED: [(Ended, &str); 4] = [
    (Ended::Timed, "timed"),
    (Ended::Tried, "tried"),
    (Ended::LeftOut, "left_out"),
    (Ended::Failed, "failed"),
];

impl<'a> Said<'a> {
    /// As a line. What is said must not have line breaks; those in reasons become spaces.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Begin(id) => format!("begin {id}\n"),
            Self::Record(json) => format!("record {json}\n"),
            Self::End(how, id) => {
                let word =
                    ENDED.iter().find(|(known, _)| known == how).map_or("", |(_, word)| word);
                format!("end {word} {id}\n")
            }
            Self::Broken(reason) => format!("broken {}\n", reason.replace('\n', " ")),
            Self::Done => "done\n".to_owned(),
        }
    }

    /// A line's meaning; `None` where it has none.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let line = line.strip_suffix('\n')?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "begin" => Self::Begin(rest),
            "record" => Self::Record(rest),
            "end" => {
                let (word, id) = rest.split_once(' ')?;
                Self::End(ENDED.iter().find(|(_, known)| *known == word)?.0, id)
            }
            "broken" => Self::Broken(rest),
            "done" => Self::Done,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for said in [
            Said::Begin("a case/with a space/1_threads"),
            Said::Record("{\"kind\":\"cell\"}"),
            Said::End(Ended::LeftOut, "a case/with a space/1_threads"),
            Said::Broken("no room"),
            Said::Done,
        ] {
            assert_eq!(Said::parse(&said.line()), Some(said));
        }
        // Cut off, or of nobody.
        for line in ["done", "end timed", "end well a\n", "hello\n", "\n"] {
            assert_eq!(Said::parse(line), None, "{line:?}");
        }
    }
}
