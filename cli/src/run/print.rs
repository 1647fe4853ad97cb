//! The output: the call, the combinations, and results in words and in JSON.

use super::answer::{Answer, Groups, State};
use super::content::Content;
use super::difference::Difference;
use super::follow::Row;
use super::target::{Source, Target};
use serde_json::{Value, json};
use touchstone::case::init::Means;
use touchstone::inspect::Identity;
use touchstone::lab::abbreviate_to;
use touchstone::plain;
use touchstone::terminal::{Style, Table};
use touchstone_executor::guest::Growth;
use touchstone_executor::guest::text::{harmless, name, plural};
use touchstone_executor::{Abi, Support};

/// Shown bytes of an output in a row.
const IN_A_ROW: usize = 12;
const INPUT: usize = 32;
/// Shown bytes of a single output.
const ALONE: usize = 256;

pub(super) struct Shown<'a> {
    pub(super) target: &'a Target,
    pub(super) rows: &'a [Row],
    pub(super) groups: &'a Groups<'a>,
    pub(super) difference: Option<Difference>,
    pub(super) style: Style,
    /// `true` to show streams in hexadecimal.
    pub(super) hex: bool,
}

/// The exported functions, if none was named.
pub(super) fn exports(source: &Source) -> String {
    let file = harmless(&source.file.display().to_string());
    let mut text = format!("exported functions of {file}:\n");
    if source.info.exports.is_empty() {
        text += "  none\n";
    }
    for export in &source.info.exports {
        let signature = export.signature.as_ref().map(ToString::to_string);
        text += &format!("  {} {}\n", name(&export.name), signature.unwrap_or_default());
    }
    text
}

pub(super) fn head(target: &Target, style: Style) -> String {
    let Target { source, guest, signature, input, call, .. } = target;
    let Identity { bytes: size, is_packed, sha256 } = &source.identity;
    let is_component = source.is_component();
    let mut facts = Table::new(&[]).indented(2);
    let mut fact = |key: &str, value: String| facts.row([key.to_owned(), value]);
    let packed = if *is_packed { ", compressed" } else { "" };
    let kind = if is_component { "component" } else { "module" };
    fact(kind, format!("{size} bytes{packed}, SHA-256 {sha256}"));
    if let Some((names, sha256)) = &source.linked {
        fact("linked", format!("{}, SHA-256 afterwards {sha256}", harmless(names)));
    }
    if let Some((export, sha256)) = &source.init {
        fact("init", format!("{}, SHA-256 afterwards {sha256}", harmless(export)));
    }
    if let Some(called) = &target.constructed {
        let means = match &called.means {
            Means::Initialized => "called once, before the module is handed to the backends",
            Means::Started { .. } => "called by a start function, in each new instance",
        };
        fact("constructors", format!("{}: {means}", harmless(&called.exports.join(", "))));
    }
    let guessed = match target.guessed && !is_component {
        true => format!(" (guessed from its signature {signature})"),
        false => String::new(),
    };
    fact("convention", format!("{}{guessed}", call.abi));
    let memory = match guest.info().memory {
        None if is_component => "its own".to_owned(),
        None => "none".to_owned(),
        Some(limits) => {
            let growth = match call.heap.growth {
                Growth::Fixed => "fixed".to_owned(),
                _ => format!("growing up to {}", limits.largest()),
            };
            let noun = plural("page", limits.minimum);
            format!("{} {noun}, {} of them extra, {growth}", limits.minimum, call.heap.extra)
        }
    };
    fact("memory", memory);
    fact("input", abbreviate_to(input, INPUT));
    let file = harmless(&source.file.display().to_string());
    format!("{} of {file}\n{}\n", style.bold(&harmless(&call.export)), facts.render(style))
}

fn support(row: &Row) -> &'static str {
    match row.support {
        Support::Native => "native",
        Support::Emulated { .. } => "emulated",
        Support::Unsupported { .. } => "unsupported",
    }
}

