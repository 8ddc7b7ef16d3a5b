//! Remotes: sync, consent, secrets that stay, credentials.

mod consent_gate;
mod credentials;
pub(crate) mod credentials_leak;
mod credentials_leak_in_clones;
mod hostile_outboxes;
mod many_machines;
mod other_machines;
mod outbox_model;
mod partial_clones;
mod refspecs;
mod servers;
mod sync_consent;
pub(crate) mod sync_refs;
mod sync_scopes;
mod sync_secrets;
