//! `git colony agents guide`: instructions for an agent, as Markdown.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::default_branch;
use crate::design::fork::forks;
use crate::git::Head;
use crate::model::Result;
use crate::model::escape;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::store::Session;
use crate::store::membership::Role;
use crate::store::settings::agent_rule::AgentRule;
use crate::ui::answer::Answer;
use crate::ui::layout::Block;

/// How an agent works in a colony.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(in crate::cli) struct GuideReport {
    /// The agent that works here; `None` if none is named.
    pub(in crate::cli) agent: Option<String>,
    /// The branch that is checked out; `None` outside of a repository and with a detached HEAD.
    pub(in crate::cli) branch: Option<String>,
    /// The branch that its work is merged into, if that is known.
    pub(in crate::cli) into: Option<String>,
    /// The patterns of the paths that the agent may change; `None` if no list of allowed paths can be read.
    pub(in crate::cli) scope: Option<Vec<String>>,
    /// The guide, in markdown.
    pub(in crate::cli) guide: String,
}

/// Writes the guide, with the names of the repository where there is one.
pub(in crate::cli) fn write(session: Option<&Session>) -> Result<GuideReport> {
    let mut report = GuideReport::default();
    let mut here = "Work in the clone that `git colony agents path NAME` prints.".to_owned();
    let mut rule = String::new();
    if let Some(session) = session {
        let head = session.repo.head()?;
        let branch = head.moving_ref();
        report.agent.clone_from(&session.settings.agent);
        report.branch = (!matches!(head, Head::Detached { .. })).then(|| branch.short());
        report.into = forks::into_of(&session.repo, &branch)?.map(|(into, _)| into.short());
        here = place(session, &report);
        rule = allowed_paths(session, &mut report)?;
    }
    let word = |name: Option<&String>, other: &str| {
        let name = name.map_or(other, String::as_str);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
        if name.chars().all(is_plain) && !name.starts_with('-') {
            name.to_owned()
        } else {
            escape::line(&shell_word(name))
        }
    };
    let agent = word(report.agent.as_ref(), "NAME");
    let default = session
        .map(|session| default_branch::find(&session.repo))
        .transpose()?
        .flatten()
        .map(|(branch, _)| branch.short());
    let into = word(report.into.as_ref().or(default.as_ref()), "main");
    let filled_in = [
        ("here", here.as_str()),
        ("rule", rule.as_str()),
        ("agent", agent.as_str()),
        ("into", into.as_str()),
    ];
    report.guide = filled(&filled_in);
    Ok(report)
}

/// Puts names into the text unchanged: braces in a name stay.
fn filled(names: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = TEXT;
    while let Some((before, (key, after))) =
        rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        let name = names.iter().find(|(known, _)| *known == key);
        text.push_str(before);
        text.push_str(name.map_or("", |(_, name)| name));
        rest = after;
    }
    text.push_str(rest);
    text.split_inclusive('\n').map(aligned).collect()
}

/// Puts the comment of a command line back into its column, whatever names were filled in.
fn aligned(line: &str) -> String {
    match line.split_once("  # ") {
        Some((command, comment)) if command.starts_with("    ") => {
            format!("{:<44}  # {comment}", command.trim_end())
        }
        _ => line.to_owned(),
    }
}

/// Describes where the agent works.
fn place(session: &Session, report: &GuideReport) -> String {
    let member = session.membership.as_ref();
    let is_clone = member.is_some_and(|member| member.role == Role::Agent);
    let path = code(&session.repo.workdir().to_string_lossy());
    let branch = report.branch.as_deref().map(code);
    let on = branch.map_or_else(String::new, |branch| format!(", on {branch}"));
    let into = report.into.as_deref().map(code);
    let goes = into.map_or_else(String::new, |into| format!("; the work is merged into {into}"));
    match (&report.agent, is_clone) {
        (Some(agent), true) => format!("Agent {} works in {path}{on}{goes}.", code(agent)),
        _ => format!(
            "{path}{on} is a checkout of a person: work in a clone, `git colony agents new NAME`."
        ),
    }
}

