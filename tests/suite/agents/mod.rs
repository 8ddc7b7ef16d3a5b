//! Agents and their clones: names, allowed paths, leases, removal, what comes back.

mod agent_names;
mod agent_restore;
mod agent_state;
mod allowed_paths;
mod commit_identity;
mod files_for_clone;
mod guide;
mod hostile_clones;
mod lease_holders;
pub(crate) mod leases;
mod lifted_protection;
mod makers;
pub(crate) mod new_and_merge;
mod protected_branches;
mod removal;
mod removal_reports;
mod removed_log;
mod setup_commands;
mod several;
