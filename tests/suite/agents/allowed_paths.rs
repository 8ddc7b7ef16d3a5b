//! Which paths an agent may change: the rule is read where the agent cannot loosen it, whatever is
//! doubtful is refused, and a refusal changes nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Sandbox, View};

/// Commits a rule for 'ada' beside files that it is about.
fn ruled(front: &str) -> Sandbox {
    let desk = Sandbox::new();
    for path in ["src/a.rs", "src/deep/b.rs", "lib/x.rs", "docs/a.md"] {
        desk.write(path, "first\n");
    }
    desk.write(".colony/agents/ada.md", format!("---\n{front}\n---\n# Ada\n"));
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "rules"]);
    desk
}

fn scoped(scope: &str) -> Sandbox {
    ruled(&format!("scope: {scope}"))
}

fn list(answer: &Value) -> Vec<String> {
    let found = answer["violations"].as_array();
    let found = found.unwrap_or_else(|| panic!("{answer:#}")).iter();
    found
        .map(|one| {
            let path = one["path"].as_str();
            let path = path.map_or_else(|| one["path"]["path"].to_string(), str::to_owned);
            format!("{path}: {}", one["reason"].as_str().unwrap())
        })
        .collect()
}

/// Checks one path, typed as it is given; `None` where it is allowed.
fn reason(desk: &Sandbox, path: &str) -> Option<String> {
    let answer = desk.json(&["agents", "check", "ada", "--", path]);
    let allowed = answer["allowed"].as_bool().unwrap_or_else(|| panic!("{answer:#}"));
    assert_eq!(answer["ok"], allowed);
    let reason = answer["violations"][0]["reason"].as_str().map(str::to_owned);
    assert_eq!(reason.is_none(), allowed, "{answer:#}");
    reason
}

/// The code of a refusal and the violations it names.
fn refused(answer: &Value) -> Vec<String> {
    assert_eq!(answer["ok"], false, "{answer:#}");
    assert_eq!(answer["code"], "scope-violation", "{answer:#}");
    list(&answer["detail"])
}

fn agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    assert_eq!(made["ok"], true, "{made:#}");
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

#[test]
fn typed_paths_are_checked_at_the_place_where_they_really_are() {
    let desk = scoped("[src/**, '*.md', '!src/secret/']");
    let root = desk.root.display();
    for inside in [
        "src/a.rs",
        "./src/new",
        "src/./a",
        "src//a",
        "lib/../src/a",
        "docs/a.md",
        "src/not there/yet",
        "src/with\\back",
        &format!("{root}/src/a"),
        &format!("{root}/../repo/src/a"),
    ] {
        assert_eq!(reason(&desk, inside), None, "{inside}");
    }
    for (outside, why) in [
        ("lib/x.rs", "outside-scope"),
        ("srcfoo/x", "outside-scope"),
        ("src", "outside-scope"),
        (".", "outside-repository"),
        ("Src/a", "outside-scope"),
        ("src/secret/x", "outside-scope"),
        ("src/SECRET/x", "outside-scope"),
        ("src/../lib/x", "outside-scope"),
        ("src/../../etc/passwd", "outside-repository"),
        ("../repofoo/src/a", "outside-repository"),
        ("/etc/passwd.md", "outside-repository"),
        ("src/.git/config", "outside-repository"),
        ("src/.GIT/config", "outside-repository"),
        (".git/x.md", "outside-repository"),
        (".colony/agents/ada.md", "agent-rule"),
        (".Colony/agents/new.md", "agent-rule"),
        (".vox/agents/ada.md", "agent-rule"),
    ] {
        assert_eq!(reason(&desk, outside).as_deref(), Some(why), "{outside}");
    }
    let below = desk.at(desk.path("src"));
    assert_eq!(below.json(&["agents", "check", "ada", "a.rs"])["allowed"], true);
    let lib = below.json(&["agents", "check", "ada", "../lib/x.rs"]);
    assert_eq!(list(&lib), ["lib/x.rs: outside-scope"]);
}

