//! Names of records, as filters take them and tables print them.

use super::{CellKey, PEERS, PairRecord, Provenance, Record, Status};

/// As it stands in a record.
impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Wrong => "wrong",
            Self::Trapped => "trapped",
            Self::Unsupported => "unsupported",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        })
    }
}

impl CellKey {
    /// The cell's name as criterion, the filters and the report print it.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.group(), self.function())
    }

    /// First part of the name: criterion's group.
    #[must_use]
    pub fn group(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.work())
    }

    /// Case and guest together.
    #[must_use]
    pub fn work(&self) -> String {
        format!("{}_from_{}", self.case, self.guest)
    }

    /// The rest of the name: backend, strategy and threads.
    #[must_use]
    pub fn function(&self) -> String {
        format!("{}/{}_threads", self.executor(), self.threads)
    }

    /// Backend and strategy together, the column of the seed's table.
    #[must_use]
    pub fn executor(&self) -> String {
        format!("{}_{}", self.backend, self.strategy)
    }
}

impl PairRecord {
    /// The pair's name as filters take it. Of the peers, one executor is held
    /// against several: the reference is part of the name.
    #[must_use]
    pub fn id(&self) -> String {
        let id = format!(
            "{}/{}/{}_from_{}/{}_threads",
            self.group, self.subject, self.case, self.guest, self.threads
        );
        if self.group == PEERS { format!("{id}/{}", self.reference) } else { id }
    }

    /// How many times faster the subject is than the reference, with the lower
    /// and the upper end of the interval: the ratio turned round.
    #[must_use]
    pub fn times_faster(&self) -> [f64; 3] {
        [self.ratio, self.ratio_high, self.ratio_low].map(f64::recip)
    }
}

impl Record {
    /// The name as filters take it.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Cell(cell) => cell.key.id(),
            Self::Pair(pair) => pair.id(),
            Self::Swap(swap) => swap.id(),
        }
    }

    /// Where the record comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        match self {
            Self::Cell(cell) => &cell.provenance,
            Self::Pair(pair) => &pair.provenance,
            Self::Swap(swap) => &swap.provenance,
        }
    }
}
