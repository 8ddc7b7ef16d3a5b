//! Objects that a partial clone lacks and its remote has promised: fetched in one batch before they are needed.
//!
//! git fetches each where it meets it. A command of git-colony reads them by a library that does not, and must not
//! fail halfway. A command that only looks fetches nothing, unless git does.

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, World, text};

use super::Remote;
use super::fetch::FETCH;
use super::network::Direction;

impl Repo {
    /// Fetches what the trees of the commits `wanted` have beyond those of the commits `known`. Does nothing in a
    /// clone that is not partial.
    pub fn fetch_promised(&self, world: &World, wanted: &[Oid], known: &[Oid]) -> Result<()> {
        if !self.is_partial() {
            return Ok(());
        }
        let trees = |commits: &[Oid]| -> Result<Vec<Oid>> {
            commits.iter().map(|commit| self.tree_of(Some(*commit))).collect()
        };
        let (wanted, known) = (trees(wanted)?, trees(known)?);
        let empty = self.empty_tree();
        let tops = wanted.iter().chain(&known).copied().filter(|tree| *tree != empty);
        self.fetch_missing(world, tops)?;
        // A clone may lack trees as well: each round finds what those of the round before name.
        loop {
            let missing = self.missing_below(world, &wanted, &known)?;
            if missing.is_empty() {
                return Ok(());
            }
            self.fetch_missing(world, missing)?;
        }
    }

    /// Fetches those of some objects that are not here. Does nothing in a clone that is not partial.
    pub(in crate::git) fn fetch_missing(
        &self,
        world: &World,
        ids: impl IntoIterator<Item = Oid>,
    ) -> Result<()> {
        if !self.is_partial() {
            return Ok(());
        }
        let mut missing: Vec<_> =
            ids.into_iter().filter(|id| self.object_size(*id).is_none()).collect();
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let name = self.promisor().unwrap_or_default();
        let reason = match self.fetch_objects(world, &name, &missing) {
            Ok(()) if missing.iter().all(|id| self.object_size(*id).is_some()) => return Ok(()),
            Ok(()) => "it did not send them".to_owned(),
            Err(error) => error.message(),
        };
        let count = text::count(missing.len(), "object");
        let message = format!("this clone is partial and lacks {count} of '{name}': {reason}");
        Err(Error::new(Code::ObjectMissing, message)
            .unchanged()
            .detail("missing", missing.len())
            .detail("remote", &*name)
            .hint(format!("git ls-remote {name}   # shows whether the remote can be reached")))
    }

    fn fetch_objects(&self, world: &World, name: &str, missing: &[Oid]) -> Result<()> {
        let remote = Remote::find(self, world, name)?;
        let mut network = remote.network(Direction::Fetch)?;
        let lines = missing.iter().map(|id| format!("{id}\n"));
        let git = network.git().input(lines.collect::<String>().into_bytes());
        // As git itself fetches what was promised.
        git.config("fetch.negotiationAlgorithm", "noop");
        git.args(FETCH).args(["--no-tags", "--refmap=", "--filter=blob:none", "--stdin", "--"]);
        git.arg(name);
        network.run_checked(&format!("fetch from '{name}'")).map(drop)
    }

    /// Lists the objects below some trees, and not below others, that are not here.
    fn missing_below(&self, world: &World, wanted: &[Oid], known: &[Oid]) -> Result<Vec<Oid>> {
        let mut git = self.reading_git(world);
        git.args(["rev-list", "--objects", "--missing=print", "--stdin"]);
        let wanted = wanted.iter().map(|tree| format!("{tree}\n"));
        let known = known.iter().map(|tree| format!("^{tree}\n"));
        git.input(wanted.chain(known).collect::<String>().into_bytes());
        let printed = git.run_checked("list the objects that are missing")?;
        let lines = printed.split(|&byte| byte == b'\n');
        let ids = lines.filter_map(|line| {
            let hex = line.strip_prefix(b"?")?.split(|&byte| byte == b' ').next()?;
            Oid::parse(std::str::from_utf8(hex).ok()?)
        });
        Ok(ids.collect())
    }

    /// Returns the remote that has promised the missing objects.
    fn promisor(&self) -> Option<String> {
        let named = self.config("extensions.partialClone");
        named.or_else(|| {
            let promises =
                |name: &String| self.config_bool(&format!("remote.{name}.promisor")) == Some(true);
            self.remote_names().into_iter().find(promises)
        })
    }

    /// Returns `true` for a partial clone: a remote may have the objects that are missing here.
    pub fn is_partial(&self) -> bool {
        self.promisor().is_some()
    }
}
