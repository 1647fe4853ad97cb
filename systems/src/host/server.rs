//! The sockets of the host, its start and its end.

use super::connections::{Connections, Place};
use super::http::{Limits, Service};
use super::patient::Patient;
use super::pool::Pool;
use super::{Catalogue, Conduct};
use anyhow::{Context, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Least size of a connection's buffer, bytes.
const LEAST_BUFFER: usize = 8192;
/// Bytes of answers that the kernel keeps for a client; the kernel doubles the number.
const SENDS: u32 = 128 << 10;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// Pause after a failed accept, often for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// Time of shutting down beyond the limit of a call.
const GRACE: Duration = Duration::from_secs(1);

/// A host with a bound address.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    service: Service,
}

/// The signal that ended a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Terminated,
    /// SIGINT, as by Ctrl-C.
    Interrupted,
}

impl Server {
    /// Binds the address and starts the threads that make calls.
    pub fn bind(
        address: impl ToSocketAddrs + std::fmt::Display,
        catalogue: Catalogue,
        limits: Limits,
        conduct: Conduct,
    ) -> Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().context("cannot start a runtime")?;
        let shown = address.to_string();
        let bind = || {
            let _inside = runtime.enter();
            let listener = listen(address.to_socket_addrs()?)?;
            let address = listener.local_addr()?;
            io::Result::Ok((listener, address))
        };
        let (listener, address) = bind().with_context(|| format!("cannot listen on {shown}"))?;
        let catalogue = Arc::new(catalogue);
        let Limits { threads, waiting, answer, .. } = limits;
        let pool = Pool::start(threads, waiting, answer, &catalogue, conduct)?;
        let service = Service { catalogue, pool, limits };
        Ok(Self { runtime, listener, address, service })
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT, then finishes its requests. A second signal ends it at once.
    pub fn run(self) -> Result<Ended> {
        let Self { runtime, listener, service, .. } = self;
        runtime.block_on(serve(listener, service))
    }
}

/// Listens on the first available address.
fn listen(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpListener> {
    let mut failed = io::Error::new(io::ErrorKind::InvalidInput, "there is no such address");
    for address in addresses {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let listening = socket.and_then(|socket| {
            socket.set_reuseaddr(true)?;
            // Connections inherit it.
            socket.set_send_buffer_size(SENDS)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        });
        match listening {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn serve(listener: TcpListener, service: Service) -> Result<Ended> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot await SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot await SIGINT")?;
    let mut signalled = async || {
        tokio::select! {
            _ = terminate.recv() => Ended::Terminated,
            _ = interrupt.recv() => Ended::Interrupted,
        }
    };
    let (limits, service) = (service.limits, Arc::new(service));
    let connections = Connections::new(limits.connections);
    let (end, ending) = watch::channel(false);
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let place = connections.place(peer.ip().to_canonical()).await;
                    let service = Arc::clone(&service);
                    tokio::spawn(connection(stream, place, service, ending.clone()));
                }
                Err(_) => {
                    connections.evict(PAUSE);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    let ended = tokio::select! {
        () = accept => Ended::Terminated,
        ended = signalled() => ended,
    };
    drop(listener);
    // Idle connections are closed, busy ones after their answers.
    let _ = end.send(true);
    tokio::select! {
        _ = tokio::time::timeout(limits.time + GRACE, connections.ended()) => {}
        _ = signalled() => {}
    }
    Ok(ended)
}

/// Serves a connection. Its errors are the client's concern.
async fn connection(
    stream: TcpStream,
    place: Place,
    service: Arc<Service>,
    mut ending: watch::Receiver<bool>,
) {
    // Otherwise an answer may wait for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    let (limits, turn) = (service.limits, Arc::clone(&place.turn));
    let answer = service_fn(move |request| {
        let (service, turn) = (Arc::clone(&service), Arc::clone(&turn));
        async move { Ok::<_, Infallible>(service.answer(request, &turn).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.time)
        .max_buf_size(limits.headers.max(LEAST_BUFFER));
    let stream = TokioIo::new(Patient::new(stream, limits.time));
    let mut served = std::pin::pin!(builder.serve_connection(stream, answer));
    tokio::select! {
        _ = served.as_mut() => return,
        () = place.turn.evicted() => return,
        _ = ending.wait_for(|ending| *ending) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
