//! Which tracked files differ from the index: one `lstat` each, by directory.
//!
//! Stat data decide for nearly all files. The few whose stat data differ, or that are as young as
//! the index, are read, cleaned as git would store them, and compared by content.

mod looker;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Flags, Mode, Stage, Stat, stat};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::git::compare::tree_diff::TreeChange;
use crate::git::index::MEANINGFUL;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

use looker::{Looker, PathStat};

/// The state of the tracked files by stat data alone.
#[derive(Default)]
pub(in crate::git) struct Suspects {
    /// Certainly different from the index: deleted, of another kind, or intent-to-add.
    pub(in crate::git) changed: Vec<RepoPath>,
    /// Possibly changed: only the content shows it.
    pub(in crate::git) unclear: Vec<RepoPath>,
    /// Submodules that exist.
    pub(in crate::git) submodules: Vec<RepoPath>,
    /// Paths with conflict stages.
    pub(in crate::git) conflicts: Vec<RepoPath>,
    /// Directories without search permission: their contents count as unchanged, as for git.
    pub(in crate::git) unsearchable: BTreeMap<RepoPath, Errno>,
}

/// The settings for comparing stat data.
#[derive(Clone, Copy)]
pub(in crate::git) struct Rules {
    stat: stat::Options,
    keeps_executable_bit: bool,
    has_symlinks: bool,
}

impl Rules {
    pub(in crate::git) fn of(repo: &Repo) -> Result<Rules> {
        let stat = repo.inner.stat_options();
        Ok(Rules {
            stat: stat.or_code(Code::RepositoryBroken, || "cannot read core.checkStat")?,
            keeps_executable_bit: repo.config_bool("core.fileMode").unwrap_or(true),
            has_symlinks: repo.config_bool("core.symlinks").unwrap_or(true),
        })
    }
}

/// Checks every tracked file once.
pub(in crate::git) fn check(
    world: &World,
    workdir: &Path,
    index: &gix::index::File,
    rules: Rules,
) -> Result<Suspects> {
    let mut looker = Looker::open(workdir)?;
    let mut suspects = Suspects::default();
    let paths = index.path_backing();
    for (number, entry) in index.entries().iter().enumerate() {
        if number % 1024 == 0 {
            world.interrupt.check()?;
        }
        let path = entry.path_in(paths);
        if entry.stage() != Stage::Unconflicted {
            if suspects.conflicts.last().map(RepoPath::as_bytes) != Some(path.as_bytes()) {
                suspects.conflicts.push(path.as_bytes().into());
            }
            continue;
        }
        if entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID) {
            continue;
        }
        let stat = match looker.stat(path)? {
            PathStat::Found(stat) => stat,
            PathStat::Unsearchable(directory, error) => {
                suspects.unsearchable.entry(directory).or_insert(error);
                continue;
            }
        };
        match judge(entry, stat, index.timestamp(), rules) {
            Verdict::Same => {}
            Verdict::Changed => suspects.changed.push(path.as_bytes().into()),
            Verdict::Unclear => suspects.unclear.push(path.as_bytes().into()),
            Verdict::Submodule => suspects.submodules.push(path.as_bytes().into()),
        }
    }
    Ok(suspects)
}

