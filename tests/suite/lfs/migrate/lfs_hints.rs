//! What stops a migration to git-lfs, and that each hint works as it stands: it is pasted into a shell, and
//! the migration is let through afterward.

use serde_json::Value;

use crate::support::{Sandbox, write_program};

use super::in_progress::{hint_of, paste, shell};
use super::rewrite::{POINTER, at, grown, grown_with_origin};

/// Pastes hints until the migration is let through, and then until it is published; returns the messages.
fn through(sandbox: &Sandbox) -> Vec<String> {
    let mut said = Vec::new();
    loop {
        let answer = sandbox.json(&["lfs", "migrate", "--push"]);
        let push_error = answer["push_error"].as_str();
        let (message, hint) = match push_error {
            Some(error) => error.split_once("; hint: ").unwrap(),
            None if answer["ok"] == true => return said,
            None => (answer["message"].as_str().unwrap(), hint_of(&answer)),
        };
        said.push(message.to_owned());
        assert!(said.len() < 8, "{said:#?}");
        paste(sandbox, &sandbox.root, hint);
    }
}

fn is_pointer(sandbox: &Sandbox, rev: &str) -> bool {
    let content = sandbox.git(&["show", &format!("{rev}:paper.pdf")]);
    content.starts_with(POINTER)
}

#[test]
fn a_branch_that_only_the_remote_has_is_moved_with_the_others() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.git(&["push", "-q", "origin", "main~1:refs/heads/only-branch"]);
    assert_eq!(through(&sandbox), [] as [String; 0]);
    let there = at(&bare, &sandbox, &["rev-parse", "only-branch"]);
    assert_eq!(there, sandbox.git(&["rev-parse", "main~1"]));
    sandbox.git(&["fetch", "-q", "origin"]);
    sandbox.colony(&["sync"]);
}

/// Has the remote get a commit on `branch` that is not here; where `diverged`, here is another.
fn ahead(sandbox: &Sandbox, branch: &str, diverged: bool) {
    sandbox.git(&["switch", "-q", branch]);
    sandbox.write("theirs.txt", "theirs\n");
    sandbox.git(&["add", "theirs.txt"]);
    sandbox.git(&["commit", "-qm", "theirs"]);
    sandbox.git(&["push", "-q", "origin", branch]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    if diverged {
        sandbox.write("ours.txt", "ours\n");
        sandbox.git(&["add", "ours.txt"]);
        sandbox.git(&["commit", "-qm", "ours"]);
    }
    sandbox.git(&["switch", "-q", "main"]);
    // Nobody has fetched it.
    sandbox.git(&["update-ref", "-d", &format!("refs/remotes/origin/{branch}")]);
}

#[test]
fn what_is_ahead_on_the_remote_is_taken_over_by_its_own_branch() {
    for (branch, diverged) in [("side", false), ("side", true), ("main", false), ("main", true)] {
        let (sandbox, bare) = grown_with_origin();
        ahead(&sandbox, branch, diverged);
        let other = if branch == "side" { "main" } else { "side" };
        let untouched = sandbox.git(&["log", "--format=%s", other]);
        let said = through(&sandbox);
        assert_eq!(said.len(), 1, "{said:#?}");
        let log = sandbox.git(&["log", "--format=%s", branch]);
        assert!(log.contains("theirs"), "{branch} {diverged}: {log}");
        assert_eq!(log.contains("ours"), diverged, "{log}");
        assert_eq!(sandbox.git(&["log", "--format=%s", other]), untouched);
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
        let there = at(&bare, &sandbox, &["rev-parse", branch]);
        assert_eq!(there, sandbox.git(&["rev-parse", branch]));
    }
}

#[test]
fn a_tag_that_differs_stays_as_the_remote_has_it() {
    let (sandbox, bare) = grown_with_origin();
    let theirs = at(&bare, &sandbox, &["rev-parse", "light"]);
    sandbox.git(&["tag", "-f", "light", "main"]);
    assert_eq!(through(&sandbox), [] as [String; 0]);
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "light"]), theirs);
    assert!(is_pointer(&sandbox, "light"));
}

