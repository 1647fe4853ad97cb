//! A host over HTTP that runs, and a client of it.

use crate::command::Folder;
use crate::command::time::LIMIT;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

/// A host that runs, and the folder of its contracts.
pub(super) struct Host {
    process: Child,
    pub(super) address: String,
    /// Standard error: the lines that were not awaited so far, and the next.
    lines: Mutex<(Vec<String>, Receiver<String>)>,
    pub(super) folder: Folder,
}

pub(super) fn built(name: &str) -> PathBuf {
    touchstone::files::project(&format!("test-runtime/built/{name}.wasm"))
}

impl Host {
    /// A host of the contracts of a folder. Without `--timeout`, only a hang meets its limit.
    pub(super) fn of(folder: Folder, arguments: &[&str]) -> Self {
        let limit = LIMIT.as_secs().to_string();
        let sets = arguments.contains(&"--timeout");
        let timeout = ["--timeout", &limit].into_iter().filter(|_| !sets);
        let mut process = Command::new(env!("CARGO_BIN_EXE_touchstone"))
            .arg("serve")
            .arg(folder.at("x").parent().unwrap())
            .args(["--listen", "127.0.0.1:0"])
            .args(timeout)
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            errors.lines().map_while(Result::ok).all(|line| tell.send(line).is_ok())
        });
        let lines = Mutex::new((Vec::new(), lines));
        let mut host = Self { process, address: String::new(), lines, folder };
        let line = host.says("listening on http://");
        host.address = line.trim_start_matches("listening on http://").to_owned();
        host
    }

    /// A line on standard error that begins so.
    pub(super) fn says(&self, begin: &str) -> String {
        let mut lines = self.lines.lock().unwrap();
        let (earlier, next) = &mut *lines;
        if let Some(at) = earlier.iter().position(|line| line.starts_with(begin)) {
            return earlier.remove(at);
        }
        loop {
            let line = next.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("never: {begin}"));
            if line.starts_with(begin) {
                return line;
            }
            earlier.push(line);
        }
    }

    pub(super) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Sends bytes and reads until the host closes the connection.
    pub(super) fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // A host that refuses a request early may not read all of it.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Status code and body of the answer.
    pub(super) fn ask(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!(
            "{method} / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\
             {}\r\n",
            body.len(),
            lines.collect::<String>()
        );
        let answer = self.raw(&[head.as_bytes(), body].concat());
        let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub(super) fn call(&self, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        self.ask("POST", headers, body.as_bytes())
    }

    /// A number of the host's process, as the kernel has it.
    pub(super) fn status(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap().split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Ends the host by a signal; its exit code.
    pub(super) fn end(mut self, signal: &str) -> i32 {
        self.signal(signal);
        self.process.wait().unwrap().code().expect("it ended in order")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
