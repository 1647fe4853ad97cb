//! What others published, as the project's tables print it, against copies of the documents'
//! own tables in tests/published/. Each side is data that was entered on its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone::case;
use touchstone::tables::{self, Layout, Row};

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
    tables::load_all(&tables::default_folder()).unwrap().0
}

/// The table of 2022, with the guest that stands for Kusama's runtime.
fn executors(all: &mut BTreeMap<Place, String>) {
    let rows = copied("001_executors.csv");
    for row in &rows[1..] {
        // One name of the original lacks a word.
        let function = row[0].replace("kusama", "large").replace("memory_test", "memory_from_test");
        for (column, value) in rows[0].iter().zip(row).skip(1) {
            all.insert(place("The table of 2022, filled", &function, column), value.clone());
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

const ACCOUNTS: &str = "Accounts: what a codec costs inside a guest";

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
        // Table 3 has no column for what the others are held against.
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
                all.insert(
                    place(&format!("{verb} {number} readings"), format, ASIDE),
                    time.clone(),
                );
            }
        }
    }
}

const SIGNATURES: &str = "Signatures over secp256k1";

/// The signatures: a line for each machine and number of codegen units.
fn signatures(all: &mut BTreeMap<Place, String>) {
    for row in &copied("004_signatures.csv")[1..] {
        let [_, method, _, runtime, time, ratio] = &row[..] else { panic!("{row:?}") };
        let function = match method.as_str() {
            "Schnorr single message" => "Schnorr, single message".to_owned(),
            method => format!("{method}, 1024 messages"),
        };
        let at = place(SIGNATURES, &function, &runtime.to_lowercase());
        let lines = all.entry(at).or_default();
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
    let text = signatures.text;
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
