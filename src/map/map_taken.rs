//! Scopes that the map of another repository must not take: those of this one, and those of a third.
//!
//! Two repositories of one colony begin their scope ids alike. The second must not silently replace
//! the pages of the first.

use std::collections::BTreeMap;

use crate::git::remote::url::Provenance;
use crate::git::{Oid, RefName, RemoteUrl};
use crate::map_rows::home::Home;
use crate::map_rows::scope_base::{base_of, is_of_base};
use crate::map_rows::{Request, Rows};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::repo_map::scope_record::{ScopeRecord, Scopes};
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;

/// The scopes of others; none where this repository's own map is mapped.
#[derive(Default)]
pub(super) struct OthersScopes {
    /// The URL of the repository that is mapped.
    map_of: String,
    /// The records of this worktree.
    own: BTreeMap<String, ScopeRecord>,
    /// The records of this repository's map.
    shared: BTreeMap<String, ScopeRecord>,
    /// The beginning of the scope ids of this repository.
    base: Option<String>,
    /// Whether the user named the beginning of the scope ids.
    is_named: bool,
}

impl OthersScopes {
    /// Finds the scopes that rows must not take.
    pub(super) fn by_others(
        session: &Session,
        request: &Request,
        rows: &Rows,
    ) -> Result<OthersScopes> {
        let Some(map_of) = &rows.map_of else {
            return Ok(OthersScopes::default());
        };
        let repo = &session.repo;
        let home = Home::here(session, &MapState::Head);
        let origin = home.origin()?;
        let base = match repo.head()?.commit() {
            Some(commit) => Some(base_of(&home, None, commit, origin.as_ref())?),
            None => None,
        };
        let url = RemoteUrl::parse(map_of, Provenance::User, &session.world.cwd)?;
        let has_its_remote = origin.is_some_and(|origin| origin.normalized() == url.normalized());
        // Where the first commit is the name of both, they are clones of one repository; a name that the user
        // gives proves nothing.
        let is_own_name = request.base_scope.is_none() && Oid::parse(&rows.base).is_some();
        let has_its_root = is_own_name && base.as_ref() == Some(&rows.base);
        if has_its_remote || has_its_root {
            return Ok(OthersScopes::default());
        }
        let own = match Places::find(repo)? {
            Some(places) => Scopes::load(repo, &ref_names::local_scopes(&places.key))?.records,
            None => BTreeMap::new(),
        };
        Ok(OthersScopes {
            map_of: map_of.clone(),
            own,
            shared: Scopes::load(repo, &RefName::from(ref_names::SCOPES))?.records,
            base,
            is_named: request.base_scope.is_some(),
        })
    }

    /// Refuses a scope of another repository. A user who names the beginning of scope ids replaces
    /// those of a third one on purpose.
    pub(super) fn refuse(&self, scope_id: &str) -> Result<()> {
        let known = self.own.get(scope_id);
        let from = match known.map(|record| (&record.map_of, record.is_of_no_map())) {
            Some((Some(url), _)) if *url == self.map_of => return Ok(()),
            Some((_, true)) if self.is_named => return Ok(()),
            Some((Some(url), _)) => format!("of '{url}'"),
            Some((None, true)) => "of 'map repo' or 'map blackboard'".to_owned(),
            Some((None, false)) => "of this repository".to_owned(),
            None if self.is_ours(scope_id) => "of this repository".to_owned(),
            None => return Ok(()),
        };
        let url = shell_word(&self.map_of);
        Err(Error::new(Code::InvalidValue, format!("'{scope_id}' is a scope {from}"))
            .unchanged()
            .detail("scope_id", scope_id)
            .hint(format!("git colony map --url {url} --base-scope NAME   # scopes of its own")))
    }

    fn is_ours(&self, scope_id: &str) -> bool {
        let base = self.base.as_deref();
        self.shared.contains_key(scope_id) || base.is_some_and(|base| is_of_base(scope_id, base))
    }
}
