//! Previews: what was shown, of which state; each counts once.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// The member of a call's arguments that names a preview.
pub(in crate::cli) const PREVIEW_ID: &str = "preview_id";

/// How many previews are kept.
const MAX_PREVIEWS: usize = 64;

/// What a preview is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Subject {
    /// Where it works.
    pub(in crate::cli) directory: PathBuf,
    /// The name of the action.
    pub(in crate::cli) action: &'static str,
    /// Its arguments, without that of the preview.
    pub(in crate::cli) arguments: Map<String, Value>,
    /// The state it was made of.
    pub(in crate::cli) state: String,
}

/// The previews that were given out.
#[derive(Default)]
pub(in crate::cli) struct Previews(VecDeque<(String, Subject)>);

impl Previews {
    /// Keeps a preview under an id.
    pub(in crate::cli) fn give_out(&mut self, id: String, subject: Subject) {
        self.0.push_back((id, subject));
        while self.0.len() > MAX_PREVIEWS {
            self.0.pop_front();
        }
    }

    /// Takes a preview back: it counts once. Returns `true` if it is of this.
    pub(in crate::cli) fn redeem(&mut self, id: &str, subject: &Subject) -> bool {
        let at = self.0.iter().position(|(known, _)| known == id);
        at.and_then(|at| self.0.remove(at)).is_some_and(|(_, known)| known == *subject)
    }
}
