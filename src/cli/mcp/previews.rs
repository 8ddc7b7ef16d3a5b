//! Previews: what was shown, of which state; each counts once.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// The member of a call's arguments that names a preview.
pub(super) const PREVIEW_ID: &str = "preview_id";

/// How many previews are kept.
const MAX_PREVIEWS: usize = 64;

/// What a preview is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// Where it works.
    pub(super) directory: PathBuf,
    /// The name of the action.
    pub(super) action: &'static str,
    /// Its arguments, without that of the preview.
    pub(super) arguments: Map<String, Value>,
    /// The state it was made of.
    pub(super) state: String,
}

/// The previews that were given out.
#[derive(Default)]
pub(super) struct Previews(VecDeque<(String, Subject)>);

impl Previews {
    /// Keeps a preview under an id.
    pub(super) fn give_out(&mut self, id: String, subject: Subject) {
        self.0.push_back((id, subject));
        while self.0.len() > MAX_PREVIEWS {
            self.0.pop_front();
        }
    }

    /// Takes a preview back: it counts once. Returns `true` if it is of this.
    pub(super) fn redeem(&mut self, id: &str, subject: &Subject) -> bool {
        let at = self.0.iter().position(|(known, _)| known == id);
        at.and_then(|at| self.0.remove(at)).is_some_and(|(_, known)| known == *subject)
    }
}