/// Describes the allowed paths of the agent, and puts them into the report.
fn allowed_paths(session: &Session, report: &mut GuideReport) -> Result<String> {
    let Some(agent) = &report.agent else {
        return Ok(String::new());
    };
    let tree = session.repo.tree_of(session.repo.head()?.commit())?;
    Ok(match AgentRule::find(&session.repo, tree, agent) {
        Ok(None) => String::new(),
        Ok(Some(rule)) => {
            let patterns = rule.scope();
            let shown: Vec<_> = patterns.iter().take(8).map(|pattern| code(pattern)).collect();
            let more = match patterns.len().saturating_sub(shown.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = match shown.as_slice() {
                [] => "nothing".to_owned(),
                some => some.join(", "),
            };
            let file = code(&rule.path.to_string());
            report.scope = Some(patterns);
            format!(" Here these are {shown}{more} (see {file}).")
        }
        Err(error) => format!(" Here no path is allowed: {}.", escape::line(&error.message())),
    })
}

/// Formats a name as code, on one line; no character of it ends the code.
fn code(name: &str) -> String {
    let name = escape::line(name);
    let runs = name.split(|c| c != '`').map(str::len);
    match runs.max().unwrap_or(0) {
        0 => format!("`{name}`"),
        longest => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {name} {fence}")
        }
    }
}

impl Answer for GuideReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        "instructions for an agent".to_owned()
    }

    fn line(&self) -> String {
        String::new()
    }

    fn blocks(&self, _now: &Moment) -> Vec<Block> {
        let lines = self.guide.lines().map(str::to_owned);
        lines.map(Block::Verbatim).collect()
    }
}

const TEXT: &str = "\
# Working in this colony

Each agent has a clone and a fork of its own. Kept work can be seen and merged from other clones at once,
without push or fetch.
{here}
One session or terminal at a time works in a clone; `agent-busy` names the one that does. Where the
harness tells commands no session, set `COLONY_SESSION` to one id for all of them.
Run one command at a time: a harness may refuse a chain (`&&`, `;`) that names git.

## Keep

    git colony checkpoint -m LABEL            # commit everything as it is now, under a label
    git colony checkpoint --off-branch -m L   # the same, without moving the branch
    git colony commit -m MESSAGE PATH...      # commit these paths only; the hooks run
    git colony decide -m TITLE --rationale WHY PATH...   # record a decision with its changes

Keep often: each state can be restored.

## Restore

    git colony checkpoints                    # list the checkpoints
    git colony restore LABEL                  # restore branch, index and files
    git colony undo                           # undo the newest operation
    git colony ops                            # list the operations, oldest first

## Collaborate

    git colony                                # show all agents, their progress and clashes
    git colony fork LABEL                     # try another way, and leave this branch as it is
    git colony diff {into}...HEAD             # show all changes of this work
    git colony merge {into}                   # merge the target branch into this one
    git colony merge NAME                     # merge the work of another agent into this one
    git colony agents done -m SUMMARY         # say that this work is ready to land

In a clone `{into}` is the branch of the person's checkout, and `refs/heads/{into}` the clone's own.
A merge with a conflict changes nothing and lists the paths: settle them with `--ours`, `--theirs` or
`--both PATH`, or open the conflict with `--resolve`, edit, and end it with `--continue`. The person who gave
the task lands the work; the event `train_left_out:NAME` says why not: fix it, say done again.

## Find

    git colony search WORDS                   # rank passages of code and documents
    git colony context WORDS --budget 4000    # print the best passages, within this many tokens

Where only the subject is known, `search` ranks what `grep` lists by hundreds,
and one `context` replaces many reads: it knows what commits say of files, and ends with the next files to look at.

## Tools

The MCP server has these as tools: `checkpoint_state`, `restore_checkpoint`, `undo`, `get_repo_state`, `fleet`,
`diff_design`, `merge_design`, `find`, `read`, `history`, `context`; `read_action` and `call_action` do the rest. Give
each the `directory` of the clone. Use them where a sandbox makes `.git` read-only: they run outside of it. One that may drop work previews it first: repeat it with the `preview_id`.

## Allowed paths

An agent with a list of allowed paths changes only these: `git colony agents check {agent} PATH...`.{rule}
`commit` and `merge` refuse other paths (`scope-violation`). Report a path that is missing there.

## Never

- Never work in the checkout of a person or the clone of another agent.
- Never use `git push --force`, `git push --mirror`, `git reset --hard` or `git clean` where
  `restore` or `undo` serves the purpose: those lose nothing.
- Never publish, with `git push` or `git colony sync --push`: that is for the person who gave the task.
- Never write below `.git` or in `.colony/agents`; never delete refs, hooks or locks of others.
- Never answer a refusal with `--force` or `--takeover` before its reason is understood.

Every command has `--json`, every change `--dry-run`; a refusal has a `code` and a `hint`.
";
