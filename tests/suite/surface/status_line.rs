//! `status --line`: one short line for a prompt, never an error, never a lie.

use std::fs;

use git_colony::testing::World;

use crate::support::Sandbox;

/// A world in which the look at the files may take as long as it needs, or none at all.
fn looking(sandbox: &Sandbox, seconds: &str) -> World {
    let mut world = sandbox.world();
    world.variables.insert("COLONY_LINE_TIME".into(), seconds.into());
    world
}

fn line(sandbox: &Sandbox, seconds: &str) -> String {
    let run = sandbox.run_in(looking(sandbox, seconds), &["status", "--line"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run.stdout
}

#[test]
fn the_line_says_branch_changes_age_and_attention() {
    let sandbox = Sandbox::new();
    assert_eq!(line(&sandbox, "60"), "main =\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.write("new.txt", "new\n");
    assert_eq!(line(&sandbox, "60"), "main +2 1m\n");
    sandbox.write(".git/index.lock", "");
    assert_eq!(line(&sandbox, "60"), "main +2 2m !\n");
    fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    sandbox.automatic_checkpoint();
    assert_eq!(line(&sandbox, "60"), "main +2 1m\n");
    sandbox.git(&["checkout", "-q", "--detach"]);
    assert!(line(&sandbox, "60").starts_with("detached:"));
}

#[test]
fn changes_are_left_out_when_the_look_takes_too_long() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "changed\n");
    for time in ["0", "nonsense"] {
        assert_eq!(line(&sandbox, time), "main\n");
    }
    // A filter that hangs as long as its repository exists holds up nobody.
    sandbox.git(&["config", "filter.slow.clean", "while [ -e .git ]; do sleep 0.1; done; cat"]);
    sandbox.write(".gitattributes", "*.txt filter=slow\n");
    assert_eq!(line(&sandbox, "0.05"), "main\n");
}

#[test]
fn outside_of_a_repository_nothing_is_said() {
    let sandbox = Sandbox::new();
    let outside = || World { cwd: sandbox.outside(), ..sandbox.world() };
    let run = sandbox.run_in(outside(), &["status", "--line"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert_eq!(sandbox.json(&["status", "--line"])["branch"], "main");
    let run = sandbox.run_in(outside(), &["--json", "status", "--line"]);
    assert!(run.code == 0 && run.stdout.contains("\"branch\": null"), "{}", run.stdout);
    sandbox.git(&["config", "core.bare", "true"]);
    assert_eq!(line(&sandbox, "60"), "");
}
