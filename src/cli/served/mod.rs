//! Command lines that a server runs for others: the MCP server and the dashboard are two faces of this.
//!
//! A command line runs in a world of its own, on a thread of its own, and its answer is what `--json` prints. Who acts
//! and where is fixed when the server starts. Nothing here knows a protocol.

pub(super) mod calls;
pub(super) mod confine;
pub(super) mod previews;
pub(super) mod run_action;
