//! What a wrong word means: words of git, of other tools and of plain English, with the command of that meaning.
//!
//! The spelling is asked only where no meaning is known. Every command that is offered is one that the grammar
//! takes, or one of git.

/// A word as hands type it, and what does that here.
pub(super) struct Meaning {
    /// One word, or two: a command and its action or option.
    typed: &'static str,
    /// The command to paste.
    pub(super) command: &'static str,
    /// What it does, or how it differs.
    pub(super) explanation: &'static str,
}

const fn row(typed: &'static str, command: &'static str, explanation: &'static str) -> Meaning {
    Meaning { typed, command, explanation }
}

const KEEP: &str = "git colony checkpoint -m LABEL";
const NEW_AGENT: &str = "git colony agents new NAME";
const SYNC: &str = "git colony sync -n";

/// Every meaning that is known; of two words before one.
const MEANINGS: &[Meaning] = &[
    // Keep.
    row(
        "stash",
        "git colony restore HEAD",
        "keeps all changes, new files too; 'git colony undo' restores them",
    ),
    row("stash list", "git colony checkpoints", "lists the checkpoints"),
    row("stash pop", "git colony undo", "after other work: 'git colony restore OP --mode files'"),
    row("stash apply", "git colony restore OP --mode files", "as it was before operation OP"),
    row("stash drop", "git colony checkpoints delete ID", "undo restores it"),
    row("stash show", "git colony checkpoints show @{0}", "shows the newest checkpoint"),
    row("save", KEEP, "keeps the whole working tree"),
    row("snapshot", KEEP, "keeps the whole working tree"),
    row("backup", KEEP, "keeps the whole working tree"),
    row("keep", KEEP, "keeps the whole working tree"),
    row("wip", KEEP, "keeps the whole working tree"),
    row("add", KEEP, "keeps the whole working tree, without an index"),
    row("ci", "git colony commit -m MESSAGE --all", "or name the paths"),
    row("amend", "git commit --amend", "a command of git"),
    row("commit --amend", "git commit --amend", "a command of git; undo --force reverts it"),
    row("commit --no-verify", "git commit --no-verify", "here the hooks always run"),
    row("describe", "git colony checkpoints tag -m LABEL HEAD", "gives a commit a label"),
    row("checkpoints -d", "git colony checkpoints delete ID", "undo restores it"),
    row("checkpoints --delete", "git colony checkpoints delete ID", "undo restores it"),
    row("checkpoints -l", "git colony checkpoints", "lists the checkpoints"),
    row("checkpoints --list", "git colony checkpoints", "lists the checkpoints"),
    // Restore.
    row(
        "reset",
        "git colony restore HEAD",
        "undoes uncommitted changes; any checkpoint or revision will do",
    ),
    row(
        "rollback",
        "git colony undo",
        "undoes the newest operation; 'git colony restore ID' goes to a state",
    ),
    row(
        "back",
        "git colony undo",
        "undoes the newest operation; 'git colony restore ID' goes to a state",
    ),
    row(
        "recover",
        "git colony checkpoints",
        "lists what can be restored; 'git colony ops' lists operations",
    ),
    row("unstash", "git colony undo", "after other work: 'git colony restore OP --mode files'"),
    row(
        "checkout",
        "git switch BRANCH",
        "a command of git; 'git colony restore ID -- PATH' restores files",
    ),
    row(
        "co",
        "git switch BRANCH",
        "a command of git; 'git colony restore ID -- PATH' restores files",
    ),
    row("restore --staged", "git restore --staged PATH", "a command of git"),
    row("restore --source", "git colony restore ID -- PATH", "restores files"),
    row("restore -s", "git colony restore ID -- PATH", "restores files"),
    // Collaborate.
    row(
        "branch",
        "git colony fork LABEL",
        "creates a branch that records its base; 'git colony forks' lists them",
    ),
    row("branches", "git colony forks", "lists the forks"),
    row("br", "git colony forks", "lists the forks"),
    row("switch", "git switch BRANCH", "a command of git; 'git colony fork LABEL' creates a fork"),
    row("fork -d", "git colony forks delete FORK", "undo restores it"),
    row("fork --delete", "git colony forks delete FORK", "undo restores it"),
    row("fork --list", "git colony forks", "lists the forks"),
    row("worktree", NEW_AGENT, "a clone and a fork of its own"),
    row("worktree add", NEW_AGENT, "a clone and a fork of its own"),
    row("worktree list", "git colony agents", "lists who works where"),
    row("worktree remove", "git colony agents remove NAME", "its work is kept"),
    row("workspace", NEW_AGENT, "a clone and a fork of its own"),
    row("agent", NEW_AGENT, "'git colony agents' lists them"),
    row("spawn", NEW_AGENT, "a clone and a fork of its own"),
    row(
        "merge --no-ff",
        "git -c merge.ff=false colony merge SOURCE",
        "always makes a merge commit",
    ),
    row("squash", "git colony merge SOURCE --squash", "merges as one commit"),
    row("pick", "git colony cherry-pick COMMIT", "applies commits or decisions"),
    row("pull", "git colony sync --fetch", "fetches what others share; 'git pull' is for branches"),
    row(
        "fetch",
        "git colony sync --fetch",
        "fetches what others share; 'git fetch' is for branches",
    ),
    row("push", SYNC, "shows what would be shared; 'git push' is for branches"),
    row("publish", SYNC, "shows what would be shared"),
    row("share", SYNC, "shows what would be shared"),
    // Inspect and maintain.
    row("st", "git colony status", "shows the state of the repository"),
    row("stat", "git colony status", "shows the state of the repository"),
    row("info", "git colony status", "shows the state of the repository"),
    row("log -N", "git colony log -n 5", "at most 5 commits"),
    row("log --oneline", "git colony log", "each commit has one line"),
    row("ops -N", "git colony ops -n 5", "the 5 newest operations"),
    row("checkpoints -N", "git colony checkpoints -n 5", "the 5 newest checkpoints"),
    row(
        "checkpoint --clean",
        "git colony restore HEAD",
        "cleans the files; undo brings the changes back",
    ),
    row("status -s", "git colony status --line", "shows the state in one line"),
    row("status --short", "git colony status --line", "shows the state in one line"),
    row(
        "show",
        "git colony checkpoints show @{0}",
        "the newest checkpoint; 'git colony diff' compares states",
    ),
    row(
        "list",
        "git colony checkpoints",
        "lists the checkpoints; 'git colony help --all' names every command",
    ),
    row(
        "ls",
        "git colony checkpoints",
        "lists the checkpoints; 'git colony help --all' names every command",
    ),
    row("history", "git colony ops", "lists the operations"),
    row("reflog", "git colony ops", "lists the operations"),
    row("op", "git colony ops", "lists the operations"),
    row("operations", "git colony ops", "lists the operations"),
    row(
        "diff --cached",
        "git diff --cached",
        "a command of git: here states are compared, not the index",
    ),
    row(
        "diff --staged",
        "git diff --staged",
        "a command of git: here states are compared, not the index",
    ),
    row("conflicts", "git colony forks --conflicts", "shows which forks clash"),
    row(
        "graph",
        "git colony status branches",
        "lists the branches, and where each left the default branch",
    ),
    row("tree", "git colony map tree", "lists files and directories"),
    row("gc", "git colony prune -n", "shows the data past its time"),
    row("clean", "git colony prune -n", "shows the data past its time; 'git clean' is for files"),
    row("setup", "git colony init -n", "shows what would be set up"),
    row("install", "git colony hooks install", "for git and for agents"),
    row("uninstall", "git colony init remove -n", "shows what would be removed"),
    row("settings", "git colony config", "every setting, and where it is set"),
    row("check", "git colony doctor", "checks versions, locks, hooks and disk space"),
    row("demo", "git colony help tour", "shows what it does"),
    row("rm", "git colony help --all", "agents remove, checkpoints delete, forks delete"),
    row("remove", "git colony help --all", "agents remove, checkpoints delete, forks delete"),
    row("delete", "git colony help --all", "agents remove, checkpoints delete, forks delete"),
    row("rebase", "git rebase", "a command of git"),
    row("bisect", "git bisect", "a command of git"),
    row("blame", "git blame PATH", "a command of git"),
    row("grep", "git grep WORDS", "a command of git"),
    row("find", "git colony search WORDS", "finds passages; 'context' prints them for a prompt"),
    row("locate", "git colony search WORDS", "finds passages; 'context' prints them for a prompt"),
    row("ask", "git colony context QUESTION", "prints the passages that a question is about"),
    row("remote", "git remote", "a command of git"),
    row("submodule", "git submodule", "a command of git"),
];

