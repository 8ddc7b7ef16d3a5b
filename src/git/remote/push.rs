//! Refs pushed with a lease for each: one by one (`push`: sync and init), or all or none (`push_together`: migrate).
//!
//! A push moves a ref only from the value that was seen.
//!
//! Nothing is sent without a [`PushPermit`], which is for the URLs that git would push to. The
//! answer is read ref by ref, by the byte. A lost race is not a refusal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::git::lfs::lfs_upload::Uploads;
use crate::git::{Oid, RefChange, RefName};
use crate::model::{Code, Error, Result};

use super::Remote;
use super::network::{Direction, Network};
use super::url::{RemoteUrl, redact};

/// The number of refs per push command: their names are arguments.
pub(in crate::git) const PUSHED_AT_ONCE: usize = 500;

/// The permission of a person to send to these URLs. Only `records::consent` grants one.
#[derive(Clone, Debug)]
pub struct PushPermit {
    /// The URLs, normalized.
    urls: Vec<String>,
}

impl PushPermit {
    /// Permits pushes to these URLs.
    pub fn to(targets: &[RemoteUrl]) -> PushPermit {
        PushPermit { urls: targets.iter().map(RemoteUrl::normalized).collect() }
    }
}

/// The result for a ref that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It was pushed.
    Done,
    /// It is not where it was seen, or another process is moving it right now.
    Moved,
    /// The server refuses it, for this reason.
    Refused(String),
}

/// The result of a push.
#[derive(Clone, Debug, Default)]
pub struct PushResult {
    /// The result for each ref.
    pub refs: BTreeMap<RefName, Pushed>,
    /// The server's messages, without credentials: to be treated as data.
    pub said: Vec<String>,
}

impl Remote<'_> {
    /// Pushes refs, each from its old value to its new one or not at all; returns the result for
    /// each.
    pub fn push(
        &self,
        permit: &PushPermit,
        changes: &[RefChange],
    ) -> Result<BTreeMap<RefName, Pushed>> {
        let mut pushed = BTreeMap::new();
        for some in changes.chunks(PUSHED_AT_ONCE) {
            let network = self.sending(permit)?;
            pushed.extend(self.push_once(network, some, "--no-atomic", Uploads::ByHook)?.refs);
        }
        Ok(pushed)
    }

    /// Prepares a command that sends something. Refuses if the remote got another URL since the
    /// permission. One process spawn.
    pub(in crate::git) fn sending(&self, permit: &PushPermit) -> Result<Network> {
        let targets: Vec<String> = self.push_targets()?.iter().map(RemoteUrl::normalized).collect();
        if targets.is_empty() || targets.iter().any(|url| !permit.urls.contains(url)) {
            let message = format!("'{}' got another URL meanwhile; nothing was sent", self.name);
            return Err(Error::new(Code::RefMoved, message).hint("git remote -v"));
        }
        self.network(Direction::Push)
    }

    /// Pushes refs, all of them or none, each only from its old value; returns the result for each,
    /// and the server's messages. In a failed push, none is [`Pushed::Done`].
    pub fn push_together(
        &self,
        permit: &PushPermit,
        changes: &[RefChange],
        uploads: Uploads,
    ) -> Result<PushResult> {
        if changes.is_empty() {
            return Ok(PushResult::default());
        }
        self.push_once(self.sending(permit)?, changes, "--atomic", uploads)
    }

    fn push_once(
        &self,
        mut network: Network,
        changes: &[RefChange],
        atomic: &str,
        uploads: Uploads,
    ) -> Result<PushResult> {
        network.once();
        let git = network.git();
        git.args(["push", "--porcelain", "--no-follow-tags", "--no-progress"]);
        self.skip_lfs_hook(git, uploads);
        git.args(["--recurse-submodules=no", "--no-signed", atomic]);
        let hex = |id: Option<Oid>| id.map(|id| id.to_string()).unwrap_or_default();
        for change in changes {
            let (name, old) = (self.placement.there(&change.name), hex(change.old));
            let lease = [b"--force-with-lease=", name.as_bytes(), b":", old.as_bytes()].concat();
            git.arg(OsStr::from_bytes(&lease));
        }
        git.args(["--", &self.name]);
        for change in changes {
            let name = self.placement.there(&change.name);
            let spec = [hex(change.new).as_bytes(), b":", name.as_bytes()].concat();
            git.arg(OsStr::from_bytes(&spec));
        }
        let output = network.run()?;
        let results = read_porcelain(&output.stdout);
        if results.is_empty() && !output.success() {
            return Err(network.failed(&format!("push to '{}'", self.name), &output));
        }
        let result = |change: &RefChange| {
            let silent = || Pushed::Refused("git reported nothing about it".to_owned());
            results.get(&self.placement.there(&change.name)).cloned().unwrap_or_else(silent)
        };
        let named = changes.iter().map(|change| (change.name.clone(), result(change)));
        Ok(PushResult { refs: named.collect(), said: words_of_server(&output.stderr) })
    }
}

