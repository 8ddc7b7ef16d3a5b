//! `context hydrate`: the files of projects are read by the rules, and their fragments put into the tiers.
//!
//! What has not changed keeps its place in the tiers; the text of a fragment is not stored, but read again where it is
//! needed and compared with its hash.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::scoring::reading::SkipReason;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::settings::projects::Project;
use crate::store::state::{Fragment, NewFragment, State, Tier, TierOwner};
use crate::workspace::id::repository_id;

use super::known_projects::{self, Sourced};
use super::pieces::matches;
use super::project_files::ProjectReader;
use super::project_reading::{
    FileText, HydratedFile, HydratedProject, ProjectReading, Trust, store_readings,
};
use super::{owner, tier_view, unusable};

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
        let in_tier = fragments.iter().filter(|fragment| fragment.tier == Some(tier));
        in_tier.fold(TierTotal::default(), |total, fragment| TierTotal {
            count: total.count + 1,
            tokens: total.tokens + fragment.file.tokens,
        })
    }

    fn plus(self, other: TierTotal) -> TierTotal {
        TierTotal { count: self.count + other.count, tokens: self.tokens + other.tokens }
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
    /// The number of files that no tier has room for.
    pub dropped: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Hydrates projects. In a dry run nothing is stored.
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
        let state = State::open(session).map_err(unusable)?;
        let done = hydrate_project(session, state, project, request, Trust::Stat)?;
        report.add(&project.item.name, done);
    }
    Ok(report)
}

/// Reads the files of a project, and puts their fragments into its tiers.
pub(super) fn hydrate_project(
    session: &Session,
    mut state: State,
    project: &Sourced<Project>,
    request: &HydrateRequest,
    trust: Trust,
) -> Result<HydratedProject> {
    let name = &project.item.name;
    let (repository, agent) = (repository_id(session)?, owner(session));
    let owner = TierOwner { repository: &repository, agent: &agent, project: name };
    let view = tier_view(session);
    let before = state.fragments(owner, None, view).map_err(unusable)?;
    // What was allowed once must not be taken for what the rules allow.
    let trust = if request.allow_secret.is_empty() { trust } else { Trust::Nothing };
    let mut reading = ProjectReading {
        session,
        project,
        reader: ProjectReader::new(session, &request.allow_secret),
        before: &before,
        trust,
        hydrated: HydratedProject::default(),
        has_read: false,
    };
    reading.read(&mut state, &repository)?;
    let stores = reading.has_read && trust == Trust::Stat;
    let mut read = reading.hydrated;
    let is_same = before.len() == read.files.len() && !read.files.iter().any(|file| file.is_new);
    (read.fragments, read.changed) = if is_same {
        (before, 0)
    } else {
        let ranked = ranked(&read.files, request.question.as_deref());
        state.hydrate_tiers(owner, &ranked, view).map_err(unusable)?
    };
    read.fragments.retain(|fragment| fragment.tier.is_some());
    if stores {
        store_readings(session, &mut state, owner, &read)?;
    }
    Ok(read)
}

/// Orders files for the hot tier: first new ones by how well they match the question, then those that changed last.
fn ranked(files: &[HydratedFile], question: Option<&str>) -> Vec<NewFragment> {
    let mut best = vec![0.0_f64; files.len()];
    if let Some(question) = question {
        // A file that has not changed keeps its place, whatever the question.
        let texts = files.iter().map(|file| match &file.text {
            FileText::Read(text) if file.is_new => (file.shown.to_string(), text.as_str()),
            _ => (String::new(), ""),
        });
        for ((file, _), relevance) in matches(texts, question) {
            if let Some(best) = best.get_mut(file) {
                *best = best.max(relevance);
            }
        }
    }
    let mut scored: Vec<(f64, &HydratedFile)> = best.into_iter().zip(files).collect();
    scored.sort_by(|(score, file), (other_score, other)| {
        other_score
            .total_cmp(score)
            .then_with(|| other.modified.cmp(&file.modified))
            .then_with(|| file.shown.cmp(&other.shown))
    });
    let fragment = |(_, file): (f64, &HydratedFile)| NewFragment {
        name: file.name.clone(),
        hash: file.hash.clone(),
        tokens: file.tokens,
        bytes: file.text.bytes(),
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
        let bytes = done.fragments.iter().map(|fragment| fragment.file.bytes).sum();
        self.stored += stored;
        self.changed += done.changed;
        self.stopped |= done.stopped;
        self.bytes += bytes;
        self.dropped += done.files.len().saturating_sub(stored);
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
