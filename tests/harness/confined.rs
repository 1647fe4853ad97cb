//! Folders that somebody else made: what their files name stays in the folder, and nothing in
//! them is waited for.

use crate::fixtures::{Run, cell};
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use touchstone::case::{self, Case, Guests, digest};
use touchstone::files::FilePath;
use touchstone::record::{BENCH, PEERS, RecordFile};
use touchstone_report::{self as report, Options};

const CASE: &str = r#"
[case]
name     = "echo"
guests   = ["guest"]
export   = "echo"
abi      = "substrate"
input    = { file = "input" }
threads  = [1]
expect   = { output = "0x" }
analysis = "A case for tests."
"#;

/// A folder of cases, and a secret beside it.
struct Place {
    parent: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { parent: tempfile::tempdir().unwrap() };
        fs::create_dir(place.own("")).unwrap();
        let wasm = wat::parse_str("(module)").unwrap();
        fs::write(place.own("guest.wasm"), &wasm).unwrap();
        fs::write(place.own("SHA256SUMS"), format!("{}  guest.wasm\n", digest(&wasm))).unwrap();
        fs::write(place.own("input"), "mine").unwrap();
        fs::write(place.own("echo.toml"), CASE).unwrap();
        fs::create_dir(place.out("")).unwrap();
        for name in ["input", "guest.wasm", "SHA256SUMS", "echo.toml"] {
            fs::copy(place.own(name), place.out(name)).unwrap();
        }
        place
    }

    fn own(&self, name: &str) -> PathBuf {
        self.parent.path().join("own").join(name)
    }

    fn out(&self, name: &str) -> PathBuf {
        self.parent.path().join("out").join(name)
    }

    fn folder(&self) -> FilePath {
        FilePath::within(&self.own("")).unwrap()
    }

    /// The inputs and guests of the cases, or why they cannot be read.
    fn read(&self) -> Result<Vec<u8>, String> {
        let read = || -> anyhow::Result<Vec<u8>> {
            let cases: Vec<Case> = case::load_all(self.folder())?;
            let mut guests = Guests::in_folder(self.folder());
            for guest in &cases[0].guests {
                guests.file(guest)?;
            }
            cases[0].input.bytes(None)
        };
        read().map_err(|error| format!("{error:#}"))
    }

    fn refuses(&self, what: impl Display, why: &str) {
        let error = self.read().expect_err(&what.to_string());
        assert!(error.contains(why), "{what}: {error}");
    }
}

const OUT: &str = "leads out of";

