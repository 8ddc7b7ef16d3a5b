//! Says of one command, killed or not, what is left of it once the next command has run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::actions::{Action, Nature};
use super::edits::Shadow;
use super::ground::{Ground, Home, Place};
use super::look::Look;
use super::repository;
use super::strike::Ended;

/// What was done, and how it looked before.
pub(crate) struct Case<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) shadow: &'a Shadow,
    pub(crate) action: &'a Action,
    pub(crate) ended: &'a Ended,
    pub(crate) before: &'a Look,
}

/// What is left.
#[derive(Default)]
pub(crate) struct Verdict {
    /// Something was done: an operation is there, or a user sees something else.
    pub(crate) happened: bool,
    /// Contents that are nowhere, with where they were.
    pub(crate) lost: Vec<String>,
    /// Locks that the next command has not removed, and that no plain git of the user has left.
    pub(crate) stuck: Vec<String>,
    /// Locks that a killed git of the user has left, and which are removed by hand, as git advises.
    pub(crate) locks_of_git: usize,
    /// Every other promise that was broken.
    pub(crate) broken: Vec<String>,
}

/// Codes that no command may end with here while nobody else is at work.
const BROKEN: [&str; 7] = [
    "locked",
    "recovery-needed",
    "repository-broken",
    "object-missing",
    "internal",
    "io",
    "no-space",
];

const STATUS: &[&str] = &["status", "--porcelain"];
/// Without the commit graph: a 'git repack -ad' of the user leaves commits in it that it drops.
const FSCK: &[&str] = &["-c", "core.commitGraph=false", "fsck", "--strict", "--no-dangling"];
/// A server of git that is killed while it takes a push leaves folders without their files, which no ref holds.
const FSCK_OF_REFS: &[&str] = &["fsck", "--connectivity-only", "--no-dangling"];

/// Has git look at every worktree and every repository.
pub(crate) fn check_all(ground: &Ground) -> Result<(), String> {
    for place in ground.places() {
        ground.git(&ground.root(place), STATUS)?;
    }
    for (_, git_dir) in ground.repositories() {
        ground.git(&git_dir, FSCK)?;
    }
    ground.git(&ground.remote(), FSCK_OF_REFS).map(drop)
}

impl Verdict {
    /// Tells whether every promise was kept.
    pub(crate) fn is_good(&self) -> bool {
        self.lost.is_empty() && self.stuck.is_empty() && self.broken.is_empty()
    }
}

/// Has the next command run, and judges what it leaves. Returns how everything looks then.
pub(crate) fn judge(case: &Case) -> (Verdict, Option<Look>) {
    let mut verdict = Verdict::default();
    if case.ended.outlived {
        verdict.broken.push("something that it started goes on".to_owned());
    }
    verdict.broken.extend(case.refusal());
    case.go_on(&mut verdict);
    let root = case.ground.root(case.next_place());
    for args in [STATUS, FSCK] {
        verdict.broken.extend(case.ground.git(&root, args).err());
    }
    match Look::at(case.ground, case.shadow) {
        Ok(after) => {
            verdict.lost = case.lost(&after);
            case.compare(&after, &mut verdict);
            (verdict, Some(after))
        }
        Err(problem) => {
            verdict.broken.push(problem);
            (verdict, None)
        }
    }
}

