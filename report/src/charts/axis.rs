//! Axes: values to pixels, and the round values that have a mark.

/// How an axis spreads its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Equal ratios have equal lengths.
    Logarithmic,
    /// From zero.
    Linear,
}

/// An axis from one value to another, on a stretch of pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    spread: Spread,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// A logarithmic axis with a little air at both ends; `None` without any positive value.
    /// The pixels are set with [`Self::on`].
    pub(super) fn of_points(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = range(values)?;
        // At least a factor of two, else noise would fill the chart.
        let span = (high / low).log10();
        let air = (0.04 * span).max((0.3 - span) / 2.0);
        Some(Self::new(Spread::Logarithmic, low / 10_f64.powf(air), high * 10_f64.powf(air)))
    }

    /// An axis for bars, from zero.
    pub(super) fn of_bars(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Some(Self::new(Spread::Linear, 0.0, range(values)?.1))
    }

    /// A logarithmic axis from a value to another one, both positive.
    pub(super) fn between(low: f64, high: f64) -> Self {
        Self::new(Spread::Logarithmic, low, high)
    }

    fn new(spread: Spread, low: f64, high: f64) -> Self {
        Self { spread, low, high, from: 0.0, to: 1.0 }
    }

    /// The same axis from pixel `from` to pixel `to`.
    pub(super) fn on(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Pixel of a value; the end where it lies outside.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Logarithmic => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Pixels and values of the marks: as many round values as can have their labels at
    /// least `room` pixels apart.
    pub(super) fn marks(&self, room: f64) -> Vec<(f64, f64)> {
        let values = match self.spread {
            Spread::Linear => self.multiples(room),
            Spread::Logarithmic => self.round(),
        };
        let mut every = 1;
        while every < values.len() && self.closest(&values, every) < room {
            every += 1;
        }
        values.into_iter().step_by(every).map(|value| (self.at(value), value)).collect()
    }

    /// Multiples of a round step.
    fn multiples(&self, room: f64) -> Vec<f64> {
        let least = (self.high - self.low) * room / (self.to - self.from).abs();
        let decade = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = step.into_iter().find(|step| *step >= least).unwrap_or(10.0 * decade);
        let whole = |index: u32| self.low + f64::from(index) * step;
        (0..1000).map(whole).take_while(|value| *value <= self.high * 1.000_001).collect()
    }

    /// Round values: decades if there are at least three, else finer steps.
    fn round(&self) -> Vec<f64> {
        const STEPS: [&[f64]; 3] =
            [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]];
        // A little beyond the ends: a power of ten may be off by its last digit.
        let (low, high) = (self.low * 0.999_999, self.high * 1.000_001);
        // Some 20 decades at most.
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let inside = |steps: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
                .filter(|value| (low..=high).contains(value))
                .collect()
        };
        let enough = STEPS.iter().map(|steps| inside(steps)).find(|values| values.len() >= 3);
        enough.unwrap_or_else(|| inside(STEPS[2]))
    }

    /// Smallest distance between every `every`th of some values, pixels.
    fn closest(&self, values: &[f64], every: usize) -> f64 {
        let places: Vec<f64> = values.iter().step_by(every).map(|value| self.at(*value)).collect();
        let apart = places.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        apart.fold(f64::INFINITY, f64::min)
    }
}

/// The least and the largest of the positive values.
fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for value in values.into_iter().filter(|value| value.is_finite() && *value > 0.0) {
        low = low.min(value);
        high = high.max(value);
    }
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: Axis, room: f64) -> Vec<f64> {
        axis.on(0.0, 300.0).marks(room).into_iter().map(|mark| mark.1).collect()
    }

    #[test]
    fn marks_keep_their_distance_and_are_round() {
        let axis = Axis::of_points([130.0, 6.2e7]).unwrap();
        assert_eq!(marks(axis, 60.0), [1e2, 1e4, 1e6, 1e8]);
        let narrow = Axis::of_points([3000.0, 4000.0]).unwrap();
        assert!(!marks(narrow, 60.0).is_empty());
        let from_zero = Axis::of_bars([21.0, 43.0]).unwrap();
        assert_eq!(marks(from_zero, 60.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert!(Axis::of_points([0.0, f64::NAN]).is_none());
    }
}
