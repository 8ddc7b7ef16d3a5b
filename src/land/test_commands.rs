//! The commands that test merged work, and whether they may run.
//!
//! Those of the user run. Those of the repository are those of the branch that the work is merged into, never of the work
//! itself, and the user has to approve their exact texts.

use crate::git::Oid;
use crate::model::text::{self, typed_word};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::lease::acting_agent;
use crate::store::settings::approved_commands::{self, Approvals, NamedBy};

use super::{Request, WhichTests, Who};

/// Commands that test merged work, in order: the first that fails ends a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tests {
    pub(super) commands: Vec<String>,
    /// `command`, `user` or `repository`.
    pub(super) from: &'static str,
}

/// The most commands of which a refusal shows the text.
const MAX_SHOWN: usize = 3;

impl Tests {
    /// Finds the commands for a branch, and approves those that are named. Refuses ones that wait for approval.
    pub(super) fn find(
        session: &Session,
        request: &Request,
        base: Oid,
        approvals: &Approvals,
    ) -> Result<Tests> {
        if let WhichTests::Command(command) = &request.tests {
            if command.trim().is_empty() {
                let message = "the command that tests is empty, and would pass";
                return Err(Error::new(Code::Usage, message)
                    .unchanged()
                    .hint("git colony land --no-test   # merges without tests"));
            }
            return Ok(Tests { commands: vec![command.clone()], from: "command" });
        }
        let tree = session.repo.tree_of(Some(base))?;
        let commands = approved_commands::tests(&session.world, &session.repo, tree)?;
        if commands.texts.is_empty() {
            return Err(none(request));
        }
        if commands.named_by == NamedBy::User {
            return Ok(Tests { commands: commands.texts, from: "user" });
        }
        approve(session, request, &commands.texts, approvals)?;
        let waits: Vec<&String> =
            commands.texts.iter().filter(|text| !approvals.has(text)).collect();
        // In a dry run nothing is approved for good.
        if !(waits.is_empty() || session.is_dry()) {
            return Err(needed(request, &waits));
        }
        Ok(Tests { commands: commands.texts, from: "repository" })
    }
}

/// Approves the named commands. Only a person may.
fn approve(
    session: &Session,
    request: &Request,
    texts: &[String],
    approvals: &Approvals,
) -> Result<()> {
    if request.approve.is_empty() {
        return Ok(());
    }
    if let Some((agent, why)) = acting_agent::of_session(session) {
        return Err(acting_agent::refused(&agent, &why, "approve tests")
            .unchanged()
            .hint("git colony land -n   # shows the commands; a person approves them"));
    }
    for id in &request.approve {
        let Some(text) = texts.iter().find(|text| approved_commands::id_of(text) == *id) else {
            let message = format!("no test of this branch has the id '{id}'");
            return Err(Error::new(Code::InvalidValue, message)
                .unchanged()
                .hint("git colony land   # names the ids"));
        };
        if !session.is_dry() {
            approvals.add(text)?;
        }
    }
    Ok(())
}

fn none(request: &Request) -> Error {
    let other = match request.command {
        "try" => "-- COMMAND",
        _ => "--test COMMAND, or --no-test",
    };
    Error::new(Code::NoTests, "no command tests merged work here")
        .unchanged()
        .hint(format!("git config colony.test.run 'COMMAND'   # or {other}"))
}

fn needed(request: &Request, waits: &[&String]) -> Error {
    let shown: Vec<String> =
        waits.iter().take(MAX_SHOWN).map(|text| format!("'{}'", text.escape_default())).collect();
    let more = waits.len().saturating_sub(MAX_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let ids: Vec<String> =
        waits.iter().map(|text| format!("--approve {}", approved_commands::id_of(text))).collect();
    let who = match &request.who {
        Who::Done => Vec::new(),
        Who::All => vec!["--all".to_owned()],
        Who::Named(names) => names.iter().map(|name| typed_word(name)).collect(),
    };
    let mut options: Vec<String> =
        request.into.iter().map(|branch| format!("--into {}", typed_word(branch))).collect();
    options.extend(request.squash.then(|| "--squash".to_owned()));
    options.extend(request.fresh.then(|| "--fresh".to_owned()));
    options.extend(request.except.iter().map(|name| format!("--except {}", typed_word(name))));
    let words = [vec![request.command.to_owned()], who, options, ids].concat();
    let commands = text::count(waits.len(), "command");
    Error::new(
        Code::ApprovalNeeded,
        format!(
            "{commands} of this repository would test code of agents: {}{more}",
            shown.join(", ")
        ),
    )
    .unchanged()
    .detail("commands", waits)
    .hint(format!("git colony {}", words.join(" ")))
}
