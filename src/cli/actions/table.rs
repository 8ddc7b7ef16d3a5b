//! The table of actions. It is long because it is one: a row per action, and nothing else.
//!
//! Not offered: decisions of a person (`deinit`, `prune`, hooks and settings, leave to run cargo, the approval of
//! set-up commands, consent to publish, moving tags of a remote, likely secrets, taking over a clone, changes
//! outside of the allowed paths), and arguments that are command lines.

use std::sync::LazyLock;

use super::Effect::{Adds, Destroys, DestroysWith, Publishes, PublishesUnlessNot, Reads, Runs};
use super::Group::{self, Agents, Design, Pages, Repository, States};
use super::How::{Either, Instead, Not, Number, Object, OrElse, Pairs, Text, Unless};
use super::{Action, Effect, Takes, as_arg, how, or, plain, required, same, told};

/// Returns the action of a name.
pub(in crate::cli) fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}

fn action(
    name: &'static str,
    group: Group,
    effect: Effect,
    command: &'static str,
    takes: &[Takes],
) -> Action {
    Action { name, group, effect, command, takes: takes.to_vec(), told: None }
}

/// Describes an action.
fn described(told: &'static str, action: Action) -> Action {
    Action { told: Some(told), ..action }
}

/// Arguments of several actions, in fewer words than the help of a command: an agent reads all of them before it
/// begins.
const OTHER_REPOSITORY: Takes =
    told("Another repository by its map, at 'branch' or 'commit'", as_arg("origin_url", "url"));
const ITS_BRANCH: Takes = plain(same("branch"));
const ITS_COMMIT: Takes = plain(same("commit"));
const SCOPE: Takes = told("Its id, a prefix, or the name of its row", as_arg("scope_id", "scope"));
const SCOPE_ID: Takes = told("Its id, a prefix, or the name of its row", as_arg("scope_id", "id"));
const PAGES: Takes = told("Ids, or prefixes", as_arg("page_ids", "ids"));
const MAPPED_WORKTREE: Takes = told("Files of the working tree, as it is mapped", same("worktree"));
const REPOSITORIES: Takes = told("By id, name or path (default: all)", same("repositories"));
const CONVERSATION: Takes = told("For the trace", as_arg("conversation_id", "conversation"));
const AT_REVISION: Takes =
    told("Instead of the working tree", or("revision", as_arg("ref", "revision")));

const FETCH: Takes = told("Fetch mirrors first", same("fetch"));

const HOW_A_REPOSITORY_IS_MAPPED: &[Takes] =
    &[same("flush_threshold"), same("flush_token_budget"), same("pinned")];

/// The actions that are tools of their own by default: what an agent does in an hour.
pub(in crate::cli) const CORE: [&str; 21] = [
    "get_repo_state",
    "find",
    "read",
    "history",
    "context",
    "checkpoint_state",
    "list_checkpoints",
    "restore_checkpoint",
    "undo",
    "commit_state",
    "diff_design",
    "diff_against_checkpoint",
    "fork_design",
    "merge_design",
    "decide",
    "fleet",
    "list_agents",
    "new_agent",
    "wait_events",
    "blackboard_put",
    "memory_add",
];

