//! The context of a task: projects and plans, their files in tiers, and a text of them within a budget.
//!
//! Without any configuration there is one project, `default`, the repository itself, and one plan of that name.

pub mod assembly;
mod catalog_checkout;
mod covering_pages;
pub mod fragment_list;
pub mod hydrate;
pub mod known_projects;
mod opened_tiers;
mod pieces;
mod plan_passages;
pub mod project_changes;
mod project_files;
mod project_reading;
pub mod projects;
pub mod scoring;
mod task_file;
mod task_files;
pub mod tier_upkeep;
mod views;

use crate::model::{Code, Error};
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{FragmentName, TierView};

/// Maximum fragments of the warm tier of a project.
const WARM_FRAGMENTS: usize = 500;

/// Maximum fragments of its cold tier.
const COLD_FRAGMENTS: usize = 5_000;

/// Returns how the tiers are looked at now.
fn tier_view(session: &Session) -> TierView {
    TierView {
        hot_tokens: session.settings.context_hot_tokens,
        warm: WARM_FRAGMENTS,
        cold: COLD_FRAGMENTS,
        now: session.world.now().timestamp_millis(),
    }
}

/// Returns who acts, as the state names it.
fn owner(session: &Session) -> String {
    session.settings.agent.clone().unwrap_or_default()
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unusable(why: Unusable) -> Error {
    if let Some(waited) = why.waited("the state of the colony") {
        return waited;
    }
    let message = format!("cannot use the state of the colony: {why}");
    Error::new(Code::StateUnusable, message).hint("git colony doctor")
}

/// Returns the id of a fragment.
fn fragment_id(project: &str, name: &FragmentName) -> String {
    format!("{project}:{}:{}", name.resource, name.path)
}
