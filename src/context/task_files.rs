//! The files of a plan that a view sees, each once.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::context::scoring::reading::{FileReading, MAX_PROJECT_BYTES};
use crate::model::{Code, RepoPath, Result};
use crate::search::file_ranks;
use crate::store::Session;
use crate::store::settings::projects::{ContextView, Project, ResourceType};
use crate::store::state::{
    FragmentName, NewFragment, Reading, Readings, ReadingsOf, ReadingsPart, State, Tier, TierOwner,
};
use crate::workspace::id::repository_id;

use super::assembly::{TaskRequest, by_path, is_candidate};
use super::hydrate::{HydrateRequest, Hydrated, hydrate_project};
use super::known_projects::{self, Sourced};
use super::project_files::{Place, ProjectReader};
use super::project_reading::{FileText, HydratedFile, HydratedProject, Trust, find_fragment};
use super::task_file::{Match, TaskFile};
use super::views::ViewFilter;
use super::{owner, tier_view, unusable};

/// The maximum number of passages of a scope that are candidates.
const MAX_SCOPE_MATCHES: usize = 200;

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
pub(super) fn collect(session: &Session, request: &TaskRequest, trust: Trust) -> Result<TaskFiles> {
    let known = known_projects::read(session)?;
    let plan = known.plan(request.plan.as_deref())?;
    let mut task_files = TaskFiles {
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
        let seen = ViewFilter::of(&project.item, task_files.view)?;
        let mut read = if request.hydrates {
            let wanted = HydrateRequest {
                what: Hydrated::Project(project.item.name.clone()),
                question: request.question.clone(),
                allow_secret: Vec::new(),
            };
            let state = State::open_for_answer(session).map_err(unusable)?;
            hydrate_project(session, state, project, &wanted, trust)?
        } else {
            read_tiers(session, project, request, trust, &mut task_files.stale)?
        };
        let places = places(session, project)?;
        let question = request.question.as_deref();
        // After a weekend everything is cold.
        let is_cold = !read
            .fragments
            .iter()
            .any(|fragment| fragment.tier.is_some_and(|tier| tier < Tier::Cold));
        let is_wanted = |tier| is_cold || is_candidate(tier, question);
        read.fragments.retain(|fragment| fragment.tier.is_some_and(is_wanted));
        task_files.add(&project.item.name, read, &places, &seen);
        if let Some(question) = &request.question {
            task_files.search_scopes(session, &project.item, question, &seen)?;
        }
    }
    task_files.files.sort_by(by_path);
    // Of one content, the file in the highest tier stays, with the best of what was found.
    task_files.files.dedup_by(|other, file| {
        let is_same = file.shown == other.shown && file.hash == other.hash;
        if is_same {
            file.join(std::mem::take(&mut other.matches));
        }
        is_same
    });
    task_files.leave_out_older();
    Ok(task_files)
}

/// Returns the places of the resources of a project, by id.
fn places<'p>(
    session: &Session,
    project: &'p Sourced<Project>,
) -> Result<BTreeMap<&'p str, Rc<Place>>> {
    let reader = ProjectReader::new(session, &[]);
    let mut places = BTreeMap::new();
    for resource in &project.item.resources {
        let place = reader.place(resource, project.source)?;
        places.insert(resource.id.as_str(), Rc::new(place));
    }
    Ok(places)
}

impl TaskFiles {
    fn add(
        &mut self,
        name: &str,
        read: HydratedProject,
        places: &BTreeMap<&str, Rc<Place>>,
        seen: &ViewFilter,
    ) {
        for file in read.files {
            let bytes = file.text.bytes();
            let fragment = find_fragment(&read.fragments, &file.name, &file.hash);
            let tier = fragment.and_then(|fragment| fragment.tier);
            if tier.is_none() || !seen.has(&file.shown, bytes) {
                continue;
            }
            let (text, passages) = match file.text {
                FileText::Read(text) => (OnceCell::from(Rc::from(text)), None),
                FileText::Known { passages, .. } => (OnceCell::new(), Some(passages)),
            };
            self.files.push(TaskFile {
                project: name.to_owned(),
                place: places.get(file.name.resource.as_str()).map(Rc::clone),
                name: file.name,
                shown: file.shown,
                hash: file.hash,
                text,
                bytes,
                tokens: Some(file.tokens),
                passages,
                cut: OnceCell::new(),
                modified: file.modified,
                tier,
                matches: BTreeMap::new(),
            });
        }
        self.projects.push(name.to_owned());
        self.skipped += read.skipped.len();
        self.stopped |= read.stopped;
        let room = Room { files: seen.max_files, bytes: seen.max_total_size };
        self.limits.insert(name.to_owned(), room);
    }
}

impl TaskFiles {
    /// Leaves out what only a scope has of a file that was read with other content: the file has changed since.
    fn leave_out_older(&mut self) {
        let read_now = self.files.iter().filter(|file| file.tier.is_some());
        let read: BTreeSet<RepoPath> = read_now.map(|file| file.shown.clone()).collect();
        self.files.retain(|file| file.tier.is_some() || !read.contains(&file.shown));
    }

