//! What prune tells of commits: those that only the operations held it lets go of.

use crate::support::Sandbox;

/// Commits and takes it back, so that only operations hold the commit; returns it.
fn taken_back(sandbox: &Sandbox, subject: &str) -> String {
    sandbox.write("a.txt", format!("{subject}\n"));
    sandbox.colony(&["checkpoint", "-m", subject]);
    let commit = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.colony(&["undo"]);
    sandbox.git(&["checkout", "-q", "."]);
    commit
}

#[test]
fn commits_that_only_operations_held_are_named_as_these_go() {
    let sandbox = Sandbox::new();
    let lost = taken_back(&sandbox, "taken back");
    let tagged = taken_back(&sandbox, "kept by a tag");
    sandbox.git(&["tag", "keep", &tagged]);
    sandbox.write("a.txt", "stays\n");
    sandbox.colony(&["checkpoint", "-m", "stays"]);
    for args in [
        &["prune", "--keep", "0", "-n"][..],
        &["ops", "prune", "--keep", "0", "-n"],
        &["prune", "--keep", "0"],
    ] {
        let report = sandbox.json(args);
        assert_eq!(report["commits_dropped_count"], 1, "{report:#}");
        let dropped = &report["commits_dropped"];
        assert_eq!(dropped.as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(dropped[0]["sha"], lost.as_str());
        assert_eq!(dropped[0]["subject"], "checkpoint: taken back");
    }
    let again = sandbox.json(&["prune", "--keep", "0"]);
    assert_eq!(again["commits_dropped_count"], 0, "{again:#}");
}

#[test]
fn an_operation_that_is_left_keeps_its_commits() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.keepOperations", "2"]);
    taken_back(&sandbox, "first");
    taken_back(&sandbox, "second");
    let report = sandbox.json(&["prune", "-n"]);
    assert_eq!(report["commits_dropped_count"], 1, "{report:#}");
    assert_eq!(report["commits_dropped"][0]["subject"], "checkpoint: first");
}

#[test]
fn people_read_a_line_for_each_commit_and_how_many_are_left_out() {
    let sandbox = Sandbox::new();
    let lost: Vec<_> =
        (0..22).map(|number| taken_back(&sandbox, &format!("number {number}"))).collect();
    let said = sandbox.colony(&["prune", "--keep", "0", "-n"]);
    assert!(said.contains("22 commits that nothing else keeps"), "{said}");
    let named = lost.iter().filter(|id| said.contains(&id[..8])).count();
    assert_eq!(named, 20, "{said}");
    let report = sandbox.json(&["prune", "--keep", "0", "-n"]);
    assert_eq!(report["commits_dropped_count"], 22);
    assert_eq!(report["commits_dropped"].as_array().unwrap().len(), 20);
}
