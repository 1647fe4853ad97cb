//! Published values in the project's tables equal copies of the documents' own tables in
//! tests/published/. Both sides were entered independently.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone::case;
use touchstone::files;
use touchstone::record::{self, Executor, Metric};
use touchstone_executor::guest::ModuleInfo;
use touchstone_report::tables::{Layout, Row, Tables};

/// A file of tests/published/: rows of fields, the first row being the headings.
fn copied(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
    let rows: Vec<Vec<String>> = rows.collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name} is not a table");
    rows
}

/// Where a published value stands: title of the table, row, column.
type Place = [String; 3];

/// The column of what belongs to none of our executors.
const ASIDE: &str = "aside";

fn place(title: &str, row: &str, column: &str) -> Place {
    [title, row, column].map(str::to_owned)
}

fn name(row: &Row) -> String {
    let Row { case, guest, threads, .. } = row;
    row.heading.clone().unwrap_or_else(|| format!("{case}_from_{guest}_on_{threads}_threads"))
}

/// All published values of benches/tables/.
fn printed() -> BTreeMap<Place, String> {
    let mut all = BTreeMap::new();
    let mut add = |place: Place, text: &str| {
        if !text.is_empty() {
            let text = text.trim().to_owned();
            assert!(all.insert(place.clone(), text).is_none(), "{place:?} is there twice");
        }
    };
    for Layout { title, columns, rows, aside, .. } in layouts() {
        for row in &rows {
            for (column, text) in columns.iter().zip(&row.published) {
                add(place(&title, &name(row), &column.heading), text);
            }
            add(place(&title, &name(row), ASIDE), row.aside.as_deref().unwrap_or_default());
        }
        let has_aside = rows.iter().any(|row| row.aside.is_some());
        assert_eq!(has_aside, aside.is_some(), "{title}: values that are never printed");
    }
    all
}

fn layouts() -> Vec<Layout> {
    Tables::load(files::project("benches/tables")).unwrap().layouts
}

/// The table of 2022, with the guest that stands for Kusama's runtime.
fn executors(all: &mut BTreeMap<Place, String>) {
    let rows = copied("001_executors.csv");
    for row in &rows[1..] {
        // One name of the original lacks a word.
        let function = row[0].replace("kusama", "large").replace("memory_test", "memory_from_test");
        for (column, value) in rows[0].iter().zip(row).skip(1) {
            all.insert(place("Substrate's executors, 2022", &function, column), value.clone());
        }
    }
}

/// The three groups of the deserialization suite: estimate and interval.
fn deserialization(all: &mut BTreeMap<Place, String>) {
    for row in &copied("000_deserialization.csv")[1..] {
        let [suite, function, low, estimate, high] = &row[..] else { panic!("{row:?}") };
        let title = format!("{}{}", suite[..1].to_uppercase(), &suite[1..]);
        let [low, high] = [low, high].map(|end| end.strip_suffix(" µs").unwrap());
        let at = place(&title, function, "wasmtime_nearcore_pooling_cow");
        all.insert(at, format!("{estimate} [{low} – {high}]"));
    }
}

const ACCOUNTS: &str = "Accounts: thirteen encodings";

/// The compute units. The document has most of them in a summary, too.
fn accounts(all: &mut BTreeMap<Place, String>) {
    for row in &copied("002_accounts.csv")[1..] {
        all.insert(place(ACCOUNTS, &row[0], ASIDE), row[1].clone());
    }
    let summary = copied("002_summary.csv");
    for row in &summary[1..] {
        for (name, units) in summary[0].iter().zip(row).skip(1) {
            let function = format!("{name}::{}", row[0].replace(' ', "_")).to_lowercase();
            let listed = &all[&place(ACCOUNTS, &function, ASIDE)];
            assert_eq!(*units, format!("{listed} CUs"), "{function}");
        }
    }
}

/// Tables 3 to 6 of the paper on Karmem. The table with vectors and 10,000 scooters has the
/// results of each machine and their variation; the others have the row M alone.
fn karmem(all: &mut BTreeMap<Place, String>) {
    let (shares, variations) = (copied("003_table_3.csv"), copied("003_table_4.csv"));
    assert_eq!((shares.len(), variations.len(), &*shares[6][0]), (7, 6, "M"));
    for (column, heading) in variations[0].iter().enumerate().skip(1) {
        // Table 3 has no column for the baseline.
        let of = |row: usize| if column == 1 { "" } else { &*shares[row][column - 1] };
        let words =
            |words: [&str; 3]| words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines = vec![words(["M", of(6), ""])];
        for row in 1..=5 {
            assert_eq!(shares[row][0], variations[row][0]);
            lines.push(words([&shares[row][0], of(row), &variations[row][column]]));
        }
        let title = "Memory layouts, with vectors: 10,000 scooters";
        all.insert(place(title, heading, ASIDE), lines.join("\n"));
        if column == 1 {
            continue;
        }
        assert_eq!(shares[0][column - 1], *heading);
        let title = "Memory layouts, with vectors: 1,000,000 scooters";
        all.insert(place(title, heading, ASIDE), of(6).to_owned());
        // The guest without vectors has no walk that is written with them.
        for number in ["10,000", "1,000,000"].iter().filter(|_| !heading.ends_with("SIMD")) {
            let title = format!("Memory layouts: {number} scooters");
            all.insert(place(&title, heading, ASIDE), of(6).to_owned());
        }
    }
    for (file, verb) in [("003_table_5.csv", "Writing"), ("003_table_6.csv", "Reading")] {
        let rows = copied(file);
        for (row, number) in rows[1..].iter().zip(["10", "10,000"]) {
            assert_eq!(row[0], number.replace(',', ""));
            for (format, time) in rows[0].iter().zip(row).skip(1).filter(|(_, time)| *time != "-") {
                // Karmem v1, which has a row of its own, is another format than the paper's.
                let format = format.replace("Karmem", "columnar, after Karmem's paper");
                all.insert(
                    place(&format!("{verb} {number} readings"), &format, ASIDE),
                    time.clone(),
                );
            }
        }
    }
}