#[test]
fn a_path_through_a_link_or_a_submodule_is_outside() {
    let desk = scoped("['src/**']");
    symlink("../lib", desk.path("src/tracked")).unwrap();
    symlink("deep", desk.path("src/inner")).unwrap();
    desk.git(&["add", "src/tracked", "src/inner"]);
    let head = desk.git(&["rev-parse", "HEAD"]);
    let gitlink = format!("160000,{head},src/sub");
    desk.git(&["update-index", "--add", "--cacheinfo", &gitlink]);
    desk.git(&["commit", "-qm", "links"]);
    symlink("/etc", desk.path("src/untracked")).unwrap();
    for (path, why) in [
        ("src/tracked/x.rs", "through-link"),
        ("src/inner/x.rs", "through-link"),
        ("src/untracked/passwd", "through-link"),
        ("src/untracked", "through-link"),
        ("src/sub/file", "through-link"),
        ("src/untracked/../a.rs", "through-link"),
        ("src/tracked", "link-leads-out"),
    ] {
        assert_eq!(reason(&desk, path).as_deref(), Some(why), "{path}");
    }
    assert_eq!(reason(&desk, "src/inner"), None);
    assert_eq!(reason(&desk, "src/sub"), None);
    // The tracked link counts as well where it is not checked out.
    desk.remove("src/tracked");
    assert_eq!(reason(&desk, "src/tracked/x.rs").as_deref(), Some("through-link"));
    // The worktree itself may be reached through one.
    let beside = desk.outside().join("beside");
    symlink(&desk.root, &beside).unwrap();
    assert_eq!(reason(&desk, beside.join("src/a.rs").to_str().unwrap()), None);
}

