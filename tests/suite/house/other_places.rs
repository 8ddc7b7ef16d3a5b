//! Each place of the source where a command looks into another directory than the one it was started in, and what makes
//! that safe: a clone of an agent may be configured to run anything.

use super::sources;

/// Opens through the gate, [`Repo::open_foreign`]: no configuration of the owner counts.
const GATED: [&str; 21] = [
    "agents/agent_places.rs",
    "agents/agent_removal.rs",
    "agents/agent_return.rs",
    "agents/agent_state.rs",
    "agents/colony/checkout_settings.rs",
    "agents/colony/clone.rs",
    "agents/colony/lost_record.rs",
    "agents/colony/mod.rs",
    "agents/colony/setup_commands.rs",
    "agents/colony/shared_clone.rs",
    "agents/damaged_clone.rs",
    "agents/kept_clones.rs",
    "agents/mod.rs",
    "clones/hub/hub_rebuild.rs",
    "design/submodule/mod.rs",
    "desk/fleet/mod.rs",
    "desk/fleet/row.rs",
    "git/worktree/submodule_edits.rs",
    "migrate/checks.rs",
    "sync/clone_refresh.rs",
    "workspace/groups.rs",
];

/// Stands in another directory, or opens what is there, by other rights.
const OTHERS: [(&str, &str); 30] = [
    ("agents/agent_removal.rs", "the world of a gated repository"),
    ("agents/agent_run.rs", "commands that the user has typed"),
    ("agents/agent_state.rs", "the world of a repository with our configuration"),
    ("agents/colony/checkout_settings.rs", "the checkout of the clone that acts; starts nothing"),
    ("agents/colony/setup_commands.rs", "commands that the user has approved"),
    ("agents/colony/shared_clone.rs", "the world of a gated repository"),
    ("agents/colony/taking_part.rs", "the repository that the command has changed"),
    ("cli/display.rs", "the repository of the command"),
    ("cli/mcp/call_place.rs", "finds the repository around, starts nothing"),
    ("cli/open_repository.rs", "the clone of the agent that acts, or the root that the user names"),
    ("cli/served/confine.rs", "finds the repository around, starts nothing"),
    (
        "cli/served/run_action.rs",
        "the clone of the agent that acts, or one that runs only what its checkout has",
    ),
    ("clones/hub/hub_rebuild.rs", "the world of a gated repository"),
    ("clones/new_clone/mod.rs", "a clone that nobody else knows yet"),
    ("clones/new_clone/staged.rs", "a clone that nobody else knows yet"),
    ("clones/try_tree.rs", "the working tree of tests, which runs code of agents in any case"),
    ("context/scoring/working_files.rs", "lists names only, without a monitor of files"),
    ("desk/hook.rs", "the directory of the agent that runs the hook"),
    ("desk/tour.rs", "a repository that the tour makes"),
    ("desk/worktree_hook.rs", "the folder of all clones"),
    ("git/checkout.rs", "finds the repository around, starts nothing"),
    ("git/worktree/submodule_edits.rs", "the world of a gated repository"),
    ("init/deinit/mod.rs", "a worktree of this repository"),
    ("map/map_repo/find_repository.rs", "reads commits, starts nothing"),
    ("migrate/checks.rs", "the world of a gated repository"),
    ("workspace/cargo/mod.rs", "cargo, which the user has allowed"),
    ("workspace/catalog_edit.rs", "finds the root, starts nothing"),
    ("workspace/checkout/catalog/resolve.rs", "finds the root, starts nothing"),
    ("workspace/query/query_indexed.rs", "reads pages, starts nothing"),
    ("workspace/query/target.rs", "reads commits and files, starts nothing"),
];

/// The gate itself.
const GATE: [&str; 4] = [
    "git/foreign_repository.rs",
    "git/worktree/foreign_worktree.rs",
    "model/world.rs",
    "store/session.rs",
];

fn files_with(call: &str) -> Vec<String> {
    let found = sources().into_iter().filter(|(_, text)| text.contains(call));
    let mut files: Vec<_> = found.map(|(path, _)| path.display().to_string()).collect();
    files.sort();
    files.retain(|file| !GATE.contains(&file.as_str()));
    files
}

#[test]
fn each_look_into_another_directory_has_its_right() {
    assert_eq!(files_with("open_foreign("), GATED, "a use of the gate is new, or none any more");
    let others: Vec<_> = OTHERS.iter().map(|(file, _)| *file).collect();
    assert_eq!(files_with(".standing_in("), others, "it is new, or none any more: say its right");
}

#[test]
fn clones_are_opened_through_the_gate_only() {
    for (path, text) in sources() {
        let path = path.display().to_string();
        let of_clones = ["clones/", "agents/", "desk/fleet/"];
        let is_listed = OTHERS.iter().any(|(file, _)| *file == path);
        if of_clones.iter().any(|folder| path.starts_with(folder)) && !is_listed {
            for call in [" Repo::open(", "(Repo::open(", "Session::open("] {
                assert!(!text.contains(call), "{path} opens a repository beside the gate");
            }
        }
    }
}

#[test]
fn opening_a_repository_makes_no_clone() {
    // Who asks for the first clone of an agent outside of a repository, and the two faces that they ask.
    let asking = ["cli/commands/team/session.rs", "cli/mcp/server.rs"];
    let faces = ["cli/open_repository.rs", "cli/served/run_action.rs"];
    assert_eq!(files_with(".make_missing_clone("), asking, "another one makes a clone");
    assert_eq!(files_with("first_clone::"), faces, "another one makes a clone");
    let finder = sources().into_iter().find(|(path, _)| path.ends_with("clone_of_agent.rs"));
    let (_, text) = finder.unwrap();
    for maker in ["clone::", "setup_commands", "crate::setup", "new_clone"] {
        assert!(!text.contains(maker), "to find a clone reaches '{maker}'");
    }
}
