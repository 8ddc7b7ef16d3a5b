//! The merge drivers as git runs them: `git merge` and `git merge-tree` in real repositories, with
//! the real program, and without it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

use git_colony::testing::{Driver, attributes, merge_drivers};

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, View};

/// A repository that was set up, whose git finds the program.
struct Driven {
    sandbox: Sandbox,
    view: View,
}

static SET_UP: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    sandbox
});

impl Driven {
    fn new() -> Driven {
        let sandbox = SET_UP.copy();
        let view = sandbox.with_program();
        Driven { sandbox, view }
    }

    /// Where git finds itself and a shell, but not the program.
    fn without_program(mut self) -> Driven {
        let bin = self.sandbox.outside().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        for name in ["git", "sh"] {
            let mut folders = std::env::split_paths(&path).map(|folder| folder.join(name));
            symlink(folders.find(|file| file.exists()).unwrap(), bin.join(name)).unwrap();
        }
        self.view = self.sandbox.with("PATH", bin);
        self
    }

    fn output(&self, args: &[&str]) -> Output {
        self.view.git_output(args)
    }

    /// Commits three versions of a file: the base, ours on `main`, theirs on `theirs`.
    fn commit(&self, path: &str, [base, ours, theirs]: [&[u8]; 3]) {
        let sandbox = &self.sandbox;
        let put = |content: &[u8], message: &str| {
            sandbox.write(path, content);
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
        };
        if base.is_empty() {
            sandbox.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
        } else {
            put(base, "base");
        }
        sandbox.git(&["checkout", "-qb", "theirs"]);
        put(theirs, "theirs");
        sandbox.git(&["checkout", "-q", "main"]);
        put(ours, "ours");
    }