impl Shown<'_> {
    /// A line for each combination with an answer.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new(&["backend", "strategy", "support", "result"]);
        for row in self.rows {
            let Some(answer) = &row.answer else { continue };
            let support = support(row).replace("unsupported", "–");
            let memory = answer.memory.as_ref().filter(|_| self.target.call.effects.is_shown);
            let memory = memory.map_or_else(String::new, |own| format!(", {}", self.memory(own)));
            let result = self.result(answer) + &memory;
            table.row([row.engine.id().to_owned(), row.strategy.to_string(), support, result]);
        }
        table.render(self.style)
    }

    /// An object of JSON for each row. Those with the same `group` have the same result.
    pub(super) fn json(&self) -> impl Iterator<Item = Value> {
        let Target { source, call, constructed, .. } = self.target;
        self.rows.iter().enumerate().map(move |(place, row)| {
            let nothing = Answer::default();
            let answer = row.answer.as_ref().unwrap_or(&nothing);
            let Answer { output, stdout, stderr, memory, .. } = answer;
            let hex = |content: &Option<Content>| content.as_ref().map(Content::hex);
            let sha256 = |content: &Option<Content>| Some(content.as_ref()?.sha256.clone());
            let length = |content: &Option<Content>| content.as_ref().map(|own| own.length);
            json!({
                "file": source.file.display().to_string(),
                "guest_sha256": source.identity.sha256,
                "linked": source.linked.as_ref().map(|(names, _)| names),
                "linked_sha256": source.linked.as_ref().map(|(_, sha256)| sha256),
                "init": source.init.as_ref().map(|(export, _)| export),
                "init_sha256": source.init.as_ref().map(|(_, sha256)| sha256),
                "constructors": constructed.as_ref().map(|called| &called.exports),
                "export": call.export,
                "abi": call.abi,
                "backend": row.engine.id(),
                "runtime_version": row.engine.version(),
                "strategy": row.strategy.to_string(),
                "support": support(row),
                "status": answer.state.to_string(),
                "output": hex(output),
                "output_bytes": length(output),
                "output_sha256": sha256(output),
                "exit_code": answer.exit_code,
                "stdout": hex(stdout),
                "stdout_sha256": sha256(stdout),
                "stderr": hex(stderr),
                "stderr_sha256": sha256(stderr),
                "memory_bytes": length(memory),
                "memory_sha256": sha256(memory),
                "memory_dump": call.effects.dump.and_then(|_| hex(memory)),
                "reason": answer.reason,
                "group": self.groups.number(place),
                "difference": self.difference.map(Difference::class),
            })
        })
    }

    /// A result in one line, with the written streams.
    fn result(&self, answer: &Answer) -> String {
        let mut line = match (answer.state, &answer.output) {
            (State::Returned, Some(output)) if self.is_text() => self.line(output, IN_A_ROW),
            (State::Returned, Some(output)) => output.abbreviated(IN_A_ROW),
            _ => self.end(answer),
        };
        for (name, content) in answer.written() {
            line += &format!(", {name} {}", self.line(content, IN_A_ROW));
        }
        line
    }

    /// The end of a call that did not return.
    fn end(&self, answer: &Answer) -> String {
        let reason = answer.reason.as_deref().unwrap_or_default();
        match answer.state {
            State::Stopped => {
                let seconds = self.target.call.deadline.as_secs_f64();
                format!("stopped: still running after {seconds} s")
            }
            State::Trapped if answer.exit_code.is_some() => reason.to_owned(),
            State::Trapped => format!("trap: {reason}"),
            state => format!("{}: {reason}", state.to_string().replace('_', " ")),
        }
    }

    /// A result with its meaning and the written streams. Further lines begin with `indent`.
    pub(super) fn full(&self, answer: &Answer, indent: &str) -> String {
        let mut text = match &answer.output {
            Some(output) if answer.state == State::Returned => {
                self.output(output, answer.memory.is_some(), indent)
            }
            _ => self.end(answer),
        };
        for (name, content) in answer.written() {
            text += &format!("\n{indent}{name}: {}", self.written(content, indent));
        }
        text
    }

    fn output(&self, output: &Content, has_memory: bool, indent: &str) -> String {
        if self.is_text() {
            return self.written(output, indent);
        }
        let shown = output.abbreviated(ALONE);
        match self.meaning(&output.bytes().unwrap_or_default()) {
            Some(meaning) if self.target.call.abi == Abi::Plain => meaning,
            Some(meaning) => format!("{shown} = {meaning}"),
            None if output.length == 0 && has_memory => "no result".to_owned(),
            None => shown,
        }
    }

    /// `true` if the output is a program's, or JSON.
    fn is_text(&self) -> bool {
        matches!(self.target.call.abi, Abi::Wasi | Abi::Typed)
    }

    fn line(&self, content: &Content, most: usize) -> String {
        if self.hex { content.abbreviated(most) } else { content.line(most) }
    }

    fn written(&self, content: &Content, indent: &str) -> String {
        let indent = format!("{indent}  ");
        if self.hex { content.abbreviated(ALONE) } else { content.block(ALONE, &indent) }
    }

    pub(super) fn memory(&self, memory: &Content) -> String {
        let mut text = format!("memory of {} bytes, SHA-256 {}", memory.length, memory.sha256);
        if let Some((start, length)) = self.target.call.effects.dump {
            text += &match start.checked_add(length).is_some_and(|end| end <= memory.length) {
                true => format!("; at {start:#x}: {}", memory.hex()),
                false => format!("; {length} bytes at {start:#x} lie outside"),
            };
        }
        text
    }

    /// Values, if the export returns any, or a text.
    fn meaning(&self, output: &[u8]) -> Option<String> {
        let results = &self.target.signature.results;
        if self.target.call.abi != Abi::Substrate && !results.is_empty() {
            return plain::words(results, output).map(|words| words.join(", "));
        }
        let text = std::str::from_utf8(output).ok()?;
        let readable = !text.is_empty() && output.len() <= ALONE && harmless(text) == text;
        readable.then(|| format!("{text:?}"))
    }
}