#[test]
fn a_server_that_refuses_one_ref_is_quoted_without_escapes() {
    let (sandbox, bare) = grown_with_origin();
    let hook = "#!/bin/sh\n[ \"$1\" = refs/heads/side ] || exit 0\n\
        printf 'policy: \\033[31mside\\033[0m is frozen, see https://bob:s3cret@h.example/x\\n' >&2\nexit 1\n";
    write_program(&bare.join("hooks/update"), hook);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["push_error_code"], "git-failed", "{answer:#}");
    let error = answer["push_error"].as_str().unwrap();
    assert!(error.starts_with("'origin' refuses 'refs/heads/side': "), "{error}");
    let said = answer["server_said"].to_string();
    assert!(said.contains("is frozen"), "{said}");
    assert!(!answer.to_string().contains("s3cret"), "{answer:#}");
    let run = sandbox.run(&["lfs", "migrate", "--push"]);
    let text = run.stdout + &run.stderr;
    assert!(text.contains("is frozen"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("s3cret"), "{text:?}");
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    std::fs::remove_file(bare.join("hooks/update")).unwrap();
    let (_, hint) = error.split_once("hint: ").unwrap();
    paste(&sandbox, &sandbox.root, hint);
    assert!(at(&bare, &sandbox, &["show", "side:paper.pdf"]).starts_with(POINTER));
}

#[test]
fn a_hook_of_somebody_is_called_beside_ours_as_it_is_told() {
    let (sandbox, _) = grown_with_origin();
    sandbox.write_program(".git/hooks/pre-push", "#!/bin/sh\ntouch ../ran\n");
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["code"], "hooks-in-the-way", "{answer:#}");
    assert!(!answer.to_string().contains("--no-lfs"), "{answer:#}");
    assert_eq!(through(&sandbox).len(), 1);
    assert!(sandbox.outside().join("ran").exists());
}

/// Keeps a large file in a stash, as it was before git-lfs.
fn stash(sandbox: &Sandbox, path: &str, content: &str) {
    sandbox.write(path, content);
    sandbox.git(&["stash", "-q"]);
}

