//! Checks of an experiment's declaration: each name in it is a dimension or metric of its own.

use super::expression::is_expression;
use super::point::{EXECUTOR, checked};
use super::{
    Coordinate, Experiment, Place, PointChart, PointColumn, PointTable, SentencePart, Shown, data,
};
use anyhow::{Context, Error, Result, ensure};

impl Experiment {
    pub(super) fn check(&self) -> Result<()> {
        checked(&self.name).map_err(|_| {
            Error::msg("its file has a name with other characters than a-z, 0-9, _ and .")
        })?;
        let names = || self.dimensions.iter().map(|own| &own.name).chain(self.metrics.keys());
        for name in names() {
            checked(name).map_err(Error::msg).with_context(|| format!("'{name}'"))?;
            let is_own =
                !EXECUTOR.contains(&&**name) && name.starts_with(|c: char| c.is_alphabetic());
            ensure!(is_own, "'{name}' is no name of a dimension or metric");
        }
        if let Some(name) = data::repeated(names()) {
            anyhow::bail!("'{name}' is declared twice");
        }
        for name in parts(&self.text)? {
            let is_known = matches!(name, "commit" | "processes" | "rounds");
            ensure!(is_known || self.has_value(name, &[]), "the text has no value '{name}'");
        }
        self.tables.iter().try_for_each(|table| self.check_table(table)).context("in a table")?;
        self.show.iter().try_for_each(|column| self.check_column(column, &[]))?;
        for column in self.failed.iter().flat_map(|table| &table.columns) {
            ensure!(self.has_value(&column.value, &[]), "failures have no '{}'", column.value);
        }
        self.chart.iter().try_for_each(|chart| self.check_chart(chart)).context("in the chart")
    }

    fn check_table(&self, table: &PointTable) -> Result<()> {
        let rows = table.rows.iter().filter(|rows| *rows != EXECUTOR[0]);
        let dimensions = rows.chain(&table.largest);
        self.check_dimensions(dimensions.chain(&table.folded).chain(&table.beside))?;
        [&table.place, &table.against].into_iter().try_for_each(|place| self.check_place(place))?;
        if let Some(by) = &table.by {
            self.check_value(by, Shown::Count, &table.beside)?;
        }
        if let Some(column) = &table.by_executor {
            self.check_column(column, &[])?;
        }
        // They are those of `touchstone show` where the table has a column for each executor.
        table.columns.iter().try_for_each(|column| self.check_column(column, &table.beside))
    }

