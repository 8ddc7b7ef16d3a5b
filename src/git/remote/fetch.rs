//! Fetches: the branches as git is configured to, and refs by name, below names of ours.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BStr, ByteSlice as _};
use gix::refspec::match_group::{Item, SourceRef};
use gix::refspec::parse::Operation;
use gix::refspec::{MatchGroup, RefSpecRef};

use crate::git::process::Output;
use crate::git::refs::FoundRef;
use crate::git::{Oid, RefName};
use crate::model::{Code, Error, Result};

use super::Remote;
use super::network::{Direction, Network};

/// The options of every fetch.
pub(super) const FETCH: [&str; 5] =
    ["fetch", "-q", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no"];

/// The folder of the refs below a prefix.
const BELOW: &str = "below/";

/// What to fetch with one command.
pub struct Fetch<'f> {
    /// Refs that the remote must have; they get the names `<into><number>`, counted from 0.
    pub names: &'f [RefName],
    /// All refs below this prefix, of which there need be none; they get the names `<into>below/<rest>`.
    pub below: Option<&'f str>,
    /// Whether to update `refs/remotes/` as well, as `git fetch` is configured to, and nothing else that it moves.
    pub with_branches: bool,
    /// The prefix of the new names. Existing refs of these names are overwritten.
    pub into: &'f str,
}

/// What a fetch has brought.
pub struct Fetched {
    /// The targets of the refs by name and below the prefix, under the names of the remote.
    pub refs: Vec<FoundRef>,
    /// Why not all branches are as the remote has them, if that stopped nothing else.
    pub branches_failed: Option<Error>,
}

/// A ref that a fetch of the branches moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// Its name on the remote.
    pub there: RefName,
    /// Its name here.
    pub here: RefName,
    /// What the remote has; `None` if it has no such ref, although one is named.
    pub id: Option<Oid>,
    /// Whether it may be moved to a commit that is not a descendant.
    pub is_forced: bool,
}

