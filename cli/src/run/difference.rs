//! The cause of a difference: the specification may allow it.

use super::answer::Groups;
use super::follow::{Row, Workers};
use super::worker::Call;
use anyhow::{Context, Result};
use touchstone::terminal::Progress;
use touchstone_executor::guest::{Open, deterministic};

#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    /// Instructions of the module that leave a choice. `None` if it has none or is a component, or
    /// if a combination has no result for its deterministic profile.
    open: Option<Open>,
    /// `true` if the results agree for the deterministic profile of the module.
    pub(super) is_allowed: bool,
}

impl Difference {
    /// The difference between groups; `None` without one. One member of each group repeats the
    /// call with the deterministic profile of the module, if there is `wasm` of a core module.
    pub(super) fn of(
        wasm: Option<&[u8]>,
        workers: &Workers,
        rows: &[Row],
        groups: &Groups<'_>,
    ) -> Result<Option<Self>> {
        let unexplained = Self { open: None, is_allowed: false };
        if groups.all.len() < 2 || workers.stop.asked() {
            return Ok(None);
        }
        let profile = wasm.map(deterministic).transpose()?.flatten();
        let Some((wasm, open)) = profile else { return Ok(Some(unexplained)) };
        let module = workers.folder.join("deterministic.wasm");
        std::fs::write(&module, wasm).context("cannot write the module's deterministic form")?;
        let call = Call { module, log: false, ..workers.call.clone() };
        let mut places: Vec<usize> = groups.all.iter().map(|group| group.members[0]).collect();
        places.sort_unstable();
        let again = places.iter().map(|place| Row { answer: None, ..rows[*place].clone() });
        let mut rows: Vec<Row> = again.collect();
        let workers = Workers { call, ..workers.clone() };
        workers.call_all(&mut rows, &Progress::new(places.len(), true))?;
        let found = Groups::of(rows.iter().map(|row| row.answer.as_ref()));
        // Stopped, or an engine has no result for this form.
        if found.all.iter().map(|group| group.members.len()).sum::<usize>() < rows.len() {
            return Ok(Some(unexplained));
        }
        Ok(Some(Self { open: Some(open), is_allowed: found.all.len() == 1 }))
    }

    pub(super) fn class(self) -> &'static str {
        match self.open {
            None => "unexplained",
            Some(_) if !self.is_allowed => "not_allowed",
            Some(Open { relaxed: false, .. }) => "nan_bits",
            Some(Open { nans: false, .. }) => "relaxed_vectors",
            Some(_) => "nan_bits_or_relaxed_vectors",
        }
    }

    /// The class in a sentence; `None` for an unexplained difference.
    pub(super) fn in_words(self) -> Option<String> {
        let (what, form) = match self.open? {
            Open { relaxed: false, .. } => ("NaN bits", "with canonical NaNs"),
            Open { nans, .. } => (
                if nans {
                    "NaN bits or relaxed vector instructions"
                } else {
                    "relaxed vector instructions"
                },
                "without relaxed instructions and with canonical NaNs",
            ),
        };
        Some(match self.is_allowed {
            true => format!(
                "differ in {what}, which the specification allows: {form}, the results agree"
            ),
            false => format!("do not only differ in {what}: {form}, the results differ too"),
        })
    }
}