impl Repo {
    /// Returns `true` if the index equals HEAD's tree, there are no conflicts, and each path that
    /// `changes` (from HEAD's tree to another) would touch is unchanged on disk: the same file by
    /// stat data, or no file. Returns `false` if that is not certain, as for submodules.
    ///
    /// Costs reading the index and one `lstat` per change.
    pub fn are_surely_clean(&self, head_tree: Oid, changes: &[TreeChange]) -> Result<bool> {
        let index = self.read_index()?;
        let known = index.tree().filter(|tree| tree.num_entries.is_some());
        let is_plain = known.is_some_and(|tree| Oid::from(tree.id) == head_tree)
            && index.entries().iter().all(|entry| entry.stage() == Stage::Unconflicted);
        if !is_plain || self.config_bool("core.ignoreCase") == Some(true) {
            return Ok(false);
        }
        let rules = Rules::of(self)?;
        let mut looker = Looker::open(self.workdir())?;
        for change in changes {
            let sides = [change.old, change.new];
            let is_submodule = sides.iter().flatten().any(TreeEntry::is_submodule);
            if is_submodule || !change.path.is_safe() {
                return Ok(false);
            }
            let path = BStr::new(change.path.as_bytes());
            let is_clean = if change.old.is_some() {
                let entry = index
                    .entry_by_path_and_stage(path, Stage::Unconflicted)
                    .filter(|entry| !entry.flags.intersects(MEANINGFUL));
                let Some(entry) = entry else {
                    return Ok(false);
                };
                match looker.stat(path)? {
                    PathStat::Found(stat) => {
                        let verdict = judge(entry, stat, index.timestamp(), rules);
                        matches!(verdict, Verdict::Same)
                    }
                    PathStat::Unsearchable(..) => false,
                }
            } else {
                looker.is_free(&change.path)?
            };
            if !is_clean {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Repo {
    /// Clears skip-worktree for entries that a sparse checkout leaves out but whose files exist, as
    /// git does whenever it reads an index: another program has written them.
    pub(in crate::git) fn count_what_is_there(&self, index: &mut gix::index::File) -> Result<()> {
        let is_set = |key| self.config_bool(key) == Some(true);
        if !is_set("core.sparseCheckout") || is_set("sparse.expectFilesOutsideOfPatterns") {
            return Ok(());
        }
        let mut looker = Looker::open(self.workdir())?;
        let paths = index.path_backing();
        let mut there = Vec::new();
        for (number, entry) in index.entries().iter().enumerate() {
            if entry.flags.contains(Flags::SKIP_WORKTREE)
                && let PathStat::Found(Some(_)) = looker.stat(entry.path_in(paths))?
            {
                there.push(number);
            }
        }
        for number in there {
            if let Some(entry) = index.entries_mut().get_mut(number) {
                entry.flags.remove(Flags::SKIP_WORKTREE);
            }
        }
        Ok(())
    }
}

enum Verdict {
    Same,
    Changed,
    Unclear,
    Submodule,
}

fn judge(
    entry: &gix::index::Entry,
    stat: Option<rustix::fs::Stat>,
    written: filetime::FileTime,
    rules: Rules,
) -> Verdict {
    let Some(stat) = stat else {
        return Verdict::Changed;
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if entry.mode == Mode::COMMIT {
        return if kind == FileType::Directory { Verdict::Submodule } else { Verdict::Changed };
    }
    let expected = match entry.mode {
        Mode::SYMLINK if rules.has_symlinks => FileType::Symlink,
        _ => FileType::RegularFile,
    };
    if kind != expected || entry.flags.contains(Flags::INTENT_TO_ADD) {
        return Verdict::Changed;
    }
    let executable = stat.st_mode & 0o100 != 0;
    let wanted = entry.mode == Mode::FILE_EXECUTABLE;
    if kind == FileType::RegularFile
        && entry.mode != Mode::SYMLINK
        && rules.keeps_executable_bit
        && executable != wanted
    {
        return Verdict::Changed;
    }
    let stat = stat_of(&stat);
    let same = entry.stat.matches(&stat, rules.stat);
    if same && !is_too_young(&entry.stat, &stat, written) {
        Verdict::Same
    } else {
        Verdict::Unclear
    }
}

/// Two writes within this time may leave the same time: the clocks of file systems advance by
/// system ticks, 10 ms at most.
const TICK_NANOSECONDS: u32 = 20_000_000;

/// Returns `true` if stat data cannot be trusted because a later write may have left them
/// unchanged; `written` is the date of the index that holds them.
///
/// git compares whole seconds. Within the second of the index the nanoseconds decide, if the file
/// system counts them, the file's are exactly those of the entry, and they are older than the index
/// by more than the clock's tick.
pub(in crate::git) fn is_too_young(entry: &Stat, now: &Stat, written: filetime::FileTime) -> bool {
    match i64::from(entry.mtime.secs).cmp(&written.unix_seconds()) {
        Ordering::Less => return false,
        Ordering::Greater => return true,
        Ordering::Equal => {}
    }
    let is_very_same = entry.mtime == now.mtime && entry.ctime == now.ctime;
    let is_counted = entry.mtime.nsecs != 0 && entry.ctime.nsecs != 0 && written.nanoseconds() != 0;
    let is_older = entry.mtime.nsecs.saturating_add(TICK_NANOSECONDS) < written.nanoseconds();
    !(is_very_same && is_counted && is_older)
}

fn stat_of(stat: &rustix::fs::Stat) -> Stat {
    // git keeps the low 32 bits of everything.
    let low = |value: u64| u32::try_from(value & 0xffff_ffff).expect("the mask leaves 32 bits");
    let seconds = |value: i64| low(value.cast_unsigned());
    Stat {
        mtime: stat::Time { secs: seconds(stat.st_mtime), nsecs: low(stat.st_mtime_nsec) },
        ctime: stat::Time { secs: seconds(stat.st_ctime), nsecs: low(stat.st_ctime_nsec) },
        dev: low(stat.st_dev),
        ino: low(stat.st_ino),
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: seconds(stat.st_size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(nanoseconds: u32) -> Stat {
        let time = stat::Time { secs: 1_700_000_000, nsecs: nanoseconds };
        Stat { mtime: time, ctime: time, ..Stat::default() }
    }

    fn index(seconds: i64, nanoseconds: u32) -> filetime::FileTime {
        filetime::FileTime::from_unix_time(seconds, nanoseconds)
    }

    #[test]
    fn an_entry_of_the_second_of_the_index_is_trusted_if_older() {
        let (file, now) = (stat(100_000_000), 1_700_000_000);
        assert!(!is_too_young(&file, &file, index(now, 121_000_000)));
        assert!(!is_too_young(&file, &file, index(now + 1, 0)));
    }

    #[test]
    fn an_entry_as_young_as_the_index_is_not_trusted() {
        let (file, now) = (stat(100_000_000), 1_700_000_000);
        assert!(is_too_young(&file, &file, index(now, 100_000_000)));
        assert!(is_too_young(&file, &file, index(now, 120_000_000)));
        assert!(is_too_young(&file, &file, index(now - 1, 900_000_000)));
    }

    #[test]
    fn a_file_with_other_nanoseconds_in_that_second_is_not_trusted() {
        let (entry, now) = (stat(100_000_000), 1_700_000_000);
        let edited = Stat { mtime: stat(110_000_000).mtime, ..entry };
        let dated_back = Stat { ctime: stat(110_000_000).ctime, ..entry };
        assert!(is_too_young(&entry, &edited, index(now, 500_000_000)));
        assert!(is_too_young(&entry, &dated_back, index(now, 500_000_000)));
    }

    #[test]
    fn a_file_system_that_counts_whole_seconds_goes_by_seconds() {
        let (file, now) = (stat(0), 1_700_000_000);
        assert!(is_too_young(&file, &file, index(now, 0)));
        assert!(is_too_young(&file, &file, index(now, 500_000_000)));
        assert!(!is_too_young(&file, &file, index(now + 1, 0)));
    }
}
