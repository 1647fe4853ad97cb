//! The server: gRPC → Redis → signatures → shared memory.

use super::mapping::SharedWords;
use super::queue::Queue;
use super::ring::Producer;
use super::sign::Signer;
use super::wire::{Accepted, Message, Signing, SigningServer};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

/// The secret key of both kinds, fixed for reproducible signatures.
const SECRET: [u8; 32] = [0x2a; 32];
/// Most messages put into Redis at once.
const MOST: usize = 64;
/// Pause while the shared memory is full.
const FULL: Duration = Duration::from_micros(20);

/// Addresses of the server's neighbours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Places {
    pub redis: PathBuf,
    pub ring: PathBuf,
}

/// Shared by the threads of the server.
struct Shared {
    redis: PathBuf,
    /// Number of all messages; `u64::MAX` until the client sent the last one.
    total: AtomicU64,
    is_taken: AtomicBool,
    /// `true` when the server ends.
    ends: AtomicBool,
}

/// Serves one client on a loopback port, until `end`. `ready` gets the address.
pub fn serve(
    places: &Places,
    ready: impl FnOnce(SocketAddr) -> Result<()>,
    end: impl Future<Output = ()>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    let producer = Producer::open(SharedWords::open(&places.ring)?)?;
    let shared = Arc::new(Shared {
        redis: places.redis.clone(),
        total: AtomicU64::new(u64::MAX),
        is_taken: AtomicBool::new(false),
        ends: AtomicBool::new(false),
    });
    let (failed, mut failure) = mpsc::channel(1);
    let of_signing = Arc::clone(&shared);
    let signing = std::thread::Builder::new().name("signing".to_owned()).spawn(move || {
        if let Err(error) = sign_all(&of_signing, producer) {
            // The server ends: there is no receiver.
            let _ = failed.blocking_send(error);
        }
    });
    let signing = signing.context("cannot start a thread")?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("cannot listen on loopback")?;
        ready(listener.local_addr().context("the socket has no address")?)?;
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let service = SigningServer::new(Service(Arc::clone(&shared)));
        let serving = Server::builder().add_service(service).serve_with_incoming(incoming);
        tokio::select! {
            served = serving => served.context("the gRPC server failed"),
            Some(error) = failure.recv() => Err(error),
            () = end => Ok(()),
        }
    });
    shared.ends.store(true, Ordering::Relaxed);
    // Its error was received or comes too late.
    drop(failure);
    let _ = signing.join();
    served
}

/// Takes all messages from Redis in order, signs them and passes them on.
fn sign_all(shared: &Shared, mut producer: Producer<SharedWords>) -> Result<()> {
    let signer =
        Signer::new(&SECRET).context("the secret is zero or not below the order of the curve")?;
    let mut queue = Queue::new(&shared.redis);
    let mut next = 0;
    while !shared.ends.load(Ordering::Relaxed) {
        if next == shared.total.load(Ordering::Acquire) {
            producer.end();
            return Ok(());
        }
        for message in queue.from(next)? {
            ensure!(message.sequence == next, "the stream has {} for {next}", message.sequence);
            let signed = signer.sign(&message)?;
            while !producer.put(&signed)? {
                if shared.ends.load(Ordering::Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(FULL);
            }
            next += 1;
        }
    }
    Ok(())
}

struct Service(Arc<Shared>);

#[tonic::async_trait]
impl Signing for Service {
    type SubmitStream = ReceiverStream<Result<Accepted, Status>>;

    async fn submit(
        &self,
        request: Request<Streaming<Message>>,
    ) -> Result<Response<Self::SubmitStream>, Status> {
        if self.0.is_taken.swap(true, Ordering::Relaxed) {
            return Err(Status::failed_precondition("another client has come before"));
        }
        let mut incoming = request.into_inner();
        let (to_queue, arrived) = mpsc::channel(MOST);
        let (answers, answered) = mpsc::channel(MOST);
        let shared = Arc::clone(&self.0);
        let queueing = std::thread::Builder::new().name("queueing".to_owned());
        queueing
            .spawn(move || queue_all(&shared, arrived, &answers))
            .map_err(|error| Status::resource_exhausted(error.to_string()))?;
        tokio::spawn(async move {
            // A lost client ends the stream like a finished one.
            while let Ok(Some(message)) = incoming.message().await {
                if to_queue.send(message).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(answered)))
    }
}

/// Puts messages into Redis as they arrive, and confirms them.
fn queue_all(
    shared: &Shared,
    mut arrived: mpsc::Receiver<Message>,
    answers: &mpsc::Sender<Result<Accepted, Status>>,
) {
    let mut queue = Queue::new(&shared.redis);
    let (mut batch, mut next) = (Vec::new(), 0);
    while arrived.blocking_recv_many(&mut batch, MOST) > 0 {
        let answer = match queue.append(&batch) {
            Ok(()) => {
                next = batch.last().map_or(next, |last| last.sequence + 1);
                Ok(Accepted { next })
            }
            Err(error) => Err(Status::unavailable(format!("{error:#}"))),
        };
        batch.clear();
        let is_over = answer.is_err();
        if answers.blocking_send(answer).is_err() || is_over {
            break;
        }
    }
    shared.total.store(next, Ordering::Release);
}
