//! Notes in the hub of the checkout from which the clone at a place was made: the clone's own record may be lost with it.

use std::path::{Path, PathBuf};

use crate::git::plain_file;
use crate::model::Result;
use crate::store::files::atomic;
use crate::store::key;
use crate::store::membership::Membership;

/// Records who has made the clone of an agent: the id of the checkout, in `<hub>/colony-makers/<agent>/<branch>`.
pub(in crate::clones) fn write(clone: &Membership) -> Result<()> {
    let (Some(desk), Some(agent), Some(scope)) = (&clone.desk, &clone.agent, &clone.scope) else {
        return Ok(());
    };
    let path = path_in(&clone.hub, agent, &key::encode(scope));
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    atomic::write_quickly(&path, format!("{desk}\n").as_bytes())
}

/// Returns the id of the checkout from which the newest clone of an agent in a folder of that name was made.
pub(in crate::clones) fn find(hub: &Path, agent: &str, folder: &str) -> Option<String> {
    let text = plain_file::read_text(path_in(hub, agent, folder)).ok()?;
    Some(text.trim_end().to_owned()).filter(|id| !id.is_empty())
}

fn path_in(hub: &Path, agent: &str, folder: &str) -> PathBuf {
    hub.join("colony-makers").join(key::encode(agent)).join(folder)
}
