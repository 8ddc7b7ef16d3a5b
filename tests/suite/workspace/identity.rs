//! `id`: root, ids, origin, and what they are in repositories of every shape.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

/// The rule, written a second time.
fn expected_id(root: &str, origin: &str) -> String {
    let text = match origin {
        "" => root.to_owned(),
        origin => format!("{origin}\0{root}"),
    };
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The fields that say which checkout it is.
fn place(view: &View) -> Value {
    let answer = view.json(&["id"]);
    json!([
        answer["root"],
        answer["git_root"],
        answer["common_dir"],
        answer["is_worktree"],
        answer["superproject"],
        answer["default_branch"],
        answer["capabilities"]["git"],
    ])
}

/// The answer of a process, which reads git's configuration as git does: includes, variables.
fn as_process(view: &View) -> Value {
    let asked = view.program().args(["--json", "id"]).output().unwrap();
    serde_json::from_slice(&asked.stdout).unwrap()
}

/// A text without what differs between runs.
fn plain(view: &View, text: &str) -> String {
    let outside = view.outside();
    text.replace(outside.to_str().unwrap(), "<outside>")
}

#[test]
fn the_id_is_that_of_root_and_origin() {
    let sandbox = Sandbox::new();
    let root = sandbox.root.to_str().unwrap();
    assert_eq!(sandbox.git(&["rev-parse", "--show-toplevel"]), root);
    let id = |view: &View| view.json(&["id"])["repository_id"].clone();
    assert_eq!(id(&sandbox), expected_id(root, ""));
    let url = "https://github.com/acme/widgets.git";
    sandbox.git(&["config", "remote.origin.url", url]);
    let with_origin = expected_id(root, url);
    assert_eq!(id(&sandbox), with_origin);
    let deep = sandbox.at(sandbox.path("dir"));
    assert_eq!(id(&deep), with_origin);
    let link = sandbox.outside().join("link");
    std::os::unix::fs::symlink(&sandbox.root, &link).unwrap();
    assert_eq!(id(&sandbox.at(link)), with_origin);
    let token = "https://x:secret-token@github.com/acme/widgets.git";
    sandbox.git(&["config", "remote.origin.url", token]);
    assert_eq!(id(&sandbox), with_origin);
}

#[test]
fn the_origin_is_the_one_that_git_config_names() {
    let sandbox = Sandbox::new();
    let included = sandbox.outside().join("included");
    fs::write(&included, "[REMOTE \"origin\"] URL = https://host/included.git ; why\n").unwrap();
    let configs = [
        "[remote \"origin-old\"]\n\turl = https://host/old.git\n[remote \"origin\"]\n\turl = https://host/new.git\n",
        "[remote \"origin\"]\n\turl = https://host/one.git\n\turl = https://host/two.git\n",
        "[REMOTE \"origin\"] URL = https://host/upper.git # why\n",
        "[remote \"origin\"]\n\turl = \"https://host/quoted;name.git\"\n\tpushurl = https://host/push.git\n",
        "[include]\n\tpath = ../../included\n",
        "[url \"ssh://git@other/\"]\n\tinsteadOf = https://host/\n[remote \"origin\"]\n\turl = https://host/kept.git\n",
        "[remote \"origin\"]\n\turl = git@github.com:acme/widgets.git\n",
    ];
    let before = sandbox.read(".git/config");
    for config in configs {
        sandbox.write(".git/config", format!("{before}{config}"));
        let answer = as_process(&sandbox);
        let named = sandbox.git(&["config", "--get", "remote.origin.url"]);
        assert_eq!(answer["origin_url"], named, "{config}");
        let expected = expected_id(sandbox.root.to_str().unwrap(), &named);
        assert_eq!(answer["repository_id"], expected, "{config}");
    }
    let view = sandbox
        .with("GIT_CONFIG_COUNT", "1")
        .with("GIT_CONFIG_KEY_0", "remote.origin.url")
        .with("GIT_CONFIG_VALUE_0", "https://host/once.git");
    assert_eq!(as_process(&view)["origin_url"], "https://host/once.git");
}

#[test]
fn credentials_of_the_origin_are_never_printed() {
    let sandbox = Sandbox::new();
    for url in [
        "https://ada:hunter2@github.com/acme/widgets.git",
        "https://hunter2@github.com/acme/widgets.git",
        "https://github.com/acme/widgets.git?token=hunter2",
        "https://ada:hun@hunter2@github.com/x.git",
        "ssh://ada:hunter2@host/x.git",
        "https://ada:p/w@hunter2@host/x.git",
        "ftp://ada:hunter2@host/x",
    ] {
        sandbox.git(&["config", "remote.origin.url", url]);
        let text = sandbox.run(&["id"]);
        let json = sandbox.run(&["--json", "id"]);
        assert_eq!((text.code, json.code), (0, 0), "{url}");
        for shown in [text.stdout, text.stderr, json.stdout, json.stderr] {
            assert!(!shown.contains("hunter2"), "{url}: {shown}");
        }
    }
}

#[test]
fn each_shape_of_repository_has_its_own_root() {
    let sandbox = Sandbox::new();
    let out = |name: &str| sandbox.outside().join(name);
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let root = text(&sandbox.root);
    let git_dir = format!("{root}/.git");
    let own = json!([root, root, git_dir, false, null, "main", true]);
    assert_eq!(place(&sandbox), own);
    assert_eq!(place(&sandbox.at(sandbox.path("dir"))), own);
    assert_eq!(place(&sandbox.at(sandbox.path(".git"))), own);
    assert_eq!(place(&sandbox.at(sandbox.path(".git/objects"))), own);

    let linked = text(&out("linked"));
    sandbox.git(&["worktree", "add", "-q", "-b", "side", &linked]);
    let linked_place = json!([linked, linked, git_dir, true, null, "main", true]);
    assert_eq!(place(&sandbox.at(out("linked"))), linked_place);

    let bare = text(&out("bare.git"));
    sandbox.git(&["clone", "-q", "--bare", &root, &bare]);
    let bare_place = json!([bare, null, bare, false, null, "main", true]);
    assert_eq!(place(&sandbox.at(out("bare.git"))), bare_place);
    assert_eq!(place(&sandbox.at(out("bare.git/objects"))), bare_place);

    let none = out("none");
    fs::create_dir(&none).unwrap();
    let none_place = json!([text(&none), null, null, false, null, null, false]);
    assert_eq!(place(&sandbox.at(none)), none_place);
}

#[test]
fn a_submodule_names_its_superproject() {
    let sandbox = Sandbox::new();
    let source = sandbox.copy("source");
    let url = source.root.to_str().unwrap();
    let allowed = ["-c", "protocol.file.allow=always"];
    sandbox.git(&[&allowed[..], &["submodule", "--quiet", "add", url, "deep/sub"]].concat());
    let root = sandbox.root.to_str().unwrap();
    let answer = sandbox.at(sandbox.path("deep/sub")).json(&["id"]);
    assert_eq!(answer["root"], format!("{root}/deep/sub"));
    assert_eq!(answer["superproject"], root);
    assert_eq!(answer["common_dir"], format!("{root}/.git/modules/deep/sub"));
    assert_eq!(answer["is_worktree"], false);
    // A repository that is only inside another one has none.
    sandbox.git(&["init", "-q", "nested"]);
    let nested = sandbox.at(sandbox.path("nested")).json(&["id"]);
    assert_eq!(nested["superproject"], Value::Null);
    assert_eq!(nested["root"], format!("{root}/nested"));
}

#[test]
fn formats_that_other_commands_refuse_have_an_id() {
    for (options, branch) in [
        (&["--object-format=sha256"][..], json!("main")),
        (&["--ref-format=reftable"], Value::Null),
        (&["--bare"], json!("main")),
        (&[], json!("main")),
    ] {
        let sandbox = Sandbox::init(options);
        let answer = sandbox.json(&["id"]);
        let root = sandbox.root.to_str().unwrap();
        assert_eq!(answer["root"], root, "{options:?}");
        assert_eq!(answer["repository_id"], expected_id(root, ""));
        assert_eq!(answer["project_id"], Value::Null, "{options:?}");
        assert_eq!(answer["default_branch"], branch, "{options:?}");
    }
}

#[test]
fn only_a_git_directory_of_git_makes_a_repository() {
    let sandbox = Sandbox::new();
    let root = sandbox.root.to_str().unwrap().to_owned();
    fs::create_dir_all(sandbox.path("empty/.git")).unwrap();
    sandbox.write("stray/.git", "no path\n");
    for directory in ["empty", "stray"] {
        let view = sandbox.at(sandbox.path(directory));
        assert_eq!(view.json(&["id"])["root"], root, "{directory}");
    }
    let alone = sandbox.outside().join("alone");
    fs::create_dir_all(alone.join(".git")).unwrap();
    let view = sandbox.at(alone.clone());
    let answer = view.json(&["id"]);
    assert_eq!(answer["git_root"], Value::Null);
    assert_eq!(answer["root"], alone.to_str().unwrap());
    assert_eq!(view.error(&["status"]), "not-a-repository");
    // Nor does a manifest above it.
    fs::write(sandbox.outside().join("Cargo.toml"), "[workspace]\n").unwrap();
    assert_eq!(sandbox.json(&["id"])["root"], root);
}

#[test]
fn variables_of_git_name_the_repository() {
    let sandbox = Sandbox::new();
    let other = sandbox.copy("other");
    let git_dir = other.path(".git");
    let named = sandbox.with("GIT_DIR", git_dir.clone());
    let root = sandbox.root.to_str().unwrap();
    let answer = named.json(&["id"]);
    assert_eq!(answer["root"], root, "the current directory, as for git");
    assert_eq!(answer["common_dir"], git_dir.to_str().unwrap());
    let with_tree = named.with("GIT_WORK_TREE", other.root.clone());
    assert_eq!(with_tree.json(&["id"])["root"], other.root.to_str().unwrap());
    let wrong = sandbox.with("GIT_DIR", "/nowhere");
    assert_eq!(wrong.run(&["id"]).code, 128);
    let below = sandbox.path("dir");
    for (ceiling, is_found) in [(&sandbox.root, false), (&below, true), (&sandbox.outside(), true)]
    {
        let view = sandbox.with("GIT_CEILING_DIRECTORIES", ceiling.clone());
        let view = view.at(below.clone());
        assert_eq!(view.try_git(&["rev-parse", "--git-dir"]), is_found);
        let answer = view.json(&["id"]);
        assert_eq!(answer["capabilities"]["git"], is_found, "{ceiling:?}");
        let expected = if is_found { &sandbox.root } else { &below };
        assert_eq!(answer["root"], expected.to_str().unwrap());
    }
}

#[test]
fn clones_on_other_machines_share_the_project() {
    let sandbox = Sandbox::new();
    let clone = sandbox.outside().join("clone");
    let project = |view: &View| view.json(&["id"])["project_id"].clone();
    let by_commit = project(&sandbox);
    assert!(by_commit.is_string());
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let clone = sandbox.at(clone);
    assert_eq!(project(&clone), by_commit, "a path as origin counts as none");
    clone.git(&["switch", "-q", "--orphan", "other"]);
    clone.git(&["config", "user.name", "Ada"]);
    clone.git(&["config", "user.email", "ada@example.com"]);
    clone.git(&["commit", "-q", "--allow-empty", "-m", "another root"]);
    assert_eq!(project(&clone), by_commit, "on any branch");
    let spellings = [
        "https://github.com/acme/widgets.git",
        "git@github.com:acme/widgets",
        "ssh://git@GitHub.com:22/acme/widgets.git",
        "https://token@github.com/acme/widgets",
    ];
    let by_url = spellings.map(|url| {
        clone.git(&["config", "remote.origin.url", url]);
        project(&clone)
    });
    assert_ne!(by_url[0], by_commit);
    assert!(by_url.iter().all(|id| *id == by_url[0]), "{by_url:?}");
    let shallow = sandbox.outside().join("shallow");
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    let from = format!("file://{}", sandbox.root.display());
    sandbox.git(&["clone", "-q", "--depth=1", &from, shallow.to_str().unwrap()]);
    assert_eq!(project(&sandbox.at(shallow)), Value::Null, "the first commit is not here");
}

/// Makes a history of so many commits, oldest first, and returns their ids.
fn history_of(sandbox: &Sandbox, count: usize) -> Vec<String> {
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let mut commits: Vec<String> = Vec::new();
    for number in 0..count {
        let message = number.to_string();
        let mut make = vec!["commit-tree", &tree, "-m", &message];
        make.extend(commits.last().map(|last| ["-p", last]).into_iter().flatten());
        let commit = sandbox.git(&make);
        commits.push(commit);
    }
    sandbox.git(&["reset", "-q", "--soft", commits.last().unwrap()]);
    commits
}

#[test]
fn a_long_history_is_walked_once() {
    let sandbox = Sandbox::new();
    let commits = history_of(&sandbox, 140);
    let project = |view: &View| view.json(&["id"])["project_id"].clone();
    let of_commit = |commit: &str| {
        let text = format!("commit\0{commit}");
        json!(blake3::hash(text.as_bytes()).to_hex()[..16])
    };
    let by_first = of_commit(&commits[0]);
    let kept = sandbox.path(".git/colony/cache/first-commit-2.json");
    sandbox.git(&["reset", "-q", "--soft", &commits[99]]);
    assert_eq!(project(&sandbox), by_first);
    assert!(!kept.exists(), "a short one is not kept");
    sandbox.git(&["reset", "-q", "--soft", &commits[120]]);
    assert_eq!(project(&sandbox), by_first);
    let found: Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
    assert_eq!(found, json!([commits[120], commits[0]]));
    // What is kept counts for the commits after it, and only for them.
    fs::write(&kept, json!([commits[120], commits[7]]).to_string()).unwrap();
    sandbox.git(&["reset", "-q", "--soft", &commits[139]]);
    assert_eq!(project(&sandbox), of_commit(&commits[7]));
    sandbox.git(&["reset", "-q", "--soft", &commits[110]]);
    assert_eq!(project(&sandbox), by_first);
    fs::write(&kept, "no JSON").unwrap();
    assert_eq!(project(&sandbox), by_first);
    // A shallow clone has the end of its history, which is not the first commit.
    let shallow = sandbox.outside().join("shallow");
    let from = format!("file://{}", sandbox.root.display());
    sandbox.git(&["clone", "-q", "--depth=105", &from, shallow.to_str().unwrap()]);
    let shallow = sandbox.at(shallow);
    shallow.json(&["map", "preview"]);
    assert_eq!(project(&shallow), Value::Null);
    shallow.git(&["fetch", "-q", "--unshallow"]);
    assert_eq!(project(&shallow), by_first);
}

#[test]
fn replaced_commits_do_not_change_the_project() {
    for count in [3, 130] {
        let sandbox = Sandbox::new();
        let commits = history_of(&sandbox, count);
        let before = sandbox.json(&["id"])["project_id"].clone();
        std::fs::remove_dir_all(sandbox.path(".git/colony")).ok();
        sandbox.git(&["replace", "--graft", &commits[count - 2]]);
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "2");
        assert_eq!(sandbox.json(&["id"])["project_id"], before, "{count}");
    }
}

