//! Values of points: metrics, dimensions and expressions of both with `+ - * / ( )`.

use super::Estimate;

/// Most parentheses inside of each other.
const DEEPEST: usize = 32;

/// The number that an expression gives, with interval and mark where it is a single metric.
///
/// `None` where a name has no value or the result is not finite.
pub fn evaluate(text: &str, value: &dyn Fn(&str) -> Option<Estimate>) -> Option<Estimate> {
    parsed(text, value).filter(|result| result.median.is_finite())
}

pub(super) fn is_expression(text: &str, is_known: &dyn Fn(&str) -> bool) -> bool {
    let one = Estimate::exact(1.0);
    parsed(text, &|name| is_known(name).then_some(one)).is_some()
}

fn parsed(text: &str, value: &dyn Fn(&str) -> Option<Estimate>) -> Option<Estimate> {
    let mut parser = Parser { rest: text.trim(), depth: 0, value };
    let result = parser.sum()?;
    parser.rest.is_empty().then_some(result)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    value: &'a dyn Fn(&str) -> Option<Estimate>,
}

impl Parser<'_> {
    fn operator(&mut self, of: &[char]) -> Option<char> {
        let next = self.rest.chars().next().filter(|next| of.contains(next))?;
        self.rest = self.rest[1..].trim_start();
        Some(next)
    }

    fn sum(&mut self) -> Option<Estimate> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let right = self.product()?;
            let sign = if operator == '+' { 1.0 } else { -1.0 };
            left = both(left, right, left.median + sign * right.median);
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Estimate> {
        let mut left = self.factor()?;
        while let Some(operator) = self.operator(&['*', '/']) {
            let right = self.factor()?;
            let result = match operator {
                '*' => left.median * right.median,
                _ => left.median / right.median,
            };
            left = both(left, right, result);
        }
        Some(left)
    }

    fn factor(&mut self) -> Option<Estimate> {
        if self.operator(&['(']).is_some() {
            if self.depth == DEEPEST {
                return None;
            }
            self.depth += 1;
            let inner = self.sum()?;
            self.operator(&[')'])?;
            self.depth -= 1;
            return Some(inner);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        // `inf` and `nan` would be numbers, too.
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match name.parse::<f64>() {
            Ok(median) if is_number => Some(Estimate::exact(median)),
            _ => (self.value)(name),
        }
    }
}

fn both(left: Estimate, right: Estimate, median: f64) -> Estimate {
    Estimate { marked: left.marked || right.marked, ..Estimate::exact(median) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_the_usual_order() {
        let value = |name: &str| match name {
            "idle.pss_kib" => Some(Estimate { marked: true, ..Estimate::exact(30.0) }),
            "own.80.n" => Some(Estimate { interval: Some((1.0, 3.0)), ..Estimate::exact(2.0) }),
            _ => None,
        };
        let of = |text: &str| evaluate(text, &value);
        assert_eq!(of("1 + 2 * 3 - 4 / 2").unwrap().median, 5.0);
        let divided = of("(idle.pss_kib - 10) / own.80.n").unwrap();
        assert_eq!((divided.median, divided.marked), (10.0, true));
        assert_eq!(of("own.80.n").unwrap().interval, Some((1.0, 3.0)));
        for nothing in ["other", "1 / 0", "(1", "1 2", "", "inf", "nan", "infinity"] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn parentheses_have_a_greatest_depth() {
        let of = |depth: usize| {
            let text = format!("{}7{}", "(".repeat(depth), ")".repeat(depth));
            evaluate(&text, &|_| None).map(|own| own.median)
        };
        assert_eq!((of(DEEPEST), of(DEEPEST + 1)), (Some(7.0), None));
        assert_eq!(evaluate(&"(".repeat(1 << 20), &|_| None), None);
        // Those beside each other do not count.
        assert!(evaluate(&["(1)"; 100].join(" + "), &|_| None).is_some());
    }

    #[test]
    fn an_expression_is_checked_without_values() {
        let is_expression = |text: &str| is_expression(text, &|name| matches!(name, "a" | "b.c"));
        for good in ["a", "1 / (a - a)", "(a + 2) * b.c"] {
            assert!(is_expression(good), "{good}");
        }
        for wrong in ["", "c", "a +", "a b.c", "inf * a"] {
            assert!(!is_expression(wrong), "{wrong}");
        }
    }
}
