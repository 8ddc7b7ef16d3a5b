//! Two or three examples of every command: what help and the man pages show. A test runs all of them, in the order
//! of the table, in one repository, so that each finds what those before it have made.

/// A command with its examples: the command line, and its purpose.
pub struct Examples {
    /// The command.
    pub command: &'static str,
    /// The words after `git colony`, or after `git` if they begin with it, and their purpose.
    pub lines: &'static [(&'static str, &'static str)],
}

const fn of(command: &'static str, lines: &'static [(&'static str, &'static str)]) -> Examples {
    Examples { command, lines }
}

/// Every visible command. The test's repository has the branch 'main', a file 'a.txt' and a folder 'dir', both with
/// uncommitted changes, and a remote.
pub const TABLE: &[Examples] = &[
    of(
        "init",
        &[
            ("git colony init -n", "show what would be set up"),
            ("git colony init", "set the repository up, in one commit"),
        ],
    ),
    of(
        "agents",
        &[
            ("git colony agents new ada", "a clone and a fork for an agent; prints the path"),
            ("git colony agents", "who works where"),
            ("cd \"$(git colony agents path ada)\"", "go there"),
        ],
    ),
    of(
        "fork",
        &[
            ("git colony fork try-sqlite", "create a fork and switch to it"),
            ("git colony fork hotfix --from main --no-switch", "begin one elsewhere and stay"),
        ],
    ),
    of(
        "checkpoint",
        &[
            ("git colony checkpoint -m 'it works'", "commit everything under a label"),
            (
                "git colony checkpoint --off-branch -m 'half an idea'",
                "keep it without a commit on the branch",
            ),
        ],
    ),
    of(
        "checkpoints",
        &[
            ("git colony checkpoints", "list what can be restored"),
            ("git colony checkpoints show @{0}", "the newest one"),
            ("git colony checkpoints delete 'half an idea'", "delete one; undo restores it"),
        ],
    ),
    of(
        "tag",
        &[
            ("git colony tag -m 'last good' HEAD~1", "give an existing commit a label"),
            ("git colony tag -m release-1 HEAD --rationale 'sent to the customer'", "and a reason"),
        ],
    ),
    of(
        "commit",
        &[
            ("git colony commit -am 'Fix the parser'", "changes of tracked files, as git does"),
            ("git colony commit -m 'Add notes' dir", "one folder, new files included"),
        ],
    ),
    of(
        "decide",
        &[
            (
                "git colony decide -m 'Use SQLite' --rationale 'one file, no server'",
                "record a decision",
            ),
            ("git colony decide -m 'Keep ids stable' a.txt", "commit it with the file it is about"),
        ],
    ),
    of(
        "decisions",
        &[
            ("git colony decisions", "what was decided"),
            ("git colony decisions --since main -- a.txt", "about one file, on this branch"),
        ],
    ),
    of(
        "restore",
        &[
            ("git colony restore HEAD", "drop uncommitted changes; undo restores them"),
            ("git colony restore 'it works' -- a.txt", "one file as it was"),
            ("git colony restore release-1 -n", "show what going there would do"),
        ],
    ),
    of(
        "undo",
        &[
            ("git colony undo", "take the last step back"),
            ("git colony undo 2 -n", "show what undoing two steps would do"),
        ],
    ),
    of(
        "redo",
        &[
            ("git colony redo -n", "show what would come back"),
            ("git colony redo", "redo what undo reverted"),
        ],
    ),
    of(
        "fleet",
        &[
            ("git colony", "the same as 'git colony fleet'"),
            ("git colony fleet --json", "for a program"),
        ],
    ),
    of(
        "cherry-pick",
        &[
            (
                "git colony cherry-pick main..HEAD --into hotfix -n",
                "show the result, and change nothing",
            ),
            ("git colony cherry-pick main..HEAD --into hotfix", "all that main does not have"),
        ],
    ),
    of(
        "merge",
        &[
            ("git colony merge try-sqlite --into main -n", "show the result, and change nothing"),
            ("git colony merge try-sqlite --into main", "main need not be checked out"),
        ],
    ),
    of(
        "forks",
        &[
            ("git colony forks --conflicts", "shows which forks clash"),
            ("git colony forks delete hotfix --force", "undo restores it"),
        ],
    ),
    of(
        "clone",
        &[
            ("git colony clone --read-only", "a clone to read in; prints the path"),
            ("git colony clone --agent bob -n", "show where one without a fork would be"),
        ],
    ),
    of(
        "clones",
        &[
            ("git colony clones", "every clone of this repository"),
            ("git colony clones refresh ada -n", "show what a fetch would move"),
            ("git colony clones gc -n", "show what nobody needs any more"),
        ],
    ),
    of(
        "colony",
        &[
            ("git colony colony set demo https://example.com/demo.git", "note where a colony is"),
            ("git colony colony show demo", "look it up"),
        ],
    ),
    of(
        "sync",
        &[
            ("git colony sync -n", "show what would be shared"),
            ("git colony sync --fetch", "fetch what others share, push nothing"),
        ],
    ),
    of(
        "status",
        &[
            ("git colony status", "shows the state of the repository"),
            ("git colony status --line", "in one line, for a prompt"),
        ],
    ),
    of(
        "events",
        &[
            ("git colony events -n 20", "the newest twenty events"),
            (
                "git colony events --key 'branch_merged:' --key '*:fork/*'",
                "merges, and whatever happens to forks",
            ),
            (
                "git colony --timeout 2 events --follow --json",
                "what happens in the next two seconds, as it happens",
            ),
        ],
    ),
    of(
        "session",
        &[
            ("git colony session new", "begin one; prints the id for COLONY_SESSION"),
            ("git colony session note 'the parser first'", "add a text to it"),
            ("git colony session show", "what it did"),
        ],
    ),
    of(
        "ops",
        &[
            ("git colony ops -n 5", "the newest five operations"),
            ("git colony ops show op-2", "one of them, with what it moved aside"),
        ],
    ),
    of(
        "log",
        &[
            ("git colony log", "what this branch has and its target has not"),
            ("git colony log ada@ -n 10", "what an agent has, committed or not"),
        ],
    ),
    of(
        "diff",
        &[
            ("git colony diff", "uncommitted changes"),
            ("git colony diff main...try-sqlite --patch", "what a fork has changed"),
            ("git colony diff release-1 -- a.txt", "one file since a checkpoint"),
        ],
    ),
    of(
        "topology",
        &[
            ("git colony topology", "every branch, and where it left main"),
            ("git colony topology --json", "for a program"),
        ],
    ),
    of(
        "tour",
        &[
            ("git colony tour", "see what the commands do, in a temporary copy"),
            ("git colony tour --json", "the same for a program"),
        ],
    ),
    of(
        "hooks",
        &[
            ("git colony hooks", "which hooks stand"),
            ("git colony hooks install --for git -n", "show what would be written"),
        ],
    ),
    of(
        "lfs",
        &[
            ("git colony lfs status", "files in git-lfs, and missing objects"),
            ("git colony lfs migrate -n", "show what a migration would rewrite"),
        ],
    ),
    of(
        "map",
        &[
            ("git colony map check", "check the repo map"),
            ("git colony map", "map every source into pages"),
            (
                "git colony map preview --url \"$(git remote get-url origin)\"",
                "the map of a repository elsewhere",
            ),
        ],
    ),
    of(
        "pages",
        &[
            ("git colony pages", "list the pages"),
            ("git colony pages show --path a.txt", "the pages with text of a file"),
            ("git colony pages resident", "the pages that an agent has in its context"),
        ],
    ),
    of(
        "scopes",
        &[
            ("git colony scopes", "the mapped scopes"),
            ("git colony scopes unmap default -n", "show what taking it back would do"),
        ],
    ),
    of(
        "blackboard",
        &[
            ("git colony blackboard put plan owner ada", "write a key"),
            ("git colony blackboard get plan owner", "print its value"),
            (
                "git colony blackboard put plan owner bob --if-version 1-339f758e",
                "only if nothing has changed it",
            ),
        ],
    ),
    of(
        "search",
        &[
            ("git colony search parse a header", "passages about it, the best first"),
            ("git colony search --path '*.md' --limit 3 undo", "in some files"),
            ("git colony search --raw '+undo -test'", "with one word and without another"),
        ],
    ),
    of(
        "context",
        &[
            (
                "git colony context how is a header parsed --budget 4000",
                "the passages about it, for a prompt",
            ),
            (
                "git colony context --budget 8000 -- src",
                "the files of a directory and related ones",
            ),
        ],
    ),
    of(
        "projects",
        &[
            ("git colony projects", "what projects there are, and their files"),
            (
                "git colony projects add app src --dry-run",
                "the change that makes a directory a project",
            ),
        ],
    ),
    of(
        "plans",
        &[
            ("git colony plans", "projects, view and budget of each plan"),
            ("git colony plans --json", "the same for a program"),
        ],
    ),
    of(
        "memory",
        &[
            ("git colony memory add 'the flaky test needs a clock of its own'", "a note of today"),
            ("git colony memory add --long 'tests need git 2.42'", "a note that does not expire"),
            ("git colony memory show", "the last notes, for a prompt"),
        ],
    ),
    of(
        "ingest",
        &[
            ("git colony ingest", "put the documents that the map routes into the knowledge base"),
            ("git colony ingest a.txt --profile manual", "a document, as a kind of its own"),
        ],
    ),
    of(
        "knowledge",
        &[
            ("git colony knowledge", "the documents of the knowledge base"),
            (
                "git colony knowledge clear --prefix docs/",
                "delete those of a directory from it; undo restores them",
            ),
        ],
    ),
    of(
        "promote",
        &[
            (
                "git colony promote --dry-run docs",
                "the change of the map that makes the documents of a directory pages",
            ),
            (
                "git colony promote docs/undo.md",
                "move a document from the knowledge base to a source",
            ),
        ],
    ),
    of(
        "demote",
        &[
            (
                "git colony demote --dry-run docs",
                "the change of the map that gives them to the knowledge base",
            ),
            ("git colony demote docs/undo.md", "move a document to the knowledge base"),
        ],
    ),
    of(
        "watch",
        &[
            (
                "git colony watch --on-change reindex --auto-checkpoint 30 --detach",
                "map files again when they change, and keep quiet states",
            ),
            ("git colony watch default src --id mine --detach", "write events in the background"),
            (
                "git colony watch --resume --detach",
                "resume the watches, after a restart of the machine",
            ),
        ],
    ),
    of(
        "watches",
        &[
            ("git colony watches", "the watches of this working tree"),
            ("git colony watches stop mine", "stop one"),
        ],
    ),
    of(
        "tools",
        &[
            ("git colony tools", "the tools of this repository"),
            ("git colony tools find parser", "those that do something"),
        ],
    ),
    of(
        "id",
        &[
            ("git colony id", "which repository and project this is"),
            ("git colony id --json", "the same for a program"),
        ],
    ),
    of(
        "paths",
        &[
            ("git colony paths", "where everything is kept, and how much"),
            ("git colony paths --json", "the same for a program"),
        ],
    ),
    of(
        "query",
        &[
            ("git colony query text one", "lines with a word, in every repository"),
            ("git colony query file a.txt", "one file of each"),
            ("git colony query log -n 3 --fetch", "the newest commits of each, also at git hosts"),
        ],
    ),
    of(
        "index",
        &[
            ("git colony index", "how many files of which kind"),
            ("git colony index --refresh", "count again, and keep it"),
        ],
    ),
    of(
        "git",
        &[
            ("git colony git find parse_header --path src", "lines with a text"),
            ("git colony git read src/header.rs:1-2", "lines of a file"),
            ("git colony git diff a.txt", "the change of one file"),
        ],
    ),
    of(
        "validate",
        &[
            ("git colony validate a.txt", "whether it can be read"),
            ("git colony validate --json a.txt", "as JSON"),
        ],
    ),
    of(
        "cargo",
        &[
            ("git colony cargo check -n", "show the command line, and run nothing"),
            ("git colony cargo test one -n", "that of one package"),
        ],
    ),
    of(
        "groups",
        &[
            ("git colony groups --agents", "who works in which part"),
            ("git colony groups a.txt dir", "the parts of these paths"),
        ],
    ),
    of(
        "catalog",
        &[
            ("git colony catalog add .", "this repository is one of them"),
            ("git colony catalog", "its repositories, and where they are"),
            ("git colony catalog check", "every problem in it, with its line"),
        ],
    ),
    of(
        "config",
        &[
            ("git colony config --show-origin", "every setting, and where it is set"),
            ("git colony config get colony.keepDays", "one of them"),
        ],
    ),
    of(
        "doctor",
        &[
            ("git colony doctor", "look for what could hurt later"),
            ("git colony doctor --deep", "read every object as well"),
        ],
    ),
    of(
        "prune",
        &[
            ("git colony prune -n", "show the data past its time"),
            ("git colony prune --keep 90", "keep three months"),
        ],
    ),
    of(
        "call",
        &[
            ("git colony call", "the actions"),
            ("git colony call checkpoint_state '{\"label\": \"it works\"}'", "do one of them"),
            ("git colony call restore_checkpoint --schema", "what another one takes"),
        ],
    ),
    of(
        "mcp",
        &[
            (
                "git colony hooks install --for claude-code -n",
                "what starts it in an agent; without -n it is installed",
            ),
            (
                "git colony mcp --read-only --only states </dev/null",
                "a server that ends at once, and offers only to read states",
            ),
        ],
    ),
    of(
        "dashboard",
        &[
            ("git colony dashboard", "a page for the browser, behind the link that it prints"),
            ("git colony dashboard --read-only --json", "to look only; the link for a program"),
        ],
    ),
    of(
        "schema",
        &[
            ("git colony schema", "the reports that have a schema"),
            ("git colony schema checkpoints show", "the JSON Schema of one"),
        ],
    ),
    of(
        "version",
        &[
            ("git colony version", "the version and the formats"),
            ("git colony -V --json", "for a program"),
        ],
    ),
    of(
        "help",
        &[
            ("git colony help --all", "every command"),
            ("git colony help checkpoints show", "one of them in full"),
            (
                "git colony help --install --to ~/.local/share/man -n",
                "where the manual would be written",
            ),
        ],
    ),
    of(
        "completions",
        &[
            ("git colony completions bash", "the script for bash"),
            ("git colony completions zsh", "for zsh; fish has one, too"),
        ],
    ),
    of(
        "deinit",
        &[
            ("git colony deinit -n", "show what would be taken out"),
            ("git colony deinit --purge -n", "with checkpoints and kept files"),
        ],
    ),
];

/// Returns the examples of a command.
pub(super) fn find(command: &str) -> Option<&'static Examples> {
    TABLE.iter().find(|examples| examples.command == command)
}

/// Returns the examples of a command as help shows them.
pub(super) fn as_help(command: &str) -> Option<String> {
    let lines = find(command)?.lines.iter().map(|(typed, told)| format!("  {typed}\n      {told}"));
    Some(format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n")))
}
