//! Installs our hooks beside existing ones, in git and in agents.
//!
//! Existing hooks continue to run, and uninstalling restores them: bytes, modes, times. Nothing here is
//! recorded in the operation log, because no branch, tag, HEAD, index or tracked file changes.
//!
//! Git's hooks are installed in one of two ways. *Beside*: if git uses a folder inside its own directory, an
//! existing hook is renamed to `<name>.before-colony` and our script, which runs it first, takes its place.
//! *Redirected*: if git uses any other folder (tracked, in the user's home, `/dev/null`), that folder is
//! never written to; `core.hooksPath` is set to a folder of ours whose scripts run the hooks of the former
//! one.

mod action;
pub mod agents;
mod beside;
mod folder;
mod found_hook;
mod home;
mod hook_state;
pub mod install;
pub mod last_fired;
mod of_checkout;
pub mod payload;
mod record;
mod redirect;
mod script;
mod state;
mod uploads_only;

pub use action::HookChange;
pub use agents::Agent;
pub use folder::FolderSort;
pub use hook_state::{HookState, HookStatus};
pub use install::{InstallReport, Target};
pub use of_checkout::CheckoutHooks;
pub use script::HookName;
pub use state::{HooksStatusReport, Presence, git_hooks_state, status};
pub use uploads_only::push_only_uploads;
