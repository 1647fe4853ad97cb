//! A plug-in host over HTTP: `plugin_host [ADDRESS]`.
//!
//! Each plug-in has functions of the host and a state of its own. Each request is a call on a clean
//! instance, on a thread of Tokio's for blocking work. Without an address the program serves
//! itself, makes requests, and measures what the change of threads costs. `ENGINE` names another
//! engine than Wasmtime.

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use touchstone_executor::*;

/// The context of a call: the state of its plug-in, and a place for the answer.
struct Request<'a> {
    count: &'a mut u32,
    answer: Vec<u8>,
}

struct RequestKind;

impl ContextKind for RequestKind {
    type Value<'a> = Request<'a>;
}

fn functions() -> Functions {
    let mut functions = Functions::standard();
    functions.wrap("host", "count", |call: &mut HostCall<'_>| {
        call.with_context::<RequestKind, _>(|request| {
            *request.count += 1;
            *request.count
        })
    });
    functions.wrap("host", "answer", |call: &mut HostCall<'_>, at: u32, length: u32| {
        let bytes = call.read(at, length)?.to_vec();
        call.with_context::<RequestKind, _>(|request| request.answer = bytes)
    });
    functions
}

/// A loaded plug-in, its idle instances, and its state.
struct Plugin {
    module: Box<dyn Module>,
    handle: ExportId,
    idle: Mutex<Vec<Box<dyn Instance>>>,
    count: Mutex<u32>,
}

impl Plugin {
    fn call(&self, input: &[u8]) -> Result<Vec<u8>> {
        let idle = self.idle.lock().unwrap().pop();
        let mut instance = idle.map_or_else(|| self.module.new_instance(), Ok)?;
        let mut count = self.count.lock().unwrap();
        let mut request = Request { count: &mut count, answer: Vec::new() };
        let limits = Limits { deadline: Some(Duration::from_millis(100)), ..Limits::default() };
        let context = Some(Context::of_kind::<RequestKind>(&mut request));
        let options = CallOptions { context, limits, ..CallOptions::default() };
        let outcome = instance.call_with(self.handle, input, &mut Vec::new(), options);
        self.idle.lock().unwrap().push(instance);
        match outcome? {
            Outcome::Returned => Ok(request.answer),
            Outcome::Trapped(trap) => Err(trap.into()),
        }
    }
}

type Plugins = Arc<HashMap<String, Arc<Plugin>>>;

async fn serve(State(all): State<Plugins>, Path(name): Path<String>, input: String) -> Vec<u8> {
    let Some(plugin) = all.get(&name).cloned() else { return b"no such plug-in".to_vec() };
    let called = tokio::task::spawn_blocking(move || plugin.call(input.as_bytes())).await;
    called.expect("calls do not panic").unwrap_or_else(|error| error.to_string().into())
}

/// One request, as a browser would make it.
fn request(address: SocketAddr) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let head = "POST /greeter HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5";
    write!(stream, "{head}\r\n\r\nalice")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.rsplit("\r\n").next().unwrap_or_default().to_owned())
}

#[tokio::main]
async fn main() -> Result<()> {
    let engine = std::env::var("ENGINE").unwrap_or_else(|_| "wasmtime".to_owned());
    let engine = embedder::engine(&engine)?;
    let config = Config { functions: functions(), interruptible: true, ..Config::default() };
    let (_, module) = embedder::load(
        &*engine,
        "greeter",
        include_bytes!("greeter.wat"),
        Strategy::TRACKED,
        &config,
    )?;
    let handle = module.export("handle", Abi::Input)?;
    let plugin = Arc::new(Plugin { module, handle, idle: Mutex::default(), count: Mutex::new(0) });
    let plugins: Plugins = Arc::new(HashMap::from([("greeter".to_owned(), Arc::clone(&plugin))]));
    let given = std::env::args().nth(1);
    let listener = TcpListener::bind(given.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/{plugin}", post(serve)).with_state(plugins);
    let server = tokio::spawn(axum::serve(listener, router).into_future());
    if given.is_some() {
        return Ok(server.await??);
    }
    for number in 1..=3 {
        let answer = tokio::task::block_in_place(|| request(address))?;
        ensure!(answer == format!("{number}: hello, alice"), "{answer}");
    }
    let start = Instant::now();
    (0..1000).try_for_each(|_| plugin.call(b"x").map(drop))?;
    let (here, start) = (start.elapsed() / 1000, Instant::now());
    for _ in 0..1000 {
        let plugin = Arc::clone(&plugin);
        tokio::task::spawn_blocking(move || plugin.call(b"x")).await??;
    }
    println!("a call: {here:?}, on another thread: {:?}", start.elapsed() / 1000);
    Ok(())
}