const SIGNATURES: &str = "Signatures over secp256k1";

/// The signatures: a line for each machine, beside the guests of each number of codegen units.
fn signatures(all: &mut BTreeMap<Place, String>) {
    for row in &copied("004_signatures.csv")[1..] {
        let [platform, method, units, runtime, time, ratio] = &row[..] else { panic!("{row:?}") };
        let function = match (method.as_str(), units.as_str()) {
            ("Schnorr single message", "") => "Schnorr, single message".to_owned(),
            (method, "1") => format!("{method}, 1024 messages, opt-level s"),
            (method, units) => format!("{method}, 1024 messages, opt-level s, {units} units"),
        };
        let at = place(SIGNATURES, &function, &runtime.to_lowercase());
        let lines = all.entry(at).or_default();
        let order = match function.contains("1024") {
            true => ["Windows-WSL", "Linux 6.2.1"].as_slice(),
            false => ["Linux 6.2.1"].as_slice(),
        };
        assert_eq!(platform, order[lines.lines().count()], "{row:?}");
        let gap = if lines.is_empty() { "" } else { "\n" };
        *lines += &format!("{gap}{time} ({ratio})");
    }
}

#[test]
fn every_published_value_is_printed_as_published_and_no_other() {
    let mut wanted = BTreeMap::new();
    for add in [executors, deserialization, accounts, karmem, signatures] {
        add(&mut wanted);
    }
    let printed = printed();
    let places: BTreeSet<&Place> = wanted.keys().chain(printed.keys()).collect();
    let wrong = places.into_iter().filter(|at| wanted.get(*at) != printed.get(*at));
    let wrong: Vec<String> = wrong
        .map(|at| format!("{at:?}: published {:?}, printed {:?}", wanted.get(at), printed.get(at)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_published_swap_is_printed_as_published() {
    let signatures = layouts().into_iter().find(|table| table.title == SIGNATURES).unwrap();
    let text = signatures.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let values: BTreeSet<String> =
        copied("004_swap.csv")[1..].iter().map(|row| row[1].clone()).collect();
    let printed = text.split('*').skip(1).step_by(2).map(str::to_owned);
    assert_eq!(printed.collect::<BTreeSet<_>>(), values);
    assert!(text.contains("module swapping") && !text.contains("recompil"), "{text}");
}

/// A typing error in the name of a row or column would leave a difference unexplained.
#[test]
fn causes_name_rows_or_columns_of_their_table() {
    for Layout { title, columns, rows, causes, .. } in layouts() {
        let columns = columns.into_iter().map(|column| column.heading);
        let rows = rows.iter().map(name);
        let known: BTreeSet<String> = columns.chain(rows).chain(["operators".to_owned()]).collect();
        for cause in causes {
            let mut names = cause.slower.iter().chain(&cause.faster).chain(&cause.at);
            assert!(names.all(|name| known.contains(name)), "{title}: {cause:?}");
            let is_for_all =
                [&cause.slower, &cause.faster, &cause.at].iter().all(|of| of.is_empty());
            assert!(!is_for_all && !cause.text.trim().is_empty(), "{title}: {cause:?}");
        }
    }
}

/// `true` if a name fits a pattern, in which `*` matches any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    name.char_indices().any(|(at, _)| fits(rest, &name[at..])) || fits(rest, "")
}

/// The texts in code style of a cell.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn section() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("METHODOLOGY.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("\n## Published tables\n").unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

/// The names of all rows of the documents' tables, and of the executors' columns.
fn rows() -> BTreeSet<String> {
    let first = |file: &str| copied(file).into_iter().skip(1).map(|row| row[0].clone());
    let join = |file: &str, columns: &[usize]| -> Vec<String> {
        let name =
            |row: &Vec<String>| columns.iter().map(|at| &*row[*at]).collect::<Vec<_>>().join("/");
        copied(file)[1..].iter().map(name).collect()
    };
    let headings = |file: &str| copied(file)[0][1..].to_vec();
    let sizes = ["write", "read"].into_iter().zip(["003_table_5.csv", "003_table_6.csv"]);
    let sizes =
        sizes.flat_map(|(verb, file)| first(file).map(move |size| format!("{verb} {size}")));
    (first("001_executors.csv").chain(headings("001_executors.csv")))
        .chain(join("000_deserialization.csv", &[0, 1]))
        .chain(first("002_accounts.csv"))
        .chain(headings("003_table_4.csv"))
        .chain(sizes)
        .chain(join("004_signatures.csv", &[1, 2, 3]))
        .chain(first("004_swap.csv"))
        .collect()
}

#[test]
fn the_methodology_compares_every_row_with_what_is_here() {
    let section = section();
    let lines: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").collect())
        .collect();
    let published: BTreeSet<&str> = lines.iter().flat_map(|cells| named(cells[0])).collect();
    let names = rows();
    for name in &names {
        assert!(published.iter().any(|pattern| fits(pattern, name)), "'{name}' is missing");
    }
    for pattern in published {
        assert!(names.iter().any(|name| fits(pattern, name)), "nobody published '{pattern}'");
    }
    let cases = case::built_in().unwrap();
    let guests = cases.iter().flat_map(|case| &case.guests).map(ToString::to_string);
    let known: BTreeSet<String> =
        cases.iter().map(|case| case.name.clone()).chain(guests).collect();
    for cells in &lines {
        assert!(cells.len() == 4 && cells.iter().all(|cell| !cell.trim().is_empty()), "{cells:?}");
        for here in named(cells[1]).filter(|here| *here != "touchstone swap") {
            let is_known = known.iter().any(|name| fits(here, name));
            assert!(is_known || here.parse::<Executor>().is_ok(), "there is no '{here}'");
        }
    }
}

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

#[test]
fn the_sizes_of_the_large_guest_are_those_of_its_module() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-runtime/built/large-runtime.wasm");
    let bytes = std::fs::read(path).unwrap();
    let info = ModuleInfo::read(&bytes).unwrap();
    let section = section().split_whitespace().collect::<Vec<_>>().join(" ");
    let own = info.functions - info.imports.len();
    for text in [
        format!("{} bytes", grouped(bytes.len())),
        format!("{} functions", grouped(own)),
        format!("{} bytes in {} segments", grouped(info.data_bytes), info.segments.len()),
        format!("{} pages of 64 KiB", info.memory.unwrap().minimum),
        format!("{} entries", grouped(info.tables[0].minimum as usize)),
    ] {
        assert!(section.contains(&text), "the methodology lacks '{text}'");
    }
}

/// Ratios to zero-copy encodings, in the text of the accounts' table.
#[test]
fn the_summary_of_the_accounts_is_evaluated_with_the_numbers_that_stand_there() {
    let table = layouts().into_iter().find(|table| table.title == ACCOUNTS).unwrap();
    let text = table.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let units: BTreeMap<String, f64> = copied("002_accounts.csv")[1..]
        .iter()
        .map(|row| (row[0].clone(), row[1].parse().unwrap()))
        .collect();
    let loaded = record::load(record::default_path(record::COUNTS)).unwrap();
    let counts = loaded.newest().unwrap().counts;
    let count = |function: &str| {
        let case = format!("accounts_{}", function.replace("::", "_"));
        let count = &counts[&(case, "accounts".to_owned())];
        count.metrics[&Metric::Operators] as f64
    };
    let ours = |function: &str| count(function) - count("fetch");
    let theirs = |a: &str, b: &str| format!("{:.1}", units[a] / units[b]);
    let ratio = |a: &str, b: &str| format!("{:.1}", ours(a) / ours(b));
    let of = |name: &str, what: &str| format!("{name}::{what}");
    for (what, number) in [
        (
            "8.7 (bincode over bytemuck)",
            theirs("bincode::update_amount", "bytemuck::update_amount"),
        ),
        ("27.4 (borsh over transmute)", theirs("borsh::update_amount", "transmute::update_amount")),
        ("5.3 to", theirs("bincode::read_owner", "bytemuck::read_owner")),
        ("10.9 for reads", theirs("borsh::read_owner", "transmute::read_owner")),
    ] {
        assert!(what.starts_with(&number) && text.contains(what), "{what}: {number}");
    }
    for zero_copy in ["transmute", "bytemuck", "zerocopy"] {
        let ratio = |name, what| ratio(&of(name, what), &of(zero_copy, what));
        let updates = ["bincode", "borsh", "wincode"].map(|name| ratio(name, "update_amount"));
        let reads = ["bincode", "borsh"].map(|name| ratio(name, "read_owner"));
        for number in [
            format!("{} (bincode)", updates[0]),
            format!("{} (borsh) for updates", updates[1]),
            format!("costs {} times as much", updates[2]),
            format!("{} and {} for reads", reads[0], reads[1]),
        ] {
            assert!(text.contains(&number), "{zero_copy}: '{number}' is not in: {text}");
        }
    }
}
