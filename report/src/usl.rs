//! The Universal Scalability Law, fitted to throughputs on several numbers of threads: a model.
//!
//! X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): λ is the throughput of one thread, σ the share of work
//! that threads do one after the other (contention), κ the cost of keeping each pair of threads
//! coherent.

/// Fewest numbers of threads for a fit: the law has three parameters.
const FEWEST: usize = 3;

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Throughput of one thread.
    pub lambda: f64,
    /// Contention, at least 0.
    pub sigma: f64,
    /// Coherence, at least 0.
    pub kappa: f64,
}

impl Law {
    /// The law that fits throughputs on numbers of threads best: with the least sum of squares of
    /// relative differences in the time of a call. `None` with fewer than three numbers of
    /// threads, or a throughput that is not positive.
    pub fn fit(measured: &[(usize, f64)]) -> Option<Self> {
        let mut numbers: Vec<usize> = measured.iter().map(|(threads, _)| *threads).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let is_possible =
            |(threads, rate): &(usize, f64)| *threads > 0 && rate.is_normal() && *rate > 0.0;
        if numbers.len() < FEWEST || !measured.iter().all(is_possible) {
            return None;
        }
        // N / X is linear in 1/λ, σ/λ and κ/λ; divided by itself, each error is a relative one.
        let rows: Vec<[f64; 3]> = measured
            .iter()
            .map(|(threads, rate)| {
                let n = *threads as f64;
                [1.0, n - 1.0, n * (n - 1.0)].map(|term| term * rate / n)
            })
            .collect();
        // Parameters below 0 have no meaning: of the fits without some of them, the best counts.
        let fits = [&[0, 1, 2][..], &[0, 1], &[0, 2], &[0]].into_iter().filter_map(|used| {
            let own = least_squares(&rows, used)?;
            let is_law = own[0] > 0.0 && own.iter().all(|value| *value >= 0.0);
            is_law.then(|| (own, error(&rows, &own)))
        });
        let (best, _) = fits.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let lambda = 1.0 / best[0];
        Some(Self { lambda, sigma: best[1] * lambda, kappa: best[2] * lambda })
    }

    /// Number of threads with the largest throughput. `None` if it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0))
    }
}

/// Sum of the squares of the differences of each row's product from 1.
fn error(rows: &[[f64; 3]], values: &[f64; 3]) -> f64 {
    let product = |row: &[f64; 3]| row.iter().zip(values).map(|(a, b)| a * b).sum::<f64>();
    rows.iter().map(|row| (product(row) - 1.0).powi(2)).sum()
}

/// The values of the used parameters that make each row's product nearest to 1; the others are 0.
/// `None` if the rows do not determine them.
fn least_squares(rows: &[[f64; 3]], used: &[usize]) -> Option<[f64; 3]> {
    let size = used.len();
    // The normal equations, with the right side in the last column.
    let mut equations = vec![vec![0.0; size + 1]; size];
    for (equation, a) in equations.iter_mut().zip(used) {
        for (value, b) in equation.iter_mut().zip(used) {
            *value = rows.iter().map(|row| row[*a] * row[*b]).sum();
        }
        equation[size] = rows.iter().map(|row| row[*a]).sum();
    }
    for column in 0..size {
        let largest = |at: &usize| equations[*at][column].abs();
        let pivot = (column..size).max_by(|a, b| largest(a).total_cmp(&largest(b)))?;
        equations.swap(column, pivot);
        if equations[column][column].abs() < 1e-12 {
            return None;
        }
        let own = equations[column].clone();
        for (at, equation) in equations.iter_mut().enumerate() {
            let factor = if at == column { 0.0 } else { equation[column] / own[column] };
            equation.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    let mut values = [0.0; 3];
    for (at, parameter) in used.iter().enumerate() {
        values[*parameter] = equations[at][size] / equations[at][at];
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Law {
        fn throughput(&self, threads: f64) -> f64 {
            let others = threads - 1.0;
            self.lambda * threads / (1.0 + self.sigma * others + self.kappa * threads * others)
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs().max(1e-3)
    }

    #[test]
    fn known_parameters_are_found() {
        for (lambda, sigma, kappa) in [
            (1.0, 0.0, 0.0),
            (14_000_000.0, 0.05, 0.001),
            (995.6486, 0.02671591, 0.000769),
            (3e5, 0.4, 0.0),
            (2e4, 0.0, 0.02),
        ] {
            let law = Law { lambda, sigma, kappa };
            let at = |threads: usize| (threads, law.throughput(threads as f64));
            for numbers in [&[1, 2, 4][..], &[1, 2, 4, 8, 16], &[2, 3, 7, 32]] {
                let measured: Vec<_> = numbers.iter().map(|threads| at(*threads)).collect();
                let found = Law::fit(&measured).unwrap();
                assert!(near(found.lambda, lambda), "{found:?} of {law:?}");
                assert!(
                    near(found.sigma, sigma) && near(found.kappa, kappa),
                    "{found:?} of {law:?}"
                );
            }
        }
        let law = Law { lambda: 1.0, sigma: 0.1, kappa: 0.009 };
        assert!(near(law.peak().unwrap(), 10.0));
        assert_eq!(Law { kappa: 0.0, ..law }.peak(), None);
    }

    /// The relative errors of a measurement change the parameters little.
    #[test]
    fn noise_of_a_few_per_cent_keeps_the_parameters() {
        let law = Law { lambda: 1e6, sigma: 0.08, kappa: 0.002 };
        let noise = [1.01, 0.99, 1.02, 0.985, 1.0, 0.99];
        let numbers = [1, 2, 4, 8, 16, 32];
        let measured: Vec<(usize, f64)> = numbers
            .iter()
            .zip(noise)
            .map(|(threads, noise)| (*threads, law.throughput(*threads as f64) * noise))
            .collect();
        let found = Law::fit(&measured).unwrap();
        assert!(
            (found.sigma - 0.08).abs() < 0.02 && (found.kappa - 0.002).abs() < 0.0006,
            "{found:?}"
        );
    }

    #[test]
    fn a_throughput_above_perfect_scaling_has_no_negative_parameters() {
        let found = Law::fit(&[(1, 100.0), (2, 205.0), (4, 420.0)]).unwrap();
        assert_eq!((found.sigma, found.kappa), (0.0, 0.0));
    }

    #[test]
    fn what_determines_no_law_has_none() {
        assert_eq!(Law::fit(&[(1, 1.0), (2, 2.0)]), None);
        assert_eq!(Law::fit(&[(1, 1.0), (2, 2.0), (2, 2.1)]), None);
        assert_eq!(Law::fit(&[(1, 1.0), (2, 2.0), (4, 0.0)]), None);
        assert_eq!(Law::fit(&[(1, 1.0), (2, f64::NAN), (4, 4.0)]), None);
        assert_eq!(Law::fit(&[(0, 1.0), (2, 2.0), (4, 4.0)]), None);
    }
}