/// Finds what was meant by a command, with the word after it where that says more.
pub(super) fn find(command: &str, next: Option<&str>) -> Option<&'static Meaning> {
    let known = |typed: &str| MEANINGS.iter().find(|meaning| meaning.typed == typed);
    let is_count = |next: &str| {
        next.strip_prefix('-')
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
    };
    let next = next.map(|next| if is_count(next) { "-N" } else { next });
    let both = next.and_then(|next| known(&format!("{command} {next}")));
    both.or_else(|| known(command))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_word_that_works_is_called_wrong() {
        let cli = super::super::grammar::whole();
        let mut seen = BTreeSet::new();
        for meaning in MEANINGS {
            let typed = meaning.typed;
            assert!(seen.insert(typed), "'{typed}' stands twice");
            let args = ["git-colony"].into_iter().chain(typed.split(' '));
            let parsed = cli.clone().try_get_matches_from(args);
            let kind = parsed.err().map(|error| error.kind());
            assert!(
                matches!(
                    kind,
                    Some(
                        clap::error::ErrorKind::InvalidSubcommand
                            | clap::error::ErrorKind::UnknownArgument
                    )
                ),
                "'{typed}' is understood: {kind:?}"
            );
        }
    }

    #[test]
    fn every_command_that_is_offered_is_one() {
        let cli = super::super::grammar::whole();
        for Meaning { command, .. } in MEANINGS {
            let Some(words) = command.split_once(" colony ").map(|(_, words)| words) else {
                assert!(command.starts_with("git "), "{command}");
                continue;
            };
            let args = ["git-colony"].into_iter().chain(words.split(' '));
            let parsed = cli.clone().try_get_matches_from(args);
            assert!(parsed.is_ok(), "{command}: {parsed:?}");
        }
    }
}
