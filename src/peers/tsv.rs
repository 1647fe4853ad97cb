//! The rows as lines of fields with tabs between.

use super::Row;
use crate::record::PairRecord;
use crate::session::Refused;

/// The fields of a line. A row without numbers has a ninth: the reason.
pub const HEAD: [&str; 8] =
    ["case", "guest", "threads", "strategy", "reference", "ratio", "low", "high"];

/// What stands above the lines: how to read them, and the names of the fields.
#[must_use]
pub fn head() -> String {
    format!(
        "# ratio: how many times faster the strategy is than the reference (time of a call on the \
         reference / time on the strategy), timed in turns; median over the rounds; low and high: \
         its 95 % confidence interval\n{}\n",
        HEAD.join("\t")
    )
}

/// A row's line, with numbers or with a reason.
#[must_use]
pub fn line(row: &Row, measured: &Result<PairRecord, Refused>) -> String {
    let mut fields = vec![
        row.case.name.clone(),
        row.guest_key(),
        row.threads.to_string(),
        row.executor.clone(),
        row.reference.to_string(),
    ];
    match measured {
        Ok(record) => {
            fields.extend(record.times_faster().map(|times| format!("{times:.3}")));
        }
        Err(refused) => {
            fields.extend(["-"; 3].map(str::to_owned));
            fields.push(format!("{}: {}", refused.status, refused.reason));
        }
    }
    let fields: Vec<String> =
        fields.iter().map(|field| field.replace(char::is_control, " ")).collect();
    format!("{}\n", fields.join("\t"))
}
