//! Values of `--args` that begin with a hyphen.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

const OPTION: &str = "--args";

/// The command line with `--args=VALUE` for each value after `--args`, so that numbers such as
/// `-inf` and `-0x1` are not taken for options. The values end before the first text with a hyphen
/// that is no number.
pub(crate) fn spread(line: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut spread: Vec<OsString> = Vec::new();
    let (mut is_run, mut is_value) = (false, false);
    for text in line {
        // The name of the command follows that of the program.
        is_run |= spread.len() == 1 && text == "run";
        let is_option = text.to_str().is_some_and(|text| text.starts_with('-') && !is_number(text));
        if is_value && !is_option {
            let mut joined = OsString::from(OPTION);
            joined.push("=");
            joined.push(text);
            // The option has no value yet.
            if spread.last().is_some_and(|last| last == OPTION) {
                spread.pop();
            }
            spread.push(joined);
            continue;
        }
        is_value = is_run && text == OPTION;
        spread.push(text);
    }
    spread
}

/// The error with a hint if parameters of the export stand without their option.
pub(crate) fn with_hint(mut error: clap::Error) -> clap::Error {
    let is_run = std::env::args_os().nth(1).is_some_and(|name| name == "run");
    let is_value = matches!(error.get(ContextKind::InvalidArg),
        Some(ContextValue::String(text)) if !text.starts_with('-') || is_number(text));
    if is_run && is_value && error.kind() == ErrorKind::UnknownArgument {
        let hint = "parameters of the export follow --args".to_owned().into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint]));
    }
    error
}

/// `true` if a text with a hyphen is a number of the plain convention.
fn is_number(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('-') else { return false };
    let lower = digits.to_ascii_lowercase();
    digits.starts_with(|first: char| first.is_ascii_digit())
        || digits
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || matches!(&*lower, "inf" | "infinity" | "nan")
        || lower.starts_with("nan:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        let line = line.split(' ').map(OsString::from);
        spread(line)
            .into_iter()
            .map(|text| text.into_string().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn values_are_no_options_and_options_behind_them_are() {
        assert_eq!(
            of("touchstone run m --args -inf -nan -0x1 1 -.5 --json"),
            "touchstone run m --args=-inf --args=-nan --args=-0x1 --args=1 --args=-.5 --json"
        );
        for same in [
            "touchstone run m --args",
            "touchstone run m --args --json",
            "touchstone run m --args=-v --log",
            "touchstone run m --args -z",
            "touchstone inspect --args -inf",
            "touchstone",
        ] {
            assert_eq!(of(same), same);
        }
        assert_eq!(of("touchstone run --args a -b c"), "touchstone run --args=a -b c");
    }
}