#[test]
fn the_very_stashes_that_break_are_kept_as_branches() {
    let (sandbox, _) = grown_with_origin();
    stash(&sandbox, "paper.pdf", "first\n");
    stash(&sandbox, "text.txt", "second\n");
    stash(&sandbox, "sub/data.bin", "third\n");
    stash(&sandbox, "text.txt", "fourth\n");
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    let stashes = refused["detail"]["stashes"].to_string();
    assert_eq!(stashes, r#"["stash@{1}","stash@{3}"]"#, "{refused:#}");
    assert_eq!(through(&sandbox).len(), 2, "one step for each");
    let left = sandbox.git(&["stash", "list", "--format=%H"]);
    let texts = left.lines().map(|id| sandbox.git(&["show", &format!("{id}:text.txt")]));
    assert_eq!(texts.collect::<Vec<_>>(), ["fourth", "second"]);
    let branches = sandbox.git(&["branch", "--list", "stash-*", "--format=%(refname:short)"]);
    assert_eq!(branches.lines().count(), 2, "{branches}");
    let mut files = Vec::new();
    for branch in branches.lines() {
        sandbox.git(&["stash", "apply", "-q", branch]);
        files.push((sandbox.read("paper.pdf"), sandbox.read("sub/data.bin")));
        sandbox.git(&["reset", "-q", "--hard"]);
    }
    files.sort();
    let wanted = [("first\n", "data 3\n"), ("paper 3\n", "third\n")];
    assert_eq!(files, wanted.map(|(one, two)| (one.to_owned(), two.to_owned())));
}

#[test]
fn init_looks_for_stashes_before_it_commits() {
    let sandbox = grown();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    stash(&sandbox, "paper.pdf", "stashed\n");
    let before =
        (sandbox.git(&["for-each-ref"]), sandbox.visible_state(), sandbox.read(".git/config"));
    for args in [
        &["init", "--migrate-existing-to-lfs", "-n"][..],
        &["init", "--push", "--migrate-existing-to-lfs"],
    ] {
        let refused = sandbox.json(args);
        assert_eq!(refused["code"], "left-behind", "{refused:#}");
        let now =
            (sandbox.git(&["for-each-ref"]), sandbox.visible_state(), sandbox.read(".git/config"));
        assert_eq!(now, before);
    }
    let refused = sandbox.json(&["init", "--push", "--migrate-existing-to-lfs"]);
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    let done = sandbox.json(&["init", "--push", "--migrate-existing-to-lfs"]);
    assert_eq!(done["migrated_to_lfs"], true, "{done:#}");
}

#[test]
fn an_init_that_could_not_rewrite_says_what_it_has_changed() {
    let sandbox = grown();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    // A blob of history that git-lfs has to read is gone, which nobody looks for beforehand.
    let blob = sandbox.git(&["rev-parse", "main~2:paper.pdf"]);
    let path = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    let kept = std::fs::read(sandbox.path(&path)).unwrap();
    sandbox.remove(&path);
    let answer = sandbox.json(&["init", "--push", "--migrate-existing-to-lfs"]);
    let error = answer["migrate_error"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    assert!(answer["committed_sha"].is_string(), "{answer:#}");
    assert!(!error.contains("nothing has changed"), "{error}");
    assert!(error.contains("history has not changed"), "{error}");
    std::fs::write(sandbox.path(&path), kept).unwrap();
    assert_eq!(sandbox.json(&["lfs", "migrate", "--push"])["status"], "migrated");
}

#[test]
fn only_a_worktree_that_can_be_removed_is_offered_to_be() {
    let sandbox = grown();
    let place = sandbox.outside().join("a linked one");
    let add = || sandbox.git(&["worktree", "add", "-q", &place.display().to_string(), "side"]);
    add();
    // From the linked one the other is the main worktree.
    let refused = sandbox.at(place.clone()).json(&["lfs", "migrate", "--push"]);
    paste(&sandbox, &place, hint_of(&refused));
    assert!(!place.exists());
    add();
    std::fs::remove_dir_all(&place).unwrap();
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    add();
    sandbox.git(&["worktree", "lock", &place.display().to_string()]);
    std::fs::remove_dir_all(&place).unwrap();
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    add();
    assert_eq!(through(&sandbox).len(), 1);
    assert!(!place.exists());
}

#[test]
fn a_merge_in_progress_stops_a_migration_and_the_hint_ends_it() {
    let prepare: [(&str, &str); 5] = [
        ("git cherry-pick more", "cherry-pick"),
        ("git revert HEAD~2", "revert"),
        ("git revert --no-commit HEAD~1", "revert"),
        ("git bisect start && git bisect bad && git bisect good HEAD~2", "bisect"),
        ("git rebase more", "rebase"),
    ];
    for (line, what) in prepare {
        let sandbox = grown();
        sandbox.git(&["switch", "-q", "-c", "more", "side"]);
        sandbox.write("text.txt", "more\n");
        sandbox.git(&["commit", "-qam", "more"]);
        sandbox.git(&["switch", "-q", "main"]);
        shell(&sandbox, &sandbox.root, line);
        let before = (sandbox.git(&["for-each-ref"]), sandbox.visible_state());
        let refused = sandbox.json(&["lfs", "migrate", "--push"]);
        assert_eq!(refused["code"], "operation-in-progress", "{line} {refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(what), "{line}: {message}");
        assert_eq!((sandbox.git(&["for-each-ref"]), sandbox.visible_state()), before);
        assert_eq!(through(&sandbox).len(), 1, "{line}");
    }
}

/// What a pre-push hook sees of the repository: the variables of git that say where it is, and where it runs.
fn seen_by_hook(sandbox: &Sandbox) -> String {
    let seen = sandbox.outside().join("seen");
    let text = std::fs::read_to_string(&seen).unwrap();
    std::fs::remove_file(seen).unwrap();
    text
}

#[test]
fn a_pre_push_hook_sees_what_it_sees_under_a_plain_push() {
    let (sandbox, _) = grown_with_origin();
    sandbox.git(&["lfs", "install", "--local"]);
    let hook = sandbox.read(".git/hooks/pre-push");
    let seen = sandbox.outside().join("seen").display().to_string();
    let look = format!(
        "#!/bin/sh\n{{ pwd; env | grep -E '^GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|NAMESPACE|PREFIX)=' | sort; }} > '{seen}'\n"
    );
    sandbox.write_program(".git/hooks/pre-push", hook.replacen("#!/bin/sh\n", &look, 1));
    sandbox.git(&["push", "-q", "origin", "main:refs/heads/other"]);
    let plain = seen_by_hook(&sandbox);
    sandbox.git(&["push", "-q", "origin", "--delete", "other"]);
    std::fs::remove_file(sandbox.outside().join("seen")).unwrap();
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(seen_by_hook(&sandbox), plain);
}

/// Runs the program in a process that can write no file beyond some blocks of 512 bytes.
fn limited(sandbox: &Sandbox, blocks: u32) -> Value {
    let line = format!("trap '' XFSZ; ulimit -f {blocks}; git-colony --json lfs migrate --no-push");
    let output = shell(sandbox, &sandbox.root, &line);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn what_cannot_be_written_is_no_space_and_nothing_is_left() {
    let (sandbox, _) = grown_with_origin();
    sandbox.write("large.bin", vec![b'x'; 300_000]);
    sandbox.git(&["add", "large.bin"]);
    sandbox.git(&["commit", "-qm", "large"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let before =
        (sandbox.git(&["for-each-ref"]), sandbox.visible_state(), sandbox.read(".git/config"));
    let answer = limited(&sandbox, 200);
    assert_eq!(answer["code"], "no-space", "{answer:#}");
    paste(&sandbox, &sandbox.root, hint_of(&answer));
    let now =
        (sandbox.git(&["for-each-ref"]), sandbox.visible_state(), sandbox.read(".git/config"));
    assert_eq!(now, before);
    assert!(!sandbox.path(".git/colony/migration").exists());
    assert_eq!(sandbox.json(&["status"])["migration"], Value::Null);
    sandbox.check_invariants_of_git();
    assert_eq!(sandbox.json(&["lfs", "migrate", "--push"])["pushed"], true);
}

/// A file system of a few megabytes in a namespace of our own, where this machine lets us have one.
fn small_disk(sandbox: &Sandbox, script: &str) -> Option<String> {
    let disk = sandbox.outside().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let path = disk.display();
    let line = format!(
        "mount -t tmpfs -o size=4m none '{path}' 2>/dev/null || exit 77; cd '{path}' && {script}"
    );
    let output = sandbox
        .with_program()
        .process("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &line])
        .output()
        .ok()?;
    if output.status.code() == Some(77) || output.stdout.is_empty() {
        return None;
    }
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn on_a_full_disk_it_is_no_space_wherever_it_is_met() {
    let sandbox = grown();
    let script = format!(
        "git clone -q --no-local '{}' repo >&2 && cd repo && git config user.name A && git config user.email a@b && \
         git remote remove origin && head -c 200000 /dev/urandom > paper.pdf && git -c filter.lfs.clean=cat commit -qam large >&2 && \
         for left in 350 150 60 40 24 12 4 0; do \
           free=$(df --output=avail -k . | tail -1); head -c $(((free - left) * 1024)) /dev/zero > ../fill; \
           before=$(git for-each-ref | cksum); git-colony --json lfs migrate | tr -d '\\n'; echo; rm ../fill; \
           [ \"$before\" = \"$(git for-each-ref | cksum)\" ] || echo moved; \
           git fsck --strict --no-dangling >&2 || echo broken; git status --porcelain; \
         done; git-colony --json lfs migrate | tr -d '\\n'; echo",
        sandbox.root.display()
    );
    let Some(said) = small_disk(&sandbox, &script) else {
        // Not every machine lets its users mount; the limit of the file size is tested above.
        return;
    };
    let answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert_eq!(answers.len(), 9, "{said}");
    for answer in &answers[..8] {
        assert_eq!(answer["code"], "no-space", "{answer:#}");
        assert!(hint_of(answer).starts_with("df -h "), "{answer:#}");
    }
    assert_eq!(answers[8]["status"], "migrated", "{said}");
}
