//! Measures the difference between two trees before anything walks them.
//!
//! A few small trees that contain each other can expand to any number of paths, and gix and git
//! walk all of them. Here each pair of trees is compared once, so the cost is that of the trees
//! themselves; and there are limits for paths, depth and bytes. Every comparison, merge and listing
//! of trees checks here first.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryRef;

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, ResultExt as _};

use super::tree_cache::Trees;

/// The maximum number of paths that differ, directories included.
pub(in crate::git) const MAX_CHANGES: usize = 4_000_000;

/// The maximum depth of directories: git itself does not check out deeper ones.
const MAX_DEPTH: usize = 2048;

/// The maximum size of a single tree.
const MAX_TREE_BYTES: u64 = 256 << 20;

/// The maximum number of bytes of trees that are read to measure a difference.
const MAX_READ_BYTES: u64 = 1 << 30;

/// The cost of opening a tree beside its bytes.
const BYTES_PER_TREE: u64 = 128;

/// The reason why trees are not walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) enum TooLarge {
    /// There are too many paths.
    Wide,
    /// Directories are nested too deep.
    Deep,
    /// The trees themselves are too large.
    Heavy,
}

impl TooLarge {
    pub(in crate::git) fn error(self, (old, new): (Oid, Oid)) -> Error {
        let why = match self {
            TooLarge::Wide => format!("{MAX_CHANGES} paths"),
            TooLarge::Deep => format!("{MAX_DEPTH} directories inside each other"),
            TooLarge::Heavy => format!("{} MiB of directories", MAX_READ_BYTES >> 20),
        };
        let trees = match (old.0.is_empty_tree(), new.0.is_empty_tree()) {
            (true, _) => format!("tree {new} holds"),
            (_, true) => format!("tree {old} holds"),
            _ => format!("trees {old} and {new} differ in"),
        };
        let message = format!("{trees} more than {why}");
        Error::new(Code::TreeTooLarge, message).detail("trees", [old, new])
    }
}

impl Repo {
    /// Refuses two trees whose difference exceeds the limits. Reads the trees that differ, each
    /// pair once.
    pub fn require_comparable(&self, old: Oid, new: Oid) -> Result<()> {
        match weigh(self.trees(), (old, new), MAX_CHANGES)? {
            Ok(_) => Ok(()),
            Err(why) => Err(why.error((old, new))),
        }
    }
}

/// Counts the paths that differ between two trees, and one for each directory.
pub(super) fn weigh(
    trees: Trees<'_>,
    (old, new): (Oid, Oid),
    most: usize,
) -> Result<std::result::Result<usize, TooLarge>> {
    let mut walk = Walk { trees, most, met: 0, bytes_left: MAX_READ_BYTES, known: HashMap::new() };
    match walk.run((old.0, new.0)) {
        Ok(count) => Ok(Ok(count)),
        Err(Stop::TooLarge(why)) => Ok(Err(why)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// The reason why a walk stops.
enum Stop {
    TooLarge(TooLarge),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// An old and a new tree.
type Pair = (ObjectId, ObjectId);

struct Walk<'a> {
    trees: Trees<'a>,
    most: usize,
    /// The differences in the pairs that were opened, each counted once.
    met: usize,
    bytes_left: u64,
    known: HashMap<Pair, usize>,
}

/// Two trees whose subtrees are being compared.
struct Opened {
    pair: Pair,
    below: Vec<Pair>,
    count: usize,
}

impl Walk<'_> {
    fn run(&mut self, pair: Pair) -> Result<usize, Stop> {
        if pair.0 == pair.1 {
            return Ok(0);
        }
        let mut stack = vec![self.open(pair)?];
        while let Some(top) = stack.last_mut() {
            if let Some(pair) = top.below.pop() {
                match self.known.get(&pair) {
                    Some(count) => top.count = top.count.saturating_add(*count),
                    None if stack.len() >= MAX_DEPTH => return Err(Stop::TooLarge(TooLarge::Deep)),
                    None => stack.push(self.open(pair)?),
                }
                continue;
            }
            let Opened { pair, count, .. } = *top;
            if count > self.most {
                return Err(Stop::TooLarge(TooLarge::Wide));
            }
            stack.pop();
            self.known.insert(pair, count);
            match stack.last_mut() {
                Some(above) => above.count = above.count.saturating_add(count),
                None => return Ok(count),
            }
        }
        Ok(0)
    }

    /// Compares the entries of two trees.
    fn open(&mut self, pair: Pair) -> Result<Opened, Stop> {
        let (old, new) = (self.read(pair.0)?, self.read(pair.1)?);
        let mut opened = Opened { pair, below: Vec::new(), count: 0 };
        self.compare((&old, &new), &mut opened)?;
        self.met = self.met.saturating_add(opened.count);
        if self.met > self.most {
            return Err(Stop::TooLarge(TooLarge::Wide));
        }
        Ok(opened)
    }

    /// Walks two sorted trees side by side. If they are not sorted, it counts more differences than
    /// there are, never fewer.
    fn compare(&self, (old, new): (&[u8], &[u8]), opened: &mut Opened) -> Result<(), Stop> {
        let none = ObjectId::empty_tree(self.trees.repo.object_hash());
        let mut old = self.entries(old).peekable();
        let mut new = self.entries(new).peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(Ok(before)), Some(Ok(after))) => before.cmp(after),
                (Some(Err(_)), _) | (_, None) => Ordering::Less,
                (_, Some(_)) => Ordering::Greater,
            };
            let before = old.next_if(|_| order != Ordering::Greater).transpose()?;
            let after = new.next_if(|_| order != Ordering::Less).transpose()?;
            if before.map(what) == after.map(what) {
                continue;
            }
            let tree = |entry: Option<EntryRef<'_>>| {
                let tree = entry.filter(|entry| entry.mode.is_tree());
                tree.map(|entry| entry.oid.to_owned())
            };
            opened.count += 1;
            let (before, after) = (tree(before), tree(after));
            if before.is_some() || after.is_some() {
                let pair = (before.unwrap_or(none), after.unwrap_or(none));
                opened.below.push(pair);
            }
        }
    }

    fn entries<'b>(&self, tree: &'b [u8]) -> impl Iterator<Item = Result<EntryRef<'b>>> {
        let entries = TreeRefIter::from_bytes(tree, self.trees.repo.object_hash());
        entries.map(|entry| entry.or_code(Code::RepositoryBroken, || "a tree is malformed"))
    }

    fn read(&mut self, id: ObjectId) -> Result<Arc<[u8]>, Stop> {
        if id.is_empty_tree() {
            return Ok(Arc::default());
        }
        let heavy = || Stop::TooLarge(TooLarge::Heavy);
        let left = self.bytes_left.checked_sub(BYTES_PER_TREE).ok_or_else(heavy)?;
        let tree = self.trees.read(id, left.min(MAX_TREE_BYTES))?.ok_or_else(heavy)?;
        self.bytes_left = left.saturating_sub(tree.len() as u64);
        Ok(tree)
    }
}

/// Returns the mode and id of an entry.
fn what(entry: EntryRef<'_>) -> (gix::objs::tree::EntryMode, &gix::oid) {
    (entry.mode, entry.oid)
}
