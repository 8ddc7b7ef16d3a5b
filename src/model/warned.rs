//! The causes of warnings, each reported once: a hub that cannot be used fails several steps of one command.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The causes that the warnings of a run have named.
#[derive(Clone, Default)]
pub struct Warned(Arc<Mutex<BTreeSet<String>>>);

impl Warned {
    /// Records a cause; returns `true` if no warning has named it before.
    pub fn is_first(&self, cause: &str) -> bool {
        // A panic elsewhere leaves the set valid.
        let mut causes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        causes.insert(cause.to_owned())
    }
}
