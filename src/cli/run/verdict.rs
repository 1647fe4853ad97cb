//! Whether the combinations agree.

use super::chosen::{Answer, Row};

/// Groups of rows with the same result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Rows with the same result, largest group first.
    pub(super) groups: Vec<Vec<usize>>,
    /// Whether a combination failed or did not agree with itself.
    pub(super) failed: bool,
    /// Whether a guest returned, in the first group.
    returned: bool,
}

impl Verdict {
    pub(super) fn of(rows: &[Row]) -> Self {
        let answers: Vec<&Answer> = rows.iter().map(|row| &row.answer).collect();
        Self::of_answers(&answers)
    }

    fn of_answers(answers: &[&Answer]) -> Self {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, answer) in answers.iter().enumerate() {
            if !matches!(answer, Answer::Returned(_) | Answer::Trapped(_)) {
                continue;
            }
            match groups.iter_mut().find(|group| answers[group[0]].is_like(answer)) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        // Stable: of two groups of one size the one that came first stays first.
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let failed =
            answers.iter().any(|answer| matches!(answer, Answer::Failed(_) | Answer::Unstable(_)));
        let returned =
            groups.first().is_some_and(|group| matches!(answers[group[0]], Answer::Returned(_)));
        Self { groups, failed, returned }
    }

    /// Whether all rows with a result returned the same output.
    pub(super) fn returned_alike(&self) -> bool {
        self.groups.len() == 1 && self.returned
    }

    /// Whether there is one output and no failure.
    pub(super) fn well(&self) -> bool {
        self.returned_alike() && !self.failed
    }

    /// The group that a row belongs to, from 1.
    pub(super) fn group_of(&self, row: usize) -> Option<usize> {
        self.groups.iter().position(|group| group.contains(&row)).map(|index| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::TrapKind;

    #[test]
    fn results_are_grouped_and_the_rest_is_not_a_result() {
        let (a, b) = (Answer::Returned(vec![1]), Answer::Returned(vec![2]));
        let trap = Answer::Trapped(TrapKind::Unreachable.into());
        let no = Answer::Unsupported("no".to_owned());
        let broken = Answer::Failed("broken".to_owned());

        let alike = Verdict::of_answers(&[&no, &a, &a]);
        assert!(alike.well() && alike.groups == [[1, 2]]);
        assert_eq!((alike.group_of(0), alike.group_of(2)), (None, Some(1)));

        let differ = Verdict::of_answers(&[&b, &a, &trap, &a]);
        assert!(!differ.well());
        assert_eq!(differ.groups, [vec![1, 3], vec![0], vec![2]]);

        assert!(!Verdict::of_answers(&[&trap, &trap]).well());
        assert!(!Verdict::of_answers(&[&a, &broken]).well());
        assert!(!Verdict::of_answers(&[&no]).well());
    }
}
