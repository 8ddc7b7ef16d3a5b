//! Where the refs of git-colony are on a remote: under their own names, or among branches and tags, for servers that take
//! nothing else.

use crate::git::RefName;

/// The prefix of the refs that travel.
const OURS: &str = "refs/colony/";

/// The refs that hold tag objects, which no branch can.
const CHECKPOINTS: &str = "refs/colony/checkpoints/";

/// The branches that stand for them.
const BRANCHES: &str = "refs/heads/colony/";

/// The tags that stand for checkpoints.
const TAGS: &str = "refs/tags/colony/checkpoints/";

/// The names that the refs of git-colony have on a remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Their own.
    Own,
    /// Branches below `colony/`, and checkpoints as tags.
    AsBranches,
}

impl Placement {
    /// Returns the name that a ref has on the remote.
    pub(super) fn there(self, name: &RefName) -> RefName {
        match self {
            Placement::Own => name.clone(),
            Placement::AsBranches => moved(name, CHECKPOINTS, TAGS)
                .or_else(|| moved(name, OURS, BRANCHES))
                .unwrap_or_else(|| name.clone()),
        }
    }

    /// Returns the name that a ref of the remote has here; `None` for one that stands for nothing.
    pub(super) fn here(self, name: &RefName) -> Option<RefName> {
        match self {
            Placement::Own => Some(name.clone()),
            Placement::AsBranches if name.as_bytes().starts_with(OURS.as_bytes()) => None,
            Placement::AsBranches => moved(name, TAGS, CHECKPOINTS)
                .or_else(|| moved(name, BRANCHES, OURS))
                .or_else(|| Some(name.clone())),
        }
    }

    /// Returns what a fetch of all branches leaves out, as a refspec.
    pub(super) fn left_out(self) -> Option<String> {
        (self == Placement::AsBranches).then(|| format!("^{BRANCHES}*"))
    }
}

/// Returns a name with another prefix.
fn moved(name: &RefName, from: &str, to: &str) -> Option<RefName> {
    let rest = name.as_bytes().strip_prefix(from.as_bytes())?;
    Some(RefName::new([to.as_bytes(), rest].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        for (own, there) in [
            ("refs/colony/forks/x", "refs/heads/colony/forks/x"),
            ("refs/colony/scopes", "refs/heads/colony/scopes"),
            ("refs/colony/checkpoints/x", "refs/tags/colony/checkpoints/x"),
            ("refs/heads/fork/x", "refs/heads/fork/x"),
            ("refs/tags/checkpoint/x", "refs/tags/checkpoint/x"),
        ] {
            let (own, there) = (RefName::from(own), RefName::from(there));
            assert_eq!(Placement::AsBranches.there(&own), there);
            assert_eq!(Placement::AsBranches.here(&there), Some(own.clone()));
            assert_eq!(Placement::Own.there(&own), own);
        }
        assert_eq!(Placement::AsBranches.here(&RefName::from("refs/colony/scopes")), None);
    }
}
