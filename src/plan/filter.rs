use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use touchstone_executor::guest::text::{self, similar};

const FEW: usize = 20;

/// Selects names by a regular expression, as in criterion.
#[derive(Debug, Clone, Default)]
pub enum Filter {
    #[default]
    All,
    /// Names that the expression matches anywhere.
    Pattern(regex::Regex),
}

impl Filter {
    /// The filter of a command-line argument. Fails if it is no regular expression.
    pub fn new(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::All) };
        let pattern = regex::Regex::new(text).map(Self::Pattern);
        pattern.with_context(|| format!("the filter '{text}' is not a regular expression"))
    }

    /// The regular expression; `None` for everything.
    pub fn text(&self) -> Option<String> {
        if let Self::Pattern(pattern) = self { Some(pattern.as_str().to_owned()) } else { None }
    }

    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }

    /// The items with selected names. Fails if a pattern selects nothing; the message begins with
    /// `none`, as in "no cell", and has similar names.
    pub fn select<T>(
        &self,
        none: &str,
        things: impl IntoIterator<Item = T>,
        name: impl Fn(&T) -> String,
    ) -> Result<Vec<T>> {
        let (mut selected, mut names) = (Vec::new(), Vec::new());
        for thing in things {
            let name = name(&thing);
            if self.matches(&name) {
                selected.push(thing);
            }
            names.push(name);
        }
        if let (Self::Pattern(text), true) = (self, selected.is_empty()) {
            bail!("{none} matches '{text}'{}", hint(text.as_str(), &names));
        }
        Ok(selected)
    }

    /// The items with other names. Fails if none is left.
    pub fn without<T>(
        &self,
        things: impl IntoIterator<Item = T>,
        name: impl Fn(&T) -> String,
    ) -> Result<Vec<T>> {
        let left: Vec<T> = things.into_iter().filter(|thing| !self.matches(&name(thing))).collect();
        if let (Self::Pattern(text), true) = (self, left.is_empty()) {
            bail!("'{text}' leaves nothing");
        }
        Ok(left)
    }
}

/// Names similar to a text, and the feature of a wanted engine that this build does not have.
pub fn hint(wanted: &str, names: &[String]) -> String {
    let absent = touchstone_runtimes::absent(wanted);
    let absent = absent.map(|name| format!("; --features={name} adds its backend to a build"));
    near(wanted, names) + &absent.unwrap_or_default()
}

/// Names or parts of names similar to a text, as the end of a message; else all, if few.
fn near(wanted: &str, names: &[String]) -> String {
    let mut parts = BTreeSet::new();
    for name in names {
        parts.insert(name.as_str());
        parts.extend(name.split('/').flat_map(|part| part.split("_from_").chain([part])));
    }
    or_all(similar(wanted, parts.into_iter()), names)
}

/// The same for names that are used as a whole.
pub fn near_name(wanted: &str, names: &[String]) -> String {
    or_all(similar(wanted, names.iter().map(String::as_str)), names)
}

fn or_all(similar: Vec<String>, names: &[String]) -> String {
    match names.len() {
        _ if !similar.is_empty() => text::near(&similar),
        0 => "; there are none".to_owned(),
        1..=FEW => {
            let names: Vec<String> = names.iter().map(|name| text::name(name)).collect();
            format!("; there are {}", names.join(", "))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_is_near_only_where_parts_are_names() {
        let names = ["foo/bar".to_owned()];
        assert_eq!(near("bar", &names), "; near: bar, foo/bar");
        assert_eq!(near_name("bar", &names), "; near: foo/bar");
    }
}