/// Finds the server's messages in git's output; at most a screen of them.
fn words_of_server(stderr: &str) -> Vec<String> {
    const MAX_LINES: usize = 20;
    const MAX_CHARACTERS: usize = 500;
    let lines = stderr.split(['\n', '\r']);
    let said = lines
        .filter_map(|line| line.strip_prefix("remote: "))
        .map(|line| line.trim_end().chars().take(MAX_CHARACTERS).collect())
        .filter(|line: &String| !line.is_empty());
    said.take(MAX_LINES).collect()
}

/// Parses `git push --porcelain`: `<flag> TAB <from>:<to> TAB <what> (<why>)`.
fn read_porcelain(printed: &[u8]) -> BTreeMap<RefName, Pushed> {
    let mut results = BTreeMap::new();
    for line in printed.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(3, |&byte| byte == b'\t');
        let (Some([flag]), Some(refs), Some(what)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let colon = refs.iter().position(|&byte| byte == b':');
        let Some(to) = colon.and_then(|at| refs.get(at + 1..)) else {
            continue;
        };
        let what = String::from_utf8_lossy(what);
        let result = match flag {
            b'!' => refusal(&what),
            _ => Pushed::Done,
        };
        results.insert(RefName::new(to), result);
    }
    results
}

/// Distinguishes a lost race from a server that refuses the ref.
fn refusal(what: &str) -> Pushed {
    const RACES: [&str; 9] = [
        "stale info",
        "fetch first",
        "remote ref updated since checkout",
        "cannot lock ref",
        "failed to update ref",
        "failed to lock",
        "incorrect old value",
        "reference already exists",
        "but expected",
    ];
    let lower = what.to_ascii_lowercase();
    if RACES.iter().any(|race| lower.contains(race)) {
        return Pushed::Moved;
    }
    let why = what
        .split_once('(')
        .map(|(_, why)| why)
        .map_or(what, |why| why.strip_suffix(')').unwrap_or(why));
    Pushed::Refused(redact(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ref_of_a_push_is_read_by_the_byte() {
        let printed = b"To /x\n\
            *\taaaa:refs/heads/fork/a\t[new reference]\n\
            =\tbb:refs/heads/fork/=\t[up to date]\n\
            -\t:refs/colony/forks/\xff\t[deleted]\n\
            !\tcc:refs/heads/fork/c\t[rejected] (stale info)\n\
            !\tdd:refs/colony/forks/d\t[remote rejected] (hook declined)\n\
            Done\n";
        let results = read_porcelain(printed);
        let of = |name: &[u8]| results.get(&RefName::new(name)).cloned();
        assert_eq!(of(b"refs/heads/fork/a"), Some(Pushed::Done));
        assert_eq!(of(b"refs/heads/fork/="), Some(Pushed::Done));
        assert_eq!(of(b"refs/colony/forks/\xff"), Some(Pushed::Done));
        assert_eq!(of(b"refs/heads/fork/c"), Some(Pushed::Moved));
        let refused = Pushed::Refused("hook declined".to_owned());
        assert_eq!(of(b"refs/colony/forks/d"), Some(refused));
        assert_eq!(results.len(), 5);
    }
}
