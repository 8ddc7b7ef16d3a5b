//! git is the referee: the tree of a checkpoint is the one `git add -A` would write, and a restore
//! leaves index and files as `git read-tree -m -u` would.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use crate::support::Sandbox;

/// Writes the tree that `git add -A` makes of the worktree, without touching the index.
fn tree_by_git(sandbox: &Sandbox) -> String {
    let index = sandbox.outside().join("referee-index");
    if fs::copy(sandbox.path(".git/index"), &index).is_ok() {
        // A younger index would make git trust files edited within the same second.
        let original = fs::metadata(sandbox.path(".git/index")).unwrap();
        let copy = fs::File::options().write(true).open(&index).unwrap();
        copy.set_modified(original.modified().unwrap()).unwrap();
    }
    let beside = sandbox.with("GIT_INDEX_FILE", &index);
    beside.git(&["add", "-A"]);
    let tree = beside.git(&["write-tree"]);
    fs::remove_file(index).unwrap();
    tree
}

/// Checks both kinds of checkpoint against git, and that the one beside the branch touches nothing.
fn assert_same_tree(sandbox: &Sandbox) {
    let wanted = tree_by_git(sandbox);
    let before = sandbox.git(&["status", "--porcelain"]);
    let index = fs::read(sandbox.path(".git/index")).ok();
    let beside = sandbox.json(&["checkpoint", "--off-branch", "-m", "beside"]);
    let sha = beside["sha"].as_str().unwrap_or_else(|| panic!("{beside:#}"));
    let tree = sandbox.git(&["rev-parse", &format!("{sha}^{{tree}}")]);
    let diff = || sandbox.git(&["diff", &wanted, &tree]);
    assert_eq!(tree, wanted, "off-branch, against git:\n{}", diff());
    assert_eq!(fs::read(sandbox.path(".git/index")).ok(), index, "the index was touched");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before);
    sandbox.colony(&["checkpoint", "-m", "on the branch"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^{tree}"]), wanted);
    assert_eq!(sandbox.git(&["write-tree"]), wanted, "the index is the new commit");
    assert_eq!(sandbox.git(&["diff-index", "--name-only", "HEAD"]), "");
    sandbox.check_invariants();
}

#[test]
fn plain_changes_are_taken_as_git_takes_them() {
    let sandbox = Sandbox::new();
    sandbox.write("exec.sh", "true\n");
    sandbox.write("stays.txt", "stays\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.write("a.txt", "two\n");
    sandbox.set_mode("exec.sh", 0o755);
    sandbox.remove("dir");
    sandbox.write("dir", "now a file\n");
    sandbox.remove("stays.txt");
    sandbox.write("stays.txt/now", "a directory\n");
    sandbox.write("new/deep/er.txt", "new\n");
    symlink("nowhere", sandbox.path("link")).unwrap();
    fs::create_dir(sandbox.path("empty")).unwrap();
    assert_same_tree(&sandbox);
}

#[test]
fn staged_and_unstaged_changes_mix() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "staged\n");
    sandbox.write("both.txt", "staged\n");
    sandbox.write("intent.txt", "intent\n");
    sandbox.git(&["add", "staged.txt", "both.txt"]);
    sandbox.git(&["add", "-N", "intent.txt"]);
    sandbox.write("both.txt", "changed after\n");
    sandbox.git(&["rm", "-q", "--cached", "a.txt"]);
    sandbox.write("gone-after.txt", "x\n");
    sandbox.git(&["add", "gone-after.txt"]);
    sandbox.remove("gone-after.txt");
    assert_same_tree(&sandbox);
}

#[test]
fn an_unborn_branch_and_a_detached_head_work() {
    let unborn = Sandbox::unborn();
    unborn.write("first.txt", "first\n");
    assert_same_tree(&unborn);
    let detached = Sandbox::new();
    detached.git(&["checkout", "-q", "--detach"]);
    detached.write("a.txt", "detached\n");
    assert_same_tree(&detached);
    assert!(!detached.try_git(&["symbolic-ref", "-q", "HEAD"]));
}

