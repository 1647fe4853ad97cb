//! A logarithmic axis.

/// A logarithmic axis from one value to another, on a stretch of pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// An axis for some values with a little air at both ends; `None` without
    /// any positive value. The pixels are set with [`Self::on`].
    pub(super) fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.into_iter().filter(|value| value.is_finite() && *value > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            return None;
        }
        // At least a factor of two, else noise would fill the panel.
        let span = (high / low).log10();
        let air = (0.05 * span).max((0.3 - span) / 2.0);
        Some(Self {
            low: low / 10_f64.powf(air),
            high: high * 10_f64.powf(air),
            from: 0.0,
            to: 1.0,
        })
    }

    /// The same axis from pixel `from` to pixel `to`.
    pub(super) fn on(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Pixel of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).log10() / (self.high / self.low).log10();
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Pixels and values of the marks: as many round values as can have their labels at
    /// least `room` pixels apart.
    pub(super) fn marks(&self, room: f64) -> Vec<(f64, f64)> {
        let values = self.round();
        let mut every = 1;
        while every < values.len() && self.closest(&values, every) < room {
            every += 1;
        }
        values.into_iter().step_by(every).map(|value| (self.at(value), value)).collect()
    }

    /// Round values: decades if there are at least three, else finer steps.
    fn round(&self) -> Vec<f64> {
        const STEPS: [&[f64]; 3] =
            [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]];
        // Some 20 decades at most.
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let inside = |steps: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
                .filter(|value| (self.low..=self.high).contains(value))
                .collect()
        };
        let enough = STEPS.iter().map(|steps| inside(steps)).find(|values| values.len() >= 3);
        enough.unwrap_or_else(|| inside(STEPS[2]))
    }

    /// Smallest distance between every `every`th of some values, pixels.
    fn closest(&self, values: &[f64], every: usize) -> f64 {
        let places: Vec<f64> = values.iter().step_by(every).map(|value| self.at(*value)).collect();
        places.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_keep_their_distance_and_are_round() {
        let axis = LogAxis::over([130.0, 6.2e7]).unwrap().on(0.0, 300.0);
        let marks: Vec<f64> = axis.marks(60.0).into_iter().map(|mark| mark.1).collect();
        assert_eq!(marks, [1e2, 1e4, 1e6, 1e8]);
        let narrow = LogAxis::over([3000.0, 4000.0]).unwrap().on(0.0, 300.0);
        assert!(!narrow.marks(60.0).is_empty());
        assert!(LogAxis::over([0.0, f64::NAN]).is_none());
    }
}
