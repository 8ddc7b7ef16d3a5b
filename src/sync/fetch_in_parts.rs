//! Refs that cannot be fetched all at once: one of them may be damaged on the server, or refused by the checks of git.
//! They are fetched in ever smaller parts, so that it stops none of the others.

use std::collections::{BTreeMap, VecDeque};

use crate::git::RefName;
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::refs::own_refs;

/// The maximum number of fetches: enough to find one ref among 200.
const MAX_FETCHES: usize = 17;

/// What the parts have brought.
#[derive(Default)]
pub(super) struct Parts {
    /// The refs that were fetched.
    pub(super) found: Vec<FoundRef>,
    /// The refs that cannot be fetched, and why.
    pub(super) failed: BTreeMap<RefName, String>,
}

/// Fetches refs, to names below `into`. Begins with any of them, so that another sync tries others where there are too
/// many that cannot be fetched.
pub(super) fn fetch(
    session: &Session,
    remote: &Remote<'_>,
    mut names: Vec<RefName>,
    into: &str,
) -> Result<Parts> {
    let mut parts = Parts::default();
    let count = names.len().max(1) as u64;
    names.rotate_left(usize::try_from((session.world.entropy)() % count).unwrap_or_default());
    let mut open = VecDeque::from([names]);
    for number in 0..MAX_FETCHES {
        let Some(part) = open.pop_front() else {
            break;
        };
        let into = format!("{into}{number}/");
        match own_refs::fetch(session, || remote.fetch_refs(&part, &into)) {
            Ok(found) => parts.found.extend(found),
            Err(error) if !is_of_one(&error) => return Err(error),
            Err(error) => match &part[..] {
                // It was deleted meanwhile.
                [_] if error.code() == Code::RefMoved => {}
                [name] => drop(parts.failed.insert(name.clone(), error.message())),
                _ => split(part, &mut open),
            },
        }
    }
    Ok(parts)
}

/// Adds both halves.
fn split(mut names: Vec<RefName>, open: &mut VecDeque<Vec<RefName>>) {
    let second = names.split_off(names.len() / 2);
    open.extend([names, second].into_iter().filter(|half| !half.is_empty()));
}

/// Returns `true` if a fetch may have failed because of one of its refs: a server that cannot read an object hangs up.
pub(super) fn is_of_one(error: &Error) -> bool {
    matches!(error.code(), Code::GitFailed | Code::RefMoved | Code::RemoteUnreachable)
}
