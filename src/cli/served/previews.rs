//! Previews: what was shown, of which state; each counts once.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::{Map, Value};

use crate::cli::actions::{Action, CommandLine};
use crate::design::state_digest;
use crate::model::interrupt::unpoisoned;
use crate::model::{Code, Error, Result};

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

/// The previews that were given out.
#[derive(Default)]
pub(in crate::cli) struct Previews(VecDeque<(String, Subject)>);

impl Previews {
    /// Keeps a preview under an id.
    fn give_out(&mut self, id: String, subject: Subject) {
        self.0.push_back((id, subject));
        while self.0.len() > MAX_PREVIEWS {
            self.0.pop_front();
        }
    }

    /// Takes a preview back: it counts once. Returns `true` if it is of this.
    fn redeem(&mut self, id: &str, subject: &Subject) -> bool {
        // An id that another client tries is not used up.
        let is_own = |(known, of): &(String, Subject)| known == id && of.client == subject.client;
        let at = self.0.iter().position(is_own);
        at.and_then(|at| self.0.remove(at)).is_some_and(|(_, known)| known == *subject)
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
        let Previewed { client, action, arguments, line, directory, preview } = wanted;
        // Before the dry run: a later change is no longer what was shown.
        let state = state_digest::of(&self.look()?)?;
        let dry = Own { action: Some(action), interrupt: own.interrupt.clone(), ..Own::default() };
        // The answer of the dry run belongs to the state: agents, operations and remotes are in no digest of a repository.
        let mut shown = self.run(line.clone().dry().into_words(), directory, dry);
        let told = Value::from(shown.object.clone()).to_string();
        let subject = Subject {
            client,
            directory: self.world.cwd.clone(),
            action: action.name,
            state: state_digest::joined(&state, &told),
            arguments,
        };
        let is_shown = preview.map(|id| unpoisoned(previews).redeem(&id, &subject));
        if is_shown == Some(true) {
            let mut answered = self.run(line.into_words(), directory, own);
            if !answered.is_failure() {
                answered.object.insert("applied".to_owned(), true.into());
            }
            return Ok(answered);
        }
        if is_shown == Some(false) && !shown.is_failure() {
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
            unpoisoned(previews).give_out(id, subject);
        }
        Ok(shown)
    }
}

fn stale() -> Error {
    let message = "this 'preview_id' does not match: the arguments or the repository have changed since, or it was used before";
    Error::new(Code::PreviewStale, message)
        .hint("call again with the new 'preview_id' if its preview is right")
}
