//! What an error has left as it was.

/// What an error has left as it was: it is printed after the message, and is `untouched` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untouched {
    /// Everything that the command would have changed.
    Everything,
    /// The place that the message names: a remote.
    There,
    /// The history; settings or files may have changed.
    History,
    /// What this sentence names.
    Only(&'static str),
}

impl Untouched {
    /// Returns it as a sentence, without a final period.
    pub fn sentence(self) -> &'static str {
        match self {
            Untouched::Everything => "nothing has changed",
            Untouched::There => "nothing has changed there",
            Untouched::History => "history has not changed",
            Untouched::Only(sentence) => sentence,
        }
    }
}
