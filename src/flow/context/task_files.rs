//! The files of a plan that a view sees, with their texts, each once.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::reading::{FileReading, MAX_PROJECT_BYTES};
use crate::flow::search::scope_matches;
use crate::flow::workspace::id::repository_id;
use crate::model::{Code, RepoPath, Result};
use crate::search::postings::IndexedPassage;
use crate::store::Session;
use crate::store::settings::projects::{ContextView, Project, ResourceType};
use crate::store::state::{FragmentName, State, Tier, TierOwner, TierStep};

use super::assembly::{TaskRequest, by_path, is_candidate};
use super::hydrate::{HydrateRequest, Hydrated, HydratedFile, HydratedProject, hydrate_project};
use super::known_projects::{self, Sourced};
use super::project_files::ProjectReader;
use super::views::Seen;
use super::{announce, limits, now, owner, unusable};

/// The maximum number of passages of a scope that are candidates.
const MAX_SCOPE_MATCHES: usize = 200;

/// A file with its text.
pub(super) struct TaskFile {
    pub(super) project: String,
    pub(super) name: FragmentName,
    pub(super) shown: RepoPath,
    pub(super) hash: String,
    pub(super) text: String,
    pub(super) modified: i64,
    /// The tier that has it; `None` for a file that only a search of its scope has found.
    pub(super) tier: Option<Tier>,
    /// The passages that a search of a scope has found, by number.
    pub(super) matches: BTreeMap<usize, Match>,
}

/// A passage that a search has found.
pub(super) struct Match {
    pub(super) passage: IndexedPassage,
    /// Of 0 to 1.
    pub(super) relevance: f64,
    /// Whether it is the whole file.
    pub(super) is_whole: bool,
}

/// What a view may still show of a project.
#[derive(Clone, Copy)]
pub(super) struct Room {
    files: u64,
    bytes: u64,
}

impl Room {
    /// Takes a file of this size, if there is room for it.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let has_room = self.files > 0 && bytes <= self.bytes;
        if has_room {
            self.files -= 1;
            self.bytes -= bytes;
        }
        has_room
    }
}

/// The files of a plan.
pub(super) struct TaskFiles {
    pub(super) plan: String,
    pub(super) view: ContextView,
    pub(super) budget_tokens: Option<u64>,
    pub(super) projects: Vec<String>,
    /// By path.
    pub(super) files: Vec<TaskFile>,
    /// What the view may show of each project.
    pub(super) limits: BTreeMap<String, Room>,
    pub(super) skipped: usize,
    /// The number of files in the tiers whose content has changed since.
    pub(super) stale: usize,
    pub(super) stopped: bool,
}

/// Reads the files of the plan of a request.
///
/// # Errors
/// As [`super::hydrate::hydrate`].
pub(super) fn collect(session: &Session, request: &TaskRequest) -> Result<TaskFiles> {
    let known = known_projects::read(session)?;
    let plan = known.plan(request.plan.as_deref())?;
    let mut found = TaskFiles {
        plan: plan.name.clone(),
        view: request.view.unwrap_or(plan.view),
        budget_tokens: plan.budget_tokens,
        projects: Vec::new(),
        files: Vec::new(),
        limits: BTreeMap::new(),
        skipped: 0,
        stale: 0,
        stopped: false,
    };
    for project in known.of_plan(plan)? {
        let seen = Seen::of(&project.item, found.view)?;
        let read = if request.hydrates {
            let wanted = HydrateRequest {
                what: Hydrated::Project(project.item.name.clone()),
                question: request.question.clone(),
                allow_secret: Vec::new(),
            };
            hydrate_project(session, project, &wanted)?
        } else {
            read_tiers(session, project, request, &mut found.stale)?
        };
        found.add(&project.item.name, read, &seen, request.question.as_deref());
        if let Some(question) = &request.question {
            found.search_scopes(session, &project.item, question, &seen)?;
        }
    }
    found.files.sort_by(by_path);
    // Of one content, the file in the highest tier stays, with the best of what was found.
    found.files.dedup_by(|other, one| {
        let is_same = one.shown == other.shown && one.hash == other.hash;
        if is_same {
            one.join(std::mem::take(&mut other.matches));
        }
        is_same
    });
    found.leave_out_older();
    Ok(found)
}

impl TaskFile {
    /// Adds what another search has found in the same content; the higher relevance stays.
    fn join(&mut self, matches: BTreeMap<usize, Match>) {
        for (number, found) in matches {
            let known = self.matches.get(&number);
            if known.is_none_or(|known| known.relevance < found.relevance) {
                self.matches.insert(number, found);
            }
        }
    }
}

