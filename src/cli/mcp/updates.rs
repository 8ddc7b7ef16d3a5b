//! Updates of resources: the events of the colony, as the addresses of the resources that they change. Checkpoints,
//! decisions and pages never change; scopes do.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::cli::served::run_action::Place;
use crate::model::Result;
use crate::store::{Session, key};
use crate::watch::events::{Follower, OwnEvents, Request};

/// How often a follower looks whether its client has gone.
const CLIENT_INTERVAL: Duration = Duration::from_millis(500);

/// How many addresses may wait for a client that reads slowly; then the follower waits.
const MAX_WAITING: usize = 256;

/// Maximum subscriptions of a client.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// The keys of events that change a scope.
const OF_SCOPES: [&str; 3] = ["mapped:", "unmapped:", "reindexed:"];

/// Returns the address of a scope.
pub(super) fn of_scope(id: &str) -> String {
    format!("colony://scope/{}", key::encode(id))
}

/// Follows the events on a thread of its own, until the receiver is dropped.
pub(super) fn follow(place: &Place) -> std::result::Result<Receiver<String>, ErrorData> {
    let failed = |why: String| ErrorData::internal_error(why, None);
    let session = place.open_in_memory().map_err(|error| failed(error.sentence()))?;
    let request = Request {
        since: None,
        keys: OF_SCOPES.map(str::to_owned).to_vec(),
        scope: None,
        own: OwnEvents::Shown,
        limit: MAX_WAITING,
    };
    // From now on, though the thread starts later.
    let mut follower =
        Follower::start(&session, &request).map_err(|error| failed(error.sentence()))?;
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let thread = std::thread::Builder::new().name("updates".to_owned());
    let started = thread.spawn(move || {
        // Where the log cannot be read any more, the receiver learns that nothing more comes.
        drop(pass_on(&session, &mut follower, &sender));
    });
    started.map_err(|error| failed(error.to_string()))?;
    Ok(receiver)
}

fn pass_on(session: &Session, follower: &mut Follower, sender: &Sender<String>) -> Result<()> {
    while !sender.is_closed() {
        let report = follower.next(session, Some(Instant::now() + CLIENT_INTERVAL))?;
        for event in report.into_iter().flat_map(|report| report.events) {
            let scope = OF_SCOPES.iter().find_map(|prefix| event.key.strip_prefix(prefix));
            if scope.is_some_and(|scope| sender.blocking_send(of_scope(scope)).is_err()) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The subscriptions of a client of a protocol with a handshake.
#[derive(Clone, Default)]
pub(super) struct Subscriptions(Arc<Mutex<Subscribed>>);

#[derive(Default)]
struct Subscribed {
    addresses: BTreeSet<String>,
    is_followed: bool,
}

impl Subscriptions {
    /// Adds one; the first starts the follower.
    pub(super) fn add(
        &self,
        address: String,
        place: &Place,
        peer: &Peer<RoleServer>,
    ) -> std::result::Result<(), ErrorData> {
        let mut subscribed = self.lock();
        if subscribed.addresses.len() >= MAX_SUBSCRIPTIONS {
            let message = format!("at most {MAX_SUBSCRIPTIONS} subscriptions");
            return Err(ErrorData::invalid_params(message, None));
        }
        if !subscribed.is_followed {
            let mut updates = follow(place)?;
            subscribed.is_followed = true;
            let (own, peer) = (self.clone(), peer.clone());
            tokio::spawn(async move {
                while let Some(address) = updates.recv().await {
                    let is_wanted = own.lock().addresses.contains(&address);
                    let update = ResourceUpdatedNotificationParam::new(address);
                    if is_wanted && peer.notify_resource_updated(update).await.is_err() {
                        break;
                    }
                }
                own.lock().is_followed = false;
            });
        }
        subscribed.addresses.insert(address);
        Ok(())
    }

    /// Removes one.
    pub(super) fn remove(&self, address: &str) {
        self.lock().addresses.remove(address);
    }

    fn lock(&self) -> MutexGuard<'_, Subscribed> {
        // A panic elsewhere leaves a set of addresses.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
