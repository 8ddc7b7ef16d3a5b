//! Files that were committed before git-lfs had patterns: no clone is dirty because of them, and a migration
//! gives them to git-lfs all the same.

use std::fs;

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, View};

const LFS: [&str; 8] = [
    "-c",
    "filter.lfs.process=git-lfs filter-process",
    "-c",
    "filter.lfs.required=true",
    "-c",
    "filter.lfs.clean=git-lfs clean -- %f",
    "-c",
    "filter.lfs.smudge=git-lfs smudge -- %f",
];
const POINTER: &str = "version https://git-lfs";

/// Clones as somebody does who has run `git lfs install` once.
fn fresh(sandbox: &Sandbox, name: &str) -> View {
    let clone = sandbox.outside().join(name);
    let url = format!("file://{}", sandbox.root.display());
    let args = [&["clone", "-q"][..], &LFS, &[&url, clone.to_str().unwrap()]].concat();
    sandbox.git(&args);
    let view = sandbox.at(clone);
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    view
}

fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", message]);
}

/// Makes git look into every file again.
fn touch_all(view: &View) {
    for path in view.git(&["ls-files", "-z"]).split_terminator('\0') {
        let file = fs::File::options().append(true).open(view.path(path));
        file.unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
}

const ODD: [&str; 5] =
    ["with blank.gz", "star*.gz", "[ab]?.gz", "\u{fc}\"quoted\".pdf", "deep/er/x.bin"];

fn with_odd_files() -> Sandbox {
    WITH_ODD_FILES.copy()
}

static WITH_ODD_FILES: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.write("x.gz", "plain\n");
    sandbox.write("empty.gz", "");
    for path in ODD {
        sandbox.write(path, format!("{path}\n"));
    }
    commit(&sandbox, "files");
    sandbox
});

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    WITH_ODD_FILES.check();
}

#[test]
fn no_fresh_clone_is_dirty_and_nothing_is_converted() {
    let sandbox = with_odd_files();
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["exempt"].as_array().unwrap().len(), 6, "{answer:#}");
    assert_eq!(answer["would_dirty"], serde_json::json!([]));
    let view = fresh(&sandbox, "fresh");
    assert_eq!(view.git(&["status", "--porcelain"]), "");
    touch_all(&view);
    assert_eq!(view.git(&["status", "--porcelain"]), "");
    view.git(&["commit", "-qa", "--allow-empty", "-m", "nothing"]);
    assert_eq!(view.git(&["diff", "--name-only", "HEAD~1", "HEAD"]), "");
    for path in ODD {
        assert_eq!(view.git(&["show", &format!("HEAD:{path}")]), path);
        let attributes = view.git(&["check-attr", "filter", "diff", "merge", "text", "--", path]);
        let unspecified = attributes.matches(": unspecified").count();
        assert_eq!(unspecified, 4, "{attributes}");
    }
    // A new file is for git-lfs.
    view.write("new.gz", "new\n");
    view.git(&["add", "-A"]);
    assert!(view.git(&["show", ":new.gz"]).starts_with(POINTER));

    let agent = sandbox.colony(&["agents", "new", "ada"]);
    let agent = sandbox.at(agent.trim().into());
    assert_eq!(agent.git(&["status", "--porcelain"]), "");
    touch_all(&agent);
    assert_eq!(agent.git(&["status", "--porcelain"]), "");
}

#[test]
fn init_again_adds_no_line() {
    let sandbox = with_odd_files();
    sandbox.colony(&["init"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.json(&["init"])["status"], "already_initialized");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn files_of_every_branch_stay_in_git() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "side"]);
    sandbox.write("side.gz", "side\n");
    commit(&sandbox, "side");
    sandbox.git(&["update-ref", "refs/remotes/origin/theirs", "HEAD"]);
    sandbox.write("own.gz", "own\n");
    commit(&sandbox, "own");
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["exempt"], serde_json::json!(["own.gz", "side.gz"]));
    sandbox.git(&["merge", "-q", "-m", "merge", "side"]);
    assert_eq!(fresh(&sandbox, "fresh").git(&["status", "--porcelain"]), "");
}

#[test]
fn a_pattern_with_too_many_files_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    for number in 0..101 {
        sandbox.write(&format!("images/{number}.png"), format!("{number}\n"));
    }
    sandbox.write("x.gz", "plain\n");
    commit(&sandbox, "many");
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["exempt"], serde_json::json!(["x.gz"]));
    assert_eq!(
        answer["patterns_left_out"],
        serde_json::json!([{"pattern": "*.png", "why": "too_many_files"}])
    );
    let attributes = sandbox.read(".gitattributes");
    let lines: Vec<&str> = attributes.lines().filter(|line| line.contains("*.png")).collect();
    assert_eq!(lines, ["# left out: *.png filter=lfs diff=lfs merge=lfs -text"]);
    assert_eq!(fresh(&sandbox, "fresh").git(&["status", "--porcelain"]), "");
}

