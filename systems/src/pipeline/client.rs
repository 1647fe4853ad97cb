//! The client: sends messages, at most a number of them ahead of the verdicts.

use super::wire::{Message, SigningClient};
use anyhow::{Context, Result, bail, ensure};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

/// Messages between this channel and gRPC.
const AHEAD: usize = 16;

/// Sends all messages and waits until all are in Redis. Takes a permit of `window` for each and
/// reports its sequence number to `sending`. Ends early with `cancelled`.
pub(super) fn send(
    address: SocketAddr,
    messages: Vec<Message>,
    window: Arc<Semaphore>,
    sending: impl Fn(u64) + Send + 'static,
    cancelled: oneshot::Receiver<()>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    let all = messages.len() as u64;
    let send = async move {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
        let channel = endpoint.connect().await.context("cannot connect to the server")?;
        let (to_server, outgoing) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            for message in messages {
                let Ok(permit) = window.acquire().await else { return };
                // The verdict returns it.
                permit.forget();
                sending(message.sequence);
                if to_server.send(message).await.is_err() {
                    return;
                }
            }
        });
        let answers = SigningClient::new(channel).submit(ReceiverStream::new(outgoing)).await;
        let mut answers = answers.context("the server refuses messages")?.into_inner();
        let mut next = 0;
        while let Some(accepted) = answers.message().await.context("the server failed")? {
            ensure!(accepted.next >= next, "the server forgot messages");
            next = accepted.next;
        }
        ensure!(next == all, "the server accepted {next} of {all} messages");
        Ok(())
    };
    runtime.block_on(async {
        tokio::select! {
            sent = send => sent,
            _ = cancelled => bail!("sending was stopped"),
        }
    })
}
