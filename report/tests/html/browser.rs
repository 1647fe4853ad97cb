//! Chromium without a window, driven over its debugging pipe: messages of its DevTools
//! protocol, each ended by a zero byte. The pipe needs no port, no further crate and, with a
//! shell that renames two file descriptors, no unsafe code.

#[path = "../../../tests/fixtures/time.rs"]
mod time;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use time::LIMIT;

/// Names under which Chromium is installed.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

const ARGUMENTS: [&str; 13] = [
    "--headless",
    "--remote-debugging-pipe",
    // Root in a container has no sandbox, and the page is ours.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "about:blank",
];

/// A page in a browser of its own.
pub(crate) struct Page {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    profile: tempfile::TempDir,
    session: String,
    last: u64,
    /// Events: method and parameters.
    events: Vec<(String, Value)>,
    url: String,
}

/// The installed Chromium.
static PROGRAM: LazyLock<Option<&str>> = LazyLock::new(|| {
    PROGRAMS.into_iter().find(|name| {
        let mut command = Command::new(name);
        let command = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
});

impl Page {
    /// Opens a page and waits until it is loaded. `None`, with a message, where no Chromium is
    /// installed.
    ///
    /// # Panics
    ///
    /// Where none is installed and `TOUCHSTONE_REQUIRE_CHROMIUM` is set.
    pub(crate) fn open(url: &str) -> Option<Self> {
        let Some(program) = *PROGRAM else {
            let text = "Chromium is missing: install it (Debian: apt-get install chromium)";
            assert!(std::env::var_os("TOUCHSTONE_REQUIRE_CHROMIUM").is_none(), "{text}");
            // The test harness shows what is written past its capture.
            let _ = writeln!(std::io::stderr(), "skipped a test of the interactive page. {text}.");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let log = std::fs::File::create(profile.path().join("log")).unwrap();
        let mut browser = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#, program])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(ARGUMENTS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let (to, from) = (browser.stdin.take().unwrap(), browser.stdout.take().unwrap());
        let mut page = Self {
            browser,
            to,
            from: BufReader::new(from),
            profile,
            session: String::new(),
            last: 0,
            events: Vec::new(),
            url: url.to_owned(),
        };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = &target["targetId"];
        let attached =
            page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        page.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Network", "Runtime", "Log", "DOM"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.go(url);
        Some(page)
    }

    /// Goes to an address, and waits until the page is loaded.
    pub(crate) fn go(&mut self, url: &str) {
        // From another page, so that an address with another end loads the page again.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.wait("location.href === 'about:blank' && document.readyState === 'complete'");
        self.call("Page.navigate", json!({"url": url}));
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'");
    }

    /// Sends a command and returns its result. Events before it are kept.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        let result = self.ask(method, parameters);
        result.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        // Targets and downloads belong to the browser.
        let of_browser = method.starts_with("Target.") || method.starts_with("Browser.");
        if !of_browser {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let mut answer = self.message();
            if answer["id"] == json!(id) {
                let error = answer["error"].take();
                return if error.is_null() { Ok(answer["result"].take()) } else { Err(error) };
            }
        }
    }

    /// The next message; events are noted.
    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        if bytes.pop() != Some(0) {
            let log = std::fs::read_to_string(self.profile.path().join("log")).unwrap();
            panic!("Chromium ended: {log}");
        }
        let mut message: Value = serde_json::from_slice(&bytes).unwrap();
        if let Some(method) = message["method"].as_str() {
            self.events.push((method.to_owned(), message["params"].take()));
        }
        message
    }

    /// The value of an expression; a promise is waited for.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].take()
    }

    /// The text that an expression gives.
    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} gives {value}")).to_owned()
    }

    /// The number that an expression gives.
    #[track_caller]
    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.eval(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} gives {value}"))
    }

    /// The texts that an expression gives.
    #[track_caller]
    pub(crate) fn texts(&mut self, expression: &str) -> Vec<String> {
        let value = self.eval(expression);
        serde_json::from_value(value.clone()).unwrap_or_else(|_| panic!("{expression}: {value}"))
    }

    /// Waits until an expression holds.
    #[track_caller]
    pub(crate) fn wait(&mut self, expression: &str) {
        let begin = Instant::now();
        // While a page is replaced, nothing can be evaluated.
        let parameters = json!({"expression": expression, "returnByValue": true});
        loop {
            let answer = self.ask("Runtime.evaluate", parameters.clone());
            if answer.is_ok_and(|answer| answer["result"]["value"] == json!(true)) {
                return;
            }
            assert!(begin.elapsed() < LIMIT, "this does not become true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for an event whose parameters are `wanted`.
    #[track_caller]
    pub(crate) fn event(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut from = 0;
        loop {
            let found = self.events[from..].iter().find(|(own, of)| own == method && wanted(of));
            if let Some((_, parameters)) = found {
                return parameters.clone();
            }
            from = self.events.len();
            self.message();
        }
    }

    /// Chooses a file in a file input.
    pub(crate) fn choose(&mut self, input: &str, file: &Path) {
        let node = self.call("Runtime.evaluate", json!({"expression": input}));
        let object = &node["result"]["objectId"];
        self.call("DOM.setFileInputFiles", json!({"files": [file], "objectId": object}));
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "ArrowDown" => (40, ""),
            "ArrowUp" => (38, ""),
            "End" => (35, ""),
            other => panic!("the code of {other} is not known here"),
        };
        let mut event = json!({"type": "keyDown", "key": key, "code": key,
            "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code});
        if !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Sets the width of the window and the preferred colours.
    pub(crate) fn appear(&mut self, width: u32, height: u32, scheme: &str) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// That the page asked for nothing but itself, and that nothing went wrong in it.
    #[track_caller]
    pub(crate) fn assert_clean(&mut self) {
        // What happened before this answer has been told.
        self.eval("0");
        let file = self.url.split('#').next().unwrap_or_default().to_owned();
        for (method, of) in &self.events {
            match method.as_str() {
                "Network.requestWillBeSent" => {
                    let url = of["request"]["url"].as_str().unwrap_or_default();
                    let is_own =
                        ["data:", "blob:", "about:"].iter().any(|own| url.starts_with(own));
                    assert!(is_own || url == file, "a request leaves the page: {url}");
                }
                "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled" => {
                    panic!("{method}: {of}");
                }
                _ => {}
            }
        }
        let is_own = |(method, of): &&(String, Value)| {
            method == "Network.requestWillBeSent" && of["request"]["url"] == json!(file)
        };
        assert!(self.events.iter().filter(is_own).count() > 0, "no request was seen");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.ask("Browser.close", json!({}));
        let mut rest = Vec::new();
        let _ = self.from.read_to_end(&mut rest);
        let _ = self.browser.wait();
    }
}