#[test]
fn a_file_that_git_lfs_has_on_another_branch_is_not_exempt() {
    let sandbox = Sandbox::new();
    sandbox.write("x.gz", "plain\n");
    commit(&sandbox, "plain");
    sandbox.git(&["switch", "-qc", "large"]);
    sandbox.write(
        "x.gz",
        format!("{POINTER}.github.com/spec/v1\noid sha256:{}\nsize 5\n", "0".repeat(64)),
    );
    commit(&sandbox, "pointer");
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["exempt"], serde_json::json!([]));
    assert_eq!(
        answer["patterns_left_out"],
        serde_json::json!([{"pattern": "*.gz", "why": "in_git_lfs_elsewhere"}])
    );
    assert_eq!(fresh(&sandbox, "fresh").git(&["status", "--porcelain"]), "");
}

#[test]
fn attribute_lines_of_the_user_keep_exceptions_and_show_once() {
    let sandbox = Sandbox::new();
    let theirs = "* text=auto\n*.gz binary\n";
    sandbox.write(".gitattributes", theirs);
    sandbox.write("x.gz", "plain\n");
    sandbox.write("x.pdf", "plain\n");
    commit(&sandbox, "theirs");
    for _ in 0..2 {
        let told = sandbox.colony(&["init", "-n"]);
        assert!(told.contains("*.pdf filter=lfs"), "{told}");
    }
    let answer = sandbox.json(&["init"]);
    let lines = answer["lines_to_add"].as_array().unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    assert!(lines.contains(&"/x.gz !filter -diff -merge -text"), "{lines:#?}");
    assert!(lines.contains(&"/x.pdf !filter !diff !merge text=auto"), "{lines:#?}");
    let told = sandbox.colony(&["init"]);
    assert!(!told.contains("*.pdf filter=lfs"), "{told}");
    assert!(told.contains("git colony init -n"), "{told}");
    assert!(sandbox.colony(&["init", "-n"]).contains("*.pdf filter=lfs"));

    sandbox.write(".gitattributes", format!("{theirs}{}\n", lines.join("\n")));
    sandbox.git(&["commit", "-qam", "lines"]);
    let view = fresh(&sandbox, "fresh");
    touch_all(&view);
    assert_eq!(view.git(&["status", "--porcelain"]), "");
}

