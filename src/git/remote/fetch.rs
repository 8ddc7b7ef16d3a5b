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
    /// Whether to update `refs/remotes/` as well, as `git fetch` is configured to, without tags.
    pub with_branches: bool,
    /// The prefix of the new names. Existing refs of these names are overwritten.
    pub into: &'f str,
}

impl Remote<'_> {
    /// Returns `true` unless every ref that `git fetch` is configured to take is here as the remote offers it. What
    /// only git can decide counts as news.
    pub fn has_news(&self, offered: &BTreeMap<RefName, Oid>) -> Result<bool> {
        let configured = self.refspecs();
        let mut specs = Vec::new();
        for spec in &configured {
            let Ok(spec) = gix::refspec::parse(BStr::new(spec), Operation::Fetch) else {
                return Ok(true);
            };
            specs.push(spec);
        }
        let ids: Vec<&Oid> = offered.values().collect();
        let items = offered.iter().map(|(name, id)| Item {
            full_ref_name: name.as_bytes().as_bstr(),
            target: &id.0,
            object: None,
        });
        let mappings =
            MatchGroup::from_fetch_specs(specs.iter().copied()).match_lhs(items).mappings;
        let mut matched = BTreeSet::new();
        let mut wanted = BTreeSet::new();
        for mapping in &mappings {
            matched.insert(mapping.spec_index);
            let Some((rhs, index)) = mapping.rhs.as_ref().zip(mapping.item_index) else {
                continue;
            };
            if matches!(mapping.lhs, SourceRef::ObjectId(_)) {
                return Ok(true);
            }
            let name = RefName::new(rhs.to_vec());
            if self.repo.find_ref(&name)?.as_ref() != ids.get(index).copied() {
                return Ok(true);
            }
            wanted.insert(name);
        }
        // A ref that is named and not there is an error, which git reports.
        let is_named = |spec: &RefSpecRef<'_>| {
            spec.source().is_some_and(|source| !source.contains(&b'*'))
                && spec.destination().is_some()
        };
        let mut specs = specs.iter().enumerate();
        if specs.any(|(index, spec)| is_named(spec) && !matched.contains(&index)) {
            return Ok(true);
        }
        let prunes = ["fetch.prune".to_owned(), format!("remote.{}.prune", self.name)];
        if prunes.iter().all(|key| self.repo.config(key).is_none()) {
            return Ok(false);
        }
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
        self.fetch(&Fetch { names, below: None, with_branches: false, into })
    }

    /// Fetches with one command; returns the targets of the refs by name and below the prefix.
    pub fn fetch(&self, wanted: &Fetch<'_>) -> Result<Vec<FoundRef>> {
        let is_mixed = wanted.with_branches && (!wanted.names.is_empty() || wanted.below.is_some());
        if !is_mixed {
            return self.fetch_at_once(wanted);
        }
        // What the branches leave out, the same command cannot fetch.
        let leaves_out = |spec: &String| spec.starts_with('^');
        let mut specs = self.refspecs().into_iter().chain(self.placement.left_out());
        if !specs.any(|spec| leaves_out(&spec))
            && let Ok(fetched) = self.fetch_at_once(wanted)
        {
            return Ok(fetched);
        }
        // One after the other, so that a failure has its own reason.
        self.fetch_at_once(&Fetch { names: &[], below: None, ..*wanted })?;
        self.fetch_at_once(&Fetch { with_branches: false, ..*wanted })
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
        if wanted.with_branches {
            let specs = self.refspecs().into_iter().chain(self.placement.left_out());
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
