//! Events as they come: one follower of the log for all clients, from the first to the last of them.
//!
//! A client that reads too slowly, or whose position the log no longer has, gets `lost` and fetches its page again.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hyper::body::{Bytes, Frame};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::sync::mpsc;

use crate::cli::served::run_action::{Own, Place};
use crate::model::interrupt::unpoisoned;
use crate::model::{Code, Result};
use crate::store::Session;
use crate::watch::events::{Follower, OwnEvents, Request};

use super::answer;
use super::guard::Refusal;
use super::server::Dashboard;

/// How many events may wait for a client.
const MAX_WAITING: usize = 256;

/// How many streams may be open.
const MAX_STREAMS: usize = 16;

/// How often an idle stream says that it lives.
const TICK_INTERVAL: Duration = Duration::from_secs(15);

/// How often the follower looks whether there is a client left.
const CLIENT_INTERVAL: Duration = Duration::from_secs(1);

/// The kind of the message after which a stream ends.
const END: &str = "end";

/// One message of a stream.
#[derive(Clone, Debug)]
pub(super) struct Message {
    kind: &'static str,
    /// The position of an event.
    position: Option<String>,
    data: String,
}

impl Message {
    /// The state of an operation.
    pub(super) fn operation(data: &Value) -> Message {
        Message { kind: "operation", position: None, data: data.to_string() }
    }

    fn lost() -> Message {
        Message { kind: "lost", position: None, data: "{}".to_owned() }
    }

    /// The end of all logins.
    pub(super) fn end() -> Message {
        Message { kind: END, position: None, data: "{}".to_owned() }
    }

    fn tick() -> Message {
        Message { kind: "tick", position: None, data: "{}".to_owned() }
    }

    fn to_bytes(&self) -> Bytes {
        let id = self.position.as_ref().map_or_else(String::new, |at| format!("id: {at}\n"));
        Bytes::from(format!("{id}event: {}\ndata: {}\n\n", self.kind, self.data))
    }
}

/// All streams.
#[derive(Clone)]
pub(super) struct Streams {
    sender: Sender<Message>,
    open: Arc<AtomicUsize>,
    /// Whether a thread follows the log: it ends, and the next client looks, while this is locked.
    is_followed: Arc<Mutex<bool>>,
}

impl Default for Streams {
    fn default() -> Streams {
        let (sender, _) = broadcast::channel(MAX_WAITING);
        Streams { sender, open: Arc::default(), is_followed: Arc::default() }
    }
}

impl Streams {
    /// Sends a message to all clients.
    pub(super) fn sender(&self) -> Sender<Message> {
        self.sender.clone()
    }
}

/// Returns `true` if the client accepts a stream.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/event-stream"))
}