#[test]
fn links_that_leave_the_folder_are_not_followed() {
    for name in ["input", "guest.wasm", "SHA256SUMS", "echo.toml"] {
        let place = Place::new();
        assert_eq!(place.read().unwrap(), b"mine");
        fs::remove_file(place.own(name)).unwrap();
        for target in [place.out(name), Path::new("../out").join(name)] {
            symlink(target, place.own(name)).unwrap();
            place.refuses(name, OUT);
            fs::remove_file(place.own(name)).unwrap();
        }
        // A link within the folder is followed.
        fs::create_dir(place.own("real")).unwrap();
        fs::copy(place.out(name), place.own("real").join(name)).unwrap();
        symlink(Path::new("real").join(name), place.own(name)).unwrap();
        assert_eq!(place.read().unwrap(), b"mine", "{name}");
        fs::remove_file(place.own(name)).unwrap();
        symlink(name, place.own(name)).unwrap();
        place.refuses(name, "symbolic link");
    }
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let place = Place::new();
    symlink(place.out(""), place.own("sub")).unwrap();
    let absolute = place.out("input");
    for name in ["../out/input", "sub/input", "sub/../input", absolute.to_str().unwrap()] {
        let text = CASE.replace(r#"file = "input""#, &format!("file = {name:?}"));
        fs::write(place.own("echo.toml"), text).unwrap();
        place.refuses(name, OUT);
    }
    for name in ["../out/guest", "sub/guest"] {
        let text = CASE.replace(r#"["guest"]"#, &format!("[{name:?}]"));
        fs::write(place.own("echo.toml"), text).unwrap();
        place.refuses(name, OUT);
    }
}

#[test]
fn a_link_that_takes_a_name_during_the_run_is_not_followed() {
    let place = Place::new();
    let cases = case::load_all(place.folder()).unwrap();
    fs::remove_file(place.own("input")).unwrap();
    symlink(place.out("input"), place.own("input")).unwrap();
    let error = format!("{:#}", cases[0].input.bytes(None).unwrap_err());
    assert!(error.contains(OUT), "{error}");
    // The folder itself is the one that was opened, whatever has its name now.
    let file = place.folder().join("records/records.jsonl");
    fs::rename(place.own(""), place.parent.path().join("moved")).unwrap();
    symlink(place.out(""), place.parent.path().join("own")).unwrap();
    drop(RecordFile::append_to(&file).unwrap());
    assert!(place.parent.path().join("moved/records/records.jsonl").exists());
    assert!(!place.out("records").exists());
}

/// Makes a pipe. The test would wait for ever if anything opened it to read or to write.
fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn pipes_sockets_and_folders_are_refused_and_not_waited_for() {
    for name in ["input", "guest.wasm", "SHA256SUMS", "echo.toml"] {
        let place = Place::new();
        fs::remove_file(place.own(name)).unwrap();
        pipe(&place.own(name));
        place.refuses(name, "it is a pipe");
        fs::remove_file(place.own(name)).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(place.own(name)).unwrap();
        place.refuses(name, "it is a socket");
        drop(socket);
        fs::remove_file(place.own(name)).unwrap();
        fs::create_dir(place.own(name)).unwrap();
        place.refuses(name, "it is a folder");
    }
}

#[test]
fn records_are_not_appended_through_links_or_second_names() {
    let place = Place::new();
    let victim = place.out("victim");
    fs::write(&victim, "kept\n").unwrap();
    fs::create_dir(place.own("records")).unwrap();
    let file = place.own("records/records.jsonl");
    let append = || match RecordFile::append_to(place.folder().join("records/records.jsonl")) {
        Ok(_) => String::new(),
        Err(error) => format!("{error:#}"),
    };
    assert_eq!(append(), "");
    fs::remove_file(&file).unwrap();
    for target in [victim.clone(), "../echo.toml".into(), "nothing".into()] {
        symlink(&target, &file).unwrap();
        assert!(append().contains("symbolic link"), "{}: {}", target.display(), append());
        fs::remove_file(&file).unwrap();
    }
    fs::hard_link(&victim, &file).unwrap();
    assert!(append().contains("second name"), "{}", append());
    fs::remove_file(&file).unwrap();
    pipe(&file);
    assert!(append().contains("is no file"), "{}", append());
    fs::remove_dir_all(place.own("records")).unwrap();
    symlink(place.out(""), place.own("records")).unwrap();
    assert!(append().contains("is no folder of its own"), "{}", append());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "kept\n");
    assert!(!place.out(BENCH).exists());
}

/// The file that the user names may be a link; the one beside it that is written first may not.
#[test]
fn new_records_are_not_written_through_a_link() {
    let place = Place::new();
    let file = place.own("new.jsonl");
    symlink(place.out("input"), place.own("new.jsonl.part")).unwrap();
    let error = format!("{:#}", RecordFile::replacing(&file).unwrap_err());
    assert!(error.contains("new.jsonl.part"), "{error}");
    assert_eq!(fs::read(place.out("input")).unwrap(), b"mine");
    fs::remove_file(place.own("new.jsonl.part")).unwrap();
    symlink(place.out("input"), &file).unwrap();
    RecordFile::replacing(&file).unwrap().finish().unwrap();
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    assert_eq!(fs::read(place.out("input")).unwrap(), b"mine");
}

fn options(folder: &Path) -> Options {
    Options {
        records: folder.join("records").join(BENCH),
        division: folder.join("pages.toml"),
        tables: folder.join("tables"),
        charts: folder.join("charts.toml"),
        explanations: folder.join("explanations.toml"),
        draft: true,
        ..Options::of_project(folder.join("BENCHMARK.md"))
    }
}

#[test]
fn a_report_reads_and_writes_nothing_outside_its_folder() {
    let place = Place::new();
    let options = options(&place.own(""));
    fs::create_dir(place.own("records")).unwrap();
    Run::of_cells([cell("alpha", "pooling", "a_case", 1, 10.0)]).append(&options.records);
    let write = || report::write(&options).map_err(|error| format!("{error:#}"));
    write().unwrap();
    // What is read.
    let records = options.records.with_file_name(PEERS);
    for path in [&options.charts, &options.division, &options.explanations, &records] {
        symlink(place.out("input"), path).unwrap();
        let error = write().unwrap_err();
        assert!(error.contains(OUT), "{}: {error}", path.display());
        fs::remove_file(path).unwrap();
        pipe(path);
        let error = write().unwrap_err();
        assert!(error.contains("it is a pipe"), "{}: {error}", path.display());
        fs::remove_file(path).unwrap();
    }
    symlink(place.out(""), &options.tables).unwrap();
    assert!(write().unwrap_err().contains(OUT));
    fs::remove_file(&options.tables).unwrap();
    // Pages are made new.
    let page = options.pages.join("index.html");
    fs::remove_file(&page).unwrap();
    symlink(place.out("input"), &page).unwrap();
    write().unwrap();
    assert!(fs::symlink_metadata(&page).unwrap().is_file());
    fs::remove_dir_all(&options.pages).unwrap();
    symlink(place.out(""), &options.pages).unwrap();
    assert!(write().unwrap_err().contains("is no folder of its own"));
    assert_eq!(fs::read(place.out("input")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(place.out("")).unwrap().count(), 4);
    // The page keeps what stands outside its markers, and that is not another file's text.
    fs::remove_file(&options.pages).unwrap();
    fs::remove_file(&options.page).unwrap();
    symlink(place.out("input"), &options.page).unwrap();
    assert!(write().unwrap_err().contains(OUT));
}

#[test]
fn what_a_case_names_twice_or_without_bound_is_refused() {
    let place = Place::new();
    for (from, to, why) in [
        (r#"["guest"]"#, r#"["guest", "guest"]"#, "names the guest 'guest' twice"),
        (r#"["guest"]"#, r#"["a-b", "a_b"]"#, "names the guest 'a_b' twice"),
        ("[1]", "[1, 2, 1]", "names 1 threads twice"),
        ("[1]", "[65537]", "threads from 1 upwards"),
        ("abi ", "strategies = [\"pooling\", \"pooling\"]\nabi ", "the strategy pooling twice"),
        (
            "abi ",
            "without = [{ engine = \"e\", reason = \"a\" }, { engine = \"e\", reason = \"b\" }]\nabi ",
            "the engine 'e' in 'without' twice",
        ),
        (
            "abi ",
            "also = [{ input = \"0x00\", output = \"0x\" }, { input = \"0x00\", output = \"0x\" }]\nabi ",
            "the same further call in 'also' twice",
        ),
    ] {
        assert!(CASE.contains(from));
        fs::write(place.own("echo.toml"), CASE.replacen(from, to, 1)).unwrap();
        place.refuses(to, why);
    }
    for input in [
        "{ json = 1000000000000, seed = 1 }",
        "{ json_checksum = 1000000000000, seed = 1 }",
        "{ monsters = 1000000, points = 1000000, seed = 1, codec = \"karmem\" }",
        "{ readings = 1000000000000, seed = 1, codec = \"karmem\" }",
    ] {
        let text = CASE.replace(r#"{ file = "input" }"#, input);
        fs::write(place.own("echo.toml"), text).unwrap();
        place.refuses(input, "at most 256 MiB");
    }
    let many: Vec<String> = (1..=60_000).map(|threads| threads.to_string()).collect();
    let text = CASE.replace("[1]", &format!("[{}]", many.join(", ")));
    fs::write(place.own("echo.toml"), text).unwrap();
    place.refuses("a long list", "has 60000 numbers of threads; the most are 256");
    let text = CASE.replace("[1]", &format!("[1]\ntitles = [\"{}\"]", "x".repeat(1025)));
    fs::write(place.own("echo.toml"), text).unwrap();
    place.refuses("a long title", "has a name or title of 1025 bytes; the most are 1024");
    // What the report reads is no case.
    fs::write(place.own("charts.toml"), "no case").unwrap();
    let text = format!("{CASE}# {}\n", "x".repeat(5 << 20));
    fs::write(place.own("echo.toml"), text).unwrap();
    place.refuses("a large file", "has more than 4 MiB");
}
