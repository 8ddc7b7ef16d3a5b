//! Asks the remote on a thread of its own: one that hangs keeps no watch from firing, and no process from ending.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};

use crate::git::ObjectWrites;
use crate::model::{Error, Result, World};
use crate::store::Session;
use crate::store::settings::Flags;

use super::reactions;

/// The branches that have moved, or why they are not known.
type Answer = Result<Vec<String>>;

/// A remote that is asked from time to time.
pub(super) struct RemotePoll {
    interval: Duration,
    due: Instant,
    asked: Option<Receiver<Answer>>,
}

impl RemotePoll {
    /// Asks for the first time at once.
    pub(super) fn every(interval: Duration) -> RemotePoll {
        RemotePoll { interval, due: Instant::now(), asked: None }
    }

    /// Returns the answer if one has come, and asks if it is time.
    pub(super) fn poll(&mut self, world: &World, flags: &Flags) -> Option<Answer> {
        let Some(asked) = &self.asked else {
            if self.due <= Instant::now() {
                self.ask(world, flags);
            }
            return None;
        };
        let answer = match asked.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => None,
            Ok(answer) => Some(answer),
        };
        self.asked = None;
        self.due = Instant::now() + self.interval;
        answer
    }

    fn ask(&mut self, world: &World, flags: &Flags) {
        let (sender, receiver) = mpsc::channel();
        let (world, flags) = (world.clone(), flags.clone());
        let ask = move || {
            let session = Session::open(world, &flags, ObjectWrites::Durable);
            let answer = session.and_then(|session| reactions::fetch(&session));
            // A process that ends does not wait for it.
            sender.send(answer).ok();
        };
        let thread = std::thread::Builder::new().name("remote".to_owned());
        self.asked = Some(receiver);
        if let Err(error) = thread.spawn(ask) {
            let (sender, receiver) = mpsc::channel();
            let failed = Error::io("cannot start a thread", error);
            sender.send(Err(failed)).ok();
            self.asked = Some(receiver);
        }
    }
}