impl Case<'_> {
    /// The worktree that the next command runs in.
    fn next_place(&self) -> Place {
        let there = self.ground.places().contains(&self.action.place);
        if there { self.action.place } else { Place::Checkout }
    }

    /// A panic, or an answer that says that something is broken.
    fn refusal(&self) -> Option<String> {
        let said = &self.ended.said;
        let panicked = said.contains("panicked at");
        let code = code_of(said);
        let broken = code.is_some_and(|code| BROKEN.contains(&code)) && !self.ended.struck;
        (panicked || broken).then(|| format!("it said: {said}"))
    }

    /// Runs the next command; removes by hand what is in its way, and says so.
    fn go_on(&self, verdict: &mut Verdict) {
        let mut failure = self.run_next();
        if !locks(self.ground).is_empty() {
            // Publication comes with a command in each of them.
            for place in self.ground.places() {
                self.ground.colony(place, &["checkpoint", "--auto"]);
            }
        }
        let left = locks(self.ground);
        let hub = self.ground.repository(Home::Hub);
        for lock in &left {
            if self.action.nature == Nature::Git && !lock.starts_with(&hub) {
                verdict.locks_of_git += 1;
            } else {
                let name = lock.strip_prefix(self.ground.path()).unwrap_or(lock);
                verdict.stuck.push(name.display().to_string());
            }
            fs::remove_file(lock).ok();
        }
        if failure.is_some() && !left.is_empty() {
            failure = self.run_next();
        }
        verdict.broken.extend(failure);
    }

    fn run_next(&self) -> Option<String> {
        for args in self.action.next() {
            let output = self.ground.colony(self.next_place(), args);
            let said = repository::words(&output);
            if !output.status.success() || said.contains("\"busy\"") {
                return Some(format!("the next command, {args:?}, said: {said}"));
            }
        }
        None
    }

    /// The contents that can be found nowhere any more, and were not the command's to drop.
    fn lost(&self, after: &Look) -> Vec<String> {
        let mut lost = Vec::new();
        for (id, spots) in &self.before.census {
            let path = self.shadow.path_of(id).unwrap_or_default();
            let dropped = spots.iter().all(|spot| self.action.drops.contains(spot));
            if !dropped && !after.census.contains_key(id) {
                lost.push(format!("{id}, written to '{path}', was in {spots:?}"));
            }
        }
        lost
    }

    /// Nothing that a user sees is different, or there is an operation that says so.
    fn compare(&self, after: &Look, verdict: &mut Verdict) {
        let mut differences = self.before.differences(after);
        if self.action.nature == Nature::Tags {
            differences.retain(|one| !one.contains(" refs/tags/"));
        }
        let has_clone = |look: &Look| look.worktrees.contains_key(&Place::Clone);
        let mut operations = self.new_operations(after);
        if has_clone(self.before) != has_clone(after) {
            // It has come with its branches and its log, or they are in the hub.
            differences.retain(|one| !one.starts_with("ref Clone "));
            operations.retain(|one| !one.starts_with("Clone "));
        }
        if self.action.name == "deinit" && !operations.is_empty() {
            // The storm went on with an init, which commits what the branch does not have of it.
            differences.retain(|one| !is_of_init(one));
        }
        verdict.happened = match self.action.nature {
            Nature::Operation | Nature::Perhaps => !operations.is_empty(),
            _ => !differences.is_empty(),
        };
        let told = || differences.join("\n    ");
        match self.action.nature {
            Nature::Beside | Nature::Tags if !differences.is_empty() => {
                verdict.broken.push(format!("it changed:\n    {}", told()));
            }
            Nature::Operation | Nature::Perhaps if operations.is_empty() => {
                if !differences.is_empty() {
                    let half = "neither as before, nor is there an operation";
                    verdict.broken.push(format!("{half}:\n    {}", told()));
                }
                if self.ended.exit_code == Some(0) && self.action.nature == Nature::Operation {
                    verdict.broken.push("it claims success".to_owned());
                }
            }
            _ => {}
        }
        if operations.len() > 1 {
            verdict.broken.push(format!("several operations: {operations:?}"));
        }
    }

    /// The operations that are there since, but those that record what plain git did.
    fn new_operations(&self, after: &Look) -> BTreeSet<String> {
        let new = after.operations.difference(&self.before.operations);
        let ours = new.filter(|name| {
            let (home, name) = name.split_once(' ').expect("the repository stands before");
            let places = self.ground.places().into_iter();
            let mut places = places.filter(|place| format!("{place:?}") == home);
            let root = self.ground.root(places.next().unwrap_or(Place::Checkout));
            let record = self.ground.git(&root, &["cat-file", "blob", &format!("{name}:op.json")]);
            !record.is_ok_and(|record| record.contains(r#""kind":"external""#))
        });
        ours.cloned().collect()
    }
}

/// Tells whether a difference is what an init brings: its files, and the commit on the branch that has them.
fn is_of_init(difference: &str) -> bool {
    let files = [".colony/", ".gitattributes"];
    let comes = difference.contains(": None -> ") || difference.contains(" index + ");
    (comes && files.iter().any(|file| difference.contains(file)))
        || difference.starts_with("ref Checkout refs/heads/")
}

/// The code of an error, as JSON has it on one line or on many.
fn code_of(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once(r#""code""#)?;
    rest.split('"').nth(1)
}

/// The locks of git that stand in any of the repositories.
fn locks(ground: &Ground) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (_, git_dir) in ground.repositories() {
        add_locks(&git_dir, &mut found);
    }
    add_locks(&ground.remote(), &mut found);
    found.sort();
    found
}

fn add_locks(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Ours are locks of the system, which end with their holders; loose objects have none.
        let of_others = !name.starts_with("colony") && name != "lfs" && name.len() > 2;
        if !of_others {
            continue;
        }
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_locks(&path, found);
        } else if name.ends_with(".lock") || name == "packed-refs.new" {
            found.push(path);
        }
    }
}