    /// Adds the passages of a project's scopes that match, also of files that hydration had no room for.
    fn search_scopes(
        &mut self,
        session: &Session,
        project: &Project,
        question: &str,
        seen: &ViewFilter,
    ) -> Result<()> {
        let reader = ProjectReader::new(session, &[]);
        let scopes = project.resources.iter();
        for resource in scopes.filter(|resource| resource.kind == ResourceType::Scope) {
            let scope = &resource.location;
            let ranked = file_ranks::of_scope(session, scope, question, MAX_SCOPE_MATCHES);
            let ranked = match ranked {
                Err(error) if error.code() == Code::ScopeNotFound => continue,
                ranked => ranked?,
            };
            for scope_match in ranked {
                let is_seen = seen.has(&scope_match.path, scope_match.text.len() as u64);
                if !is_seen || reader.is_secret(&scope_match.path, scope_match.text.as_bytes()) {
                    continue;
                }
                let (number, count) = scope_match.number;
                let file_match = Match {
                    passage: scope_match.passage,
                    relevance: scope_match.relevance,
                    is_whole: count == 1,
                };
                self.files.push(TaskFile {
                    project: project.name.clone(),
                    name: FragmentName {
                        resource: resource.id.clone(),
                        path: scope_match.path.clone(),
                    },
                    shown: scope_match.path,
                    hash: scope_match.blob.to_string(),
                    bytes: scope_match.text.len() as u64,
                    text: OnceCell::from(scope_match.text),
                    tokens: None,
                    passages: None,
                    cut: OnceCell::new(),
                    place: None,
                    modified: 0,
                    tier: None,
                    matches: BTreeMap::from([(number, file_match)]),
                });
            }
        }
        Ok(())
    }
}

/// Reads the files in the tiers that are candidates, but those that are certainly as they were read before; those with
/// other content now are counted, and left out.
fn read_tiers(
    session: &Session,
    project: &Sourced<Project>,
    request: &TaskRequest,
    trust: Trust,
    stale: &mut usize,
) -> Result<HydratedProject> {
    let (repository, agent) = (repository_id(session)?, owner(session));
    let project_name = &project.item.name;
    let owner = TierOwner { repository: &repository, agent: &agent, project: project_name };
    let mut read = HydratedProject::default();
    let Some(mut state) = State::find(session).map_err(unusable)? else {
        return Ok(read);
    };
    let last = match request.question {
        None => Tier::Warm,
        Some(_) => Tier::Cold,
    };
    let mut in_tiers = |last| state.fragments(owner, Some(last), tier_view(session));
    read.fragments = in_tiers(last).map_err(unusable)?;
    if read.fragments.is_empty() && last < Tier::Cold {
        read.fragments = in_tiers(Tier::Cold).map_err(unusable)?;
    }
    let reader = ProjectReader::new(session, &[]);
    for resource in &project.item.resources {
        let place = reader.place(resource, project.source)?;
        let of = ReadingsOf {
            repository: &repository,
            project: project_name,
            resource: &resource.id,
            part: ReadingsPart::InTiers,
        };
        let known = match trust {
            Trust::Stat => state.readings(of).map_err(unusable)?,
            Trust::Nothing => Readings::default(),
        };
        let all = read.fragments.iter().map(|fragment| &fragment.file);
        let own: Vec<&NewFragment> =
            all.filter(|fragment| fragment.name.resource == resource.id).collect();
        let files = read_fragments(session, &place, &own, &known)?;
        *stale += own.len() - files.len();
        read.files.extend(files);
    }
    Ok(read)
}

/// Reads the files of fragments, but those that are certainly as they were read before; files with other content are
/// left out.
fn read_fragments(
    session: &Session,
    place: &Place,
    fragments: &[&NewFragment],
    known: &Readings,
) -> Result<Vec<HydratedFile>> {
    let reader = ProjectReader::new(session, &[]);
    let mut cursor = known.cursor();
    let known = fragments.iter().map(|fragment| {
        let reading = cursor.find(&fragment.name.path);
        reading.filter(|reading| reading.hash == fragment.hash)
    });
    let known: Vec<Option<Reading<'_>>> = known.collect();
    let stats: Vec<_> = fragments
        .iter()
        .zip(&known)
        .map(|(fragment, known)| Some((&fragment.name.path, known.as_ref()?.stat)))
        .collect();
    let unchanged = place.are_as_read(&stats);
    let mut files = Vec::new();
    for ((fragment, known), is_unchanged) in fragments.iter().zip(known).zip(unchanged) {
        session.world.interrupt.check()?;
        let name = fragment.name.clone();
        let shown = place.shown(&name.path);
        if let Some(known) = known.filter(|_| is_unchanged) {
            files.push(HydratedFile::known(name, shown, &known, fragment.tokens));
            continue;
        }
        let read = reader.read(place, &name.path, MAX_PROJECT_BYTES)?;
        if let FileReading::Read(file) = read
            && file.hash == fragment.hash
        {
            files.push(HydratedFile {
                name,
                shown,
                hash: file.hash,
                text: FileText::Read(file.text),
                tokens: fragment.tokens,
                is_new: false,
                modified: file.modified,
                stat: file.stat,
            });
        }
    }
    Ok(files)
}

/// Counts an access of the fragments that were printed.
pub(super) fn note_access(
    session: &Session,
    used: &BTreeMap<String, Vec<FragmentName>>,
) -> Result<()> {
    if used.is_empty() {
        return Ok(());
    }
    let (repository, agent) = (repository_id(session)?, owner(session));
    let mut state = State::open_for_answer(session).map_err(unusable)?;
    for (project, names) in used {
        let owner = TierOwner { repository: &repository, agent: &agent, project };
        let used = state.use_fragments(owner, names, tier_view(session).now);
        used.map_err(unusable)?;
    }
    Ok(())
}
