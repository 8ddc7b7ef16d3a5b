//! Who commits: the manifest of the default branch names the colony, the file of an agent its role, and the user a
//! co-author.

use std::path::PathBuf;

use crate::support::{Sandbox, View};

const PERSON: &str = "Ada Lovelace <lovelace@example.com>";

fn committed(files: &[(&str, &str)]) -> Sandbox {
    let desk = Sandbox::new();
    for (path, text) in files {
        desk.write(path, text);
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "set up"]);
    desk
}

fn manifest(colony: &str, domain: &str) -> String {
    serde_json::json!({
        "agent_email_domain": domain, "colony": colony, "design_repo_url": "", "program": "p",
        "target_system": "t", "tenant": "t",
    })
    .to_string()
}

fn author(view: &View) -> String {
    view.git(&["log", "-1", "--format=%an <%ae>"])
}

fn commit_as_ada(view: &View) -> String {
    view.write("new.txt", "new\n");
    view.colony(&["--agent", "ada", "commit", "-m", "one", "--all"]);
    author(view)
}

#[test]
fn the_manifest_names_the_colony_and_the_file_the_role() {
    let role = "---\nscope: ['**']\nrole: reviewer\n---\n";
    let desk = committed(&[
        (".colony/manifest.json", &manifest("acme", "agents.example.com")),
        (".colony/agents/ada.md", role),
    ]);
    let wanted = "agent:ada:reviewer <ada@acme.agents.example.com>";
    assert_eq!(commit_as_ada(&desk), wanted);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    // Plain git commits in the same name.
    clone.write("more.txt", "more\n");
    clone.git(&["add", "-A"]);
    let env = ["-u", "GIT_AUTHOR_NAME", "-u", "GIT_AUTHOR_EMAIL", "-u", "GIT_COMMITTER_NAME"];
    let status = clone
        .process("env")
        .args(env)
        .args(["-u", "GIT_COMMITTER_EMAIL", "git", "commit", "-qm", "plain"])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(author(&clone), wanted);
    clone.colony(&["checkpoint", "-m", "kept"]);
    let shown = clone.json(&["checkpoints"])["checkpoints"][0].clone();
    assert_eq!(shown["author"], wanted);
    // Its work is still recognized as the agent's.
    let forks = desk.json(&["forks"])["forks"].clone();
    assert_eq!(forks[0]["owner"], wanted, "{forks:#}");
}

#[test]
fn an_agent_does_not_choose_its_name() {
    let desk = committed(&[(".colony/manifest.json", &manifest("acme", "x.org"))]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    clone.write(".colony/manifest.json", manifest("boss", "corp.example"));
    clone.colony(&["commit", "-m", "one", "--all"]);
    clone.write("new.txt", "new\n");
    clone.colony(&["commit", "-m", "two", "--all"]);
    assert_eq!(author(&clone), "agent:ada:agent <ada@acme.x.org>");
}

#[test]
fn hostile_manifests_and_roles_stay_within_the_name() {
    let cases = [
        ("acme", "a>\n<b", "x y", "ada@acme.agent.colony.local"),
        ("my <colony>\n", "ok.org", "'a:b'", "ada@my--colony.ok.org"),
        ("\u{202e}", "ok.org", "'../x'", "ada@external.agent.colony.local"),
        ("", "", "7", "ada@external.agent.colony.local"),
        ("acme", "..", "[a]", "ada@acme.agent.colony.local"),
    ];
    for (colony, domain, role, email) in cases {
        let file = format!("---\nscope: ['**']\nrole: {role}\n---\n");
        let desk = committed(&[
            (".colony/manifest.json", &manifest(colony, domain)),
            (".colony/agents/ada.md", &file),
        ]);
        assert_eq!(commit_as_ada(&desk), format!("agent:ada:agent <{email}>"));
        desk.git(&["fsck", "--strict"]);
    }
    let desk = committed(&[(".colony/manifest.json", "{")]);
    let plain = "agent:ada:agent <ada@external.agent.colony.local>";
    assert_eq!(commit_as_ada(&desk), plain);
}

#[test]
fn a_co_author_is_named_once_in_commits_of_agents() {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.commit.coAuthor", PERSON]);
    let trailers = |view: &View| view.git(&["log", "-1", "--format=%(trailers)"]);
    let person = format!("Co-authored-by: {PERSON}");
    desk.write("a.txt", "a\n");
    desk.colony(&["commit", "-m", "of a person", "--all"]);
    assert_eq!(trailers(&desk), "");
    let message = format!("one\n\nwhy\n\nReviewed-by: B <b@example.com>\n{person}");
    desk.write("a.txt", "b\n");
    desk.colony(&["--agent", "ada", "commit", "-m", &message, "--all"]);
    assert_eq!(trailers(&desk), format!("Reviewed-by: B <b@example.com>\n{person}"));
    desk.write("a.txt", "c\n");
    desk.colony(&["--agent", "ada", "checkpoint", "-m", "kept"]);
    assert_eq!(trailers(&desk), person);
    desk.colony(&["--agent", "ada", "decide", "-m", "title", "--id", "d1"]);
    assert_eq!(trailers(&desk), format!("Colony-Decision: d1\n{person}"));
    desk.git(&["config", "colony.commit.coAuthor", "nobody"]);
    let error = desk.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
    assert_eq!(error["code"], "invalid-value", "{error:#}");
}