/// Opens a stream for a client, from the position that it has. It ends with the login of the client.
pub(super) fn open(dashboard: &Arc<Dashboard>, client: String, since: Option<String>) -> Response {
    let streams = &dashboard.streams;
    if streams.open.fetch_add(1, Ordering::SeqCst) >= MAX_STREAMS {
        streams.open.fetch_sub(1, Ordering::SeqCst);
        let message = format!("{MAX_STREAMS} streams are open, the maximum");
        return answer::refused(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::ServerBusy,
            message,
        ));
    }
    let counted = OpenStream(Arc::clone(&streams.open));
    // Before the events that the client has missed are looked up: none falls between.
    let live = streams.sender.subscribe();
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let (own, dashboard) = (streams.clone(), Arc::clone(dashboard));
    let place = dashboard.place.clone();
    tokio::spawn(async move {
        let looked_up =
            tokio::task::spawn_blocking(move || own.missed(&place, since.as_deref())).await;
        let first = looked_up.unwrap_or_else(|_| vec![Message::lost()]);
        let is_in = || unpoisoned(&dashboard.logins).has(&client);
        pass_on(first, live, &sender, is_in).await;
        drop(counted);
    });
    let mut response = Response::new(Body::new(Messages(receiver)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Counts a stream as long as it is open.
struct OpenStream(Arc<AtomicUsize>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Passes messages on to one client, until it has gone, or its login has ended.
async fn pass_on(
    first: Vec<Message>,
    mut live: Receiver<Message>,
    client: &mpsc::Sender<Bytes>,
    is_in: impl Fn() -> bool,
) {
    let mut sent = first.iter().rev().find_map(|message| message.position.clone());
    for message in first {
        if client.send(message.to_bytes()).await.is_err() {
            return;
        }
    }
    loop {
        let next = tokio::select! {
            next = live.recv() => next,
            () = tokio::time::sleep(TICK_INTERVAL) => Ok(Message::tick()),
            () = client.closed() => return,
        };
        let message = match next {
            Ok(_) if !is_in() => Message::end(),
            Ok(message) => message,
            Err(RecvError::Lagged(_)) => Message::lost(),
            Err(RecvError::Closed) => return,
        };
        if is_before(message.position.as_deref(), sent.as_deref()) {
            continue;
        }
        sent = message.position.clone().or(sent);
        if client.send(message.to_bytes()).await.is_err() || message.kind == END {
            return;
        }
    }
}

/// Returns `true` if an event was sent already: the log was looked up while it came.
fn is_before(position: Option<&str>, sent: Option<&str>) -> bool {
    let parts = |at: &str| {
        let (epoch, number) = at.split_once(':')?;
        Some((epoch.to_owned(), number.parse::<u64>().ok()?))
    };
    match (position.and_then(parts), sent.and_then(parts)) {
        (Some((epoch, number)), Some((last_epoch, last))) => epoch == last_epoch && number <= last,
        _ => false,
    }
}

/// The messages of one stream as a body.
struct Messages(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Messages {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Streams {
    /// Has the log followed, and returns what a client has missed.
    fn missed(&self, place: &Place, since: Option<&str>) -> Vec<Message> {
        if self.follow(place).is_err() {
            return vec![Message::tick(), Message::lost()];
        }
        let Some(since) = since else {
            // A first message, so that the client knows that the stream is open.
            return vec![Message::tick()];
        };
        let options = [format!("--since={since}"), format!("--limit={MAX_WAITING}")];
        let words = ["events".to_owned(), "--all".to_owned()].into_iter().chain(options);
        let answered = place.run(words.map(Into::into).collect(), None, Own::default());
        let flag = |name: &str| answered.object.get(name).is_some_and(|value| value == true);
        if answered.is_failure() || flag("gap") || flag("truncated") {
            return vec![Message::tick(), Message::lost()];
        }
        let events = answered.object.get("events").and_then(Value::as_array);
        let mut messages = vec![Message::tick()];
        messages.extend(events.into_iter().flatten().map(event));
        messages
    }

    /// Follows the log on a thread of its own, as long as there are clients.
    fn follow(&self, place: &Place) -> Result<()> {
        let mut is_followed = unpoisoned(&self.is_followed);
        if *is_followed {
            return Ok(());
        }
        let session = place.open_in_memory()?;
        let request = Request {
            since: None,
            keys: Vec::new(),
            scope: None,
            own: OwnEvents::Shown,
            limit: MAX_WAITING,
        };
        // From now on, though the thread starts later.
        let mut follower = Follower::start(&session, &request)?;
        let sender = self.sender.clone();
        let known = Arc::clone(&self.is_followed);
        let thread = std::thread::Builder::new().name("events".to_owned());
        let started = thread.spawn(move || {
            while has_clients(&sender, &known) {
                if read_log(&session, &mut follower, &sender).is_err() {
                    *unpoisoned(&known) = false;
                    // Without a client it is lost on nobody.
                    sender.send(Message::lost()).ok();
                    return;
                }
            }
        });
        started.map_err(|error| crate::model::Error::io("cannot follow events", error))?;
        *is_followed = true;
        Ok(())
    }
}

/// Returns `true` if there is a client; without one, nothing is followed from now on.
fn has_clients(sender: &Sender<Message>, is_followed: &Mutex<bool>) -> bool {
    let mut is_followed = unpoisoned(is_followed);
    *is_followed = sender.receiver_count() > 0;
    *is_followed
}

/// Passes on what comes within a moment.
fn read_log(session: &Session, follower: &mut Follower, sender: &Sender<Message>) -> Result<()> {
    let Some(report) = follower.next(session, Some(Instant::now() + CLIENT_INTERVAL))? else {
        return Ok(());
    };
    if report.gap {
        sender.send(Message::lost()).ok();
    }
    for entry in &report.events {
        let entry = serde_json::to_value(entry).unwrap_or_default();
        // The last client may have gone since.
        sender.send(event(&entry)).ok();
    }
    Ok(())
}

/// Returns an event of the log as a message.
fn event(entry: &Value) -> Message {
    let position = entry.get("position").and_then(Value::as_str).map(str::to_owned);
    Message { kind: "colony", position, data: entry.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_sent_once() {
        assert!(is_before(Some("e:3"), Some("e:3")));
        assert!(is_before(Some("e:2"), Some("e:3")));
        assert!(!is_before(Some("e:4"), Some("e:3")));
        assert!(!is_before(Some("f:1"), Some("e:3")));
        assert!(!is_before(None, Some("e:3")) && !is_before(Some("e:1"), None));
    }
}
