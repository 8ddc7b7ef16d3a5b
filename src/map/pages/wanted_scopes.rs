//! The scopes that a request for pages is about: by name, by source, by the state of their files.

use crate::model::{Code, Error, Result};
use crate::page::listing::{Filter, Work};
use crate::repo_map::scope_record;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

use super::no_pages::NoPages;
use super::scopes;

/// Keeps the scope that a word stands for.
pub(super) fn retain_meant(
    session: &Session,
    scopes: &mut Vec<ScopeRow>,
    wanted: &str,
) -> Result<()> {
    let ids = scopes.iter().map(|scope| scope.scope.as_str());
    let meant = scopes::meant(session, &ids, wanted);
    match meant.as_slice() {
        [scope_id] => scopes.retain(|scope| scope.scope == *scope_id),
        [] => return Err(no_scope(session, wanted)),
        many => return Err(scopes::not_one(wanted, many)),
    }
    Ok(())
}

/// Keeps the wanted scopes: unless one is named in full, those of the commit or those of the
/// working tree. Returns the reason if none is left.
pub(super) fn retain_wanted(
    session: &Session,
    scopes: &mut Vec<ScopeRow>,
    filter: &Filter,
) -> Result<Option<NoPages>> {
    let is_private = |scope: &ScopeRow| scope_record::committed(&scope.scope).is_some();
    let were_some = !scopes.is_empty();
    let why = match (filter.work, filter.scope.as_deref()) {
        (Work::Committed, Some(wanted)) => {
            retain_meant(session, scopes, wanted)?;
            return Ok(None);
        }
        (Work::Committed, None) => {
            scopes.retain(|scope| !is_private(scope));
            NoPages::OnlyWorktree
        }
        (Work::Worktree, wanted) => {
            scopes.retain(is_private);
            if let Some(wanted) = wanted.filter(|_| !scopes.is_empty()) {
                let word = scope_record::committed(wanted).unwrap_or(wanted);
                let ids = scopes.iter().filter_map(|scope| scope_record::committed(&scope.scope));
                let meant = scopes::meant(session, &ids, word);
                let private = match meant.as_slice() {
                    [scope_id] => scope_record::of_worktree(scope_id),
                    [] => return Err(no_scope(session, &scope_record::of_worktree(word))),
                    many => return Err(scopes::not_one(wanted, many)),
                };
                scopes.retain(|scope| scope.scope == private);
            }
            NoPages::NoWorktree
        }
    };
    Ok(Some(why).filter(|why| scopes.is_empty() && (were_some || *why == NoPages::NoWorktree)))
}

/// Keeps the scopes whose source contains a text, in any case. Returns the reason if none is left of some.
pub(super) fn retain_source(
    session: &Session,
    scopes: &mut Vec<ScopeRow>,
    filter: &Filter,
) -> Result<Option<NoPages>> {
    let Some(text) = filter.source.as_ref().map(|text| text.to_lowercase()) else {
        return Ok(None);
    };
    let were_some = !scopes.is_empty();
    let sources = scopes::sources(session)?;
    let contains = |source: &String| source.to_lowercase().contains(&text);
    scopes.retain(|scope| {
        let recorded = sources.get(&scope.scope).into_iter().flatten();
        recorded.chain([&scope.scope]).any(contains)
    });
    Ok((were_some && scopes.is_empty()).then_some(NoPages::NoMatch))
}

/// Makes the error for a scope without pages here: it may still be recorded.
fn no_scope(session: &Session, wanted: &str) -> Error {
    let recorded = scopes::mapped_ids(&session.repo);
    let meant = scopes::meant(session, &recorded.keys().map(String::as_str), wanted);
    match meant.as_slice() {
        [] => {
            let message = format!("no scope of this worktree is '{wanted}'");
            Error::new(Code::ScopeNotFound, message).hint("git colony pages stats")
        }
        [scope_id, ..] => {
            let message = format!("'{scope_id}' is recorded, but its pages were not made here");
            Error::new(Code::ScopeNotFound, message).hint("git colony map")
        }
    }
}
