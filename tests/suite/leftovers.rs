//! What a command that was killed or stopped leaves beside the work: who tells of it, and who takes it
//! away.

use super::support::Sandbox;

#[test]
fn half_a_filter_of_git_lfs_is_told_with_the_way_to_mend_it() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    let found = sandbox.json(&["status"])["health"].clone();
    assert_eq!(found[0]["name"], "git-lfs-filters", "{found:#}");
    let detail = found[0]["detail"].as_str().unwrap();
    assert!(detail.contains("git colony init"), "{detail}");
    assert_eq!(sandbox.json(&["status", "--line"])["attention"], true);
    let filters = |sandbox: &Sandbox| {
        let report = sandbox.run(&["--json", "doctor"]).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let mut checks = checks.into_iter();
        checks.find(|check| check["name"] == "git-lfs-filters")
    };
    assert_eq!(filters(&sandbox).unwrap()["fix"], "git colony init");
    sandbox.colony(&["init"]);
    assert_eq!(filters(&sandbox), None);
    let health = sandbox.json(&["status"])["health"].clone();
    assert_eq!(health, serde_json::Value::Array(Vec::new()));
}
