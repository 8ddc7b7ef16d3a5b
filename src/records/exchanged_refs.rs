//! The refs that are exchanged with remotes, and the names under which a repository remembers those of a
//! remote.
//!
//! The table is an allow-list: a ref that is not in it is neither sent nor accepted, whatever the remote
//! offers. The refs of agents and checkouts, kept work and everything private are not in it.

use crate::git::RefName;
use crate::store::key;
use crate::store::refs::ref_names;

/// Refs with a longer name (as a component of our own refs) are not exchanged: file systems allow 255 bytes.
const MAX_BYTES: usize = 200;

/// The kind of a ref, which determines its merge rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The branch of a fork.
    ForkBranch,
    /// The record of a fork.
    ForkRecord,
    /// A named checkpoint: it never changes.
    Checkpoint,
    /// The git tag of a checkpoint: the same object.
    CheckpointTag,
    /// The mappings of the default branch: each scope is merged by itself.
    Scopes,
    /// The records of documents: those of both sides are kept.
    Knowledge,
    /// A blackboard: each key is merged by itself.
    Blackboard,
    /// The maps of rewritten histories: they are only fast-forwarded.
    Migrations,
    /// The committed work of the agents of one checkout, which that checkout alone writes.
    Machine,
}

/// A row of the allow-list: a ref of this name or all below it, and the folder that remembers the remote's
/// value.
struct Row {
    name: &'static str,
    kind: Kind,
    noted: &'static str,
}

const EXCHANGED: &[Row] = &[
    row("refs/heads/fork", Kind::ForkBranch, "heads"),
    row("refs/colony/checkpoints", Kind::Checkpoint, "kept"),
    row("refs/tags/checkpoint", Kind::CheckpointTag, "checkpoints"),
    row("refs/colony/forks", Kind::ForkRecord, "forks"),
    row("refs/colony/scopes", Kind::Scopes, "scopes"),
    row("refs/colony/knowledge", Kind::Knowledge, "knowledge"),
    row("refs/colony/blackboard", Kind::Blackboard, "blackboard"),
    row("refs/colony/migrations", Kind::Migrations, "migrations"),
    row("refs/colony/machines", Kind::Machine, "machines"),
];

impl Kind {
    /// Returns `true` if there is one ref of this kind, with nothing below it.
    fn is_single(self) -> bool {
        matches!(self, Kind::Scopes | Kind::Knowledge | Kind::Migrations)
    }

    /// Returns `true` for a record that is merged key by key.
    pub fn is_keyed(self) -> bool {
        matches!(self, Kind::Scopes | Kind::Knowledge | Kind::Blackboard)
    }
}

const fn row(name: &'static str, kind: Kind, noted: &'static str) -> Row {
    Row { name, kind, noted }
}

/// Returns the prefixes of all exchanged refs, for a scan of those here.
pub fn prefixes() -> impl Iterator<Item = String> {
    EXCHANGED.iter().map(|row| format!("{}/", row.name))
}

/// Returns the exchanged refs that have a full name of their own, with nothing below.
pub fn single_names() -> impl Iterator<Item = RefName> {
    let rows = EXCHANGED.iter().filter(|row| row.kind.is_single());
    rows.map(|row| RefName::from(row.name))
}

/// Returns the kind of an exchanged ref; `None` for every other one.
pub fn kind_of(name: &RefName) -> Option<Kind> {
    find(name).map(|(row, _)| row.kind)
}

/// Returns the label of a fork from its branch or its record.
pub fn label_of(name: &RefName) -> Option<String> {
    let (row, rest) = find(name)?;
    let is_fork = matches!(row.kind, Kind::ForkBranch | Kind::ForkRecord);
    is_fork.then_some(rest)
}

/// Returns the prefix of everything that a repository remembers of a remote.
pub fn notes_of(remote: &str) -> String {
    format!("{}{}/", ref_names::REMOTES, key::encode(remote))
}

/// Returns the prefix of refs that were fetched and are not checked yet.
pub fn incoming_of(remote: &str) -> String {
    format!("{}incoming/", notes_of(remote))
}

