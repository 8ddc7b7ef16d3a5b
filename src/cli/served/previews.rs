//! Previews: what was shown, of which state; each counts once.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};

use crate::cli::actions::{Action, CommandLine};
use crate::design::state_digest;
use crate::model::interrupt::unpoisoned;
use crate::model::time::Moment;
use crate::model::{Code, Error, Result, World};

use super::run_action::{Answered, Own, Place};

/// The member of a call's arguments that names a preview.
pub(in crate::cli) const PREVIEW_ID: &str = "preview_id";

/// How many previews are kept.
const MAX_PREVIEWS: usize = 64;

/// A command line that may lose something: it is shown first, and done when its preview comes back.
pub(in crate::cli) struct Previewed<'a> {
    /// Which of several clients asks: the preview of one is worth nothing to another.
    pub(in crate::cli) client: String,
    /// The action.
    pub(in crate::cli) action: &'static Action,
    /// Its arguments, without that of the preview.
    pub(in crate::cli) arguments: Map<String, Value>,
    /// The command line that they make.
    pub(in crate::cli) line: CommandLine,
    /// Where it runs in place of the fixed directory.
    pub(in crate::cli) directory: Option<&'a PathBuf>,
    /// The id of the preview that comes back.
    pub(in crate::cli) preview: Option<String>,
}

/// What a preview is of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    /// Who was shown it.
    client: String,
    /// Where it works.
    directory: PathBuf,
    /// The name of the action.
    action: &'static str,
    /// Its arguments, without that of the preview.
    arguments: Map<String, Value>,
    /// The state it was made of.
    state: String,
}

/// The time and the chance of a dry run. That of a preview that comes back has those of the first: an id that depends on
/// them, as of a commit that undo would make, is then the same, and what differs has changed.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Frozen {
    moment: Moment,
    seed: u64,
}

impl Frozen {
    fn now(world: &World) -> Frozen {
        Frozen { moment: world.now(), seed: (world.entropy)() }
    }

    /// Stops the clock of a world; its random numbers are those of the seed.
    pub(in crate::cli) fn stop(self, world: &mut World) {
        let Frozen { moment, seed } = self;
        world.clock = Arc::new(move || moment);
        let count = AtomicU64::new(0);
        world.entropy = Arc::new(move || {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let bytes = blake3::hash(&[seed.to_le_bytes(), number.to_le_bytes()].concat());
            let [first, ..] = *bytes.as_bytes().as_chunks().0 else { return number };
            u64::from_le_bytes(first)
        });
    }
}

/// A preview that was given out.
struct StoredPreview {
    id: String,
    subject: Subject,
    frozen: Frozen,
}

/// The previews that were given out.
#[derive(Default)]
pub(in crate::cli) struct Previews(VecDeque<StoredPreview>);

impl Previews {
    /// Keeps a preview.
    fn give_out(&mut self, given: StoredPreview) {
        self.0.push_back(given);
        while self.0.len() > MAX_PREVIEWS {
            self.0.pop_front();
        }
    }

    /// Takes a preview back: it counts once. An id that another client tries is not used up.
    fn redeem(&mut self, id: &str, client: &str) -> Option<StoredPreview> {
        let is_own = |given: &StoredPreview| given.id == id && given.subject.client == client;
        let at = self.0.iter().position(is_own)?;
        self.0.remove(at)
    }
}

impl Place {
    /// Answers with a preview and its id, or does what the preview that comes back has shown.
    pub(in crate::cli) fn run_previewed(
        &self,
        previews: &Mutex<Previews>,
        wanted: Previewed<'_>,
        own: Own,
    ) -> Result<Answered> {
        if let Some(shown) = self.preview(previews, &wanted, &own)? {
            return Ok(shown);
        }
        let mut answered = self.run(wanted.line.into_words(), wanted.directory, own);
        if !answered.is_failure() {
            answered.object.insert("applied".to_owned(), true.into());
        }
        Ok(answered)
    }

    /// Returns a preview and its id; `None` if the preview that comes back has shown what would be done now.
    pub(in crate::cli) fn preview(
        &self,
        previews: &Mutex<Previews>,
        wanted: &Previewed<'_>,
        own: &Own,
    ) -> Result<Option<Answered>> {
        if let Some(id) = &wanted.preview {
            let given = unpoisoned(previews).redeem(id, &wanted.client);
            if let Some(given) = given {
                let (now, _) = self.shown(wanted, own, given.frozen, &self.state()?);
                if now == given.subject {
                    return Ok(None);
                }
            }
        }
        let frozen = Frozen::now(&self.world);
        let before = self.state()?;
        let (mut subject, mut shown) = self.shown(wanted, own, frozen.clone(), &before);
        let after = self.state()?;
        if after != before {
            // That of 'land' may have brought records of others here.
            (subject, shown) = self.shown(wanted, own, frozen.clone(), &after);
        }
        if wanted.preview.is_some() && !shown.is_failure() {
            let preview = Value::Object(std::mem::take(&mut shown.object));
            let notes = std::mem::take(&mut shown.notes);
            shown = Answered::of_error(&stale());
            shown.object.insert("preview".to_owned(), preview);
            shown.notes = notes;
        }
        shown.object.insert("applied".to_owned(), false.into());
        if shown.object.contains_key("preview") || !shown.is_failure() {
            let id = format!("preview-{}", self.world.nonce8());
            shown.object.insert("preview_id".to_owned(), id.clone().into());
            unpoisoned(previews).give_out(StoredPreview { id, subject, frozen });
        }
        Ok(Some(shown))
    }

    fn state(&self) -> Result<String> {
        state_digest::of(&self.open_in_memory()?)
    }

    /// Runs a command line dry: what its preview is of, and its answer. The state is that before: a later change is no
    /// longer what was shown.
    fn shown(
        &self,
        wanted: &Previewed<'_>,
        own: &Own,
        frozen: Frozen,
        state: &str,
    ) -> (Subject, Answered) {
        let dry = Own {
            action: Some(wanted.action),
            interrupt: own.interrupt.clone(),
            frozen: Some(frozen),
            ..Own::default()
        };
        // The answer of the dry run belongs to the state: agents, operations and remotes are in no digest of a repository.
        let shown = self.run(wanted.line.clone().dry().into_words(), wanted.directory, dry);
        let json = Value::from(shown.object.clone()).to_string();
        let subject = Subject {
            client: wanted.client.clone(),
            directory: self.world.cwd.clone(),
            action: wanted.action.name,
            state: state_digest::joined(state, &json),
            arguments: wanted.arguments.clone(),
        };
        (subject, shown)
    }
}

fn stale() -> Error {
    let message = "this 'preview_id' does not match: the arguments or the repository have changed since, or it was used before";
    Error::new(Code::PreviewStale, message)
        .hint("call again with the new 'preview_id' if its preview is right")
}
