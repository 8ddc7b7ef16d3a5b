//! The message of the commit that a merge or squash writes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::design::decision::decisions::DecisionRef;
use crate::design::fork::claims;
use crate::design::fork::shared_work::SharedWork;
use crate::git::Oid;
use crate::model::Result;
use crate::store::Session;

use super::Request;
use super::sides::Sides;

/// Returns the message of the commit: the given one, git's own, or that of a squash with what it brings.
pub(super) fn of_merge(
    session: &Session,
    request: &Request,
    sides: &Sides,
    coming: &[Oid],
    decisions: &[DecisionRef],
) -> Result<String> {
    let given = request.message.clone();
    if !request.squash {
        return Ok(given.unwrap_or_else(|| of_git(sides)));
    }
    let repo = &session.repo;
    let mut text = match given {
        Some(given) => given.trim_end().to_owned(),
        None => format!("Squash '{}'\n", sides.source.name),
    };
    if request.message.is_none() {
        for commit in coming.iter().rev().take(100) {
            let subject = repo.read_commit(*commit)?.subject;
            // Writing to a string cannot fail.
            write!(text, "\n* {subject}").ok();
        }
    }
    text.push_str("\n\n");
    for decision in decisions {
        writeln!(text, "Colony-Decision: {}", decision.decision_id).ok();
    }
    writeln!(text, "{}: {}", claims::SQUASHED, sides.source.commit).ok();
    Ok(text)
}

/// Adds a trailer for each reverted merge whose work the merge brings again.
pub(super) fn add_restored(message: &mut String, shared: &SharedWork) {
    let reverted = [&shared.reverted[..], &shared.reverted_there].concat();
    let merges: BTreeSet<Oid> = reverted.iter().map(|work| work.range.to).collect();
    if !(merges.is_empty() || message.contains(claims::SQUASHED)) {
        message.truncate(message.trim_end().len());
        message.push_str("\n\n");
    }
    for merge in merges {
        writeln!(message, "{}: {merge}", claims::RESTORED).ok();
    }
}

/// Returns git's own message for the merge.
pub(super) fn of_git(sides: &Sides) -> String {
    let what = if sides.source.is_branch() { "branch" } else { "commit" };
    let into = sides.target_name();
    let suffix = if matches!(into.as_str(), "main" | "master" | "HEAD") {
        String::new()
    } else {
        format!(" into {into}")
    };
    format!("Merge {what} '{}'{suffix}", sides.source.name)
}