impl Remote<'_> {
    /// Returns `true` unless every ref that a fetch of the branches takes is here as the remote offers it. What
    /// only git can decide counts as news.
    pub fn has_news(&self, offered: &BTreeMap<RefName, Oid>) -> Result<bool> {
        let Some(tracked) = self.tracked(offered) else {
            return Ok(true);
        };
        for tracked in &tracked {
            if self.is_behind(tracked) {
                return Ok(true);
            }
        }
        let prunes = ["fetch.prune".to_owned(), format!("remote.{}.prune", self.name)];
        if prunes.iter().all(|key| self.repo.config(key).is_none()) {
            return Ok(false);
        }
        let wanted: BTreeSet<RefName> = tracked.into_iter().map(|tracked| tracked.here).collect();
        let known = self.repo.refs_below(&format!("refs/remotes/{}/", self.name))?;
        // git has branches that it pushed, also those that no fetch takes.
        let pushed = format!("refs/remotes/{}/colony/", self.name);
        let is_left_out = |name: &RefName| {
            self.placement.left_out().is_some() && name.as_bytes().starts_with(pushed.as_bytes())
        };
        Ok(known
            .iter()
            .any(|known_ref| !wanted.contains(&known_ref.name) && !is_left_out(&known_ref.name)))
    }

    /// Lists the refs that a fetch of the branches takes and that are not here as the remote offers them; none where
    /// only git can decide.
    pub fn behind(&self, offered: &BTreeMap<RefName, Oid>) -> Vec<Tracked> {
        let mut tracked = self.tracked(offered).unwrap_or_default();
        // Lists of refs have no HEAD.
        tracked
            .retain(|reference| reference.there.as_bytes() != b"HEAD" && self.is_behind(reference));
        tracked
    }

    /// Returns `true` if a ref is not here as the remote has it.
    fn is_behind(&self, tracked: &Tracked) -> bool {
        let here = self.repo.find_ref(&tracked.here).ok().flatten();
        tracked.id.is_none() || here != tracked.id
    }

    /// Lists the refs that a fetch of the branches takes; `None` where only git can decide.
    fn tracked(&self, offered: &BTreeMap<RefName, Oid>) -> Option<Vec<Tracked>> {
        let configured = self.branch_refspecs();
        let parse = |spec| gix::refspec::parse(BStr::new(spec), Operation::Fetch).ok();
        let specs: Vec<RefSpecRef<'_>> = configured.iter().map(parse).collect::<Option<_>>()?;
        let items = offered.iter().map(|(name, id)| Item {
            full_ref_name: name.as_bytes().as_bstr(),
            target: &id.0,
            object: None,
        });
        let offered: Vec<(&RefName, &Oid)> = offered.iter().collect();
        let group = MatchGroup::from_fetch_specs(specs.iter().copied());
        let mut matched = BTreeSet::new();
        let mut tracked = Vec::new();
        for mapping in &group.match_lhs(items).mappings {
            matched.insert(mapping.spec_index);
            let Some((rhs, index)) = mapping.rhs.as_ref().zip(mapping.item_index) else {
                continue;
            };
            if matches!(mapping.lhs, SourceRef::ObjectId(_)) {
                return None;
            }
            let (there, id) = offered.get(index)?;
            let spec = configured.get(mapping.spec_index);
            tracked.push(Tracked {
                there: (*there).clone(),
                here: RefName::new(rhs.to_vec()),
                id: Some(**id),
                is_forced: spec.is_some_and(|spec| spec.starts_with('+')),
            });
        }
        // A ref that is named and not there is an error, which git reports.
        let unmatched = specs.iter().enumerate().filter(|(index, _)| !matched.contains(index));
        let named = unmatched.filter_map(|(_, spec)| {
            let there = spec.source().filter(|source| !source.contains(&b'*'))?;
            Some(Tracked {
                there: RefName::new(there.to_vec()),
                here: RefName::new(spec.destination()?.to_vec()),
                id: None,
                is_forced: false,
            })
        });
        tracked.extend(named);
        Some(tracked)
    }

    /// Returns the refspecs that move nothing but remote-tracking refs: what a fetch of the branches takes.
    fn branch_refspecs(&self) -> Vec<String> {
        self.refspecs().into_iter().filter(|spec| is_tracking(spec)).collect()
    }

    /// Returns the refspecs that would move, or with pruning delete, other refs than remote-tracking ones: branches, tags
    /// and refs of ours, as those of a mirror. A fetch of the branches leaves them out.
    pub fn refspecs_left_out(&self) -> Vec<String> {
        self.refspecs().into_iter().filter(|spec| !is_tracking(spec)).collect()
    }

    fn refspecs(&self) -> Vec<String> {
        self.repo.config_values(&format!("remote.{}.fetch", self.name))
    }

    /// Returns the error for a failed fetch. Of a broken ref of this repository, which stops git, it names the file.
    fn cannot_fetch(&self, network: &Network, wanted: &str, output: &Output) -> Error {
        let damaged = self.repo.damaged_refs_below("refs/").into_iter();
        let mut named =
            damaged.filter(|damaged_ref| output.stderr.contains(&damaged_ref.name.to_string()));
        let Some(damaged_ref) = named.next() else {
            return network.failed(wanted, output);
        };
        let (name, problem) = (&damaged_ref.name, damaged_ref.problem());
        let message = format!("cannot {wanted}: the ref '{name}' here is broken: {problem}");
        Error::new(Code::RepositoryBroken, message).hint(damaged_ref.removal())
    }

    /// Fetches refs by name; returns their targets.
    pub fn fetch_refs(&self, names: &[RefName], into: &str) -> Result<Vec<FoundRef>> {
        self.fetch_at_once(&Fetch { names, below: None, with_branches: false, into })
    }

    /// Fetches with one command, if it can. A branch that cannot be moved stops neither the others nor the refs by name.
    pub fn fetch(&self, wanted: &Fetch<'_>) -> Result<Fetched> {
        let whole = |refs| Fetched { refs, branches_failed: None };
        if !wanted.with_branches {
            return self.fetch_at_once(wanted).map(whole);
        }
        // What the branches leave out, the same command cannot fetch.
        let leaves_out = |spec: &String| spec.starts_with('^');
        let mut specs = self.branch_refspecs().into_iter().chain(self.placement.left_out());
        let is_mixed = !wanted.names.is_empty() || wanted.below.is_some();
        if is_mixed
            && !specs.any(|spec| leaves_out(&spec))
            && let Ok(fetched) = self.fetch_at_once(wanted)
        {
            return Ok(whole(fetched));
        }
        // One after the other, so that a failure has its own reason.
        let branches = self.fetch_at_once(&Fetch { names: &[], below: None, ..*wanted });
        let branches_failed = match branches {
            Err(error) if error.code() == Code::GitFailed => Some(error),
            fetched => fetched.map(|_| None)?,
        };
        let refs = self.fetch_at_once(&Fetch { with_branches: false, ..*wanted })?;
        Ok(Fetched { refs, branches_failed })
    }

    fn fetch_at_once(&self, wanted: &Fetch<'_>) -> Result<Vec<FoundRef>> {
        let lines = self.lines(wanted);
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let mut network = self.network(Direction::Fetch)?;
        let git = network.git().input(lines);
        git.args(FETCH);
        if !wanted.with_branches {
            git.arg("--no-prune");
        }
        git.args(["--no-tags", "--refmap=", "--stdin", "--"]);
        git.arg(&self.name);
        let output = network.run()?;
        if output.success() {
            return self.fetched(wanted);
        }
        if output.stderr.contains("couldn't find remote ref") && !wanted.names.is_empty() {
            let message = format!("'{}' has moved its refs meanwhile", self.name);
            return Err(Error::new(Code::RefMoved, message));
        }
        Err(self.cannot_fetch(&network, &format!("fetch from '{}'", self.name), &output))
    }

    /// Returns the refspecs of a fetch, a line each.
    fn lines(&self, wanted: &Fetch<'_>) -> Vec<u8> {
        let mut lines = Vec::new();
        for (number, name) in wanted.names.iter().enumerate() {
            lines.push(b'+');
            lines.extend_from_slice(self.placement.there(name).as_bytes());
            lines.extend_from_slice(format!(":{}{number}\n", wanted.into).as_bytes());
        }
        if let Some(prefix) = wanted.below {
            let there = self.placement.there(&RefName::from(prefix));
            lines.extend(format!("+{there}*:{}{BELOW}*\n", wanted.into).into_bytes());
        }
        let specs = self.branch_refspecs();
        if wanted.with_branches && specs.iter().any(|spec| !spec.starts_with('^')) {
            let specs = specs.into_iter().chain(self.placement.left_out());
            lines.extend(specs.flat_map(|spec| format!("{spec}\n").into_bytes()));
        }
        lines
    }

    /// Returns the targets of what was fetched, under the names of the remote.
    fn fetched(&self, wanted: &Fetch<'_>) -> Result<Vec<FoundRef>> {
        let Fetch { names, below, into, .. } = *wanted;
        let mut fetched = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let numbered = RefName::from(format!("{into}{number}").as_str());
            if let Some(id) = self.repo.find_ref(&numbered)? {
                fetched.push(FoundRef { name: name.clone(), id });
            }
        }
        if let Some(prefix) = below {
            let folder = format!("{into}{BELOW}");
            let refs = self.repo.refs_below(&folder)?.into_iter();
            fetched.extend(refs.filter_map(|FoundRef { name, id }| {
                let rest = name.as_bytes().strip_prefix(folder.as_bytes())?;
                Some(FoundRef { name: RefName::new([prefix.as_bytes(), rest].concat()), id })
            }));
        }
        Ok(fetched)
    }
}

/// Returns `true` for a refspec that moves no ref, or remote-tracking ones only.
fn is_tracking(spec: &str) -> bool {
    let into = spec.split_once(':').map_or("", |(_, into)| into);
    into.is_empty() || into.strip_prefix("refs/").unwrap_or(into).starts_with("remotes/")
}
