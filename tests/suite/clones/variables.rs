//! Variables that name this repository, as hooks have them, never reach another one.

use crate::support::{Sandbox, View};

/// Runs the program as a process: a library reads the environment of its process.
fn answer(view: &View, variables: &[(&str, String)], args: &[&str]) -> String {
    let output = view.program().args(args).envs(variables.iter().cloned()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    // Ages and times go on meanwhile.
    let stays = |word: &&str| !word.contains(':') && word.parse::<u64>().is_err();
    let words: Vec<_> = text.split_whitespace().filter(stays).collect();
    format!("{:?} {}", output.status.code(), words.join(" "))
}

#[test]
fn variables_of_this_repository_do_not_reach_clones_and_hubs() {
    let shared = |sandbox: &Sandbox| sandbox.outside().join("shared").display().to_string();
    let sandbox = Sandbox::new();
    let root = vec![("COLONY_SHARED_ROOT", shared(&sandbox))];
    let made = answer(&sandbox, &root, &["agents", "new", "ada"]);
    assert!(made.starts_with("Some(0)"), "{made}");
    let clone = sandbox.outside().join("shared/agents/ada/clones/main");
    let clone = sandbox.at(clone);
    clone.write("a.txt", "by ada\n");
    // Published, as a commit of plain git is only with hooks.
    let kept = answer(&clone, &root, &["checkpoint", "-m", "by ada"]);
    assert!(kept.starts_with("Some(0)"), "{kept}");
    clone.write("new.txt", "new\n");
    sandbox.write("here.txt", "here\n");
    let index = sandbox.outside().join("index").display().to_string();
    let beside = sandbox.with("GIT_INDEX_FILE", &index);
    beside.git(&["add", "-A"]);
    let (git_dir, tree) = (sandbox.path(".git"), sandbox.root.clone());
    let named = |name: &'static str, path: &std::path::Path| (name, path.display().to_string());
    let sets = [
        vec![("GIT_INDEX_FILE", index.clone())],
        vec![("GIT_INDEX_FILE", ".git/index".to_owned()), ("GIT_PREFIX", "dir/".to_owned())],
        vec![named("GIT_DIR", &git_dir)],
        vec![named("GIT_DIR", &git_dir), named("GIT_WORK_TREE", &tree), ("GIT_INDEX_FILE", index)],
        vec![named("GIT_WORK_TREE", &tree)],
        vec![
            named("GIT_OBJECT_DIRECTORY", &git_dir.join("objects")),
            named("GIT_COMMON_DIR", &git_dir),
        ],
        vec![
            named("GIT_SHALLOW_FILE", &git_dir.join("nowhere")),
            ("GIT_NAMESPACE", "x".to_owned()),
        ],
    ];
    let commands: [&[&str]; 8] = [
        &["fleet"],
        &["status"],
        &["agents"],
        &["clones"],
        &["diff", "main", "ada@"],
        &["merge", "ada", "-n"],
        &["agents", "remove", "ada", "-n"],
        &["agents", "new", "bob", "-n"],
    ];
    for command in commands {
        let wanted = answer(&sandbox, &root, command);
        for set in &sets {
            let variables = [&root[..], set].concat();
            assert_eq!(answer(&sandbox, &variables, command), wanted, "{command:?} with {set:?}");
        }
    }
    let variables = [&root[..], &sets[3]].concat();
    let made = answer(&sandbox, &variables, &["agents", "new", "bob"]);
    assert!(made.starts_with("Some(0)"), "{made}");
    let bob = sandbox.at(sandbox.outside().join("shared/agents/bob/clones/main"));
    assert_eq!(bob.git(&["status", "--porcelain"]), "");
    let merged = answer(&sandbox, &variables, &["merge", "ada"]);
    assert!(merged.starts_with("Some(0)"), "{merged}");
    assert_eq!(sandbox.read("a.txt"), "by ada\n");
}
