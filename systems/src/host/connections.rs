//! The places of connections. When all are taken, a new connection replaces one whose client keeps
//! the host waiting.

use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Least time that a client keeps the host waiting before its place may be taken.
const LEAST_WAIT: Duration = Duration::from_secs(1);
/// Pause before the host looks again for a place.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Connections {
    free: Arc<Semaphore>,
    most: u32,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    all: HashMap<u64, Arc<Turn>>,
}

/// The side that a connection waits for.
pub(super) struct Turn {
    peer: IpAddr,
    /// Start of waiting for the client: for the rest of a request, or to take the answer. `None`
    /// while a call waits or runs.
    waiting: Mutex<Option<Instant>>,
    /// Tells the connection to end.
    evicted: Notify,
}

impl Turn {
    fn new(peer: IpAddr) -> Self {
        let waiting = Mutex::new(Some(Instant::now()));
        Self { peer, waiting, evicted: Notify::new() }
    }

    /// The host now waits for the client.
    pub(super) fn is_the_clients(&self) {
        *self.waiting.lock() = Some(Instant::now());
    }

    /// The client now waits for the host.
    pub(super) fn is_the_hosts(&self) {
        *self.waiting.lock() = None;
    }

    /// Waits until another connection gets the place.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

/// The place of a connection; free again when dropped.
pub(super) struct Place {
    pub(super) turn: Arc<Turn>,
    number: u64,
    all: Arc<Connections>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.all.open.lock().all.remove(&self.number);
    }
}

impl Connections {
    pub(super) fn new(most: u32) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(most as usize));
        Arc::new(Self { free, most, open: Mutex::default() })
    }

    /// A place for a connection of this peer, once one is free or freed.
    pub(super) async fn place(self: &Arc<Self>, peer: IpAddr) -> Place {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                break Some(permit);
            }
            self.evict(LEAST_WAIT);
            let free = Arc::clone(&self.free).acquire_owned();
            if let Ok(permit) = tokio::time::timeout(PAUSE, free).await {
                break permit.ok();
            }
        };
        let turn = Arc::new(Turn::new(peer));
        let mut open = self.open.lock();
        open.last += 1;
        let number = open.last;
        open.all.insert(number, Arc::clone(&turn));
        drop(open);
        Place { turn, number, all: Arc::clone(self), _permit: permit }
    }

    /// Ends the connection that keeps the host waiting longest, if for `least` or more, of the peer
    /// with the most such connections.
    pub(super) fn evict(&self, least: Duration) {
        let mut open = self.open.lock();
        let now = Instant::now();
        let mut waiting: HashMap<IpAddr, (usize, Instant, u64)> = HashMap::new();
        for (number, turn) in &open.all {
            let Some(since) = *turn.waiting.lock() else { continue };
            if now.duration_since(since) < least {
                continue;
            }
            let own = waiting.entry(turn.peer).or_insert((0, since, *number));
            own.0 += 1;
            if (since, *number) < (own.1, own.2) {
                (own.1, own.2) = (since, *number);
            }
        }
        let found = waiting
            .into_values()
            .max_by_key(|(count, since, number)| (*count, Reverse((*since, *number))));
        if let Some(turn) = found.and_then(|(_, _, number)| open.all.remove(&number)) {
            turn.evicted.notify_one();
        }
    }

    /// Waits until all connections have ended.
    pub(super) async fn ended(&self) {
        let _ = self.free.acquire_many(self.most).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn peer(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(future)
    }

    /// The connections that were told to end.
    async fn evicted(places: &[Place]) -> Vec<usize> {
        let mut evicted = Vec::new();
        for (at, place) in places.iter().enumerate() {
            if tokio::time::timeout(Duration::ZERO, place.turn.evicted()).await.is_ok() {
                evicted.push(at);
            }
        }
        evicted
    }

    #[test]
    fn the_client_that_keeps_the_host_waiting_longest_loses_its_place() {
        run(async {
            let all = Connections::new(4);
            let mut places = Vec::new();
            for last in [1, 1, 2, 1] {
                places.push(all.place(peer(last)).await);
            }
            // The first one waits for its answer; peer 2 has one connection.
            places[0].turn.is_the_hosts();
            all.evict(Duration::ZERO);
            assert_eq!(evicted(&places).await, [1]);
            all.evict(Duration::MAX);
            assert_eq!(evicted(&places).await, [0; 0]);
            places[3].turn.is_the_hosts();
            all.evict(Duration::ZERO);
            assert_eq!(evicted(&places).await, [2]);
            all.evict(Duration::ZERO);
            assert_eq!(evicted(&places).await, [0; 0], "calls are not ended");
            places[0].turn.is_the_clients();
            all.evict(Duration::ZERO);
            assert_eq!(evicted(&places).await, [0]);
        });
    }

    #[test]
    fn among_peers_with_as_many_connections_the_oldest_goes() {
        run(async {
            for peers in [[1, 2, 3, 4], [4, 3, 2, 1]] {
                let all = Connections::new(4);
                let mut places = Vec::new();
                for last in peers {
                    places.push(all.place(peer(last)).await);
                }
                all.evict(Duration::ZERO);
                assert_eq!(evicted(&places).await, [0]);
            }
        });
    }

    #[test]
    fn a_place_that_is_left_is_free_again() {
        run(async {
            let all = Connections::new(1);
            let first = all.place(peer(1)).await;
            first.turn.is_the_hosts();
            let second = all.place(peer(1));
            drop(first);
            let second = second.await;
            assert_eq!(all.open.lock().all.len(), 1);
            drop(second);
            all.ended().await;
        });
    }
}
