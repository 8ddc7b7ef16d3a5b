//! `git colony agents guide`: what an agent is to know of working here, as text for its instructions.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::default_branch;
use crate::design::fork::forks;
use crate::git::Head;
use crate::model::Result;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::store::Session;
use crate::store::membership::Role;
use crate::store::settings::agent_rule::AgentRule;
use crate::ui::answer::Answer;
use crate::ui::escape;
use crate::ui::layout::Block;

/// How an agent works in a colony.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct GuideReport {
    /// The agent that works here; `None` where nobody is named.
    pub(super) agent: Option<String>,
    /// The branch that is checked out; `None` outside of a repository and with a detached HEAD.
    pub(super) branch: Option<String>,
    /// The branch its work goes to, where that is known.
    pub(super) into: Option<String>,
    /// The patterns of the paths that the agent may change; `None` where no rule can be read.
    pub(super) scope: Option<Vec<String>>,
    /// The guide, in markdown.
    pub(super) guide: String,
}

/// Writes the guide, with the names of the repository where there is one.
///
/// # Errors
/// `repository-broken`.
pub(super) fn write(session: Option<&Session>) -> Result<GuideReport> {
    let mut report = GuideReport {
        agent: None,
        branch: None,
        into: None,
        scope: None,
        guide: String::new(),
    };
    let mut here = "Work in the clone that `git colony agents path NAME` prints.".to_owned();
    let mut rule = String::new();
    if let Some(session) = session {
        let head = session.repo.head()?;
        let branch = head.moving_ref();
        report.agent.clone_from(&session.settings.agent);
        report.branch = (!matches!(head, Head::Detached { .. })).then(|| branch.short());
        report.into = forks::into_of(&session.repo, &branch)?.map(|(into, _)| into.short());
        here = place(session, &report);
        rule = scope(session, &mut report)?;
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
    let default = session.map(|session| default_branch::find(&session.repo));
    let default = default.transpose()?.flatten();
    let default = default.map(|(branch, _)| branch.short());
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
    while let Some((before, (key, after))) = rest
        .split_once('{')
        .and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        let name = names.iter().find(|(known, _)| *known == key);
        text.push_str(before);
        text.push_str(name.map_or("", |(_, name)| name));
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Says where the agent is.
fn place(session: &Session, report: &GuideReport) -> String {
    let member = session.membership.as_ref();
    let is_clone = member.is_some_and(|member| member.role == Role::Agent);
    let path = code(&session.repo.workdir().to_string_lossy());
    let branch = report.branch.as_deref().map(code);
    let on = branch.map_or_else(String::new, |branch| format!(", on {branch}"));
    let into = report.into.as_deref().map(code);
    let goes = into.map_or_else(String::new, |into| format!("; it goes to {into}"));
    match (&report.agent, is_clone) {
        (Some(agent), true) => format!("Agent {} works in {path}{on}{goes}.", code(agent)),
        _ => format!(
            "{path}{on} is a checkout of a person: work in a clone, `git colony agents new NAME`."
        ),
    }
}

/// Says what the agent may change.
fn scope(session: &Session, report: &mut GuideReport) -> Result<String> {
    let Some(agent) = &report.agent else {
        return Ok(String::new());
    };
    let tree = session.repo.tree_of(session.repo.head()?.commit())?;
    Ok(match AgentRule::find(&session.repo, tree, agent) {
        Ok(None) => String::new(),
        Ok(Some(rule)) => {
            let patterns = rule.scope();
            let shown: Vec<_> = patterns.iter().take(8).map(|one| code(one)).collect();
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
            format!(" Here that is {shown}{more}, says {file}.")
        }
        Err(error) => format!(" Here nothing: {}.", escape::line(&error.message())),
    })
}

/// Shows a name as code: on one line, and whatever is in it ends nothing.
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
        "how an agent works in a colony".to_owned()
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

Each agent has a clone and a fork of its own; what it keeps is seen and merged from elsewhere at once,
without push or fetch.
{here}
One session or terminal at a time works in a clone: `agent-busy` names who is there. `COLONY_SESSION` says
which session a command is of, where the harness does not: the same id for all that belongs together.

## Keep your work

    git colony checkpoint -m LABEL            # everything as it is now, on the branch, with a label
    git colony checkpoint --off-branch -m L   # the same beside the branch
    git colony commit -m MESSAGE PATH...      # these paths only, through the hooks
    git colony decide -m TITLE --rationale WHY PATH...   # a decision, with the paths it changed

Keep early and often. What is kept can be given back exactly.

## Get back

    git colony checkpoints                    # what there is
    git colony restore LABEL                  # branch, index and files as they were
    git colony undo                           # takes the newest step back; git colony redo
    git colony ops                            # every step, oldest first

## Side by side

    git colony                                # who does what, who clashes with whom
    git colony fork LABEL                     # try another way, and leave this one as it is
    git colony diff {into} HEAD               # what the work comes to
    git colony merge {into}                   # keep up with the branch the work goes to, into this one
    git colony merge NAME                     # take in what another agent has, into this one
    git colony sync --fetch                   # what others have published: forks, checkpoints

In a clone `{into}` is the branch of the person's checkout; what this clone has of that name is
`refs/heads/{into}`.
A conflict changes nothing and is listed: settle it with `--ours`, `--theirs` or `--both PATH`, or open
it with `--resolve`, edit, and end it with `--continue`. Whoever asked for the work merges it.

## Read

    git colony map                            # cut the commit into pages with a token budget
    git colony pages show ID                  # read one; git colony pages lists them

## What may be changed

Only paths of the agent's rule, where there is one: `git colony agents check {agent} PATH...`.{rule}
`commit` and `merge` refuse the rest (`scope-violation`). Name what is missing instead of going around.

## Never

- Never work in the checkout of a person or the clone of another agent.
- Never use `git push --force`, `git push --mirror`, `git reset --hard` or `git clean` where
  `restore` or `undo` does it: those lose nothing.
- Never publish, with `git push` or `git colony sync --push`: that is for whoever asked for the work.
- Never write below `.git` or in `.colony/agents`, nor delete refs, hooks, or locks of others.
- Never put `--force` or `--takeover` to a refusal that nobody has looked at.

Every command has `--json`; what changes something has `--dry-run`. A refusal has a `code` and a `hint`.
";