#[test]
fn an_agent_without_a_rule_is_an_error_unless_that_is_meant() {
    let desk = scoped("[]");
    assert_eq!(reason(&desk, "src/a.rs").as_deref(), Some("outside-scope"));
    assert_eq!(desk.error(&["agents", "check", "bob", "x"]), "scope-missing");
    let open = desk.json(&["agents", "check", "bob", "x", "--allow-unscoped"]);
    assert_eq!((&open["allowed"], &open["rule"]), (&true.into(), &Value::Null));
    for name in ["../ada", "agents/ada", "..", "", "a b", "ada.md/../ada"] {
        assert_eq!(desk.error(&["agents", "check", name, "x"]), "invalid-value", "{name}");
    }
    // A name that differs in case is no way around a rule.
    assert_eq!(desk.error(&["agents", "check", "ADA", "x"]), "scope-invalid");
    assert_eq!(desk.run(&["agents", "check", "ada"]).code, 129);
    assert_eq!(desk.run(&["agents", "check", "ada", "x", "--staged"]).code, 129);
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error_with_its_place() {
    for (front, line, column) in [
        ("name: ada", 2, 1),
        ("scope:", 2, 1),
        ("scope: **", 2, 8),
        ("scope:\n  - src/**\n  - ../lib", 4, 5),
    ] {
        let desk = ruled(front);
        let answer = desk.json(&["agents", "check", "ada", "src/a.rs"]);
        assert_eq!(answer["code"], "scope-invalid", "{answer:#}");
        assert_eq!(answer["detail"]["line"], line, "{answer:#}");
        assert_eq!(answer["detail"]["column"], column, "{answer:#}");
        let place = format!("'.colony/agents/ada.md:{line}:{column}'");
        assert!(answer["message"].as_str().unwrap().contains(&place), "{answer:#}");
    }
}

#[test]
fn a_rule_that_is_no_plain_file_is_an_error() {
    for (make, at) in [
        ("link", ".colony/agents/ada.md"),
        ("link", ".colony/agents"),
        ("link", ".colony"),
        ("file", ".colony/agents"),
        ("directory", ".colony/agents/ada.md"),
        ("large", ".colony/agents/ada.md"),
        ("bytes", ".colony/agents/ada.md"),
    ] {
        let desk = scoped("['**']");
        desk.remove(at);
        match make {
            "link" => symlink("elsewhere", desk.path(at)).unwrap(),
            "directory" => desk.write(".colony/agents/ada.md/x", "x"),
            "large" => desk.write(at, format!("---\nscope: ['**']\n---\n{}", "x".repeat(70_000))),
            "bytes" => desk.write(at, b"---\nscope: ['**', \xff]\n---\n"),
            _ => desk.write(at, "x"),
        }
        desk.git(&["add", "-A"]);
        desk.git(&["commit", "-qm", "no rule"]);
        assert_eq!(desk.error(&["agents", "check", "ada", "x"]), "scope-invalid", "{make} {at}");
    }
}

#[test]
fn the_folder_of_another_tool_counts_where_ours_has_no_file() {
    let desk = Sandbox::new();
    desk.write(".vox/agents/ada.md", "---\nscope: [src/**]\n---\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "theirs"]);
    assert_eq!(reason(&desk, "lib/x").as_deref(), Some("outside-scope"));
    desk.write(".colony/agents/ada.md", "---\nscope: [lib/**]\n---\n");
    desk.git(&["add", "-A"]);
    assert_eq!(reason(&desk, "lib/x").as_deref(), Some("outside-scope"), "not yet");
    desk.git(&["commit", "-qm", "ours"]);
    assert_eq!(reason(&desk, "lib/x"), None);
    let answer = desk.json(&["agents", "check", "ada", "lib/x"]);
    assert_eq!(answer["rule"], ".colony/agents/ada.md");
    assert_eq!(answer["scope"][0], "lib/**");
}

/// Makes one change of every sort, in the index.
fn change_everything(desk: &Sandbox) {
    desk.git(&["mv", "lib/x.rs", "src/moved.rs"]);
    desk.git(&["mv", "src/a.rs", "docs/out.rs"]);
    desk.git(&["rm", "-q", "docs/a.md"]);
    desk.write("src/new.rs", "new\n");
    desk.write("srcfoo/x", "new\n");
    desk.write("SRC/x", "new\n");
    desk.write(".colony/agents/ada.md", "---\nscope: ['**']\n---\n");
    fs::write(desk.root.join(std::ffi::OsStr::from_bytes(b"src/\xff")), "x").unwrap();
    fs::write(desk.root.join(std::ffi::OsStr::from_bytes(b"lib\xff")), "x").unwrap();
    for (link, target) in [
        ("src/l1", "deep/b.rs"),
        ("src/l2", "../lib"),
        ("src/l3", "/etc/passwd"),
        ("src/l4", "l2/x"),
        ("src/l5", "deep/../../src/deep"),
        ("src/l6", "../../src/deep"),
        ("src/l7", "l7"),
        ("src/l8", "deep/../l2"),
    ] {
        symlink(target, desk.path(link)).unwrap();
    }
    desk.git(&["add", "-A"]);
    let head = desk.git(&["rev-parse", "HEAD"]);
    for path in ["src/sub", "other"] {
        let gitlink = format!("160000,{head},{path}");
        desk.git(&["update-index", "--add", "--cacheinfo", &gitlink]);
    }
}

const FOUND: [&str; 15] = [
    ".colony/agents/ada.md: agent-rule",
    "SRC/x: outside-scope",
    "docs/a.md: outside-scope",
    "docs/out.rs: outside-scope",
    "lib/x.rs: outside-scope",
    "\"lib\\\\xff\": outside-scope",
    "other: outside-scope",
    "src/l2: link-leads-out",
    "src/l3: link-leads-out",
    "src/l4: link-leads-out",
    "src/l6: link-leads-out",
    "src/l7: link-leads-out",
    "src/l8: link-leads-out",
    "srcfoo/x: outside-scope",
    "",
];

fn sorted(mut found: Vec<String>) -> Vec<String> {
    found.sort();
    found
}

fn expected() -> Vec<String> {
    let found = FOUND.iter().filter(|one| !one.is_empty());
    sorted(found.map(|one| (*one).to_owned()).collect())
}

#[test]
fn every_sort_of_staged_change_counts_on_both_sides() {
    let desk = scoped("['src/**']");
    assert_eq!(desk.json(&["agents", "check", "ada", "--staged"])["checked"], 0);
    change_everything(&desk);
    let answer = desk.json(&["agents", "check", "ada", "--staged"]);
    assert_eq!(sorted(list(&answer)), expected());
    assert_eq!(desk.run(&["agents", "check", "ada", "--staged"]).code, 1);
}

#[test]
fn a_range_is_held_against_the_rule_of_its_beginning() {
    let desk = scoped("['src/**']");
    desk.git(&["switch", "-q", "-c", "work"]);
    change_everything(&desk);
    desk.git(&["commit", "-qm", "all"]);
    // Main goes on: what it changes is no change of the range.
    desk.git(&["stash", "-qu"]);
    desk.git(&["switch", "-q", "-f", "main"]);
    desk.write("main.txt", "main\n");
    desk.git(&["add", "main.txt"]);
    desk.git(&["commit", "-qm", "main"]);
    for range in ["main..work", "main...work", "..work"] {
        let answer = desk.json(&["agents", "check", "ada", "--range", range]);
        assert_eq!(sorted(list(&answer)), expected(), "{range}");
        assert_eq!(answer["rule_from"].as_str().unwrap(), desk.git(&["rev-parse", "main"]));
    }
    // Seen from a commit that has the wide rule, nothing is left to change.
    let empty = desk.json(&["agents", "check", "ada", "--range", "work..work"]);
    assert_eq!(empty["checked"], 0);
    assert_eq!(desk.error(&["agents", "check", "ada", "--range", "main"]), "invalid-value");
    let missing = ["agents", "check", "ada", "--range", "main..nowhere"];
    assert_eq!(desk.error(&missing), "revision-not-found");
}

#[test]
fn a_range_without_a_base_counts_whole_and_shallow_is_refused() {
    let desk = scoped("['src/**']");
    desk.git(&["switch", "-q", "--orphan", "other"]);
    desk.write("lib/y", "y\n");
    desk.git(&["add", "lib/y"]);
    desk.git(&["commit", "-qm", "other"]);
    let answer = desk.json(&["agents", "check", "ada", "--range", "main..other"]);
    assert_eq!(list(&answer), ["lib/y: outside-scope"]);
    desk.git(&["switch", "-q", "main"]);
    for name in ["one", "two"] {
        desk.git(&["switch", "-q", "-c", name, "main"]);
        desk.write(name, "x\n");
        desk.git(&["add", name]);
        desk.git(&["commit", "-qm", name]);
    }
    desk.git(&["switch", "-q", "main"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "main goes on"]);
    let shallow = desk.outside().join("shallow");
    let url = format!("file://{}", desk.root.display());
    let to = shallow.to_str().unwrap();
    desk.git(&["clone", "-q", "--depth", "1", "--no-single-branch", &url, to]);
    let shallow = desk.at(shallow);
    let range = ["agents", "check", "ada", "--range", "origin/one..origin/two"];
    assert_eq!(shallow.error(&range), "shallow-no-base");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is allowed stands in the scope by a second reading of the path, part by part.
    #[test]
    fn nothing_is_allowed_that_stands_outside(paths in prop::collection::vec(typed_path(), 1..24)) {
        let desk = scoped("['src/**']");
        symlink("../lib", desk.path("src/link")).unwrap();
        symlink("src", desk.path("look")).unwrap();
        let typed = paths.iter().map(|path| OsString::from_vec(path.clone()));
        let args = ["--json", "agents", "check", "ada", "--"].map(OsString::from);
        let run = desk.run_os(desk.world(), args.into_iter().chain(typed).collect());
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        let refused = answer["violations"].as_array().unwrap().len();
        let outside = paths.iter().filter(|path| !stands_inside(path)).count();
        prop_assert!(refused >= outside, "{:?} {}", paths, run.stdout);
        // One by one as well, for those that are outside.
        for path in paths.iter().filter(|path| !stands_inside(path)).take(4) {
            let args = ["agents", "check", "ada", "--"].map(OsString::from);
            let typed = OsString::from_vec(path.clone());
            let run = desk.run_os(desk.world(), args.into_iter().chain([typed]).collect());
            prop_assert_eq!(run.code, 1, "{:?} {}", path.escape_ascii().to_string(), run.stdout);
        }
    }
}

fn typed_path() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        &b"src"[..],
        b"src",
        b"..",
        b".",
        b"",
        b"lib",
        b"link",
        b"look",
        b"srcfoo",
        b"Src",
        b"a.rs",
        b"\xff",
        b".git",
        b"repo",
        b"deep",
        b"src\\..",
        b"*",
        b"src ",
        b"..src",
        b"...",
    ]);
    prop::collection::vec(part, 1..7)
        .prop_map(|parts| parts.join(&b'/'))
        .prop_filter("an option or nothing", |path| !path.is_empty())
}

