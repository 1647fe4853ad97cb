//! The cause of a difference: the specification may allow it.

use super::answer::Groups;
use super::follow::Workers;
use super::row::Row;
use super::target::Target;
use super::worker::Call;
use anyhow::{Context, Result};
use touchstone::terminal::progress::Progress;
use touchstone_executor::guest::Open;

/// The class of a difference between results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// The results agree for the deterministic profile of the module: they differ where these
    /// instructions leave a choice.
    Allowed(Open),
    /// The results differ for the deterministic profile, too.
    NotAllowed(Open),
    /// The module has no such instructions or is a component, or a combination has no result for
    /// the deterministic profile.
    Unexplained,
}

impl Difference {
    /// The class of the difference between groups; `None` without a difference. One member of each
    /// group repeats the call with the deterministic profile of the module.
    pub(super) fn of(
        target: &Target,
        workers: &Workers,
        rows: &[Row],
        groups: &Groups,
    ) -> Result<Option<Self>> {
        if groups.members.len() < 2 {
            return Ok(None);
        }
        let Some((wasm, open)) = target.profile()? else { return Ok(Some(Self::Unexplained)) };
        let module = workers.folder.join("deterministic.wasm");
        std::fs::write(&module, wasm).context("cannot write the module's deterministic form")?;
        let call = Call { module, log: false, ..workers.call.clone() };
        let again = workers.with_call(call);
        let mut places: Vec<usize> = groups.members.iter().map(|members| members[0]).collect();
        places.sort_unstable();
        let mut rows: Vec<Row> = places.iter().map(|place| rows[*place].unanswered()).collect();
        let (progress, mut found) = (Progress::new(rows.len(), true), Groups::default());
        again.call_all(&mut rows, &progress, &mut |row, place| {
            if let Some(answer) = &row.answer {
                found.add(place, answer);
            }
            Ok(())
        })?;
        // Stopped, or an engine has no result for this form.
        if found.members.iter().map(Vec::len).sum::<usize>() < rows.len() {
            return Ok(Some(Self::Unexplained));
        }
        let agree = found.members.len() == 1;
        Ok(Some(if agree { Self::Allowed(*open) } else { Self::NotAllowed(*open) }))
    }

    /// `true` if the specification allows it.
    pub(super) fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// The class for `--json`.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Allowed(Open { relaxed: false, .. }) => "nan_bits",
            Self::Allowed(Open { nans: false, .. }) => "relaxed_vectors",
            Self::Allowed(_) => "nan_bits_or_relaxed_vectors",
            Self::NotAllowed(_) => "not_allowed",
            Self::Unexplained => "unexplained",
        }
    }

    /// The class in a sentence; `None` for an unexplained difference.
    pub(super) fn in_words(self) -> Option<String> {
        let (open, is_allowed) = match self {
            Self::Allowed(open) => (open, true),
            Self::NotAllowed(open) => (open, false),
            Self::Unexplained => return None,
        };
        let what = match open {
            Open { relaxed: false, .. } => "NaN bits",
            Open { nans: false, .. } => "relaxed vector instructions",
            _ => "NaN bits or relaxed vector instructions",
        };
        let form = match open {
            Open { relaxed: false, .. } => "with canonical NaNs",
            _ => "without relaxed instructions and with canonical NaNs",
        };
        Some(match is_allowed {
            true => format!(
                "differ in {what}, which the specification allows: {form}, the results agree"
            ),
            false => format!("do not only differ in {what}: {form}, the results differ too"),
        })
    }
}
