//! `map tree --tokens`: the distribution of tokens in the tree of a commit.

use super::mapping::{self, How};
use super::other_repositories::Network;
use crate::flow::pages;
use crate::git::Oid;
use crate::map::listing::{self, Bounds, TreeReport};
use crate::map::resolved::{Chunk, Limits, ResolvedRow, RowPlace};
use crate::map::row::{DEFAULT_NAME, SourceKind};
use crate::model::Result;
use crate::page::counting::{self, FileTokens};
use crate::source::globs::Globs;
use crate::source::selection::{BinaryPolicy, Selection};
use crate::store::Session;
use crate::store::cache::user_cache::{UserCache, UserCacheKind};
use crate::text::tokenizer::Tokenizer;

/// Returns the tree of a commit, with the tokens of each file and each directory: as counted for
/// the first scope that maps the file at this commit, else with the settings in effect. A file that
/// no page can hold has none.
///
/// # Errors
/// `object-missing`, `interrupted`, `cache-unusable`.
pub fn tree(session: &Session, commit: Option<Oid>, bounds: Bounds) -> Result<TreeReport> {
    let mut report = listing::list(&session.repo, commit, bounds)?;
    let Some(commit) = commit else {
        listing::put_tokens(&mut report, &FileTokens::new());
        return Ok(report);
    };
    let how = How {
        session,
        tokenizer: Tokenizer::named(&session.settings.map.tokenizer),
        network: Network::Offline,
    };
    let mut tokens = mapping::with_job(how, &whole(session, commit), |job| {
        counting::count(
            job,
            &mut UserCache::open(&session.world, UserCacheKind::Cuts),
        )
    })?;
    let opened = pages::open(session, None)?;
    let revision = commit.to_string();
    let at_commit = |scope: &&_| is_at(scope, &revision);
    for scope in opened.scopes.iter().rev().filter(at_commit) {
        tokens.extend(counting::of_scope(&opened.table, scope)?);
    }
    listing::put_tokens(&mut report, &tokens);
    Ok(report)
}

fn is_at(scope: &crate::store::cache::page_table::ScopeRow, revision: &str) -> bool {
    scope.place.is_none() && scope.revision == revision
}

/// Returns the whole tree as one source, with the settings in effect.
pub(in crate::flow) fn whole(session: &Session, commit: Oid) -> ResolvedRow {
    let settings = &session.settings.map;
    ResolvedRow {
        name: DEFAULT_NAME.to_owned(),
        scope_id: String::new(),
        kind: SourceKind::GitRepo,
        origin_url: None,
        branch: None,
        commit,
        place: RowPlace::This,
        selection: Selection {
            start_dir: crate::model::RepoPath::default(),
            include: None,
            exclude: Globs::default(),
            binary: BinaryPolicy::Skip,
            gitignore: settings.gitignore,
        },
        limits: Limits {
            records: settings.flush_threshold,
            tokens: settings.flush_token_budget,
        },
        chunk: Chunk {
            target: settings.chunk_target_tokens,
            overlap: settings.chunk_overlap_tokens,
        },
        pinned: settings.pinned,
        frozen: false,
    }
}
