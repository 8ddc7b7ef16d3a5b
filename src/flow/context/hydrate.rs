//! `context hydrate`: the files of projects are read by the rules, and their fragments put into the tiers.
//!
//! What has not changed keeps its place in the tiers; the text of a fragment is not stored, but read again where it is
//! needed and compared with its hash.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::reading::{FileReading, MAX_PROJECT_BYTES, SkipReason};
use crate::flow::workspace::id::repository_id;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::settings::projects::Project;
use crate::store::state::{
    Fragment, FragmentName, NewFragment, State, Tier, TierChanges, TierOwner, TierStep,
};
use crate::text::tokenizer::Tokenizer;

use super::known_projects::{self, Sourced};
use super::pieces::matches;
use super::project_files::{Place, ProjectReader};
use super::{announce, limits, now, owner, unusable};

/// The maximum number of skipped files that a report names.
const MAX_SKIPPED: usize = 1_000;

/// The projects to hydrate.
#[derive(Clone, Debug)]
pub enum Hydrated {
    /// One project.
    Project(String),
    /// All projects of a plan; of the plan `default` without a name.
    Plan(Option<String>),
}

/// Files to hydrate.
#[derive(Clone, Debug)]
pub struct HydrateRequest {
    /// The projects.
    pub what: Hydrated,
    /// What the task is about: files that match it stay in the hot tier first.
    pub question: Option<String>,
    /// Files and directories that are read although they look like secrets.
    pub allow_secret: Vec<RepoPath>,
}

/// A file that was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedFile {
    /// Its path.
    pub path: RepoPath,
    /// Why not.
    pub reason: SkipReason,
}

/// The fragments of a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TierTotal {
    /// Their number.
    pub count: usize,
    /// Their tokens.
    pub tokens: u64,
}

impl TierTotal {
    /// Adds up the fragments of a tier.
    pub(super) fn of(fragments: &[Fragment], tier: Tier) -> TierTotal {
        let in_tier = fragments.iter().filter(|it| it.tier == Some(tier));
        in_tier.fold(TierTotal::default(), |total, it| TierTotal {
            count: total.count + 1,
            tokens: total.tokens + it.file.tokens,
        })
    }

    fn plus(self, other: TierTotal) -> TierTotal {
        TierTotal {
            count: self.count + other.count,
            tokens: self.tokens + other.tokens,
        }
    }
}

/// A project that was hydrated.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProjectHydration {
    /// Its name.
    pub project: String,
    /// The number of its files that are in the tiers.
    pub stored: usize,
    /// Their size.
    pub bytes: u64,
    /// Whether its files were too large together, so that the listing stopped.
    pub stopped: bool,
}

/// The result of a hydration.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HydrationReport {
    /// The plan; null for a single project.
    pub plan: Option<String>,
    /// The projects, in their order.
    pub projects: Vec<ProjectHydration>,
    /// The number of files that are in the tiers.
    pub stored: usize,
    /// The number of those that are new, or have other content than before.
    pub changed: usize,
    /// The files that were not read, at most 1,000.
    pub skipped: Vec<SkippedFile>,
    /// The number of all of them.
    pub skipped_count: usize,
    /// Whether the files of a project were too large together, so that its listing stopped.
    pub stopped: bool,
    /// The size of the files that are in the tiers.
    pub bytes: u64,
    /// The hot tier.
    pub hot: TierTotal,
    /// The warm tier.
    pub warm: TierTotal,
    /// The cold tier.
    pub cold: TierTotal,
    /// The number of files that no tier has room for, or that left them.
    pub dropped: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// A file of a project with its text.
#[derive(Clone, Debug)]
pub(super) struct HydratedFile {
    pub(super) name: FragmentName,
    /// Its path as reports have it.
    pub(super) shown: RepoPath,
    pub(super) hash: String,
    pub(super) text: String,
    pub(super) tokens: u64,
    pub(super) modified: i64,
}

/// The files of a project, read.
#[derive(Default)]
pub(super) struct HydratedProject {
    pub(super) files: Vec<HydratedFile>,
    pub(super) skipped: Vec<SkippedFile>,
    pub(super) stopped: bool,
    pub(super) bytes: u64,
    pub(super) fragments: Vec<Fragment>,
    changes: TierChanges,
}

/// Hydrates projects. In a dry run nothing is stored.
///
/// # Errors
/// `project-not-found`, `plan-not-found`, `projects-invalid`, `git-failed`, `tree-too-large`, `state-unusable`,
/// `interrupted`.
pub fn hydrate(session: &Session, request: &HydrateRequest) -> Result<HydrationReport> {
    let known = known_projects::read(session)?;
    let (plan, projects) = match &request.what {
        Hydrated::Project(name) => (None, vec![known.project(name)?]),
        Hydrated::Plan(name) => {
            let plan = known.plan(name.as_deref())?;
            (Some(plan.name.clone()), known.of_plan(plan)?)
        }
    };
    let mut report = HydrationReport::empty(plan, session.is_dry());
    for project in projects {
        let done = hydrate_project(session, project, request)?;
        report.add(&project.item.name, done);
    }
    Ok(report)
}

