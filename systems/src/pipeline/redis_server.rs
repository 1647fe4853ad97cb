//! A Redis server in a child process, which can be killed and restarted.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest start.
const STARTING: Duration = Duration::from_secs(120);

/// The program and its libraries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub server: PathBuf,
    /// Folder of its libraries; empty for the system's.
    pub libraries: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no redis-server: run `make redis`")]
pub struct Missing;

impl Program {
    /// The program that `make redis` prepared in a project, or the one on the `PATH`.
    pub fn find(project: &Path) -> Result<Self, Missing> {
        let settings = std::fs::read_to_string(project.join(".toolchain/redis.toml"));
        let prepared = settings.ok().and_then(|text| toml::from_str::<Self>(&text).ok());
        if let Some(prepared) = prepared.filter(|own| own.server.exists()) {
            return Ok(prepared);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut all = std::env::split_paths(&path).map(|folder| folder.join("redis-server"));
        let server = all.find(|server| server.is_file()).ok_or(Missing)?;
        Ok(Self { server, libraries: PathBuf::new() })
    }
}

/// A running Redis on a socket in a folder. Every answered command is in its append-only file as
/// far as the kernel: it survives the process, but not the machine.
///
/// Redis ends with the thread that started it, and when this is dropped.
#[derive(Debug)]
pub struct RedisServer {
    program: Program,
    folder: PathBuf,
    process: Option<Child>,
}

impl RedisServer {
    /// Starts Redis in an empty folder and waits until it answers.
    pub fn start(program: &Program, folder: &Path) -> Result<Self> {
        let mut server =
            Self { program: program.clone(), folder: folder.to_owned(), process: None };
        server.start_again()?;
        let until = Instant::now() + STARTING;
        while !server.answers() {
            let ended = server.process.as_mut().and_then(|process| process.try_wait().ok()?);
            if let Some(status) = ended {
                let log = std::fs::read_to_string(server.folder.join("redis.log"));
                bail!("redis-server ended with {status}: {}", log.unwrap_or_default().trim_end());
            }
            if Instant::now() >= until {
                bail!("redis-server did not answer for {} s", STARTING.as_secs());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// Restarts a killed Redis without waiting for it.
    pub fn start_again(&mut self) -> Result<()> {
        let parent = rustix::process::getpid();
        let mut command = Command::new(&self.program.server);
        command
            .args(["--port", "0", "--unixsocketperm", "700", "--save", "", "--appendonly", "yes"])
            .args(["--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"])
            .args(["--daemonize", "no", "--logfile", "redis.log", "--unixsocket", "redis.sock"])
            .arg("--dir")
            .arg(&self.folder)
            .current_dir(&self.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !self.program.libraries.as_os_str().is_empty() {
            command.env("LD_LIBRARY_PATH", &self.program.libraries);
        }
        // SAFETY: the function makes two system calls and allocates nothing, which is allowed
        // between fork and exec.
        unsafe {
            command.pre_exec(move || {
                let signal = rustix::process::Signal::KILL;
                rustix::process::set_parent_process_death_signal(Some(signal))?;
                // The parent may have ended before that.
                match rustix::process::getppid() {
                    Some(now) if now == parent => Ok(()),
                    _ => Err(std::io::ErrorKind::NotFound.into()),
                }
            });
        }
        let process = command.spawn();
        let program = self.program.server.display();
        self.process = Some(process.with_context(|| format!("cannot start {program}"))?);
        Ok(())
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Redis may have ended already. A process that cannot be waited for ends with this one.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    fn answers(&self) -> bool {
        let ping = || {
            let mut connection = super::queue::connect(&self.socket())?;
            redis::cmd("PING").query::<String>(&mut connection)
        };
        ping().is_ok()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}
