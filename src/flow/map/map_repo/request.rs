//! What `map repo` is asked to map, and how.

use std::path::PathBuf;

/// Where the repository is.
#[derive(Clone, Debug)]
pub enum Origin {
    /// At a remote; it is read in its hub.
    Url(String),
    /// In a directory of this machine.
    Path(PathBuf),
}

/// What is to be mapped, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where it is.
    pub origin: Origin,
    /// The branch; else the usual one of a remote, or what is checked out.
    pub branch: Option<String>,
    /// The commit; else the tip.
    pub commit: Option<String>,
    /// The scope that it becomes; else what it is called, its address or its first commit.
    pub scope_id: Option<String>,
    /// Most records of a page; else what the settings say.
    pub flush_threshold: Option<u32>,
    /// Most tokens of a page; else what the settings say.
    pub flush_token_budget: Option<u32>,
    /// Whether its pages are never evicted; else what the settings say.
    pub pinned: bool,
}