    /// Merges `theirs`; returns whether that was clean, and what git said.
    fn merge(&self) -> (bool, String) {
        let output = self.output(&["merge", "-q", "--no-edit", "theirs"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    /// Commits three versions, merges them and returns whether that was clean, and the file.
    fn merged(&self, path: &str, texts: [&str; 3]) -> (bool, String) {
        self.commit(path, texts.map(str::as_bytes));
        let (is_clean, said) = self.merge();
        let status = self.sandbox.git(&["status", "--porcelain"]);
        assert_eq!(status.is_empty(), is_clean, "{status} {said}");
        (is_clean, self.sandbox.read(path))
    }

    /// Runs the driver as git does, in the directory of the files.
    fn driver(&self, args: &[&str]) -> Output {
        self.view.program().arg("merge-driver").args(args).output().unwrap()
    }

    fn has_leftovers(&self) -> bool {
        let files = self.sandbox.worktree().into_keys();
        let is_left = |name: &String| name.contains("tmp-") || name.contains(".merge_file");
        files.into_iter().any(|name| is_left(&name))
    }
}

fn lines(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

#[test]
fn a_copy_of_a_repository_that_was_set_up_is_whole() {
    SET_UP.check();
}

#[test]
fn every_driver_of_the_attributes_is_one_of_the_program() {
    let names: Vec<_> = Driver::ALL.map(Driver::name).into();
    assert_eq!(merge_drivers::names(), names);
    for line in attributes::MERGE_LINES {
        let name = line.rsplit('=').next().unwrap();
        assert!(Driver::named(name).is_some(), "{line}");
    }
}

#[test]
fn git_merges_fields_of_a_decision_and_keeps_the_rest() {
    let driven = Driven::new();
    let base = "{\"decision_id\": \"d\", \"title\": \"t\",\n \"why\": \"ü\"}\n";
    let path = "design/decisions/2026/d.json";
    let texts =
        [base, &base.replace("\"t\"", "\"T\""), &base.replace("\"d\"", "\"d\", \"new\": [1]")];
    let (is_clean, text) = driven.merged(path, texts);
    assert!(is_clean, "{text}");
    assert_eq!(
        text,
        "{\"decision_id\": \"d\", \"new\": [1], \"title\": \"T\",\n \"why\": \"ü\"}\n"
    );
    assert!(!driven.has_leftovers());
    driven.sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn a_conflict_of_decisions_has_marks_and_is_settled_with_git() {
    let driven = Driven::new();
    let with = |title: &str, extra: &str| {
        lines(&[
            "{",
            "  \"decision_id\": \"d\",",
            &format!("  \"title\": \"{title}\","),
            &format!("  \"x\": {extra}"),
            "}",
        ])
    };
    let path = "design/decisions/d.json";
    let (is_clean, text) =
        driven.merged(path, [&with("t", "1"), &with("ours", "1"), &with("theirs", "2")]);
    assert!(!is_clean);
    let expected = lines(&[
        "{",
        "  \"decision_id\": \"d\",",
        "<<<<<<< HEAD",
        "  \"title\": \"ours\",",
        "=======",
        "  \"title\": \"theirs\",",
        ">>>>>>> theirs",
        "  \"x\": 2",
        "}",
    ]);
    assert_eq!(text, expected);
    let sandbox = &driven.sandbox;
    assert_eq!(sandbox.git(&["status", "--porcelain"]), format!("UU {path}"));
    sandbox.git(&["checkout", "--theirs", path]);
    sandbox.git(&["add", path]);
    sandbox.git(&["commit", "-qm", "settled"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_is_said_about_a_conflict_names_the_field() {
    let driven = Driven::new();
    driven.commit(
        "design/decisions/d.json",
        [b"{\"a\": {\"b\": 1}}\n", b"{\"a\": {\"b\": 2}}\n", b"{\"a\": {\"b\": 3}}\n"],
    );
    let (_, said) = driven.merge();
    assert!(said.contains("'design/decisions/d.json': a/b: both changed it"), "{said}");
}

#[test]
fn a_decision_file_of_scalars_without_an_id_is_not_emptied() {
    let driven = Driven::new();
    let texts = [
        "{\"title\": \"t\", \"n\": 1}\n",
        "{\"title\": \"T\", \"n\": 1}\n",
        "{\"title\": \"t\", \"n\": 2}\n",
    ];
    let (is_clean, text) = driven.merged("design/decisions/plain.json", texts);
    assert_eq!((is_clean, text.as_str()), (true, "{\"title\": \"T\", \"n\": 2}\n"));
}

#[test]
fn a_deletion_in_a_decision_list_is_honored_by_git_merge() {
    let driven = Driven::new();
    let base =
        lines(&["[", "  {\"decision_id\": \"a\"},", "  {\"decision_id\": \"b\", \"t\": 1}", "]"]);
    let ours = lines(&["[", "  {\"decision_id\": \"b\", \"t\": 1}", "]"]);
    let theirs = base.replace("\"t\": 1", "\"t\": 2");
    let (is_clean, text) = driven.merged("design/decisions/l.json", [&base, &ours, &theirs]);
    assert_eq!((is_clean, text), (true, ours.replace("\"t\": 1", "\"t\": 2")));
}

#[test]
fn other_folders_named_decisions_are_merged_as_text() {
    let driven = Driven::new();
    let base = "{\"a\": 1, \"b\": 1}\n";
    let texts =
        [base, &base.replace("\"a\": 1", "\"a\": 2"), &base.replace("\"b\": 1", "\"b\": 2")];
    let (is_clean, _) = driven.merged("docs/decisions/d.json", texts);
    assert!(!is_clean);
}

#[test]
fn graphs_are_merged_as_sets_by_git() {
    let driven = Driven::new();
    let graph = |triples: &[&str]| {
        format!("{{\n  \"triples\": [\n    {}\n  ]\n}}\n", triples.join(",\n    "))
    };
    let (a, b, c) = ("[\"a\", \"p\", \"o\"]", "[\"b\", \"p\", \"o\"]", "[\"c\", \"p\", \"o\"]");
    let (is_clean, text) =
        driven.merged("kg/x.kg.json", [&graph(&[b]), &graph(&[a, b]), &graph(&[c])]);
    assert_eq!((is_clean, text), (true, graph(&[a, c])));
}

#[test]
fn two_objects_of_a_functional_predicate_stay_as_a_conflict() {
    let driven = Driven::new();
    let list = |status: &str| format!("[\n  {status}\n]\n");
    let one = "{\"subject\": \"s\", \"predicate\": \"colony:status\", \"object\": \"open\"}";
    let other = one.replace("open", "done");
    let (is_clean, text) = driven.merged("x.kg.json", ["[]\n", &list(one), &list(&other)]);
    assert!(!is_clean);
    assert!(text.contains(one) && text.contains(&other), "{text}");
}

#[test]
fn budgets_are_merged_by_git_with_their_comments() {
    let driven = Driven::new();
    let base = "# yearly\nteams:\n  core: 100 # big\n  lab: 50\n  name: x\n";
    let ours = base.replace("100", "120").replace("name: x", "name: y");
    let theirs = base.replace("100", "150").replace("50\n", "40\n");
    let (is_clean, text) = driven.merged("a/budgets/b.yaml", [base, &ours, &theirs]);
    assert!(is_clean, "{text}");
    assert_eq!(text, "# yearly\nteams:\n  core: 150 # big\n  lab: 40\n  name: y\n");
}

#[test]
fn an_unreadable_budget_is_merged_as_text_and_never_emptied() {
    let driven = Driven::new();
    let base = "a: 1\nb: [\nc: 1\nd: 1\ne: 1\n";
    let (is_clean, text) = driven.merged(
        "budgets/b.yml",
        [base, &base.replace("a: 1", "a: 2"), &base.replace("e: 1", "e: 2")],
    );
    assert_eq!((is_clean, text.as_str()), (true, "a: 2\nb: [\nc: 1\nd: 1\ne: 2\n"));
}

#[test]
fn a_file_that_is_not_understood_gets_the_marks_of_git() {
    let driven = Driven::new();
    let (is_clean, text) =
        driven.merged("design/decisions/d.json", ["{\"a\":\n", "{\"b\":\n", "{\"c\":\n"]);
    assert!(!is_clean);
    assert_eq!(text, "<<<<<<< HEAD\n{\"b\":\n=======\n{\"c\":\n>>>>>>> theirs\n");
}

#[test]
fn the_text_merge_follows_the_conflict_style_of_git() {
    let driven = Driven::new();
    driven.sandbox.git(&["config", "merge.conflictStyle", "diff3"]);
    let (_, text) =
        driven.merged("design/decisions/d.json", ["{\"a\":\n", "{\"b\":\n", "{\"c\":\n"]);
    assert!(text.contains("||||||| "), "{text}");
}

#[test]
fn settings_in_the_tree_are_merged_by_rows() {
    let driven = Driven::new();
    let base = driven.sandbox.read(".colony/repo_map.yaml");
    let row = |name: &str| format!("sources:\n  - name: {name}\n    type: git_repo\n");
    assert!(base.contains("sources:\n"), "{base}");
    let path = ".colony/repo_map.yaml";
    let texts = [
        base.clone(),
        base.replace("sources:\n", &row("one")),
        base.replace("sources:\n", &row("two")),
    ];
    let (is_clean, text) = driven.merged(path, [&texts[0], &texts[1], &texts[2]]);
    assert!(is_clean, "{text}");
    assert!(text.contains("name: one") && text.contains("name: two"), "{text}");
    let comments = |text: &str| text.lines().filter(|line| line.trim().starts_with('#')).count();
    assert_eq!(comments(&text), comments(&base));
}

#[test]
fn a_merged_page_graph_stays_valid_and_is_noted_as_stale() {
    let driven = Driven::new();
    let graph = |inner: &str| format!("PAR1{inner}PAR1").into_bytes();
    driven.sandbox.write("b.txt", "b\n");
    driven.commit("g/page_graph.parquet", [&graph("base"), &graph("ours"), &graph("theirs")]);
    let (is_clean, said) = driven.merge();
    assert!(is_clean, "{said}");
    assert_eq!(driven.sandbox.read("g/page_graph.parquet"), "PAR1oursPAR1");
    assert_eq!(driven.sandbox.git(&["status", "--porcelain"]), "");
    assert!(!driven.has_leftovers());
    let doctor = driven.sandbox.colony(&["doctor"]);
    assert!(doctor.contains("stale-page-graphs: 'g/page_graph.parquet': kept"), "{doctor}");
    driven.sandbox.colony(&["deinit", "--purge"]);
    assert!(!driven.sandbox.path(".git/colony").exists());
}

#[test]
fn a_page_graph_that_only_they_have_in_order_is_theirs() {
    let driven = Driven::new();
    driven.commit("page_graph.parquet", [b"PAR1basePAR1", b"", b"PAR1theirsPAR1"]);
    assert!(driven.merge().0);
    assert_eq!(driven.sandbox.read("page_graph.parquet"), "PAR1theirsPAR1");
}

#[test]
fn merge_tree_runs_the_drivers_and_a_preview_notes_nothing() {
    let driven = Driven::new();
    let base = "{\"a\": 1, \"b\": 1}\n";
    let sandbox = &driven.sandbox;
    sandbox.write("page_graph.parquet", "PAR1basePAR1");
    driven.commit(
        "x.kg.json",
        [base.as_bytes(), b"{\"a\": 2, \"b\": 1}\n", b"{\"a\": 1, \"b\": 2}\n"],
    );
    let output = driven.output(&["merge-tree", "--write-tree", "main", "theirs"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let merged = sandbox.git(&["cat-file", "blob", &format!("{}:x.kg.json", text.trim())]);
    assert_eq!(merged, "{\"a\": 2, \"b\": 2}");
    sandbox.write("ours", "PAR1oursPAR1");
    sandbox.write("theirs", "PAR1theirsPAR1");
    let note = sandbox.path(".git/colony/stale-page-graphs");
    let program = driven
        .view
        .program()
        .env("COLONY_MERGE_PREVIEW", "1")
        .args(["merge-driver", "colony-page-graph", "ours", "ours", "theirs", "p"])
        .status();
    assert!(program.unwrap().success());
    assert!(!note.exists());
    assert_eq!(
        driven.driver(&["colony-page-graph", "ours", "ours", "theirs", "p"]).status.code(),
        Some(0)
    );
    assert!(note.exists());
}

#[test]
fn a_criss_cross_is_merged_against_both_bases_in_one() {
    let driven = Driven::new();
    let sandbox = &driven.sandbox;
    let put = |content: &str, message: &str| {
        sandbox.write("x.kg.json", content);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
    };
    let file =
        |a: u8, b: u8| lines(&["{", &format!("  \"a\": {a},"), &format!("  \"b\": {b}"), "}"]);
    put(&file(0, 0), "base");
    sandbox.git(&["checkout", "-qb", "theirs"]);
    put(&file(0, 1), "t1");
    sandbox.git(&["checkout", "-q", "main"]);
    put(&file(1, 0), "o1");
    sandbox.git(&["tag", "o1"]);
    assert!(driven.output(&["merge", "-q", "--no-edit", "theirs"]).status.success());
    sandbox.git(&["checkout", "-q", "theirs"]);
    assert!(driven.output(&["merge", "-q", "--no-edit", "o1"]).status.success());
    put(&file(1, 2), "t2");
    sandbox.git(&["checkout", "-q", "main"]);
    put(&file(2, 1), "o2");
    assert_eq!(sandbox.git(&["merge-base", "--all", "main", "theirs"]).lines().count(), 2);
    let (is_clean, said) = driven.merge();
    assert!(is_clean, "{said}");
    assert_eq!(sandbox.read("x.kg.json"), file(2, 2));
}

#[test]
fn a_hostile_path_is_only_a_path() {
    let driven = Driven::new();
    let base = "{\"a\": 1, \"b\": 1}\n";
    let name = "-rf $(touch pwned) `touch pwned`; 'x' \"y\" %A \u{1b}[1m.kg.json";
    driven.commit(name, [base.as_bytes(), b"{\"a\": 2, \"b\": 1}\n", b"{\"a\": 1, \"b\": 2}\n"]);
    let (is_clean, said) = driven.merge();
    assert!(is_clean, "{said}");
    assert_eq!(driven.sandbox.read(name), "{\"a\": 2, \"b\": 2}\n");
    assert!(!driven.sandbox.path("pwned").exists());
}

#[test]
fn a_merge_in_a_linked_worktree_notes_a_stale_graph_for_all() {
    let driven = Driven::new();
    driven.commit("page_graph.parquet", [b"PAR1basePAR1", b"PAR1oursPAR1", b"PAR1theirsPAR1"]);
    let linked = driven.sandbox.outside().join("linked");
    driven.sandbox.git(&["worktree", "add", "-q", "--detach", linked.to_str().unwrap(), "main"]);
    let merge = ["merge", "-q", "--no-edit", "theirs"];
    assert!(driven.view.at(linked).try_git(&merge));
    assert_eq!(
        fs::read_dir(driven.sandbox.path(".git/colony/stale-page-graphs")).unwrap().count(),
        1
    );
}

#[test]
fn without_the_program_git_merges_as_text_with_marks() {
    let driven = Driven::new().without_program();
    driven.commit("design/decisions/d.json", [b"{\"a\": 1}\n", b"{\"a\": 2}\n", b"{\"a\": 3}\n"]);
    let (is_clean, said) = driven.merge();
    assert!(!is_clean, "{said}");
    assert_eq!(
        driven.sandbox.read("design/decisions/d.json"),
        "<<<<<<< HEAD\n{\"a\": 2}\n=======\n{\"a\": 3}\n>>>>>>> theirs\n"
    );
}

#[test]
fn a_page_graph_without_the_program_conflicts_and_keeps_ours() {
    let driven = Driven::new().without_program();
    driven.commit("page_graph.parquet", [b"PAR1basePAR1", b"PAR1oursPAR1", b"PAR1theirsPAR1"]);
    assert!(!driven.merge().0);
    assert_eq!(driven.sandbox.read("page_graph.parquet"), "PAR1oursPAR1");
}

#[test]
fn a_wrong_call_changes_no_file() {
    let driven = Driven::new();
    driven.sandbox.write("ours", "{\"a\": 1}\n");
    let code = |args: &[&str]| driven.driver(args).status.code();
    assert_eq!(code(&["colony-kg", "ours", "ours", "ours"]), Some(129));
    assert_eq!(code(&["colony-kg"]), Some(129));
    assert_eq!(code(&["nonsense", "ours", "ours", "ours", "p"]), Some(128));
    assert_eq!(code(&["colony-kg", "ours", "gone", "ours", "p"]), Some(128));
    assert_eq!(code(&["colony-kg", "gone", "ours", "ours", "p"]), Some(128));
    assert_eq!(driven.sandbox.read("ours"), "{\"a\": 1}\n");
    assert!(!driven.sandbox.path("gone").exists());
    assert!(driven.driver(&["colony-kg", "ours", "gone", "ours", "p"]).stdout.is_empty());
}

#[test]
fn a_file_that_cannot_be_replaced_stays_as_it_is() {
    let driven = Driven::new();
    let put = |name: &str, text: &str| driven.sandbox.write(&format!("d/{name}"), text);
    put("ours", "{\"a\": 1}\n");
    put("theirs", "{\"a\": 2}\n");
    driven.sandbox.write("d/ours.kept/x", "");
    // A folder cannot be replaced by a file, not even by root.
    let code =
        driven.driver(&["colony-kg", "d/ours.kept", "d/ours", "d/theirs", "p"]).status.code();
    assert_eq!(code, Some(128));
    assert!(driven.sandbox.path("d/ours.kept/x").exists());
    assert!(!driven.has_leftovers());
}

#[test]
fn binary_bytes_stay_ours_and_are_to_be_settled() {
    let driven = Driven::new();
    driven.commit("x.kg.json", [b"\0base", b"\0ours", b"\0theirs"]);
    assert!(!driven.merge().0);
    assert_eq!(driven.sandbox.read("x.kg.json"), "\0ours");
}

#[test]
fn init_configures_drivers_once_and_deinit_removes_them_exactly() {
    let sandbox = Sandbox::new();
    let before = sandbox.read(".git/config");
    let preview = sandbox.json(&["init", "--no-lfs", "-n"]);
    assert_eq!(preview["merge_drivers"].as_array().unwrap().len(), 5);
    assert_eq!(sandbox.read(".git/config"), before);
    sandbox.colony(&["init", "--no-lfs"]);
    let configured = sandbox.read(".git/config");
    let driver = sandbox.git(&["config", "merge.colony-kg.driver"]);
    assert!(driver.contains("git-colony merge-driver colony-kg '%A' '%O' '%B' %P"), "{driver}");
    assert_eq!(sandbox.json(&["init", "--no-lfs"])["merge_drivers"], serde_json::json!([]));
    assert_eq!(sandbox.read(".git/config"), configured);
    let report = sandbox.colony(&["deinit"]);
    assert!(report.contains("5 merge drivers"), "{report}");
    assert_eq!(sandbox.read(".git/config"), before);
}

#[test]
fn a_driver_of_the_user_stays_and_ours_goes_without_additions() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "merge.colony-kg.driver", "mine %A %O %B"]);
    let report = sandbox.json(&["init", "--no-lfs"]);
    assert_eq!(report["merge_drivers"].as_array().unwrap().len(), 4);
    sandbox.git(&["config", "merge.colony-budget.recursive", "binary"]);
    sandbox.colony(&["deinit"]);
    assert_eq!(sandbox.git(&["config", "merge.colony-kg.driver"]), "mine %A %O %B");
    assert_eq!(sandbox.git(&["config", "merge.colony-budget.recursive"]), "binary");
    assert!(!sandbox.read(".git/config").contains("git-colony"));
}

#[test]
fn doctor_reports_attributes_with_drivers_unknown_to_git() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    assert!(sandbox.colony(&["doctor"]).contains("ok   merge-drivers"));
    sandbox.git(&["config", "--remove-section", "merge.colony-kg"]);
    let run = sandbox.run(&["doctor"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("FAIL merge-drivers: attributes name drivers that git does not know, so it merges text: colony-kg"), "{}", run.stdout);
    assert!(run.stdout.contains("fix: git colony init"), "{}", run.stdout);
    sandbox.colony(&["init", "--no-lfs"]);
    assert_eq!(sandbox.run(&["doctor"]).code, 0);
}

#[test]
fn a_program_that_dies_leaves_ours_as_it_was() {
    let mut driven = Driven::new();
    driven.view = driven.view.stand_in("git-colony", "exit 101");
    driven.commit("x.kg.json", [b"{\"a\": 1}\n", b"{\"a\": 2}\n", b"{\"a\": 3}\n"]);
    assert!(!driven.merge().0);
    assert_eq!(driven.sandbox.read("x.kg.json"), "{\"a\": 2}\n");
}

#[test]
fn our_own_merge_and_pick_run_the_drivers_as_well() {
    let driven = Driven::new();
    let base = "{\"a\": 1, \"b\": 1}\n";
    let path = "'x' $(touch pwned).kg.json";
    driven.commit(path, [base.as_bytes(), b"{\"a\": 2, \"b\": 1}\n", b"{\"a\": 1, \"b\": 2}\n"]);
    for command in ["merge", "cherry-pick"] {
        let output = driven.view.program().args([command, "theirs"]).output().unwrap();
        assert!(output.status.success(), "{command} {output:?}");
        assert_eq!(driven.sandbox.read(path), "{\"a\": 2, \"b\": 2}\n", "{command}");
        assert!(!driven.sandbox.path("pwned").exists());
        driven.sandbox.git(&["reset", "-q", "--hard", "HEAD^"]);
    }
}