#[test]
fn line_ends_and_filters_are_applied_as_git_applies_them() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    sandbox.write(
        ".gitattributes",
        "*.crlf text eol=crlf\n*.up filter=upper\n*.auto text=auto\n*.bin -text\n",
    );
    sandbox.write("x.crlf", "one\r\ntwo\r\n");
    sandbox.write("y.up", "shout\n");
    sandbox.write("z.auto", "a\r\nb\r\n");
    sandbox.write("w.bin", "a\r\nb\r\n");
    assert_same_tree(&sandbox);
    sandbox.write("x.crlf", "mixed\r\nends\n");
    sandbox.write("y.up", "again\n");
    assert_same_tree(&sandbox);
}

#[test]
fn ignored_files_are_ignored_unless_tracked() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\nbuild/\n!keep.log\n");
    sandbox.write("tracked.log", "tracked\n");
    sandbox.git(&["add", "-f", "tracked.log"]);
    sandbox.git(&["commit", "-qm", "tracked"]);
    sandbox.write("tracked.log", "changed\n");
    sandbox.write("noise.log", "noise\n");
    sandbox.write("keep.log", "keep\n");
    sandbox.write("build/out.o", "o\n");
    sandbox.write("dir/.gitignore", "b.txt\nsecret\n");
    sandbox.write("dir/secret", "s\n");
    sandbox.write(".git/info/exclude", "local-only\n");
    sandbox.write("local-only", "x\n");
    assert_same_tree(&sandbox);
}

#[test]
fn flags_people_set_on_paths_are_respected() {
    let sandbox = Sandbox::new();
    sandbox.write("c.txt", "c\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "c"]);
    sandbox.git(&["update-index", "--assume-unchanged", "a.txt"]);
    sandbox.git(&["update-index", "--skip-worktree", "c.txt"]);
    sandbox.write("a.txt", "assumed unchanged\n");
    sandbox.write("c.txt", "skipped\n");
    sandbox.write("dir/b.txt", "seen\n");
    assert_same_tree(&sandbox);
    assert!(sandbox.git(&["ls-files", "-v", "a.txt"]).starts_with("h "));
    assert!(sandbox.git(&["ls-files", "-t", "c.txt"]).starts_with("S "));
}

#[test]
fn a_sparse_checkout_keeps_what_is_not_there() {
    let sandbox = Sandbox::new();
    sandbox.write("other/c.txt", "c\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "c"]);
    sandbox.git(&["sparse-checkout", "set", "--no-sparse-index", "dir"]);
    assert!(!sandbox.path("other/c.txt").exists());
    sandbox.write("dir/b.txt", "changed\n");
    assert_same_tree(&sandbox);
    assert!(sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("other/c.txt"));
}

#[test]
fn submodules_are_recorded_at_their_head() {
    let library = Sandbox::new();
    let sandbox = Sandbox::new();
    let url = library.root.to_str().unwrap();
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    sandbox.git(&["commit", "-qm", "submodule"]);
    let inner = sandbox.at(sandbox.path("lib"));
    inner.git(&[
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "on",
    ]);
    sandbox.write("lib/untracked-inside", "x\n");
    assert_same_tree(&sandbox);
    sandbox.remove("lib");
    assert_same_tree(&sandbox);
}

#[test]
fn a_parent_that_became_a_link_is_not_followed() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("b.txt"), "not ours\n").unwrap();
    sandbox.remove("dir");
    symlink(&elsewhere, sandbox.path("dir")).unwrap();
    assert_same_tree(&sandbox);
}