/// Returns the prefix of the shared records as of the last time this repository and its hub agreed. No remote has
/// such a name when it is encoded.
pub fn notes_of_hub() -> String {
    format!("{}%hub/", ref_names::REMOTES)
}

/// Returns the ref that remembers a shared record when this repository and its hub last agreed.
pub fn note_of_hub(name: &RefName) -> Option<RefName> {
    note_below(&notes_of_hub(), name)
}

/// Returns the ref that remembers the remote's value of a ref when both last agreed.
pub fn note_of(remote: &str, name: &RefName) -> Option<RefName> {
    note_below(&notes_of(remote), name)
}

fn note_below(notes: &str, name: &RefName) -> Option<RefName> {
    let (row, rest) = find(name)?;
    let component = if rest.is_empty() {
        // No encoded name begins like this.
        "%".to_owned()
    } else {
        key::encode(&rest)
    };
    let name = format!("{notes}{}/{component}", row.noted);
    Some(RefName::from(name.as_str()))
}

/// Finds the row of a ref and the rest of its name.
fn find(name: &RefName) -> Option<(&'static Row, String)> {
    let text = std::str::from_utf8(name.as_bytes()).ok()?;
    let (row, rest) = EXCHANGED.iter().find_map(|row| {
        let rest = text.strip_prefix(row.name)?;
        Some((row, rest))
    })?;
    let rest = match rest.strip_prefix('/') {
        Some(_) if row.kind.is_single() => return None,
        Some(rest) => rest,
        None if rest.is_empty() && row.kind.is_single() => "",
        None => return None,
    };
    let plain = !rest.starts_with('-') && !rest.contains(char::is_control);
    let fits = key::encode(rest).len() <= MAX_BYTES;
    (name.is_valid() && plain && fits).then(|| (row, rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<Kind> {
        kind_of(&RefName::from(name))
    }

    #[test]
    fn only_listed_refs_are_exchanged() {
        assert_eq!(kind("refs/heads/fork/a/b"), Some(Kind::ForkBranch));
        assert_eq!(kind("refs/colony/forks/a"), Some(Kind::ForkRecord));
        assert_eq!(kind("refs/colony/checkpoints/x"), Some(Kind::Checkpoint));
        assert_eq!(kind("refs/tags/checkpoint/x"), Some(Kind::CheckpointTag));
        assert_eq!(kind("refs/colony/scopes"), Some(Kind::Scopes));
        assert_eq!(kind("refs/colony/blackboard/s"), Some(Kind::Blackboard));
        assert_eq!(kind("refs/colony/knowledge"), Some(Kind::Knowledge));
        for home in [
            "refs/heads/main",
            "refs/heads/fork",
            "refs/heads/forks/a",
            "refs/tags/v1",
            "refs/colony/agents/ada/main/heads/x",
            "refs/colony/desks/1/heads/x",
            "refs/colony/kept/x",
            "refs/colony/forks",
            "refs/colony/forksx/a",
            "refs/colony/scopes2",
            "refs/colony/scopes/x",
            "refs/colony/knowledge/x",
            "refs/colony/blackboard",
            "refs/colony-local/ops/1/2",
            "refs/colony-local/forks/x",
            "refs/colony/forks/-x",
            "refs/colony/forks/a..b",
            "refs/colony/forks/a\nb",
            "refs/colony/forks/a:b",
            "refs/colony/forks/*",
            "HEAD",
        ] {
            assert_eq!(kind(home), None, "{home}");
        }
        let long = format!("refs/colony/forks/{}", "x".repeat(201));
        assert_eq!(kind(&long), None);
        assert_eq!(kind_of(&RefName::new(b"refs/colony/forks/\xff".to_vec())), None);
    }

    #[test]
    fn notes_never_collide() {
        let note = |name: &str| note_of("or/igin", &RefName::from(name)).unwrap().to_string();
        assert_eq!(
            note("refs/colony/forks/a/b"),
            "refs/colony-local/remotes/or%2Figin/forks/a%2Fb"
        );
        assert_eq!(note("refs/colony/scopes"), "refs/colony-local/remotes/or%2Figin/scopes/%");
        assert!(RefName::from(note("refs/colony/scopes").as_str()).is_valid());
    }
}
