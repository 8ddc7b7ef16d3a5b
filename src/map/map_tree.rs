//! `map tree --tokens`: the distribution of tokens in the tree of a commit.

use crate::git::Oid;
use crate::map::pages;
use crate::map_rows::home::{self, Home, MapOf};
use crate::map_rows::other_repositories::Network;
use crate::model::Result;
use crate::page::tree_tokens::{self, FileTokens};
use crate::repo_map::listing::{self, Bounds, TreeReport};
use crate::repo_map::resolved::{Chunk, Limits, ResolvedRow, RowPlace};
use crate::repo_map::row::{DEFAULT_NAME, SourceKind};
use crate::source::globs::Globs;
use crate::source::selection::{BinaryPolicy, Selection};
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;
use crate::store::cache::user_cache::{UserCache, UserCacheKind};
use crate::store::settings::MapSettings;
use crate::text::tokenizer::Tokenizer;

use super::custom_source::Commands;
use super::mapping::{self, MapOptions};

/// Returns the tree of a state.
pub fn list(session: &Session, map: &MapOf, bounds: Bounds) -> Result<TreeReport> {
    home::with_home(session, map, |home| {
        let (_, commit) = home.state.place(home.repo())?;
        list_at(home, commit, bounds)
    })
}

/// Returns the tree of a state, with the tokens of each file and each directory: as counted for
/// the first scope that maps the file at this commit, else with the settings in effect. A file that
/// no page can hold has none.
pub fn tree(session: &Session, map: &MapOf, bounds: Bounds) -> Result<TreeReport> {
    home::with_home(session, map, |home| {
        let (_, commit) = home.state.place(home.repo())?;
        let mut report = list_at(home, commit, bounds)?;
        let tokens = match commit {
            Some(commit) => tokens_at(home, commit)?,
            None => FileTokens::new(),
        };
        listing::put_tokens(&mut report, &tokens);
        Ok(report)
    })
}

fn list_at(home: &Home<'_>, commit: Option<Oid>, bounds: Bounds) -> Result<TreeReport> {
    Ok(TreeReport { origin_url: home.url(), ..listing::list(home.repo(), commit, bounds)? })
}

fn tokens_at(home: &Home<'_>, commit: Oid) -> Result<FileTokens> {
    let session = home.session();
    let how = MapOptions {
        session,
        tokenizer: Tokenizer::named(&home.settings().tokenizer),
        network: Network::Offline,
        commands: Commands::Known,
    };
    let mut row = whole(home.settings(), commit);
    if let Some(place) = home.place() {
        row.place = RowPlace::Hub(place.to_owned());
    }
    let mut tokens = mapping::with_job(how, &row, |job| {
        tree_tokens::count(job, &mut UserCache::open(&session.world, UserCacheKind::Cuts))
    })?;
    let opened = pages::open(session, None)?;
    let revision = commit.to_string();
    let is_there =
        |scope: &&ScopeRow| scope.place.as_deref() == home.place() && scope.revision == revision;
    for scope in opened.scopes.iter().rev().filter(is_there) {
        tokens.extend(tree_tokens::of_scope(&opened.table, scope)?);
    }
    Ok(tokens)
}

/// Returns the whole tree as one source, with the settings in effect.
pub(in crate::map) fn whole(settings: &MapSettings, commit: Oid) -> ResolvedRow {
    ResolvedRow {
        name: DEFAULT_NAME.to_owned(),
        scope_id: String::new(),
        kind: SourceKind::GitRepo,
        custom: None,
        origin_url: None,
        branch: None,
        commit,
        records: None,
        place: RowPlace::This,
        selection: Selection {
            start_dir: crate::model::RepoPath::default(),
            include: None,
            exclude: Globs::default(),
            binary: BinaryPolicy::Skip,
            gitignore: settings.gitignore,
        },
        limits: Limits { records: settings.flush_threshold, tokens: settings.flush_token_budget },
        chunk: Chunk {
            target: settings.chunk_target_tokens,
            overlap: settings.chunk_overlap_tokens,
        },
        pinned: settings.pinned,
        frozen: false,
    }
}