/// A repository with history before and after init, on two branches.
fn exempt_on_branches() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("x.gz", "first\n");
    for number in 0..101 {
        sandbox.write(&format!("images/{number}.png"), format!("{number}\n"));
    }
    commit(&sandbox, "files");
    sandbox.colony(&["init"]);
    let mine = sandbox.read(".gitattributes") + "/mine.gz !filter !diff !merge !text\n";
    sandbox.write(".gitattributes", mine);
    sandbox.write("mine.gz", "mine\n");
    commit(&sandbox, "a line of my own");
    sandbox.git(&["switch", "-qc", "side"]);
    sandbox.write("x.gz", "second\n");
    commit(&sandbox, "edit");
    sandbox.git(&["rm", "-q", "x.gz"]);
    sandbox.git(&["commit", "-qm", "without it"]);
    sandbox.git(&["tag", "-a", "-m", "tag", "v1"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox
}

#[test]
fn a_migration_removes_our_lines_from_every_commit() {
    let sandbox = exempt_on_branches();
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    let commits = sandbox.git(&["rev-list", "main", "side", "v1"]);
    for commit in commits.lines() {
        let paths = sandbox.git(&["ls-tree", "-r", "--name-only", commit]);
        let Some(attributes) = paths
            .contains(".gitattributes")
            .then(|| sandbox.git(&["show", &format!("{commit}:.gitattributes")]))
        else {
            continue;
        };
        assert!(!attributes.contains("git-colony: files"), "{attributes}");
        assert!(!attributes.contains("/x.gz"), "{attributes}");
        let has_png = attributes.lines().any(|line| line.starts_with("*.png filter=lfs"));
        assert!(has_png, "{attributes}");
        for path in ["x.gz", "images/7.png"] {
            if paths.lines().any(|found| found == path) {
                let blob = sandbox.git(&["show", &format!("{commit}:{path}")]);
                assert!(blob.starts_with(POINTER), "{commit} {path}: {blob}");
            }
        }
        sandbox.git(&["checkout", "-q", commit]);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{commit}");
        if sandbox.path("images/7.png").exists() {
            assert_eq!(sandbox.read("images/7.png"), "7\n");
        }
        for path in ["x.gz", "mine.gz"] {
            if sandbox.path(path).exists() {
                assert!(!sandbox.read(path).starts_with(POINTER), "{commit} {path}");
            }
        }
    }
    sandbox.git(&["checkout", "-q", "main"]);
    let attributes = sandbox.read(".gitattributes");
    assert!(attributes.contains("/mine.gz !filter !diff !merge !text"), "{attributes}");
    assert_eq!(sandbox.git(&["show", "HEAD:mine.gz"]), "mine");
    assert_eq!(sandbox.json(&["lfs", "migrate"])["status"], "up_to_date");
    sandbox.check_invariants_of_git();
}

#[test]
fn init_that_migrates_writes_no_exception() {
    let sandbox = Sandbox::new();
    sandbox.write("x.gz", "plain\n");
    commit(&sandbox, "plain");
    let answer = sandbox.json(&["init", "--migrate-existing-to-lfs"]);
    assert_eq!(answer["migrated_to_lfs"], true, "{answer:#}");
    assert_eq!(answer["exempt"], serde_json::json!([]));
    assert!(!sandbox.read(".gitattributes").contains("/x.gz"));
    assert!(sandbox.git(&["show", "HEAD:x.gz"]).starts_with(POINTER));
    assert_eq!(sandbox.read("x.gz"), "plain\n");
}

#[test]
fn a_rename_by_plain_git_is_named_by_the_hook_and_by_doctor() {
    let sandbox = with_odd_files();
    sandbox.colony(&["init"]);
    sandbox.colony(&["hooks", "install"]);
    sandbox.git(&["mv", "x.gz", "y.gz"]);
    let run = sandbox.run(&["hook", "pre-commit"]);
    assert!(
        run.stderr.contains("'x.gz'") && run.stderr.contains("/y.gz !filter"),
        "{}",
        run.stderr
    );
    sandbox.git(&["commit", "-q", "--no-verify", "-m", "renamed"]);
    let told = sandbox.run(&["doctor"]).stdout;
    assert!(told.contains("'y.gz'") && told.contains("/y.gz !filter"), "{told}");
}

/// Renames two files in two ways, and lets one of ours commit that.
fn renamed_by(command: &[&str], answer_has: &str) {
    let sandbox = with_odd_files();
    sandbox.colony(&["init"]);
    sandbox.colony(&["hooks", "install"]);
    let before = sandbox.read(".gitattributes");
    sandbox.git(&["mv", "x.gz", "y.gz"]);
    fs::create_dir(sandbox.path("new")).unwrap();
    fs::rename(sandbox.path("star*.gz"), sandbox.path("new/[st]ar.gz")).unwrap();
    let shown = sandbox.visible_state();
    assert_eq!(sandbox.json(&[command, &["-n"]].concat())["ok"], true);
    assert_eq!(sandbox.visible_state(), shown);
    let run = sandbox.run(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = "'x.gz' stays in git moves along with it to 'y.gz'";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(!run.stderr.contains("attention"), "{}", run.stderr);
    assert!(run.stdout.contains(answer_has), "{}", run.stdout);
    let after = sandbox.read(".gitattributes");
    let moved = before.replace("/x.gz ", "/y.gz ").replace("/star\\*.gz ", "/new/\\[st]ar.gz ");
    assert_eq!(after, moved);
    assert_eq!(sandbox.git(&["show", "HEAD:.gitattributes"]) + "\n", after);
    assert_eq!(sandbox.git(&["show", "HEAD:y.gz"]), "plain");
    assert_eq!(sandbox.git(&["show", "HEAD:new/[st]ar.gz"]), "star*.gz");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let clone = fresh(&sandbox, "fresh");
    touch_all(&clone);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert_eq!(fs::read(clone.path("y.gz")).unwrap(), b"plain\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), shown);
    assert_eq!(sandbox.read(".gitattributes"), before);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_commit_of_ours_takes_the_line_of_a_renamed_file_along() {
    renamed_by(&["commit", "-m", "renamed", "--all"], "5 changed paths");
}

#[test]
fn a_checkpoint_takes_the_line_of_a_renamed_file_along() {
    renamed_by(&["checkpoint", "-m", "renamed"], "renamed");
}

#[test]
fn a_decision_takes_the_line_of_a_renamed_file_along() {
    let sandbox = with_odd_files();
    sandbox.colony(&["init"]);
    fs::rename(sandbox.path("x.gz"), sandbox.path("y.gz")).unwrap();
    sandbox.colony(&["decide", "-m", "renamed", "x.gz", "y.gz"]);
    assert_eq!(sandbox.git(&["show", "HEAD:y.gz"]), "plain");
    assert!(sandbox.read(".gitattributes").contains("/y.gz !filter"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn no_line_moves_while_somebody_edits_the_attributes() {
    let sandbox = with_odd_files();
    sandbox.colony(&["init"]);
    let edited = sandbox.read(".gitattributes") + "*.mine text\n";
    sandbox.write(".gitattributes", &edited);
    fs::rename(sandbox.path("x.gz"), sandbox.path("y.gz")).unwrap();
    sandbox.colony(&["commit", "-m", "renamed", "x.gz", "y.gz"]);
    assert_eq!(sandbox.read(".gitattributes"), edited);
    assert!(sandbox.git(&["show", "HEAD:y.gz"]).starts_with(POINTER));
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "beside"]);
    assert_eq!(sandbox.read(".gitattributes"), edited);
}

#[test]
fn only_a_line_that_has_an_effect_goes_along() {
    let sandbox = Sandbox::new();
    sandbox.write("a.gz", "plain\n");
    fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write("own/.gitattributes", "*.gz filter=lfs diff=lfs merge=lfs -text\n");
    commit(&sandbox, "plain");
    sandbox.colony(&["init"]);
    let before = sandbox.read(".gitattributes");
    fs::rename(sandbox.path("a.gz"), sandbox.path("own/a.gz")).unwrap();
    let run = sandbox.run(&["commit", "-m", "renamed", "--all"]);
    assert!(run.stderr.contains("attention: 'a.gz'"), "{}", run.stderr);
    assert!(sandbox.git(&["show", "HEAD:own/a.gz"]).starts_with(POINTER));
    assert_eq!(sandbox.read(".gitattributes"), before);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_line_is_added_where_the_old_name_stands_still() {
    let sandbox = Sandbox::new();
    sandbox.write("a.gz", "of a\n");
    sandbox.write("b.gz", "of b\n");
    commit(&sandbox, "plain");
    sandbox.colony(&["init"]);
    // Only the new name is committed.
    sandbox.git(&["mv", "a.gz", "c.gz"]);
    sandbox.colony(&["commit", "-m", "new name", "c.gz"]);
    assert_eq!(sandbox.git(&["show", "HEAD:c.gz"]), "of a");
    let lines = |sandbox: &Sandbox| {
        let text = sandbox.read(".gitattributes");
        let lines = text.lines().filter(|line| line.contains("!filter"));
        lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&sandbox), ["/a.gz", "/c.gz", "/b.gz"]);
    sandbox.colony(&["commit", "-m", "the rest", "--all"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    // One takes the place of another.
    fs::rename(sandbox.path("b.gz"), sandbox.path("d.gz")).unwrap();
    fs::rename(sandbox.path("c.gz"), sandbox.path("b.gz")).unwrap();
    sandbox.colony(&["commit", "-m", "moved on", "--all"]);
    for (path, content) in [("d.gz", "of b"), ("b.gz", "of a")] {
        assert_eq!(sandbox.git(&["show", &format!("HEAD:{path}")]), content);
    }
    let clone = fresh(&sandbox, "fresh");
    touch_all(&clone);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_line_goes_along_in_a_file_with_other_ends_of_lines() {
    let sandbox = with_odd_files();
    sandbox.colony(&["init"]);
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.remove(".gitattributes");
    sandbox.git(&["checkout", "-q", ".gitattributes"]);
    assert!(sandbox.read(".gitattributes").contains("\r\n"));
    fs::rename(sandbox.path("x.gz"), sandbox.path("y.gz")).unwrap();
    sandbox.colony(&["commit", "-m", "renamed", "--all"]);
    assert_eq!(sandbox.git(&["show", "HEAD:y.gz"]), "plain");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn many_new_files_beside_files_that_are_gone_cost_no_product() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("old")).unwrap();
    for number in 0..100 {
        sandbox.write(&format!("old/{number}.png"), format!("old {number}\n"));
    }
    commit(&sandbox, "old");
    sandbox.colony(&["init"]);
    fs::create_dir(sandbox.path("new")).unwrap();
    for number in 0..100 {
        sandbox.remove(&format!("old/{number}.png"));
        sandbox.write(&format!("new/{number}.png"), format!("old {number}\n"));
    }
    sandbox.colony(&["commit", "-m", "all of them", "--all"]);
    assert_eq!(sandbox.git(&["show", "HEAD:new/99.png"]), "old 99");
    let text = sandbox.read(".gitattributes");
    assert_eq!(text.matches("\n/new/").count(), 100);
    assert_eq!(text.matches("\n/old/").count(), 0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