    fn check_chart(&self, chart: &PointChart) -> Result<()> {
        let labels = chart.groups.iter().filter_map(|group| group.label.as_ref());
        let dimensions = [&chart.over, &chart.largest].into_iter().flatten();
        self.check_dimensions(dimensions.chain(&chart.beside).chain(labels))?;
        let places = chart.groups.iter().map(|group| &group.place);
        let places = places.chain(chart.rows.iter().map(|row| &row.place)).chain([&chart.place]);
        places.into_iter().try_for_each(|place| self.check_place(place))?;
        for value in [&chart.by, &chart.half].into_iter().flatten() {
            self.check_value(value, Shown::Count, &chart.beside)?;
        }
        if let Some(value) = &chart.value {
            ensure!(self.metric(value).is_some(), "'{value}' is no metric");
        }
        for column in chart.panels.iter().chain(&chart.bars) {
            self.check_column(column, &chart.beside)?;
        }
        for part in chart.sentences.iter().map(|sentence| parts(sentence)) {
            for part in part? {
                match SentencePart::parse(part).with_context(|| format!("'{{{part}}}'"))? {
                    SentencePart::Few | SentencePart::Rows => {}
                    SentencePart::Value(_, value, shown) => {
                        self.check_value(value, shown, &chart.beside)?;
                    }
                    SentencePart::Ratio(_, names, _) => {
                        names.iter().try_for_each(|name| self.check_name(name, &chart.beside))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_dimensions<'a>(&self, names: impl Iterator<Item = &'a String>) -> Result<()> {
        for name in names {
            ensure!(self.dimension(name).is_some(), "'{name}' is no dimension");
        }
        Ok(())
    }

    fn check_place(&self, place: &Place) -> Result<()> {
        for (name, value) in place.iter().filter(|(name, _)| !EXECUTOR.contains(name)) {
            self.dimension(name)
                .with_context(|| format!("'{name}' is no dimension"))?
                .check(value)?;
        }
        Ok(())
    }

    fn check_column(&self, column: &PointColumn, beside: &[String]) -> Result<()> {
        let Some(over) = &column.over else {
            return self.check_value(&column.value, column.shown, beside);
        };
        [&column.value, over].into_iter().try_for_each(|name| self.check_name(name, beside))
    }

    /// Checks a value: an expression, a dimension in words, or a text with either in braces.
    fn check_value(&self, value: &str, shown: Shown, beside: &[String]) -> Result<()> {
        let is_known = |value: &str| match shown {
            Shown::Words | Shown::Code => {
                let is_own = value == "executor" || EXECUTOR.contains(&value);
                is_own || self.dimension(value).is_some()
            }
            _ => is_expression(value, &|name| self.has_value(name, beside)),
        };
        let all = if value.contains('{') { parts(value)? } else { vec![value] };
        for value in all {
            ensure!(is_known(value), "'{value}' is no expression of its metrics and dimensions");
        }
        Ok(())
    }

    fn check_name(&self, name: &str, beside: &[String]) -> Result<()> {
        ensure!(self.has_value(name, beside), "'{name}' is none of its metrics and dimensions");
        Ok(())
    }

    /// `true` for a dimension, and for a metric with or without the values of `beside` before it.
    fn has_value(&self, name: &str, beside: &[String]) -> bool {
        let is_own = |name: &str| self.metric(name).is_some() || self.dimension(name).is_some();
        let mut rest = name;
        let is_prefix = |dimension: &String| {
            let (value, after) = rest.split_once('.')?;
            rest = after;
            self.dimension(dimension)?.check(&Coordinate::from(value)).ok()
        };
        let has_prefixes = beside.iter().map(is_prefix).all(|own| own.is_some());
        is_own(name) || (has_prefixes && is_own(rest))
    }
}

/// The parts of a text that stand in braces.
fn parts(text: &str) -> Result<Vec<&str>> {
    let after = text.split('{').skip(1);
    let part = |after: &'_ str| after.split_once('}').map(|(part, _)| part.len());
    let all = after.map(|after| Some(&after[..part(after)?]));
    all.collect::<Option<_>>().with_context(|| format!("'{text}' has a brace that stays open"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARATION: &str = r#"
title = "Toys"
command = "toy"
help = "Counts."
records = "toy.jsonl"
made_by = "make toys"
page = "details"
text = "Toys of {colour} ({commit})."
dimensions = [{ name = "colour", words = [["red", "bright red"]] }, { name = "size" }]
metrics = { time = { unit = "ns" }, call = { unit = "tail" } }
tables = [{ beside = ["colour", "size"], columns = [
    { heading = "a", value = "(red.10.call.p50_ns - time) / 2" },
    { heading = "b", value = "{time}, {size}", shown = "count" },
    { heading = "c", value = "time", over = "red.7.time" },
] }]
failed = { columns = [{ heading = "tried", value = "size" }] }

[chart]
by = "time"
panels = [{ heading = "", value = "time" }]
rows = [{ label = "a", executor = "alpha_instance_reuse", where = { colour = "red" } }]
sentences = ["{executor|code} and {3:time|short}, {best:colour}, {rows}, {over:time:time|ratio}."]
"#;

    fn checked(from: &str, to: &str) -> Result<()> {
        assert!(DECLARATION.contains(from), "{from}");
        let own: Experiment = toml::from_str(&DECLARATION.replacen(from, to, 1))?;
        Experiment { name: "toy".to_owned(), ..own }.check()
    }

    #[test]
    fn each_name_of_a_declaration_is_one_of_its_own() {
        checked("title", "title").unwrap();
        for (from, to, expected) in [
            ("{ name = \"size\" }", "{ name = \"Size\" }", "1 to 64 letters"),
            ("{ name = \"size\" }", "{ name = \"7\" }", "'7' is no name"),
            ("{ name = \"size\" }", "{ name = \"engine\" }", "'engine' is no name"),
            ("{ name = \"size\" }", "{ name = \"time\" }", "'time' is declared twice"),
            ("{colour}", "{color}", "the text has no value 'color'"),
            ("{colour}", "{colour", "a brace that stays open"),
            ("red.10.call.p50_ns", "green.10.call.p50_ns", "'(green.10.call.p50_ns - time) / 2'"),
            ("red.10.call.p50_ns", "red.10.call", "is no expression"),
            ("- time)", "- time", "is no expression"),
            ("{time}, {size}", "{time}, {sizes}", "'sizes' is no expression"),
            ("red.7.time", "red.time", "'red.time' is none"),
            ("\"tried\", value = \"size\"", "\"tried\", value = \"n\"", "failures have no 'n'"),
            ("by = \"time\"", "by = \"times\"", "'times' is no expression"),
            ("where = { colour = \"red\" }", "where = { colour = \"blue\" }", "'blue' is no value"),
            ("where = { colour", "where = { color", "'color' is no dimension"),
            ("{3:time|short}", "{third:time|short}", "the chart has no row 'third'"),
            ("{3:time|short}", "{0:time|short}", "the chart has no row '0'"),
            ("{3:time|short}", "{3:time|brief}", "nothing is shown as 'brief'"),
            ("{over:time:time|ratio}", "{over:time|ratio}", "a ratio has two values"),
            ("{over:time:time|ratio}", "{over:time:n|ratio}", "'n' is none"),
        ] {
            let error = format!("{:#}", checked(from, to).unwrap_err());
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