#[test]
fn names_of_any_bytes_are_kept() {
    let sandbox = Sandbox::new();
    let names: [&[u8]; 5] =
        [b"caf\xc3\xa9", b"latin\xe9", b"new\nline", b"--output=pwn", b"tab\tq\"uote"];
    for name in names {
        fs::write(sandbox.root.join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    assert_same_tree(&sandbox);
    assert!(!sandbox.root.join("pwn").exists());
}

#[test]
fn a_conflicted_index_is_taken_off_the_branch() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-qb", "side"]);
    sandbox.write("a.txt", "side\n");
    sandbox.git(&["commit", "-qam", "side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    sandbox.git(&["commit", "-qam", "main"]);
    assert!(!sandbox.try_git(&["merge", "side"]));
    let wanted = tree_by_git(&sandbox);
    let stages = sandbox.git(&["ls-files", "-s"]);
    let beside = sandbox.json(&["checkpoint", "--off-branch", "-m", "conflict"]);
    let sha = beside["sha"].as_str().unwrap();
    assert_eq!(sandbox.git(&["rev-parse", &format!("{sha}^{{tree}}")]), wanted);
    assert_eq!(sandbox.git(&["ls-files", "-s"]), stages);
    assert_eq!(sandbox.error(&["checkpoint", "-m", "x"]), "operation-in-progress");
    sandbox.git(&["merge", "--abort"]);
    sandbox.colony(&["restore", "conflict"]);
    assert_eq!(sandbox.git(&["ls-files", "-s"]), stages, "the index as it was, stages included");
}

#[test]
fn git_lfs_files_are_cleaned_and_smudged() {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.write("big.bin", vec![7_u8; 20_000]);
    assert_same_tree(&sandbox);
    let pointer = sandbox.git(&["cat-file", "-p", "HEAD:big.bin"]);
    assert!(pointer.starts_with("version https://git-lfs.github.com/spec/v1"));
    let sha = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write("big.bin", "something else\n");
    sandbox.colony(&["checkpoint", "-m", "changed"]);
    sandbox.colony(&["restore", "on the branch"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), sha);
    assert_eq!(fs::read(sandbox.path("big.bin")).unwrap(), vec![7_u8; 20_000]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn sha256_repositories_and_split_indexes_work() {
    let sandbox = Sandbox::init(&["--object-format=sha256"]);
    sandbox.write("a.txt", "one\n");
    assert_same_tree(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["restore", "on the branch"]);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("a.txt"), "two\n");

    let split = Sandbox::new();
    split.git(&["update-index", "--split-index"]);
    split.write("a.txt", "split\n");
    let before = split.git(&["ls-files", "-s"]);
    split.colony(&["checkpoint", "-m", "x"]);
    split.colony(&["undo"]);
    assert_eq!(split.git(&["ls-files", "-s"]), before);
    split.check_invariants();
}

#[test]
fn what_git_cannot_be_asked_to_do_is_refused_by_name() {
    let sparse = Sandbox::new();
    sparse.write("other/c.txt", "c\n");
    sparse.git(&["add", "-A"]);
    sparse.git(&["commit", "-qm", "c"]);
    sparse.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
    assert_eq!(sparse.error(&["checkpoint", "-m", "x"]), "unsupported");
    let bare = Sandbox::init(&["--bare"]);
    assert_eq!(bare.error(&["status"]), "bare-repository");
}

#[test]
fn a_restore_leaves_index_and_files_as_read_tree_would() {
    let sandbox = Sandbox::new();
    sandbox.write("run.sh", "true\n");
    sandbox.set_mode("run.sh", 0o755);
    sandbox.write("swap/inner", "inner\n");
    symlink("a.txt", sandbox.path("link")).unwrap();
    sandbox.write(".gitattributes", "*.crlf text eol=crlf\n");
    sandbox.write("x.crlf", "one\r\n");
    sandbox.colony(&["checkpoint", "-m", "first state"]);
    let old = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.set_mode("run.sh", 0o644);
    sandbox.remove("swap");
    sandbox.write("swap", "a file now\n");
    sandbox.remove("link");
    sandbox.write("link/under", "a directory now\n");
    sandbox.write("x.crlf", "two\r\n");
    sandbox.remove("dir");
    sandbox.write("added/here", "added\n");
    sandbox.colony(&["checkpoint", "-m", "second state"]);
    let new = sandbox.git(&["rev-parse", "HEAD"]);

    let referee = sandbox.outside().join("referee");
    let clone = ["clone", "-q", sandbox.root.to_str().unwrap(), referee.to_str().unwrap()];
    sandbox.git(&clone);
    let referee = sandbox.at(referee);
    for (name, from, to) in [("first state", &new, &old), ("second state", &old, &new)] {
        sandbox.colony(&["restore", name]);
        referee.git(&["read-tree", "-m", "-u", from, to]);
        let index = referee.git(&["ls-files", "-s"]);
        assert_eq!(sandbox.git(&["ls-files", "-s"]), index);
        assert_eq!(sandbox.worktree(), referee.worktree());
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        sandbox.check_invariants();
    }
}

#[test]
fn a_conflicted_file_that_equals_one_side_is_kept() {
    for side in ["--ours", "--theirs"] {
        let sandbox = Sandbox::new();
        sandbox.write("z.txt", "base\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "z"]);
        sandbox.git(&["checkout", "-qb", "side"]);
        sandbox.write("a.txt", "side\n");
        sandbox.git(&["rm", "-q", "z.txt"]);
        sandbox.git(&["commit", "-qam", "side"]);
        sandbox.git(&["checkout", "-q", "main"]);
        sandbox.write("a.txt", "main\n");
        sandbox.write("z.txt", "edited here, deleted there\n");
        sandbox.git(&["commit", "-qam", "main"]);
        assert!(!sandbox.try_git(&["merge", "side"]));
        sandbox.git(&["checkout", "-q", side, "a.txt"]);
        let wanted = tree_by_git(&sandbox);
        let beside = sandbox.json(&["checkpoint", "--off-branch", "-m", "conflict"]);
        let sha = beside["sha"].as_str().unwrap();
        assert_eq!(sandbox.git(&["rev-parse", &format!("{sha}^{{tree}}")]), wanted, "{side}");
    }
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "stashed\n");
    sandbox.git(&["stash", "-q"]);
    sandbox.write("a.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    assert!(!sandbox.try_git(&["stash", "pop"]));
    sandbox.git(&["checkout", "-q", "--ours", "a.txt"]);
    assert_same_tree(&sandbox);
    assert_eq!(sandbox.git(&["ls-files", "-u"]), "");
}

#[test]
fn other_encodings_go_both_ways_as_git_takes_them() {
    let sandbox = Sandbox::new();
    let attributes =
        "*.le text working-tree-encoding=UTF-16LE-BOM\n*.l1 working-tree-encoding=ISO-8859-1\n";
    sandbox.write(".gitattributes", attributes);
    let utf16 = b"\xff\xfeh\0i\0\n\0";
    sandbox.write("a.le", utf16);
    sandbox.write("b.l1", b"h\xe9\x80\n");
    assert_same_tree(&sandbox);
    sandbox.write("a.le", b"\xff\xfex\0\n\0");
    sandbox.write("b.l1", b"\xe8\n");
    assert_same_tree(&sandbox);
    sandbox.colony(&["restore", "@{2}"]);
    assert_eq!(fs::read(sandbox.path("a.le")).unwrap(), utf16);
    assert_eq!(fs::read(sandbox.path("b.l1")).unwrap(), b"h\xe9\x80\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// A random text of pieces that `ident` and line endings are about.
fn identified(random: &mut impl FnMut(usize) -> usize) -> String {
    // Pieces are apart: where one '$' could belong to two, 'git checkout' and 'git cat-file --filters' differ.
    const PIECES: [&str; 11] = [
        "$Id$",
        "$Id: 12$",
        "$Id: 12 $",
        "$Id:$",
        "$Id: a b $",
        "$Id",
        "Id:",
        "\n",
        "\r\n",
        " x",
        "$Id: $",
    ];
    let pieces: Vec<_> = (0..random(9)).map(|_| PIECES[random(PIECES.len())]).collect();
    pieces.join("|")
}

#[test]
fn random_ident_lines_go_both_ways_as_git_takes_them() {
    const RULES: [&str; 6] = [
        "*.c ident\n",
        "*.c ident text eol=crlf\n",
        "*.c ident text=auto\n",
        "[attr]id ident\n*.c id\nf1.c -ident\n",
        "*.c ident filter=up\n",
        "*.c ident working-tree-encoding=UTF-16LE\n",
    ];
    let mut state = 20_261_127_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for rules in RULES {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
        sandbox.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
        sandbox.write(".gitattributes", rules);
        for _ in 0..3 {
            for file in 0..6 {
                let text = identified(&mut random);
                let wide = text.encode_utf16().flat_map(u16::to_le_bytes);
                let bytes =
                    if rules.contains("UTF-16") { wide.collect() } else { text.into_bytes() };
                sandbox.write(&format!("f{file}.c"), bytes);
            }
            assert_same_tree(&sandbox);
        }
        sandbox.colony(&["restore", "@{2}"]);
        let ours: Vec<_> =
            (0..6).map(|file| fs::read(sandbox.path(&format!("f{file}.c"))).unwrap()).collect();
        let git = sandbox.copy("by-git");
        git.git(&["rm", "-rq", "--cached", "."]);
        for file in 0..6 {
            git.remove(&format!("f{file}.c"));
        }
        git.git(&["reset", "-q", "--hard"]);
        for (file, ours) in ours.iter().enumerate() {
            let theirs = fs::read(git.path(&format!("f{file}.c"))).unwrap();
            assert_eq!(
                String::from_utf8_lossy(ours),
                String::from_utf8_lossy(&theirs),
                "{rules} f{file}.c"
            );
        }
    }
}

#[test]
fn a_filter_that_is_missing_counts_only_if_it_is_required() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.m filter=m\n");
    sandbox.write("x.m", "x\n");
    sandbox.colony(&["checkpoint", "-m", "before"]);
    sandbox.git(&["config", "filter.m.clean", "no-such-command"]);
    sandbox.git(&["config", "filter.m.smudge", "cat"]);
    sandbox.write("x.m", "yy\n");
    assert_same_tree(&sandbox);
    sandbox.git(&["config", "filter.m.required", "true"]);
    sandbox.write("x.m", "zzz\n");
    assert_eq!(sandbox.error(&["checkpoint", "-m", "x"]), "filter-missing");
    // What cannot be stored can still be moved aside, and comes back.
    sandbox.git(&["config", "filter.m.clean", "false"]);
    sandbox.colony(&["restore", "before", "--mode", "files"]);
    assert_eq!(sandbox.read("x.m"), "x\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("x.m"), "zzz\n");
}

#[test]
fn a_required_filter_without_a_command_stores_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.m filter=m\n");
    sandbox.write("x.m", "x\n");
    sandbox.colony(&["checkpoint", "-m", "before"]);
    fs::write(sandbox.path(".git/config"), {
        let config = sandbox.read(".git/config");
        // Without '=', it is true.
        format!("{config}[filter \"m\"]\n\trequired\n")
    })
    .unwrap();
    sandbox.write("x.m", "secret\n");
    assert!(!sandbox.try_git(&["add", "x.m"]));
    for command in [&["checkpoint", "-m", "x"][..], &["commit", "-m", "x", "x.m"]] {
        assert_eq!(sandbox.error(command), "filter-missing");
    }
    let plain = sandbox.git(&["hash-object", "--no-filters", "x.m"]);
    assert!(!sandbox.try_git(&["cat-file", "-e", plain.trim()]));
    sandbox.git(&["config", "filter.m.clean", "cat"]);
    assert_same_tree(&sandbox);
    // The other direction: git cannot check it out, either.
    sandbox.remove("x.m");
    assert!(!sandbox.try_git(&["checkout", "HEAD", "--", "x.m"]));
    assert_eq!(sandbox.error(&["restore", "before"]), "filter-missing");
    // An empty process turns all commands off.
    sandbox.git(&["config", "filter.m.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.m.required", "false"]);
    sandbox.git(&["config", "filter.m.process", ""]);
    sandbox.write("x.m", "not in capitals\n");
    assert_same_tree(&sandbox);
}

#[test]
fn a_folder_that_only_looks_like_a_repository_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("broken/.git", "gitdir: /nonexistent\n");
    sandbox.write("broken/file", "x\n");
    sandbox.write("junk/.git", "junk\n");
    sandbox.write("junk/file", "x\n");
    fs::create_dir_all(sandbox.path("empty/.git")).unwrap();
    sandbox.write("empty/file", "x\n");
    assert_same_tree(&sandbox);
}

#[test]
fn many_new_and_changed_files_leave_no_double_entries() {
    let sandbox = Sandbox::new();
    for round in 0..3 {
        for number in 0..300 {
            sandbox.write(
                &format!("d{}/f{number}", number % 17),
                format!("{}\n", number * (round % 2 + 1)),
            );
        }
        for number in 0..20 {
            sandbox.write(&format!("d3/new{round}-{number}"), "new\n");
        }
        sandbox.remove(&format!("d{round}"));
        sandbox.colony(&["checkpoint", "-m", "round"]);
        let paths = sandbox.git(&["ls-files"]);
        let mut unique: Vec<_> = paths.lines().collect();
        unique.dedup();
        assert_eq!(unique.len(), paths.lines().count());
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
}