/// Reads the files of a project, and puts their fragments into its tiers.
///
/// # Errors
/// As [`hydrate`].
pub(super) fn hydrate_project(
    session: &Session,
    project: &Sourced<Project>,
    request: &HydrateRequest,
) -> Result<HydratedProject> {
    let name = &project.item.name;
    let (repository, agent) = (repository_id(session)?, owner(session));
    let owner = TierOwner {
        repository: &repository,
        agent: &agent,
        project: name,
    };
    let mut state = State::open(session).map_err(unusable)?;
    let before = state.fragments(owner).map_err(unusable)?;
    let mut read = read_files(session, project, &request.allow_secret)?;
    let known: BTreeMap<(&FragmentName, &str), u64> = before
        .iter()
        .map(|it| ((&it.file.name, it.file.hash.as_str()), it.file.tokens))
        .collect();
    for file in &mut read.files {
        session.world.interrupt.check()?;
        let tokens = known.get(&(&file.name, file.hash.as_str())).copied();
        let count = || Tokenizer::default().count(&file.text) as u64;
        file.tokens = tokens.unwrap_or_else(count);
    }
    // A file that has not changed keeps its place, whatever the question.
    let is_new = |file: &HydratedFile| !known.contains_key(&(&file.name, file.hash.as_str()));
    let ranked = ranked(&read.files, request.question.as_deref(), is_new);
    let step = TierStep::Hydrate(&ranked);
    let done = state.tier_step(owner, step, limits(session), now(session));
    let (fragments, changes) = done.map_err(unusable)?;
    announce(session, name, &changes);
    read.fragments = fragments;
    read.changes = changes;
    Ok(read)
}

/// Reads the files of a project by the rules; tokens are not counted yet.
fn read_files(
    session: &Session,
    project: &Sourced<Project>,
    allowed: &[RepoPath],
) -> Result<HydratedProject> {
    let reader = ProjectReader::new(session, allowed);
    let mut found = HydratedProject::default();
    for resource in &project.item.resources {
        let place = reader.place(resource, project.source)?;
        if matches!(place, Place::Nowhere) {
            found.skipped.push(SkippedFile {
                path: RepoPath::from(resource.location.as_str()),
                reason: SkipReason::NoLocation,
            });
        }
        for path in reader.list(&place)? {
            session.world.interrupt.check()?;
            let shown = place.shown(&path);
            match reader.read(&place, &path, MAX_PROJECT_BYTES - found.bytes)? {
                FileReading::Read(file) => {
                    found.bytes += file.text.len() as u64;
                    found.files.push(HydratedFile {
                        name: FragmentName {
                            resource: resource.id.clone(),
                            path,
                        },
                        shown,
                        hash: file.hash,
                        text: file.text,
                        tokens: 0,
                        modified: file.modified,
                    });
                }
                FileReading::Skipped(reason) => {
                    found.skipped.push(SkippedFile {
                        path: shown,
                        reason,
                    });
                    if reason == SkipReason::ProjectFull {
                        found.stopped = true;
                        return Ok(found);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Orders files for the hot tier: first new ones by how well they match the question, then those that changed last.
fn ranked(
    files: &[HydratedFile],
    question: Option<&str>,
    is_new: impl Fn(&HydratedFile) -> bool,
) -> Vec<NewFragment> {
    let mut best = vec![0.0_f64; files.len()];
    if question.is_some() {
        let texts = files.iter().map(|file| {
            if is_new(file) {
                (file.shown.to_string(), file.text.as_str())
            } else {
                (String::new(), "")
            }
        });
        for ((file, _), relevance) in matches(texts, question).relevance {
            if let Some(best) = best.get_mut(file) {
                *best = best.max(relevance);
            }
        }
    }
    let mut scored: Vec<(f64, &HydratedFile)> = best.into_iter().zip(files).collect();
    scored.sort_by(|(one_score, one), (other_score, other)| {
        other_score
            .total_cmp(one_score)
            .then_with(|| other.modified.cmp(&one.modified))
            .then_with(|| one.shown.cmp(&other.shown))
    });
    let fragment = |(_, file): (f64, &HydratedFile)| NewFragment {
        name: file.name.clone(),
        hash: file.hash.clone(),
        tokens: file.tokens,
        bytes: file.text.len() as u64,
    };
    scored.into_iter().map(fragment).collect()
}

impl HydrationReport {
    fn empty(plan: Option<String>, dry_run: bool) -> HydrationReport {
        HydrationReport {
            plan,
            projects: Vec::new(),
            stored: 0,
            changed: 0,
            skipped: Vec::new(),
            skipped_count: 0,
            stopped: false,
            bytes: 0,
            hot: TierTotal::default(),
            warm: TierTotal::default(),
            cold: TierTotal::default(),
            dropped: 0,
            dry_run,
        }
    }

    fn add(&mut self, project: &str, done: HydratedProject) {
        let stored = done.fragments.len();
        let bytes = done.fragments.iter().map(|it| it.file.bytes).sum();
        let read: BTreeSet<&FragmentName> = done.files.iter().map(|it| &it.name).collect();
        let gone = done
            .changes
            .evicted
            .iter()
            .filter(|name| !read.contains(name))
            .count();
        self.stored += stored;
        self.changed += done.changes.stored.len();
        self.stopped |= done.stopped;
        self.bytes += bytes;
        self.dropped += done.files.len() - stored + gone;
        self.hot = self.hot.plus(TierTotal::of(&done.fragments, Tier::Hot));
        self.warm = self.warm.plus(TierTotal::of(&done.fragments, Tier::Warm));
        self.cold = self.cold.plus(TierTotal::of(&done.fragments, Tier::Cold));
        self.skipped_count += done.skipped.len();
        let room = MAX_SKIPPED.saturating_sub(self.skipped.len());
        self.skipped.extend(done.skipped.into_iter().take(room));
        self.projects.push(ProjectHydration {
            project: project.to_owned(),
            stored,
            bytes,
            stopped: done.stopped,
        });
    }
}
