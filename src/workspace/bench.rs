//! How long commands take, one row for each, for those who ask for it: a file of this checkout that never leaves the
//! machine. A row has the name of a command and never its arguments, which may hold secrets.

use chrono::Duration;
use serde::Serialize;

use crate::git::Checkout;
use crate::model::time::{Moment, rfc3339};
use crate::model::{Error, Result, World};
use crate::store::files::tree_folder::{Expected, Growing, Keeping, TreeFolder};

/// The file, in the folder of the checkout's caches.
pub(super) const FILE: &str = "bench.jsonl";

/// The maximum size of the file.
const MAX_BYTES: u64 = 10 << 20;

/// The variable that names the session.
const SESSION: &str = "COLONY_SESSION";

/// The maximum length of a name of a session; a longer value counts as unset.
const MAX_SESSION_BYTES: usize = 256;

/// The variable that names the checkout that a session or a server is about.
pub const REPOSITORY_ID: &str = "COLONY_REPOSITORY_ID";

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name, without arguments.
    pub command: String,
    /// When it began.
    pub started: Moment,
    /// Its exit code.
    pub exit: u8,
}

#[derive(Serialize)]
struct Row<'a> {
    session: Option<&'a str>,
    command: &'a str,
    started_at: String,
    wall_ms: u64,
    exit: u8,
    version: &'a str,
}

/// Appends the row of a command to the file of the checkout of the current directory, and warns if that is another one
/// than a session or a server is about. A checkout without files has no such file,
/// and root writes none for another user.
pub fn record(world: &World, measured: &Measured) -> Result<()> {
    let checkout = Checkout::find(world)?;
    let has_no_files = checkout.has_git() && checkout.git_root.is_none();
    if has_no_files || checkout.owner_beside_root().is_some() {
        return Ok(());
    }
    let id = checkout.repository_id();
    let expected = world.text_variable(REPOSITORY_ID);
    if let Some(expected) = expected.filter(|expected| *expected != id) {
        (world.narrate)(&format!(
            "warning: {REPOSITORY_ID} is '{expected}', and this checkout is '{id}': the time of this command is with the latter"
        ));
    }
    let taken: Duration = world.now().signed_duration_since(measured.started);
    let is_name =
        |session: &&str| session.len() <= MAX_SESSION_BYTES && !session.contains(char::is_control);
    let row = Row {
        session: world.text_variable(SESSION).filter(is_name),
        command: &measured.command,
        started_at: rfc3339(&measured.started),
        wall_ms: u64::try_from(taken.num_milliseconds()).unwrap_or(0),
        exit: measured.exit,
        version: env!("CARGO_PKG_VERSION"),
    };
    let mut line = serde_json::to_vec(&row)
        .map_err(|e| Error::io("cannot write the time of a command as JSON", e.into()))?;
    line.push(b'\n');
    let folder = TreeFolder::of_repository(world, &checkout.root, &id)?;
    let file = Growing {
        name: FILE,
        limit_bytes: MAX_BYTES,
        expected: Expected::Any,
        keeping: Keeping::Newest { nonce: &world.nonce8() },
    };
    folder.append(file, &line).map(|_| ())
}
