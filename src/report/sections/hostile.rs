//! Hostile guests: what stops each of them.

use crate::record::findings::hostile::{AttackSaid, Finding, Hostile, Verdict};
use crate::report::markdown::{Table, code, details, escape};
use crate::report::trust::Trust;
use std::fmt::Write;

/// Nothing where nobody was attacked.
pub(in crate::report) fn section(trust: &Trust) -> String {
    let Some(found) = &trust.hostile else { return String::new() };
    let found = &found.findings;
    let [held, in_child, failed] = found.counts();
    let mut text = format!(
        "## Hostile guests\n\nWhat guests that mean harm do to the host (`make trust`): {held} \
         attacks on an engine's strategy were held, {in_child} by ending the process that they \
         ran in, {failed} failed. Held means: a clear error or trap within the attack's limit, \
         the next call on the same instance right and that of another guest too, and no memory \
         left behind when it is done again.\n\n{}",
        table(found)
    );
    text += "✓ held; ◐ held only by ending the process that it ran in; ✗ failed; – cannot be \
             made.\n\n";
    for engine in &found.engines {
        if let Some(reason) = &engine.no_deadline {
            let _ = writeln!(text, "* {}: no deadline: {}", code(&engine.id), escape(reason));
        }
    }
    for finding in found.findings.iter().filter(|finding| finding.verdict != Verdict::Held) {
        let _ = writeln!(text, "* {}", sentence(finding));
    }
    text.push('\n');
    text + &details(
        "What stops each attack",
        &found.attacks.iter().map(|attack| stops(found, attack)).collect::<String>(),
    )
}

fn table(found: &Hostile) -> String {
    let mut headings = vec!["Attack".to_owned()];
    headings.extend(found.engines.iter().map(|engine| code(&engine.id)));
    let mut table = Table::of_words(&headings);
    for attack in &found.attacks {
        let mut row = vec![code(&attack.name)];
        row.extend(found.engines.iter().map(|engine| mark(found, &attack.name, &engine.id)));
        table.row(&row);
    }
    table.finish()
}

fn mark(found: &Hostile, attack: &str, engine: &str) -> String {
    match found.worst(attack, engine) {
        None => "–",
        Some(Verdict::Held) => "✓",
        Some(Verdict::HeldInChild) => "◐",
        Some(Verdict::Failed) => "✗",
    }
    .to_owned()
}

fn sentence(finding: &Finding) -> String {
    let strategies: Vec<String> = finding.strategies.iter().map(|name| code(name)).collect();
    format!(
        "{} on {} ({}): {}: {}",
        code(&finding.attack),
        code(&finding.engine),
        strategies.join(", "),
        finding.verdict.words(),
        escape(&finding.how.join("; "))
    )
}

/// Engines that are stopped alike share a line.
fn stops(found: &Hostile, attack: &AttackSaid) -> String {
    let mut alike: Vec<(String, Vec<String>)> = Vec::new();
    for finding in &found.findings {
        if finding.attack != attack.name || finding.verdict != Verdict::Held {
            continue;
        }
        let how = escape(&finding.how.join("; "));
        let engine = code(&finding.engine);
        match alike.iter_mut().find(|(known, _)| *known == how) {
            Some((_, engines)) if engines.contains(&engine) => {}
            Some((_, engines)) => engines.push(engine),
            None => alike.push((how, vec![engine])),
        }
    }
    let mut text =
        format!("**{}**: {} (limit {} s)\n\n", attack.name, escape(&attack.about), attack.limit_s);
    for (how, engines) in alike {
        let all = engines.len() == found.engines.len();
        let who = if all { "all".to_owned() } else { engines.join(", ") };
        let _ = writeln!(text, "* {how}: {who}");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::findings::Found;
    use crate::record::findings::hostile::EngineSaid;

    fn finding(engine: &str, verdict: Verdict, how: &str) -> Finding {
        Finding {
            attack: "endless_loop".to_owned(),
            engine: engine.to_owned(),
            strategies: vec!["pooling".to_owned(), "instance_reuse".to_owned()],
            verdict,
            how: vec![how.to_owned()],
        }
    }

    #[test]
    fn every_exception_stands_below_the_table() {
        let engine = |id: &str, no_deadline: Option<&str>| EngineSaid {
            id: id.to_owned(),
            version: "1".to_owned(),
            no_deadline: no_deadline.map(str::to_owned),
        };
        let findings = Hostile {
            attacks: vec![AttackSaid {
                name: "endless_loop".to_owned(),
                about: "a loop".to_owned(),
                limit_s: 20,
            }],
            engines: vec![engine("a", None), engine("b", Some("nothing")), engine("c", None)],
            findings: vec![
                finding("a", Verdict::Held, "trap: deadline exceeded"),
                finding("b", Verdict::HeldInChild, "ended after 2 s"),
                finding("c", Verdict::Failed, "does not end"),
            ],
        };
        let text = section(&Trust { hostile: Some(Found::here(findings)), ..Trust::default() });
        for part in [
            "2 attacks on an engine's strategy were held, 2 by ending the process that they ran \
             in, 2 failed",
            "| `endless_loop` | ✓ | ◐ | ✗ |",
            "* `b`: no deadline: nothing",
            "* `endless_loop` on `b` (`pooling`, `instance_reuse`): held, in a child: ended after 2 s",
            "* `endless_loop` on `c` (`pooling`, `instance_reuse`): FAILED: does not end",
            "* trap: deadline exceeded: `a`",
        ] {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
        assert_eq!(section(&Trust::default()), "");
    }
}