/// Reads a path part by part from the top of the worktree, which is named 'repo'.
fn stands_inside(path: &[u8]) -> bool {
    if path.first() == Some(&b'/') {
        return false;
    }
    let mut stack: Vec<&[u8]> = Vec::new();
    let mut above = 0;
    for part in path.split(|&byte| byte == b'/') {
        let is_link = matches!(stack.as_slice(), [b"src", b"link"] | [b"look"]) && above == 0;
        match part {
            b"" | b"." => {}
            _ if is_link => return false,
            b".." if stack.pop().is_none() => above += 1,
            b".." => {}
            b"repo" if above == 1 && stack.is_empty() => above = 0,
            name => stack.push(name),
        }
    }
    let safe = stack.iter().all(|part| !part.eq_ignore_ascii_case(b".git"));
    above == 0
        && safe
        && stack.len() > 1
        && stack[0] == b"src"
        && stack.as_slice() != [&b"src"[..], b"link"]
}

#[test]
fn a_commit_outside_the_scope_is_refused_and_changes_nothing() {
    let desk = scoped("['src/**']");
    desk.write("src/a.rs", "more\n");
    desk.write("lib/x.rs", "more\n");
    desk.write(".colony/agents/ada.md", "---\nscope: ['**']\n---\n");
    let before = desk.visible_state();
    let commit = ["--agent", "ada", "commit", "-m", "m"];
    let all = desk.json(&[&commit[..], &["--all"]].concat());
    let both = [".colony/agents/ada.md: agent-rule", "lib/x.rs: outside-scope"];
    assert_eq!(refused(&all), both);
    let dry = desk.json(&[&commit[..], &["--all", "-n"]].concat());
    assert_eq!(refused(&dry), both);
    let decide = desk.json(&["--agent", "ada", "decide", "-m", "t", "src/a.rs"]);
    assert_eq!(refused(&decide), ["design/decisions/t.json: outside-scope"]);
    assert_eq!(desk.visible_state(), before);
    let inside = desk.json(&[&commit[..], &["src"]].concat());
    assert_eq!(inside["changed"], true, "{inside:#}");
    // Nobody else is bound, and what keeps work is never refused.
    let kept = desk.json(&["--agent", "ada", "checkpoint", "-m", "kept", "--off-branch"]);
    assert_eq!(kept["ok"], true, "{kept:#}");
    let person = desk.json(&["commit", "-m", "m", "--all"]);
    assert_eq!(person["changed"], true, "{person:#}");
}

