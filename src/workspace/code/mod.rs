//! The code of this repository for agents without a shell: its lines, its files, its history. A state is the working
//! tree, or what a name stands for: a branch, a fork, an agent, a checkpoint, a revision.
//!
//! What `query` hides is hidden here as well: likely secrets, and what ignore files of colony name.

pub mod find_lines;
pub mod line_history;
pub mod read_lines;

use crate::agents::agent_state;
use crate::design::checkpoint::secret_file_names::is_named_as_secret;
use crate::design::meaning;
use crate::git::{Checkout, Oid};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::Session;

use super::query::target::Content;

/// The repository whose code is asked, and the state of it.
struct State<'a> {
    world: &'a World,
    session: &'a Session,
    /// `None` for the working tree.
    commit: Option<Oid>,
}

impl<'a> State<'a> {
    fn find(session: &'a Session, name: Option<&str>) -> Result<State<'a>> {
        let find = |name: &str| meaning::find_commit(&session.repo, name);
        let named = name.map(find).transpose();
        let commit = named
            .map_err(|error| agent_state::explain_unknown(session, error))?
            .map(|named| named.commit);
        Ok(State { world: &session.world, session, commit })
    }

    fn content(&self) -> Result<Content> {
        Content::of(Checkout::of_repo(&self.session.repo)?, self.commit)
    }
}

/// Fails if no content of a path is shown.
fn require_shown(world: &World, content: &Content, path: &RepoPath) -> Result<()> {
    if !path.is_safe() {
        let message = format!("'{path}' is not a path inside of this repository");
        return Err(Error::new(Code::PathOutside, message).unchanged());
    }
    if is_named_as_secret(path) || content.hidden(&world.interrupt).hides(path) {
        return Err(hidden(path));
    }
    Ok(())
}

fn hidden(path: &RepoPath) -> Error {
    let message =
        format!("'{path}' is hidden: ignore files of colony name it, or it looks like a secret");
    Error::new(Code::PathNotFound, message).detail("path", path).unchanged()
}

/// Returns a path as it was typed, without what means nothing.
fn typed_path(text: &str) -> RepoPath {
    RepoPath::from(text.trim_start_matches("./").trim_end_matches('/'))
}
