//! The sockets of the host, its start and its end.

use super::http::{Limits, Service};
use super::pool::Pool;
use super::{Catalogue, Conduct};
use anyhow::{Context, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Least size of a connection's buffer, bytes.
const LEAST_BUFFER: usize = 8192;
/// Pause after a connection that cannot be accepted: often there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the end may take beside the limit of a call.
const GRACE: Duration = Duration::from_secs(1);

/// A host whose address is taken.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: Service,
}

/// Why a host ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// SIGTERM.
    Terminated,
    /// SIGINT, as by Ctrl-C.
    Interrupted,
}

impl Server {
    /// Takes the address and starts the threads that make calls.
    ///
    /// # Errors
    ///
    /// When the address is in use or none of this machine, or no thread can be started.
    pub fn bind(
        address: impl ToSocketAddrs + std::fmt::Display,
        catalogue: Catalogue,
        limits: Limits,
        conduct: Conduct,
    ) -> Result<Self> {
        let shown = address.to_string();
        let bind = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            std::io::Result::Ok((listener, address))
        };
        let (listener, address) = bind().with_context(|| format!("cannot listen on {shown}"))?;
        let catalogue = Arc::new(catalogue);
        let pool = Pool::start(limits.threads, limits.waiting, &catalogue, conduct)?;
        let service = Service { catalogue, pool, limits };
        Ok(Self { listener, address, service })
    }

    /// The address, with the port that the system chose where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT, then finishes the requests that it has.
    ///
    /// # Errors
    ///
    /// When the system refuses sockets or signals.
    pub fn run(self) -> Result<Ended> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().context("cannot start a runtime")?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<Ended> {
        let Self { listener, service, .. } = self;
        let listener = tokio::net::TcpListener::from_std(listener).context("cannot listen")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot await SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot await SIGINT")?;
        let (limits, service) = (service.limits, Arc::new(service));
        let free = Arc::new(Semaphore::new(limits.connections));
        let (end, ending) = watch::channel(false);
        let mut connections = JoinSet::new();
        let accept = async || {
            let place = Arc::clone(&free).acquire_owned().await;
            (listener.accept().await, place)
        };
        let ended = loop {
            let (accepted, place) = tokio::select! {
                accepted = accept() => accepted,
                Some(_) = connections.join_next() => continue,
                _ = terminate.recv() => break Ended::Terminated,
                _ = interrupt.recv() => break Ended::Interrupted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let connected = connection(stream, Arc::clone(&service), ending.clone());
                    connections.spawn(async move {
                        connected.await;
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        };
        drop(listener);
        // Idle connections are closed, busy ones after their answers.
        let _ = end.send(true);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(limits.time + GRACE, all).await;
        Ok(ended)
    }
}

/// Serves a connection. What goes wrong with it is the client's concern.
async fn connection(stream: TcpStream, service: Arc<Service>, mut ending: watch::Receiver<bool>) {
    // Without it an answer may wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let limits = service.limits;
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.time)
        .max_buf_size(limits.headers.max(LEAST_BUFFER));
    let served = builder.serve_connection(TokioIo::new(stream), answer);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        _ = ending.wait_for(|ending| *ending) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
