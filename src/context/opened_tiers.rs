//! The tiers of one agent in this checkout, as the state has them, by project.

use crate::model::Result;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{Fragment, State, Tier, TierOwner};
use crate::workspace::id::repository_id;

use super::{owner, tier_view, unusable};

/// The tiers of one agent in this checkout.
pub(super) struct Tiers<'a> {
    session: &'a Session,
    repository: String,
    agent: String,
    state: Option<State>,
}

impl<'a> Tiers<'a> {
    /// Opens them for reading; there need not be any.
    pub(super) fn find(session: &'a Session) -> Result<Tiers<'a>> {
        Ok(Tiers {
            session,
            repository: repository_id(session)?,
            agent: owner(session),
            state: State::find(session).map_err(unusable)?,
        })
    }

    /// Does the same for writing, which a dry run does not keep.
    pub(super) fn open(session: &'a Session) -> Result<Tiers<'a>> {
        let mut tiers = Tiers::find(session)?;
        if tiers.state.is_some() {
            tiers.state = Some(State::open(session).map_err(unusable)?);
        }
        Ok(tiers)
    }

    pub(super) fn projects(&mut self) -> Result<Vec<String>> {
        let Some(state) = &mut self.state else {
            return Ok(Vec::new());
        };
        let projects = state.hydrated_projects(&self.repository, &self.agent);
        projects.map_err(unusable)
    }

    pub(super) fn with<T>(
        &mut self,
        project: &str,
        work: impl FnOnce(&mut State, TierOwner<'_>) -> std::result::Result<T, Unusable>,
    ) -> Result<Option<T>> {
        let owner = TierOwner { repository: &self.repository, agent: &self.agent, project };
        let state = self.state.as_mut();
        state.map(|state| work(state, owner).map_err(unusable)).transpose()
    }

    /// Returns the fragments in the tiers of a project.
    pub(super) fn fragments(&mut self, project: &str) -> Result<Vec<Fragment>> {
        let view = tier_view(self.session);
        let fragments =
            self.with(project, |state, owner| state.fragments(owner, Some(Tier::Cold), view))?;
        Ok(fragments.unwrap_or_default())
    }
}
