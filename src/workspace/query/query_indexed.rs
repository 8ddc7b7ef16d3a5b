//! `query text --indexed`: the search index of each repository is asked, where it has one. Nothing is written there:
//! files that the index does not have yet are indexed for this answer alone.

use crate::design::checkpoint::secret_file_names::{contains_secret, is_named_as_secret};
use crate::git::ObjectWrites;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};
use crate::search::index::query::Syntax;
use crate::search::{self, Hit, SearchRequest, SearchedFiles, SearchedOrigin};
use crate::store::Session;
use crate::store::settings::Flags;
use crate::workspace::checkout::catalog::resolve::Workspace;
use crate::workspace::checkout::hidden_files::HiddenFiles;

use super::query_text::{NotSearched, QueryTextReport, TextHit};
use super::target::Target;
use super::{Query, QueryKind, QueryRequest};

/// The passages to find.
#[derive(Clone, Debug)]
pub struct IndexedRequest {
    /// The query, as that of `search`.
    pub query: String,
    /// The repositories.
    pub asked: QueryRequest,
    /// The maximum number of passages of each repository.
    pub most_matches: usize,
}

/// Finds passages by the search indexes of repositories.
pub fn query_indexed(
    workspace: Workspace<'_>,
    request: &IndexedRequest,
) -> Result<QueryTextReport> {
    let world = workspace.world;
    let mut query = Query::begin(workspace, &request.asked, QueryKind::Indexed)?;
    let mut is_cut = false;
    let by_target = query.each(|target| {
        let (hits, is_more) = search_one(world, target, request)?;
        is_cut |= is_more;
        Ok(hits)
    })?;
    let hits = by_target.concat();
    Ok(QueryTextReport {
        answered: query.end(hits.len(), is_cut),
        count: hits.len(),
        hits,
        files_not_searched: NotSearched::default(),
    })
}

/// Searches one repository; the error is the reason why it is not asked.
fn search_one(
    world: &World,
    target: &Target,
    request: &IndexedRequest,
) -> Result<(Vec<TextHit>, bool)> {
    let root = target
        .root()
        .filter(|_| target.commit().is_none())
        .ok_or_else(|| Error::new(Code::Unsupported, "a mirror has no search index"))?;
    let inside = world.standing_in(root);
    let session = Session::open(inside, &Flags::default(), ObjectWrites::InMemory)?;
    if !search::has_index(&session) {
        let place = shell_word(&root.display().to_string());
        let message = format!(
            "it has no search index; to make one: git -C {place} colony map && git -C {place} colony search TEXT"
        );
        return Err(Error::new(Code::CacheUnusable, message));
    }
    let report = search::search(
        &session,
        &SearchRequest {
            query: request.query.clone(),
            syntax: Syntax::Data,
            files: SearchedFiles { origin: SearchedOrigin::Pages, ..SearchedFiles::default() },
            limit: request.most_matches,
        },
    )?;
    let is_cut = report.total > report.count;
    let mut hidden = HiddenFiles::of(&session.world.interrupt, session.repo.workdir());
    let mut hits = report.hits;
    hits.retain(|hit| {
        !is_named_as_secret(&hit.path)
            && !contains_secret(hit.snippet.as_bytes())
            && !hidden.hides(&hit.path)
    });
    let hits = hits.into_iter().map(|hit| hit_of(target, hit)).collect();
    Ok((hits, is_cut))
}

fn hit_of(target: &Target, hit: Hit) -> TextHit {
    TextHit {
        of: target.result_of(),
        path: hit.path,
        line_number: hit.line.or(hit.start_line),
        line_text: hit.snippet.lines().next().unwrap_or_default().to_owned(),
    }
}