/// Every action, in the order of its group. Built when one is asked for: in the program, the addresses of
/// all its texts would be filled in by the loader at every start.
pub(in crate::cli) static ACTIONS: LazyLock<Vec<Action>> = LazyLock::new(|| {
    vec![
        described(
            "Show the status of this git working tree: branch, uncommitted changes, checkpoints, what undo would undo",
            action("get_repo_state", States, Reads, "status", &[]),
        ),
        described(
            "Make a checkpoint: save and keep the current state, untracked files too, before a risky change; restore_checkpoint brings it back. Commits to the branch unless 'off_branch'",
            action(
                "checkpoint_state",
                States,
                Adds,
                "checkpoint",
                &[
                    required(told(
                        "A short label; one that is used twice has to be named by the id",
                        same("label"),
                    )),
                    same("rationale"),
                    told(
                        "false: name the present commit only, and leave uncommitted changes out",
                        how("all_changes", OrElse("tag")),
                    ),
                    told("Leave branch, index and HEAD as they are", same("off_branch")),
                    same("allow_large"),
                    same("all_untracked"),
                ],
            ),
        ),
        action(
            "tag_checkpoint",
            States,
            Adds,
            "tag",
            &[plain(same("label")), same("rationale"), plain(or("sha", as_arg("ref", "revision")))],
        ),
        action(
            "list_checkpoints",
            States,
            Reads,
            "checkpoints",
            &[
                told("The automatic ones instead", same("auto")),
                told("Those of agents, too, as AGENT/ID", same("all")),
            ],
        ),
        action(
            "show_checkpoint",
            States,
            Reads,
            "checkpoints show",
            &[plain(as_arg("checkpoint_id", "name"))],
        ),
        described(
            "Delete checkpoints; undo restores them",
            action(
                "delete_checkpoints",
                States,
                Destroys,
                "checkpoints delete",
                &[plain(as_arg("checkpoint_ids", "names"))],
            ),
        ),
        described(
            "Restore a checkpoint, or go back to any previous version: all of an earlier state, or only some files",
            action(
                "restore_checkpoint",
                States,
                Destroys,
                "restore",
                &[
                    told(
                        "As for show_checkpoint; or an operation, or a revision",
                        as_arg("checkpoint_id", "name"),
                    ),
                    told(
                        "replace (the default): branch and files; files: files only; fork: into a new fork",
                        same("mode"),
                    ),
                    told("With 'mode' fork: its label", as_arg("recovery_label", "label")),
                    same("keep_untracked"),
                    same("force"),
                    told("Only these files, or files below", same("paths")),
                ],
            ),
        ),
        described(
            "Undo the last change (operation), or several, at once; redo reverts that",
            action(
                "undo",
                States,
                DestroysWith("force"),
                "undo",
                &[told("How many, 1 or more", how("steps", Number("steps", None))), same("force")],
            ),
        ),
        action(
            "redo",
            States,
            DestroysWith("force"),
            "redo",
            &[told("How many, 1 or more", how("steps", Number("steps", None))), same("force")],
        ),
        action(
            "list_operations",
            States,
            Reads,
            "ops",
            &[
                told("Only the newest", same("limit")),
                told("Of every worktree", same("all_worktrees")),
            ],
        ),
        action(
            "show_operation",
            States,
            Reads,
            "ops show",
            &[told("As in 'op-12'", as_arg("operation", "id"))],
        ),
        described(
            "Commit changes: 'paths', or everything with 'all_changes', with the repository's hooks. To save a state, checkpoint_state",
            action(
                "commit_state",
                States,
                Adds,
                "commit",
                &[
                    required(plain(how("message", Text("messages")))),
                    plain(same("paths")),
                    told(
                        "Everything tracked or untracked, but not ignored",
                        as_arg("all_changes", "all"),
                    ),
                ],
            ),
        ),
        described(
            "Compare two states: revisions, checkpoints, forks, agents. With 'ref_a' alone: with HEAD; without any: HEAD with the files",
            action(
                "diff_design",
                Design,
                Reads,
                "diff --patch",
                &[
                    as_arg("ref_a", "from"),
                    as_arg("ref_b", "to"),
                    same("worktree"),
                    told("Only these files, or files below", same("paths")),
                ],
            ),
        ),
        described(
            "Show the diff since a checkpoint, up to HEAD; with 'worktree' up to the files as they are",
            action(
                "diff_against_checkpoint",
                Design,
                Reads,
                "diff --patch",
                &[
                    required(told(
                        "Or an operation, for the state before it",
                        as_arg("checkpoint_id", "checkpoint"),
                    )),
                    same("worktree"),
                    told("Only these files, or files below", same("paths")),
                ],
            ),
        ),
        action("get_branch_topology", Design, Reads, "topology", &[]),
        described(
            "Fork the design: create a fork, a branch, and switch to it unless 'checkout' is false",
            action(
                "fork_design",
                Design,
                Adds,
                "fork",
                &[
                    same("label"),
                    told("A branch, fork, checkpoint or commit", as_arg("from_sha", "from")),
                    told("false: stay on the present branch", how("checkout", Not("no_switch"))),
                ],
            ),
        ),
        action(
            "list_forks",
            Design,
            Reads,
            "forks",
            &[told(
                "Show which clash with each other, and in which order to merge",
                same("conflicts"),
            )],
        ),
        action(
            "delete_fork",
            Design,
            Destroys,
            "forks delete",
            &[plain(same("label")), same("force")],
        ),
        described(
            "Merge the work of an agent, a fork, a branch or a commit into a branch. A conflict changes nothing and is listed: call again with 'ours', 'theirs', 'both' or 'resolve'",
            action(
                "merge_design",
                Design,
                Adds,
                "merge",
                &[
                    plain(as_arg("source_branch", "source")),
                    told(
                        "It need not be checked out (default: the base of the fork, else the current branch)",
                        as_arg("target_branch", "into"),
                    ),
                    plain(same("message")),
                    same("squash"),
                    told("Paths whose conflicts get the target's version", same("ours")),
                    told("The source's version", same("theirs")),
                    told("The lines of both, or both files", same("both")),
                    told("Open the remaining conflicts in the working tree", same("resolve")),
                    as_arg("continue", "go_on"),
                    same("abort"),
                ],
            ),
        ),
        described(
            "Apply commits, or the commits of decisions, to a branch: all or none",
            action(
                "cherry_pick_decisions",
                Design,
                Adds,
                "cherry-pick",
                &[
                    as_arg("commit_shas", "what"),
                    told("It need not be checked out", as_arg("target_branch", "into")),
                    told(
                        "Also the decisions they depend on and the branch lacks",
                        same("with_dependencies"),
                    ),
                    told("Open a conflict in the working tree", same("resolve")),
                    told(
                        "Once the conflict that 'resolve' opened is settled",
                        as_arg("continue", "go_on"),
                    ),
                    same("abort"),
                ],
            ),
        ),
        described(
            "Record a decision with its rationale, and commit it with the work it is about",
            action(
                "decide",
                Design,
                Adds,
                "decide",
                &[
                    same("title"),
                    same("summary"),
                    plain(same("rationale")),
                    same("rejected"),
                    told(
                        "Default: from the title; if it exists, its next version is written",
                        same("id"),
                    ),
                    same("supersedes"),
                    plain(same("depends_on")),
                    told("Commits that do already", same("implements")),
                    told("Whose uncommitted changes implement it", same("paths")),
                ],
            ),
        ),
        action(
            "list_recent_decisions",
            Design,
            Reads,
            "decisions",
            &[
                told("Only newer than this revision", same("since")),
                told("The newest", same("limit")),
                told("Only with a commit that touched these, or files below", same("paths")),
            ],
        ),
        action(
            "show_decision",
            Design,
            Reads,
            "decisions show",
            &[told("Or a unique prefix", as_arg("decision_id", "id"))],
        ),
        action(
            "show_log",
            Design,
            Reads,
            "log",
            &[or("name", as_arg("ref", "name")), plain(same("limit"))],
        ),
        described(
            "See what other agents changed and who works on what: all agents and forks, conflicts between forks, what to merge next",
            action("fleet", Agents, Reads, "fleet", &[]),
        ),
        described(
            "See what other agents changed: checkpoints, merges, moved branches, mapped scopes. With 'since' the oldest after it",
            action(
                "list_events",
                Agents,
                Reads,
                "events",
                &[
                    told("The 'position' of an earlier answer", same("since")),
                    told("Prefixes of keys, or patterns with '*'", same("keys")),
                    told("Only about this branch or scope", same("scope")),
                    told("Your own events, too", as_arg("include_own", "all")),
                    told("Default 100: the newest, or with 'since' the next", same("limit")),
                ],
            ),
        ),
        described(
            "Wait for other agents: returns their events after 'since', by default after now, as soon as there are some",
            action(
                "wait_events",
                Agents,
                Reads,
                "events --wait",
                &[
                    told(
                        "The 'position' of the last answer: nothing in between is missed",
                        same("since"),
                    ),
                    told("Prefixes of keys, or patterns with '*'", same("keys")),
                    told("Seconds, 30 by default", how("timeout_s", Number("timeout", None))),
                    told("Only about this branch or scope", same("scope")),
                    told("Your own events, too", as_arg("include_own", "all")),
                    told("Default 100", same("limit")),
                ],
            ),
        ),
        described(
            "List the agents of this repository: their clones, who else is working there, and removed ones",
            action("list_agents", Agents, Reads, "agents", &[]),
        ),
        described(
            "Create a new agent with a clone and a fork. It works in 'path': calls with that as 'directory' work there, too",
            action(
                "new_agent",
                Agents,
                Adds,
                "agents new",
                &[
                    same("name"),
                    same("fork"),
                    told("A branch, fork, checkpoint or commit (default: HEAD)", same("from")),
                    told("Copy the uncommitted changes from here", same("with_changes")),
                    same("lfs"),
                    told(
                        "Check out only the files at the top and below these directories",
                        same("sparse"),
                    ),
                ],
            ),
        ),
        described(
            "Find the path of an agent's clone",
            action("agent_path", Agents, Reads, "agents path", &[plain(same("name"))]),
        ),
        described(
            "Remove an agent's clone; its work is kept, restore_agent brings it back",
            action("remove_agent", Agents, Destroys, "agents remove", &[same("name")]),
        ),
        action(
            "restore_agent",
            Agents,
            Adds,
            "agents restore",
            &[
                plain(same("name")),
                as_arg("new_name", "other"),
                told("When it was removed, as list_agents has it, if several times", same("at")),
            ],
        ),
        action(
            "check_paths",
            Agents,
            Reads,
            "agents check",
            &[told("The agent", same("name")), same("paths"), same("staged"), same("range")],
        ),
        action("get_guide", Agents, Reads, "agents guide", &[]),
        described(
            "List the clones of this repository, of agents and for reading",
            action("list_clones", Agents, Reads, "clones list", &[]),
        ),
        action("refresh_clone", Agents, Adds, "clones refresh", &[as_arg("clone_id", "id")]),
        described(
            "Begin a session, whose file records its work",
            action(
                "session_new",
                Agents,
                Adds,
                "session new",
                &[told("Default: 'default'", same("plan"))],
            ),
        ),
        described(
            "List the sessions of this checkout",
            action("session_list", Agents, Reads, "session list", &[]),
        ),
        action(
            "session_show",
            Agents,
            Reads,
            "session show",
            &[plain(as_arg("session", "id")), same("diff")],
        ),
        action(
            "session_note",
            Agents,
            Adds,
            "session note",
            &[plain(same("text")), plain(as_arg("session", "id"))],
        ),
        action("session_end", Agents, Adds, "session end", &[plain(as_arg("session", "id"))]),
        described(
            "List the colonies and their repositories",
            action("list_colonies", Agents, Reads, "colony list", &[]),
        ),
        described(
            "Cut the repository into pages by its map: before list_stored_pages, and after commits",
            action(
                "materialize_repo_map",
                Pages,
                Adds,
                "map",
                &[
                    told("Only the rows of these names", same("sources")),
                    told(
                        "Files as they are, committed or not, into scopes that are never shared",
                        same("worktree"),
                    ),
                    told("Default HEAD", or("revision", as_arg("ref", "rev"))),
                    OTHER_REPOSITORY,
                    ITS_BRANCH,
                    ITS_COMMIT,
                    told(
                        "Begins the scope ids (default: the colony, else the origin, else the first commit)",
                        as_arg("base_scope_id", "base_scope"),
                    ),
                    same("offline"),
                ],
            ),
        ),
        action(
            "check_repo_map",
            Pages,
            Reads,
            "map check",
            &[
                plain(or("revision", as_arg("ref", "rev"))),
                same("worktree"),
                OTHER_REPOSITORY,
                ITS_BRANCH,
                ITS_COMMIT,
            ],
        ),
        action(
            "show_repo_map",
            Pages,
            Reads,
            "map show",
            &[
                told("Default HEAD", or("revision", as_arg("ref", "rev"))),
                same("worktree"),
                OTHER_REPOSITORY,
                ITS_BRANCH,
                ITS_COMMIT,
            ],
        ),
        described(
            "Show the rows of the map with the settings in effect",
            action(
                "preview_repo_map",
                Pages,
                Reads,
                "map preview",
                &[
                    told("Default HEAD", or("revision", as_arg("ref", "rev"))),
                    same("worktree"),
                    told("Only the rows of these names", same("sources")),
                    OTHER_REPOSITORY,
                    ITS_BRANCH,
                    ITS_COMMIT,
                    told("As for materialize_repo_map", as_arg("base_scope_id", "base_scope")),
                ],
            ),
        ),
        action(
            "show_repo_tree",
            Pages,
            Reads,
            "map tree",
            &[
                told("Default HEAD", or("revision", as_arg("ref", "rev"))),
                OTHER_REPOSITORY,
                ITS_BRANCH,
                ITS_COMMIT,
                told("1 to 20", same("max_depth")),
                told("10 to 20000", same("max_nodes")),
                told("Count tokens; most first", same("tokens")),
            ],
        ),
        action(
            "diff_pages",
            Pages,
            Reads,
            "map diff",
            &[plain(as_arg("ref_a", "a")), plain(as_arg("ref_b", "b"))],
        ),
        action(
            "mmap_repo",
            Pages,
            Adds,
            "map repo",
            &[
                plain(as_arg("origin_url", "url")),
                plain(as_arg("local_repo_path", "path")),
                told("Default: main or the remote's; of a directory, its checkout", same("branch")),
                told("Default: the tip of the branch", same("commit")),
                told(
                    "Default: the address of the repository, else its first commit",
                    same("scope_id"),
                ),
                how("config", Object(HOW_A_REPOSITORY_IS_MAPPED)),
            ],
        ),
        action(
            "mmap_blackboard_scope",
            Pages,
            Adds,
            "map blackboard",
            &[
                same("scope"),
                told("Default: the blackboard, a colon and the namespace", same("scope_id")),
                told("Ends the default scope id", same("namespace")),
            ],
        ),
        described(
            "Unmap a scope; its files stay, and undo restores the mapping",
            action("munmap_scope", Pages, Adds, "scopes unmap", &[SCOPE_ID]),
        ),
        described(
            "Check whether a scope is mapped",
            action(
                "is_scope_mapped",
                Pages,
                Reads,
                "scopes mapped",
                &[told("The full id", as_arg("scope_id", "id"))],
            ),
        ),
        action("get_scope_status", Pages, Reads, "scopes show", &[SCOPE_ID]),
        action("list_mapped_scopes", Pages, Reads, "scopes", &[]),
        described(
            "Write a key of a blackboard, which all clones share; undo takes it back",
            action(
                "blackboard_put",
                Pages,
                Adds,
                "blackboard put",
                &[
                    same("scope"),
                    plain(same("key")),
                    required(plain(as_arg("value", "text"))),
                    told(
                        "Only if the key is at this version; '0' is a key without a value",
                        same("if_version"),
                    ),
                ],
            ),
        ),
        described(
            "Read a key of a blackboard, with its version",
            action(
                "blackboard_get",
                Pages,
                Reads,
                "blackboard get",
                &[same("scope"), plain(same("key"))],
            ),
        ),
        action("blackboard_list", Pages, Reads, "blackboard list", &[same("scope")]),
        described(
            "Delete a key of a blackboard; undo restores it",
            action(
                "blackboard_delete",
                Pages,
                Adds,
                "blackboard delete",
                &[
                    same("scope"),
                    plain(same("key")),
                    told("Only if the key is at this version", same("if_version")),
                ],
            ),
        ),
        described(
            "Put committed documents into the knowledge base: 'paths', else those that the map routes",
            action(
                "ingest",
                Pages,
                Adds,
                "ingest",
                &[
                    plain(same("paths")),
                    told(
                        "Kind of document, as in 'paper' (default: of the route, else the format)",
                        same("profile"),
                    ),
                    same("offline"),
                    told(
                        "First commit the files below this directory; beside each a file names its origin",
                        same("from"),
                    ),
                    told("Their origin: a URL or another name", same("source_uri")),
                    told("Where these go (default: 'literature/acquired')", same("to")),
                ],
            ),
        ),
        described(
            "List the documents of the knowledge base",
            action("list_knowledge", Pages, Reads, "knowledge", &[]),
        ),
        described(
            "Delete documents from the knowledge base, by path, prefix or row of the map",
            action(
                "clear_knowledge",
                Pages,
                Adds,
                "knowledge clear",
                &[
                    told("Paths, or names as in 'repo:docs/a.md'", same("sources")),
                    told(
                        "Of paths from the current directory, or as in 'repo:docs/'",
                        same("prefix"),
                    ),
                    told("What this routing row matches, from 1", how("row", Number("row", None))),
                    told("Known versions that no branch has", same("unused")),
                ],
            ),
        ),
        described(
            "Move documents from the knowledge base to a literature source of the map, by one commit",
            action("promote", Pages, Adds, "promote", &[required(plain(same("paths")))]),
        ),
        described(
            "Move documents from literature sources of the map to the knowledge base, by one commit",
            action("demote", Pages, Adds, "demote", &[required(plain(same("paths")))]),
        ),
        described(
            "Watch the files of a scope until unwatch_repo: a change writes events, and may map pages again",
            action(
                "watch_repo",
                Pages,
                Adds,
                "watch --detach",
                &[
                    required(SCOPE),
                    told("They need not exist", same("paths")),
                    told(
                        "Write an event; 'invalidate' also marks pages as stale, 'reindex' maps them again",
                        same("on_change"),
                    ),
                    told("Quiet time before it reacts", as_arg("debounce_seconds", "debounce")),
                    told("Default: a new one", as_arg("watch_id", "id")),
                ],
            ),
        ),
        described(
            "Stop a watch",
            action("unwatch_repo", Pages, Adds, "watches stop", &[plain(as_arg("watch_id", "id"))]),
        ),
        action("list_watches", Pages, Reads, "watches", &[]),
        described(
            "Find pages, by path or source, with the files in each",
            action(
                "list_stored_pages",
                Pages,
                Reads,
                "pages",
                &[
                    told(
                        "Only of sources that contain this, in any case",
                        as_arg("source_pattern", "source"),
                    ),
                    plain(how("limit", Number("limit", Some(2000)))),
                    plain(same("offset")),
                    told("Only with records at or below it", same("path")),
                ],
            ),
        ),
        described(
            "List the pages of one scope, by their ids",
            action(
                "get_pages_for_scope",
                Pages,
                Reads,
                "pages",
                &[
                    required(SCOPE),
                    how("include_metadata", Unless("no_records")),
                    plain(how("limit", Number("limit", Some(1000)))),
                    plain(same("offset")),
                ],
            ),
        ),
        described(
            "Read pages with text and lines: by ids of list_stored_pages, or those of 'path'",
            action(
                "get_page",
                Pages,
                Reads,
                "pages show",
                &[
                    told("One of them", how("page_id", Text("ids"))),
                    PAGES,
                    told("All of this file or directory, in its order", same("path")),
                    told(
                        "With 'path': pages of the working tree, as it is mapped",
                        same("worktree"),
                    ),
                    SCOPE,
                    told("First list related pages, at most five of each", same("neighbours")),
                ],
            ),
        ),
        action(
            "get_page_graph",
            Pages,
            Reads,
            "pages graph",
            &[told("Those with the most edges", same("max_nodes")), SCOPE],
        ),
        described(
            "Find the passages of mapped files that a query is about, the best first",
            action(
                "search",
                Pages,
                Reads,
                "search",
                &[
                    told(
                        "Words or a question; a phrase in quotation marks is preferred",
                        required(how("query", Text("query"))),
                    ),
                    plain(same("limit")),
                    SCOPE,
                    told("Globs", or("globs", as_arg("paths", "path"))),
                    told("Mapped files, the knowledge base, or both", as_arg("in", "origin")),
                    told("Only documents of this kind", same("data_type")),
                    MAPPED_WORKTREE,
                    told(
                        "As an expression: '+word' and phrases are required, '-word' excludes",
                        same("raw"),
                    ),
                ],
            ),
        ),
        described(
            "Search code in the repository for what a question is about: the best passages as one text, with sources. 'paths': these and related files",
            action(
                "context",
                Pages,
                Reads,
                "context",
                &[
                    plain(or("question", as_arg("query", "question"))),
                    plain(same("paths")),
                    told("All mapped files", same("all")),
                    told(
                        "Default: one answer of a tool, else 16,384",
                        as_arg("budget_tokens", "budget"),
                    ),
                    told("Print the files of this plan", same("plan")),
                    told("Of the plan", same("view")),
                    told("An outline in this share of the budget", same("skeleton")),
                    told("Leave out the pages of your resident set", same("exclude_resident")),
                    SCOPE,
                    told("Of paths", as_arg("globs", "path")),
                    plain(as_arg("in", "origin")),
                    told("As for search", same("data_type")),
                    MAPPED_WORKTREE,
                ],
            ),
        ),
        described(
            "Read the files of a project into its tiers",
            action(
                "hydrate_tiers_from_project",
                Pages,
                Adds,
                "context hydrate",
                &[required(plain(same("project")))],
            ),
        ),
        described(
            "Read the files of a plan into the tiers of its projects",
            action(
                "hydrate_tiers_for_plan",
                Pages,
                Adds,
                "context hydrate",
                &[plain(same("plan"))],
            ),
        ),
        described(
            "Note something in this checkout; commit what has to last",
            action(
                "memory_add",
                Pages,
                Adds,
                "memory add",
                &[required(plain(same("text"))), told("Beyond 30 days", same("long"))],
            ),
        ),
        described(
            "Read the notes",
            action(
                "memory_show",
                Pages,
                Reads,
                "memory show",
                &[told("Only of this day", same("date"))],
            ),
        ),
        described(
            "Count pages, records and tokens by scope",
            action("get_vcm_stats", Pages, Reads, "pages stats", &[SCOPE]),
        ),
        described(
            "Put pages into your resident set: all or none; the least recently used leave, unless locked or pinned",
            action(
                "request_pages",
                Pages,
                Adds,
                "pages request",
                &[
                    PAGES,
                    told("For a lock", how("timeout_s", Number("timeout", None))),
                    same("priority"),
                    told("Lock them, too", as_arg("lock_duration_s", "lock_duration")),
                    plain(as_arg("lock_reason", "reason")),
                ],
            ),
        ),
        described(
            "List your resident pages, or print them for a prompt by 'format'",
            action(
                "get_resident_pages",
                Pages,
                Reads,
                "pages resident",
                &[told("json: an object for each record; text: as in the files", same("format"))],
            ),
        ),
        described(
            "Lock pages, so that they stay in your resident set and readable when their files change",
            action(
                "lock_pages",
                Pages,
                Adds,
                "pages lock",
                &[
                    required(PAGES),
                    told("At most a year", as_arg("ttl_s", "ttl")),
                    plain(same("reason")),
                ],
            ),
        ),
        described(
            "Delete your own locks on pages",
            action("unlock_pages", Pages, Adds, "pages unlock", &[required(PAGES)]),
        ),
        described(
            "Extend your own lock on a page that is still held",
            action(
                "extend_lock",
                Pages,
                Adds,
                "pages extend",
                &[
                    required(told("Or a unique prefix", as_arg("page_id", "id"))),
                    required(plain(as_arg("additional_s", "by"))),
                ],
            ),
        ),
        described(
            "Set this repository up by one commit: manifest, map, git-lfs. Pages do not need it",
            action(
                "initialize_repo_map",
                Repository,
                PublishesUnlessNot("push", "migrate_existing_to_lfs"),
                "init",
                &[
                    how("push", Either("push_if_allowed", "no_push")),
                    told(
                        "Unless the manifest turns it off",
                        how("enable_lfs", Either("lfs", "no_lfs")),
                    ),
                    same("migrate_existing_to_lfs"),
                ],
            ),
        ),
        described(
            "Find tools of this repository by capability, the best match first",
            action(
                "find_existing_tool",
                Repository,
                Reads,
                "tools find",
                &[as_arg("capability_query", "query"), as_arg("require_writable", "writable")],
            ),
        ),
        described(
            "List the tools of this repository, below tools/; not the tools of this server",
            action("list_tools", Repository, Reads, "tools", &[]),
        ),
        described(
            "Create a tool of this repository from a template, in tools/PURPOSE/NAME, by one commit",
            action(
                "bootstrap_repo",
                Repository,
                Adds,
                "tools new",
                &[
                    plain(same("template")),
                    plain(same("purpose")),
                    plain(same("name")),
                    told("As in 'MIT'", same("license")),
                    told("By which it is found", same("capability")),
                    plain(same("description")),
                    told("'subdir_in_monorepo:tools/PURPOSE/NAME'", same("target")),
                    told("Texts by path", how("initial_files", Pairs("files"))),
                    plain(how("template_vars", Pairs("variables"))),
                ],
            ),
        ),
        action(
            "sync",
            Repository,
            Publishes,
            "sync",
            &[same("remote"), told("Only fetch from it", same("fetch"))],
        ),
        action("lfs_status", Repository, Reads, "lfs status", &[]),
        action("lfs_hydrate", Repository, Adds, "lfs hydrate", &[plain(same("paths"))]),
        action(
            "lfs_migrate",
            Repository,
            Destroys,
            "lfs migrate",
            &[
                told(
                    "Where a person has allowed it; true by default",
                    how("push", Either("push_if_allowed", "no_push")),
                ),
                same("leave_agents"),
            ],
        ),
        described(
            "Show the state of each hook and when it last fired",
            action("list_hooks", Repository, Reads, "hooks status", &[]),
        ),
        described(
            "List the settings in effect",
            action("get_config", Repository, Reads, "config list", &[]),
        ),
        action(
            "doctor",
            Repository,
            Reads,
            "doctor",
            &[told("Read every object, operation and kept file, too", same("deep"))],
        ),
        action("repo_status", Repository, Reads, "id", &[]),
        described(
            "List the repositories that queries ask",
            action(
                "catalog_list",
                Repository,
                Reads,
                "catalog list",
                &[told("As the last refresh found them", same("cached"))],
            ),
        ),
        described(
            "Resolve these repositories again",
            action("catalog_refresh", Repository, Adds, "catalog refresh", &[]),
        ),
        action(
            "query_text",
            Repository,
            Reads,
            "query text",
            &[
                required(how("query", Text("query"))),
                REPOSITORIES,
                AT_REVISION,
                FETCH,
                plain(same("regex")),
                plain(same("case_sensitive")),
                told("Ask the search indexes, for passages about the query", same("indexed")),
                told("Of each repository", or("max_matches", as_arg("limit", "max_matches"))),
                CONVERSATION,
            ],
        ),
        action(
            "query_file",
            Repository,
            Reads,
            "query file",
            &[
                told("From the root of each repository, or absolute", same("path")),
                REPOSITORIES,
                AT_REVISION,
                FETCH,
                plain(same("max_bytes")),
                CONVERSATION,
            ],
        ),
        action(
            "query_list",
            Repository,
            Reads,
            "query list",
            &[
                told("Only at or below it", same("path")),
                REPOSITORIES,
                AT_REVISION,
                FETCH,
                told("Of each repository", or("max_files", as_arg("limit", "max_files"))),
                CONVERSATION,
            ],
        ),
        action(
            "query_log",
            Repository,
            Reads,
            "query log",
            &[
                told("In the message, with its case", same("contains")),
                told("Only commits that change it", same("path")),
                REPOSITORIES,
                AT_REVISION,
                FETCH,
                told("Of each repository", or("max_commits", as_arg("limit", "max_commits"))),
                CONVERSATION,
            ],
        ),
        described(
            "Search code in the repository: lines that contain a text or match a regex, as path:line; with 'question' passages about it",
            action(
                "find",
                Repository,
                Reads,
                "git find",
                &[
                    told("The text, as it is", required(how("query", Text("query")))),
                    plain(same("regex")),
                    told("Search mapped files for a question", how("question", Instead("search"))),
                    plain(same("ignore_case")),
                    told("Globs or directories", as_arg("paths", "path")),
                    told(
                        "Branch, fork, agent, checkpoint or commit instead of the working tree",
                        as_arg("ref", "revision"),
                    ),
                    plain(same("limit")),
                ],
            ),
        ),
        described(
            "Read a file, whole or some lines, or several files, with line numbers",
            action(
                "read",
                Repository,
                Reads,
                "git read",
                &[
                    told("Each PATH, PATH:LINE, PATH:FIRST-LAST or PATH:FIRST-", same("paths")),
                    told("As for find", as_arg("ref", "revision")),
                ],
            ),
        ),
        described(
            "Show history: the commits that changed a path, lines of it or a text, newest first, or one commit with message and patch",
            action(
                "history",
                Repository,
                Reads,
                "git history",
                &[
                    told("Show this one", same("commit")),
                    plain(same("path")),
                    told("FIRST-LAST of 'path'", same("lines")),
                    told("That came or went", same("text")),
                    told("'text' is one", same("regex")),
                    told("Where to begin instead of HEAD", as_arg("ref", "revision")),
                    plain(same("limit")),
                ],
            ),
        ),
        action(
            "git_log",
            Repository,
            Reads,
            "git log",
            &[told("1000 or fewer", or("max_commits", as_arg("limit", "max_commits")))],
        ),
        action(
            "git_diff",
            Repository,
            Reads,
            "git diff",
            &[
                told("Only it and files below", same("path")),
                same("staged"),
                told("Where a longer answer was cut, in bytes", same("offset")),
            ],
        ),
        action(
            "git_status",
            Repository,
            Reads,
            "git status",
            &[told("Where a longer answer was cut, in bytes", same("offset"))],
        ),
        action(
            "git_blame",
            Repository,
            Reads,
            "git blame",
            &[plain(same("path")), told("Where a longer answer was cut, in bytes", same("offset"))],
        ),
        action("validate_file", Repository, Reads, "validate", &[plain(same("path"))]),
        described(
            "Run the tests of a package with cargo",
            action("run_tests", Repository, Runs, "cargo test", &[same("package")]),
        ),
        described(
            "Check all packages with cargo",
            action("check_workspace", Repository, Runs, "cargo check", &[]),
        ),
        described(
            "Run the tests of all packages with cargo",
            action("test_all", Repository, Runs, "cargo test-all", &[]),
        ),
        described(
            "Build a package with cargo",
            action("build_crate", Repository, Runs, "cargo build", &[same("package")]),
        ),
        described(
            "Lint a package with clippy, and find unfinished code",
            action("lint_crate", Repository, Runs, "cargo lint", &[same("package")]),
        ),
        described(
            "Measure the coverage of tests with cargo-llvm-cov",
            action("coverage_report", Repository, Runs, "cargo coverage", &[same("package")]),
        ),
        action("repo_index_status", Repository, Reads, "index", &[]),
        described(
            "Count them again, for repo_index_status",
            action("repo_index_refresh", Repository, Adds, "index --refresh", &[]),
        ),
        action("version", Repository, Reads, "version", &[]),
    ]
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{How, description, input_schema};
    use super::*;

    #[test]
    fn every_action_is_made_of_arguments_of_the_grammar() {
        let grammar = crate::cli::grammar::built();
        let mut names = BTreeSet::new();
        for action in ACTIONS.iter() {
            assert!(names.insert(action.name), "'{}' is there twice", action.name);
            // Both name what the grammar does not have.
            input_schema(&grammar, action);
            assert!(!description(&grammar, action).is_empty(), "{}", action.name);
        }
    }

    #[test]
    fn what_changes_something_can_be_previewed() {
        let grammar = crate::cli::grammar::built();
        for action in ACTIONS.iter().filter(|action| action.effect.may_need_preview()) {
            let command = super::super::command_line::find(&grammar, action.command);
            let has_dry_run =
                command.get_arguments().any(|argument| argument.get_id() == "dry_run");
            assert!(has_dry_run, "{}", action.name);
        }
    }

    #[test]
    fn no_action_takes_what_only_a_person_decides() {
        let personal = ["approve", "allow_secret", "takeover", "allow_unscoped", "run"];
        for action in ACTIONS.iter() {
            for takes in &action.takes {
                if let How::As(argument) = takes.how {
                    assert!(!personal.contains(&argument), "{} {argument}", action.name);
                }
            }
            // Syncing with '--push' is the consent itself.
            assert!(action.name != "sync" || action.takes.iter().all(|takes| takes.name != "push"));
        }
    }
}
