//! The options of `map repo`.

use std::path::PathBuf;

/// Where the repository is.
#[derive(Clone, Debug)]
pub enum Origin {
    /// At a remote; it is read in its hub.
    Url(String),
    /// In a directory of this machine.
    Path(PathBuf),
}

/// The repository to map, and the options of the mapping.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where it is.
    pub origin: Origin,
    /// The branch; the default is that of the remote, or the one that is checked out.
    pub branch: Option<String>,
    /// The commit; else the tip.
    pub commit: Option<String>,
    /// The scope id; the default is the name of the repository: its address or its root commit.
    pub scope_id: Option<String>,
    /// The maximum number of records in a page; the default is that of the settings.
    pub flush_threshold: Option<u32>,
    /// The maximum number of tokens in a page; the default is that of the settings.
    pub flush_token_budget: Option<u32>,
    /// Whether its pages are never evicted; the default is that of the settings.
    pub pinned: bool,
}