#[test]
fn the_host_of_the_origin_is_its_provider() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["id"])["provider"], Value::Null);
    for (url, provider) in [
        ("https://github.com/a/b.git", "github"),
        ("git@gitlab.com:a/b.git", "gitlab"),
        ("https://gitlab.example.org:8443/a/b.git", "gitlab"),
        ("ssh://git@bitbucket.org/a/b.git", "bitbucket"),
        ("https://example.org/github/b.git", "local"),
        ("https://mygithub.com/a/b.git", "local"),
        ("../sibling", "local"),
        ("ext::sh -c true", "local"),
    ] {
        sandbox.git(&["config", "remote.origin.url", url]);
        assert_eq!(sandbox.json(&["id"])["provider"], provider, "{url}");
    }
}

#[test]
fn no_program_is_started() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/.keep", "");
    let view = sandbox.with("PATH", "/nowhere");
    let answer = view.at(view.path("sub")).json(&["id"]);
    assert_eq!(answer["repository_id"], sandbox.json(&["id"])["repository_id"]);
    for command in [&["paths"][..], &["groups", "a.txt"]] {
        assert_eq!(view.json(command)["ok"], true, "{command:?}");
    }
}

#[test]
fn a_root_that_is_not_text_is_answered_in_bytes() {
    let sandbox = Sandbox::new();
    let ids = [&b"na\xffme"[..], b"na\xfeme"].map(|name| {
        let root = sandbox.outside().join(std::ffi::OsString::from_vec(name.to_vec()));
        fs::create_dir(&root).unwrap();
        let answer = sandbox.at(root.clone()).json(&["id"]);
        assert!(answer["root"]["bytes"].is_string(), "{answer:#}");
        assert_eq!(sandbox.at(root).run(&["id"]).code, 0);
        answer["repository_id"].clone()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_answer_is_the_same_for_people_and_programs() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "remote.origin.url", "https://ada:x@gitlab.com/a/b.git"]);
    sandbox.write("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n[package]\nname = \"x\"\n");
    for number in 0..23 {
        sandbox.write(&format!("crates/c{number:02}/Cargo.toml"), "[package]\n");
    }
    sandbox.write(".colony/colony.toml", "agent = \"x\"\n");
    sandbox.write(".colony/agents/ada.md", "");
    let answer = sandbox.json(&["id"]);
    let id = answer["repository_id"].as_str().unwrap();
    let mut shown = answer.clone();
    let members = shown["members"].as_array().unwrap().len();
    shown["members"] = json!(shown["members"][0]);
    assert_eq!(members, 23);
    let json = serde_json::to_string_pretty(&shown).unwrap().replace(id, "<id>");
    let text = sandbox.colony(&["id"]).replace(id, "<id>");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("id", format!("{}\n\n{}", plain(&sandbox, &json), plain(&sandbox, &text)));
    });
}

#[test]
fn a_branch_named_like_a_ref_is_not_the_branch_of_that_ref() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "-m", "trunk"]);
    sandbox.git(&["update-ref", "refs/heads/refs/heads/main", "HEAD"]);
    assert_eq!(sandbox.json(&["id"])["default_branch"], "trunk");
    sandbox.git(&["pack-refs", "--all"]);
    assert_eq!(sandbox.json(&["id"])["default_branch"], "trunk");
    sandbox.git(&["branch", "main"]);
    sandbox.git(&["pack-refs", "--all"]);
    assert_eq!(sandbox.json(&["id"])["default_branch"], "main");
}
