//! Results of tests of merged work, by tree, and the last verdict on each agent. Files that may be deleted at
//! any time, each replaced at once.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::git::{Oid, plain_file};
use crate::model::{Result, World, time};
use crate::store::files::atomic;
use crate::store::key;

use super::try_tree::TryPlace;

/// How long a result counts, in seconds.
const MAX_AGE_SECONDS: i64 = 24 * 3_600;

/// How long a failure counts that was not confirmed: long enough for a command that was interrupted to go on.
const MAX_AGE_OF_DOUBT_SECONDS: i64 = 600;

/// The outputs of failed tests that are kept.
const MAX_LOGS: usize = 20;

/// The results of a hub.
pub struct TestResults(TryPlace);

/// The result of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TestResult {
    /// Whether all commands passed.
    pub passed: bool,
    /// Whether a failure was there in two runs: one may be a flaky one.
    pub confirmed: bool,
    /// The command that failed.
    pub command: Option<String>,
    /// Its exit code; `None` if a signal ended it, or it took too long.
    pub exit_code: Option<i32>,
    /// How long all took, in seconds.
    pub seconds: f64,
    /// Whether the tree was made again for it.
    pub fresh: bool,
    /// When it ended, RFC 3339 UTC.
    pub at: String,
    /// The end of the output of the command that failed.
    pub output_tail: String,
    /// The file with more of it.
    pub log: Option<PathBuf>,
}

/// The last verdict on the work of an agent or fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The commit that it is about.
    pub tip: Oid,
    /// The branch.
    pub branch: String,
    /// The tip that the branch had after it.
    pub base: Oid,
    /// Whether it conflicted, instead of failing the tests.
    pub conflicted: bool,
    /// When, RFC 3339 UTC.
    pub at: String,
    /// The command that failed.
    pub command: Option<String>,
    /// Its exit code; `None` if a signal ended it, or it took too long.
    pub exit_code: Option<i32>,
    /// The file with the end of its output.
    pub log: Option<PathBuf>,
}

impl Verdict {
    /// Returns `true` if neither the work nor the branch has changed since.
    pub fn still_holds(&self, tip: Oid, base: Oid) -> bool {
        self.tip == tip && self.base == base
    }
}

impl TestResults {
    /// Returns those of a place.
    pub fn of(place: TryPlace) -> TestResults {
        TestResults(place)
    }

    /// Returns the known result for a tree, if it is not too old, and its age in seconds.
    pub fn find(&self, world: &World, key: &str) -> Option<(TestResult, i64)> {
        let result: TestResult = read(&self.result(key))?;
        let at = time::parse_rfc3339(&result.at)?;
        let age = world.now().signed_duration_since(at).num_seconds();
        let is_sure = result.passed || result.confirmed;
        let most = if is_sure { MAX_AGE_SECONDS } else { MAX_AGE_OF_DOUBT_SECONDS };
        (0..most).contains(&age).then_some((result, age))
    }

    /// Stores a result.
    pub fn put(&self, key: &str, result: &TestResult) -> Result<()> {
        write(&self.result(key), result)
    }

    /// Returns how long the last run of these commands took that passed, in seconds.
    pub fn seconds_of(&self, commands: &[String]) -> Option<f64> {
        read(&self.took(commands))
    }

    /// Stores how long a run took that passed.
    pub fn put_seconds(&self, commands: &[String], seconds: f64) -> Result<()> {
        write(&self.took(commands), &seconds)
    }

    fn took(&self, commands: &[String]) -> PathBuf {
        let digest = blake3::hash(commands.join("\0").as_bytes()).to_hex().to_string();
        let name = format!("took-{}.json", digest.get(..16).unwrap_or(&digest));
        self.0.results().join(name)
    }

    /// Deletes results that do not count any more.
    pub fn sweep(&self, world: &World) {
        let entries = std::fs::read_dir(self.0.results()).into_iter().flatten().flatten();
        let now = world.now().timestamp();
        for entry in entries {
            let written = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            let is_old = age.is_some_and(|at| {
                now.saturating_sub(i64::try_from(at.as_secs()).unwrap_or(now)) > MAX_AGE_SECONDS
            });
            if is_old && is_named(&entry.path(), 40, "json") {
                atomic::remove_file(&entry.path()).ok();
            }
        }
    }

    fn result(&self, key: &str) -> PathBuf {
        self.0.results().join(format!("{key}.json"))
    }

    /// Keeps the output of a failed test; returns its file.
    pub fn keep_log(&self, name: &str, output: &[u8]) -> Result<PathBuf> {
        let folder = self.0.logs();
        atomic::make_directory(&folder)?;
        let path = folder.join(format!("{name}.log"));
        atomic::write_quickly(&path, output)?;
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut logs: Vec<_> = entries
            .filter(|entry| is_named(&entry.path(), 12 + 1 + 8, "log"))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        logs.sort();
        let many = logs.len().saturating_sub(MAX_LOGS);
        logs.into_iter().take(many).try_for_each(|(_, old)| atomic::remove_file(&old))?;
        Ok(path)
    }

    /// Returns `true` if there may be verdicts.
    pub fn has_verdicts(&self) -> bool {
        self.0.verdicts().is_dir()
    }

    /// Returns the last verdict on an agent or fork.
    pub fn verdict(&self, name: &str) -> Option<Verdict> {
        read(&self.verdict_path(name))
    }

    /// Stores the verdict on an agent or fork, or forgets it.
    pub fn put_verdict(&self, name: &str, verdict: Option<&Verdict>) -> Result<()> {
        let path = self.verdict_path(name);
        match verdict {
            Some(verdict) => write(&path, verdict),
            None => atomic::remove_file(&path),
        }
    }

    fn verdict_path(&self, name: &str) -> PathBuf {
        self.0.verdicts().join(format!("{}.json", key::encode(name)))
    }
}

/// Returns the name of the result for a tree that is tested by these commands, after this set-up, for an agent or, with an
/// empty name, a person: an agent runs them with variables of its own.
pub fn key_of(tree: Oid, commands: &[String], set_up: &[String], whose: &str) -> String {
    let mut digest = blake3::Hasher::new();
    digest.update(whose.as_bytes());
    digest.update(b"\0\0");
    digest.update(tree.to_string().as_bytes());
    for list in [commands, set_up] {
        digest.update(b"\0\0");
        for text in list {
            digest.update(text.as_bytes());
            digest.update(b"\0");
        }
    }
    let mut name = digest.finalize().to_hex().to_string();
    name.truncate(40);
    name
}

/// Returns `true` for a file that has the form of our names: nothing else is deleted, wherever a link in its place leads.
fn is_named(path: &Path, length: usize, extension: &str) -> bool {
    path.extension().is_some_and(|end| end == extension)
        && path.file_stem().is_some_and(|stem| stem.len() == length)
}

/// Reads a file of ours; what cannot be read is not known.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = plain_file::find_own(path).ok()??;
    serde_json::from_slice(&bytes).ok()
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    let mut json = serde_json::to_vec(value).unwrap_or_default();
    json.push(b'\n');
    atomic::write_quickly(path, &json)
}