#[test]
fn what_a_hook_adds_to_a_commit_counts() {
    let desk = scoped("['src/**']");
    let hook = "#!/bin/sh\necho hooked > lib/x.rs\ngit add lib/x.rs\n";
    desk.write_program(".git/hooks/pre-commit", hook);
    desk.write("src/a.rs", "more\n");
    let head = desk.git(&["rev-parse", "HEAD"]);
    let answer = desk.json(&["--agent", "ada", "commit", "-m", "m", "src"]);
    assert_eq!(refused(&answer), ["lib/x.rs: outside-scope"]);
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn another_name_is_no_way_out_of_an_agents_clone() {
    let desk = scoped("['src/**']");
    let ada = agent(&desk, "ada");
    ada.write("lib/x.rs", "more\n");
    for name in [&[][..], &["--agent", "bob"]] {
        let answer = ada.json(&[name, &["commit", "-m", "m", "--all"]].concat());
        assert_eq!(refused(&answer), ["lib/x.rs: outside-scope"]);
    }
    assert_eq!(ada.error(&["--agent", "ADA", "commit", "-m", "m", "--all"]), "scope-invalid");
}

#[test]
fn an_unreadable_rule_stops_the_commits_of_its_agent_only() {
    let desk = ruled("scope: src/** # fine\nname: [");
    desk.write("src/a.rs", "more\n");
    let commit = ["commit", "-m", "m", "--all"];
    assert_eq!(desk.error(&[&["--agent", "ada"], &commit[..]].concat()), "scope-invalid");
    let bob = desk.json(&[&["--agent", "bob"], &commit[..]].concat());
    assert_eq!(bob["changed"], true, "{bob:#}");
}

/// A clone of ada's whose fork has a commit outside the allowed paths.
fn with_work_outside(desk: &Sandbox) -> View {
    let ada = agent(desk, "ada");
    ada.write("src/a.rs", "of ada\n");
    ada.write("lib/x.rs", "of ada\n");
    // A checkpoint keeps everything; the merge is where it is refused.
    ada.colony(&["checkpoint", "-m", "all of it"]);
    ada
}

#[test]
fn merging_an_agent_refuses_what_was_not_for_it_to_change() {
    let desk = scoped("['src/**']");
    let ada = with_work_outside(&desk);
    let before = desk.visible_state();
    for merge in [&["merge", "ada"][..], &["merge", "ada", "-n"], &["merge", "ada", "--squash"]] {
        assert_eq!(refused(&desk.json(merge)), ["lib/x.rs: outside-scope"]);
    }
    assert_eq!(desk.visible_state(), before);
    // Its own name, or an agent's force, is no way around.
    let own = ada.json(&["merge", "fork/ada", "--into", "main"]);
    assert_eq!(refused(&own), ["lib/x.rs: outside-scope"]);
    let forced = desk.json(&["--agent", "bob", "merge", "ada", "--force"]);
    assert_eq!(refused(&forced), ["lib/x.rs: outside-scope"]);
    // Taken back, nothing is left of it.
    ada.git(&["checkout", "-q", "main", "--", "lib/x.rs"]);
    ada.colony(&["commit", "-m", "back", "--all", "--agent", "ada"]);
    assert_eq!(desk.json(&["merge", "ada"])["ok"], true);
    assert_eq!(desk.read("src/a.rs"), "of ada\n");
}

#[test]
fn a_person_may_let_in_what_the_rule_does_not_allow() {
    let desk = scoped("['src/**']");
    with_work_outside(&desk);
    let merged = desk.json(&["merge", "ada", "--force"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    assert_eq!(desk.read("lib/x.rs"), "of ada\n");
}

#[test]
fn the_branch_that_is_merged_into_has_the_rule() {
    let desk = scoped("['src/**']");
    with_work_outside(&desk);
    desk.write(".colony/agents/ada.md", "---\nscope: [src/**, lib/**]\n---\n");
    desk.git(&["commit", "-qam", "wider"]);
    assert_eq!(desk.json(&["merge", "ada"])["ok"], true);
}

#[test]
fn a_pick_of_an_agents_commit_is_refused_outside_its_scope() {
    let desk = scoped("['src/**']");
    with_work_outside(&desk);
    let before = desk.visible_state();
    for pick in [&["cherry-pick", "ada"][..], &["cherry-pick", "main..ada", "-n"]] {
        assert_eq!(refused(&desk.json(pick)), ["lib/x.rs: outside-scope"]);
    }
    assert_eq!(desk.visible_state(), before);
    assert_eq!(desk.json(&["cherry-pick", "ada", "--force"])["ok"], true);
    // Who picks answers for it as well.
    desk.git(&["switch", "-q", "-c", "side", "HEAD~"]);
    let own = desk.json(&["--agent", "ada", "cherry-pick", "main", "--force"]);
    assert_eq!(refused(&own), ["lib/x.rs: outside-scope"]);
}

#[test]
fn an_agent_keeps_up_with_the_branch_it_began_on() {
    let desk = scoped("['src/**']");
    let ada = agent(&desk, "ada");
    ada.write("src/a.rs", "of ada\n");
    ada.colony(&["commit", "-m", "m", "--all"]);
    ada.git(&["switch", "-q", "main"]);
    ada.write("lib/x.rs", "of somebody\n");
    ada.git(&["commit", "-qam", "main goes on", "--no-verify"]);
    ada.git(&["switch", "-q", "fork/ada"]);
    let merged = ada.json(&["merge", "refs/heads/main", "--into", "fork/ada"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
}

#[test]
fn ending_a_merge_takes_over_what_a_side_has_and_nothing_else() {
    let desk = scoped("['src/**']");
    let ada = agent(&desk, "ada");
    ada.write("src/a.rs", "of ada\n");
    ada.colony(&["commit", "-m", "m", "--all"]);
    ada.git(&["switch", "-q", "main"]);
    ada.write("src/a.rs", "of main\n");
    ada.write("lib/x.rs", "of main\n");
    ada.git(&["commit", "-qam", "main goes on", "--no-verify"]);
    ada.git(&["switch", "-q", "fork/ada"]);
    let own = "refs/heads/main";
    ada.json(&["merge", own, "--into", "fork/ada", "--resolve"]);
    ada.write("src/a.rs", "of both\n");
    ada.write("lib/x.rs", "of ada\n");
    ada.git(&["add", "-A"]);
    let staged = ["agents", "check", "ada", "--staged"];
    assert_eq!(list(&ada.json(&staged)), ["lib/x.rs: outside-scope"]);
    assert_eq!(refused(&ada.json(&["merge", "--continue"])), ["lib/x.rs: outside-scope"]);
    ada.git(&["checkout", "-q", "main", "--", "lib/x.rs"]);
    assert_eq!(ada.json(&staged)["allowed"], true);
    assert_eq!(ada.json(&["merge", "--continue"])["ok"], true);
}

/// Runs git where its hooks find the program.
fn git_with_hooks(
    desk: &Sandbox,
    directory: &Path,
    args: &[&str],
    more: &[(&str, &str)],
) -> Output {
    let mut git = desk.with_program().at(directory.to_owned()).process("git");
    git.envs(more.iter().copied()).args(args).output().unwrap()
}

#[test]
fn a_commit_of_plain_git_is_stopped_by_the_hook() {
    let desk = scoped("['src/**']");
    let ada = agent(&desk, "ada");
    let git = |args: &[&str]| git_with_hooks(&desk, &ada.path(""), args, &[]);
    let head = ada.git(&["rev-parse", "HEAD"]);
    ada.write("lib/x.rs", "more\n");
    ada.write("src/a.rs", "more\n");
    for commit in [
        &["commit", "-qam", "m"][..],
        &["commit", "-qm", "m", "lib/x.rs"],
        &["commit", "-qm", "m", "--include", "lib"],
    ] {
        let stopped = git(commit);
        let said = String::from_utf8_lossy(&stopped.stderr).into_owned();
        assert!(!stopped.status.success(), "{commit:?}");
        assert!(said.contains("may change src/**, not 'lib/x.rs'"), "{said}");
        assert!(said.contains("hint: "), "{said}");
        assert_eq!(ada.git(&["rev-parse", "HEAD"]), head);
    }
    // Only what is in the commit counts.
    let inside = git(&["commit", "-qm", "m", "src/a.rs"]);
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));
    // Git's own way around stays; the merge refuses what came that way.
    assert!(git(&["commit", "-qam", "m", "--no-verify"]).status.success());
    ada.colony(&["checkpoint", "-m", "published"]);
    assert_eq!(refused(&desk.json(&["merge", "ada"])), ["lib/x.rs: outside-scope"]);
}

#[test]
fn the_hook_stops_nobody_else_and_not_for_a_failure_of_ours() {
    let desk = scoped("['src/**']");
    desk.colony(&["hooks", "install"]);
    let git = |more: &[(&str, &str)]| {
        desk.write("lib/x.rs", desk.git(&["rev-parse", "HEAD"]));
        git_with_hooks(&desk, &desk.root, &["commit", "-qam", "m"], more).status.success()
    };
    assert!(git(&[]), "a person");
    assert!(git(&[("COLONY_AGENT", "bob")]), "an agent without a rule");
    assert!(git(&[("COLONY_AGENT", "../ada")]), "no name");
    assert!(!git(&[("COLONY_AGENT", "ada")]), "its rule");
    assert!(!git(&[("COLONY_AGENT", "ADA")]), "its rule under another name");
    assert!(git(&[("COLONY_AGENT", "ada"), ("COLONY_TIMEOUT", "soon")]), "our own failure");
    desk.write(".colony/agents/ada.md", "---\nname: ada\n---\n");
    assert!(git(&[]));
    assert!(!git(&[("COLONY_AGENT", "ada")]), "a rule that does not read");
}

#[test]
fn a_former_pre_commit_hook_runs_first_and_keeps_its_say() {
    let desk = scoped("['src/**']");
    let log = desk.outside().join("log");
    let hook = format!("#!/bin/sh\necho former >> {}\n[ ! -e refuse ]\n", log.display());
    desk.write_program(".git/hooks/pre-commit", &hook);
    desk.colony(&["hooks", "install"]);
    let commit =
        || git_with_hooks(&desk, &desk.root, &["commit", "-qam", "m"], &[("COLONY_AGENT", "ada")]);
    desk.write("lib/x.rs", "more\n");
    let stopped = commit();
    assert!(!stopped.status.success());
    assert_eq!(fs::read_to_string(&log).unwrap(), "former\n");
    desk.git(&["checkout", "-q", "HEAD", "lib/x.rs"]);
    desk.write("src/a.rs", "more\n");
    desk.write("refuse", "");
    let refused = commit();
    assert!(!refused.status.success());
    assert!(refused.stderr.is_empty(), "ours has nothing to say");
    desk.remove("refuse");
    assert!(commit().status.success());
    desk.colony(&["hooks", "uninstall"]);
    assert_eq!(desk.read(".git/hooks/pre-commit"), hook);
}

#[test]
fn the_fleet_says_what_a_merge_would_be_refused_for() {
    let desk = scoped("[src/**]");
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    // Plain git and checkpoints are held against no rule where nobody looks.
    ada.write("src/a.rs", "of ada\n");
    ada.write("lib/x.rs", "of ada\n");
    ada.write("docs/a.md", "of ada\n");
    ada.colony(&["checkpoint", "-m", "all of it"]);
    bob.write("lib/y.rs", "of bob\n");
    bob.colony(&["checkpoint", "-m", "free"]);
    let fleet = desk.json(&["fleet"]);
    let paths = |fleet: &Value, at: usize| fleet["agents"][at]["outside_scope"].clone();
    assert_eq!(paths(&fleet, 0), serde_json::json!(["docs/a.md", "lib/x.rs"]));
    assert_eq!(paths(&fleet, 1), serde_json::json!([]));
    assert_eq!(fleet["hint"], "git colony merge bob");
    let shown = desk.colony(&["fleet"]);
    let line = "outside the allowed paths of ada, not to be merged: docs/a.md and 1 more";
    assert!(shown.lines().any(|one| one == line), "{shown}");
    assert_eq!(
        refused(&desk.json(&["merge", "ada"])),
        ["docs/a.md: outside-scope", "lib/x.rs: outside-scope"]
    );
    // What the branch has just so by now does not come in any more.
    desk.write("docs/a.md", "of ada\n");
    desk.colony(&["commit", "-m", "the same", "--all"]);
    assert_eq!(paths(&desk.json(&["fleet"]), 0), serde_json::json!(["lib/x.rs"]));
    // A rule that cannot be read allows nothing, and what is allowed is merged.
    desk.write(".colony/agents/ada.md", "no rule\n");
    desk.colony(&["commit", "-m", "broken", "--all"]);
    assert_eq!(paths(&desk.json(&["fleet"]), 0), serde_json::json!(["lib/x.rs", "src/a.rs"]));
    assert_eq!(desk.error(&["merge", "ada"]), "scope-invalid");
    desk.write(".colony/agents/ada.md", "---\nscope: ['*']\n---\n");
    desk.colony(&["commit", "-m", "mended", "--all"]);
    assert_eq!(paths(&desk.json(&["fleet"]), 0), serde_json::json!([]));
    assert_eq!(desk.json(&["merge", "ada"])["ok"], true);
}