impl TaskFiles {
    fn add(&mut self, name: &str, read: HydratedProject, seen: &Seen, question: Option<&str>) {
        let tiers: BTreeMap<&FragmentName, Tier> = read
            .fragments
            .iter()
            .filter_map(|it| Some((&it.file.name, it.tier?)))
            .collect();
        for file in read.files {
            let tier = tiers.get(&file.name).copied();
            let tier = tier.filter(|tier| is_candidate(*tier, question));
            let is_seen = seen.has(&file.shown, file.text.len() as u64);
            self.files
                .extend(tier.filter(|_| is_seen).map(|tier| TaskFile {
                    project: name.to_owned(),
                    name: file.name,
                    shown: file.shown,
                    hash: file.hash,
                    text: file.text,
                    modified: file.modified,
                    tier: Some(tier),
                    matches: BTreeMap::new(),
                }));
        }
        self.projects.push(name.to_owned());
        self.skipped += read.skipped.len();
        self.stopped |= read.stopped;
        let room = Room {
            files: seen.max_files,
            bytes: seen.max_total_size,
        };
        self.limits.insert(name.to_owned(), room);
    }
}

impl TaskFiles {
    /// Leaves out what only a scope has of a file that was read with other content: the file has changed since.
    fn leave_out_older(&mut self) {
        let read = self.files.iter().filter(|it| it.tier.is_some());
        let read: BTreeSet<RepoPath> = read.map(|it| it.shown.clone()).collect();
        self.files
            .retain(|it| it.tier.is_some() || !read.contains(&it.shown));
    }

    /// Adds the passages of a project's scopes that match, also of files that hydration had no room for.
    fn search_scopes(
        &mut self,
        session: &Session,
        project: &Project,
        question: &str,
        seen: &Seen,
    ) -> Result<()> {
        let reader = ProjectReader::new(session, &[]);
        let scopes = project.resources.iter();
        for resource in scopes.filter(|it| it.kind == ResourceType::Scope) {
            let scope = &resource.location;
            let found = scope_matches::of_scope(session, scope, question, MAX_SCOPE_MATCHES);
            let found = match found {
                Err(error) if error.code() == Code::ScopeNotFound => continue,
                found => found?,
            };
            for it in found {
                let is_seen = seen.has(&it.path, it.text.len() as u64);
                if !is_seen || reader.is_secret(&it.path, it.text.as_bytes()) {
                    continue;
                }
                let (number, count) = it.number;
                let found = Match {
                    passage: it.passage,
                    relevance: it.relevance,
                    is_whole: count == 1,
                };
                self.files.push(TaskFile {
                    project: project.name.clone(),
                    name: FragmentName {
                        resource: resource.id.clone(),
                        path: it.path.clone(),
                    },
                    shown: it.path,
                    hash: it.blob.to_string(),
                    text: it.text.as_ref().to_owned(),
                    modified: 0,
                    tier: None,
                    matches: BTreeMap::from([(number, found)]),
                });
            }
        }
        Ok(())
    }
}

/// Reads the files in the tiers that are candidates; those with other content now are counted, and left out.
fn read_tiers(
    session: &Session,
    project: &Sourced<Project>,
    request: &TaskRequest,
    stale: &mut usize,
) -> Result<HydratedProject> {
    let (repository, agent) = (repository_id(session)?, owner(session));
    let owner = TierOwner {
        repository: &repository,
        agent: &agent,
        project: &project.item.name,
    };
    let mut read = HydratedProject::default();
    let Some(mut state) = State::find(session).map_err(unusable)? else {
        return Ok(read);
    };
    let fragments = state.aged_fragments(owner, limits(session), now(session));
    read.fragments = fragments.map_err(unusable)?;
    let reader = ProjectReader::new(session, &[]);
    for resource in &project.item.resources {
        let place = reader.place(resource, project.source)?;
        let own = read
            .fragments
            .iter()
            .filter(|it| it.file.name.resource == resource.id)
            .filter(|it| {
                let is_wanted = |tier| is_candidate(tier, request.question.as_deref());
                it.tier.is_some_and(is_wanted)
            });
        for fragment in own {
            let name = &fragment.file.name;
            match reader.read(&place, &name.path, MAX_PROJECT_BYTES)? {
                FileReading::Read(file) if file.hash == fragment.file.hash => {
                    read.files.push(HydratedFile {
                        name: name.clone(),
                        shown: place.shown(&name.path),
                        hash: file.hash,
                        text: file.text,
                        tokens: fragment.file.tokens,
                        modified: file.modified,
                    });
                }
                _ => *stale += 1,
            }
        }
    }
    Ok(read)
}

/// Counts an access of the fragments that were printed.
///
/// # Errors
/// `state-unusable`.
pub(super) fn note_access(
    session: &Session,
    used: &BTreeMap<String, Vec<FragmentName>>,
) -> Result<()> {
    if used.is_empty() {
        return Ok(());
    }
    let (repository, agent) = (repository_id(session)?, owner(session));
    let mut state = State::open(session).map_err(unusable)?;
    for (project, names) in used {
        let owner = TierOwner {
            repository: &repository,
            agent: &agent,
            project,
        };
        let step = TierStep::Access(names);
        let done = state.tier_step(owner, step, limits(session), now(session));
        announce(session, project, &done.map_err(unusable)?.1);
    }
    Ok(())
}
