//! `map --url`: another repository is mapped by the map it has, without a checkout of it.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, View, worktree_of};

const MAP: &str = "schema_version: 1
sources:
  - name: code
    type: git_repo
    start_dir: src
    exclude_globs: ['*.lock']
  - name: prose
    type: literature
    start_dir: docs
    chunk_target_tokens: 64
  - name: side
    type: git_repo
    branch: side
";

/// Makes a repository beside that of the sandbox, with a map, settings and two branches.
fn other(sandbox: &Sandbox, name: &str) -> (View, String) {
    let root = sandbox.outside().join(name);
    for folder in [".colony", "src", "docs"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let view = sandbox.at(root.clone());
    view.git(&["init", "-q", "-b", "main", "--template="]);
    view.git(&["config", "user.name", "Bo"]);
    view.git(&["config", "user.email", "bo@example.com"]);
    view.write("first", format!("{name}\n"));
    commit(&view, "first");
    view.git(&["branch", "side"]);
    view.write(".colony/repo_map.yaml", MAP);
    view.write(".colony/colony.toml", "[map]\nflushThreshold = 2\n");
    for file in ["a.rs", "b.rs", "c.rs", "d.lock"] {
        view.write(&format!("src/{file}"), format!("// {file}\n").repeat(9));
    }
    view.write("docs/one.md", "# One\n\nWords about one.\n".repeat(30));
    commit(&view, "second");
    let url = format!("file://{}", root.to_str().unwrap());
    (view, url)
}

fn commit(view: &View, message: &str) {
    view.git(&["add", "-A"]);
    view.git(&["commit", "-qm", message]);
}

/// The pages of all scopes with an id that begins so, and the text of each.
fn pages(view: &View, base: &str) -> Vec<(Value, String)> {
    let pages = view.json(&["pages", "--limit", "1000"])["pages"].clone();
    let pages = pages.as_array().unwrap().iter().filter(|page| {
        let scope = page["scope_id"].as_str().unwrap();
        scope.starts_with(base)
    });
    pages
        .map(|page| {
            let text = view.colony(&["pages", "show", page["page_id"].as_str().unwrap()]);
            (page.clone(), text)
        })
        .collect()
}

#[test]
fn its_own_map_gives_the_pages_that_it_gives_inside() {
    let sandbox = Sandbox::new();
    let (there, url) = other(&sandbox, "other");
    let before = worktree_of(&sandbox.outside().join("other"));
    let mapped = sandbox.json(&["map", "--url", &url, "--base-scope", "acme"]);
    assert_eq!(
        (&mapped["ok"], &mapped["count"], &mapped["origin_url"]),
        (&json!(true), &json!(3), &json!(url)),
        "{mapped:#}"
    );
    assert_eq!(worktree_of(&sandbox.outside().join("other")), before);
    let inside = there.json(&["map", "--base-scope", "acme"]);
    assert_eq!(inside["ok"], true, "{inside:#}");
    let ours = pages(&sandbox, "acme:");
    assert_eq!(ours, pages(&there, "acme:"));
    // Two records in a page, as its own settings say, and six files of the branch 'side' and 'src'.
    assert!(ours.len() > 3, "{ours:#?}");
    let again = sandbox.json(&["map", "--url", &url, "--base-scope", "acme"]);
    assert_eq!(again["results"][0]["status"], "already_mapped");
    // The next map of this repository leaves these scopes alone.
    let own = sandbox.json(&["map"]);
    assert_eq!(own["retired"], json!([]), "{own:#}");
    assert_eq!(pages(&sandbox, "acme:"), ours);
    let shown = sandbox.json(&["scopes", "show", "acme:code"]);
    assert_eq!(shown["syscontext"]["shared"], false);
}

#[test]
fn two_repositories_are_mapped_side_by_side() {
    let sandbox = Sandbox::new();
    for name in ["one", "two"] {
        let (there, url) = other(&sandbox, name);
        let base = sandbox.json(&["map", "--url", &url])["results"][0]["scope_id"].clone();
        assert_eq!(there.json(&["map"])["results"][0]["scope_id"], base);
        let base = base.as_str().unwrap().trim_end_matches("code");
        let ours = pages(&sandbox, base);
        assert!(!ours.is_empty());
        assert_eq!(ours, pages(&there, base));
    }
    assert_eq!(sandbox.json(&["scopes"])["count"], 6);
}

#[test]
fn check_show_preview_and_tree_look_at_it_too() {
    let sandbox = Sandbox::new();
    let (there, url) = other(&sandbox, "other");
    let head = there.git(&["rev-parse", "HEAD"]);
    for (view, rev) in [
        ("check", true),
        ("show", true),
        ("preview", false),
        ("tree", true),
        ("tree --tokens", true),
    ] {
        let words: Vec<&str> = ["map"].into_iter().chain(view.split(' ')).collect();
        let by_url = [&words[..], &["--url", &url, "--branch", "main"]].concat();
        let mut seen = sandbox.json(&by_url);
        let inside = [&words[..], if rev { &["--rev", "main"] } else { &[] }].concat();
        let mut inside = there.json(&inside);
        assert_eq!(seen["origin_url"], json!(url), "{view}");
        assert_eq!(seen["commit"], json!(head), "{view}");
        for answer in [&mut seen, &mut inside] {
            answer.as_object_mut().unwrap().remove("origin_url");
            answer.as_object_mut().unwrap().remove("message");
            for row in answer["rows"].as_array_mut().into_iter().flatten() {
                let arguments = row["mmap_kwargs"].as_object_mut().unwrap();
                arguments.remove("origin_url");
            }
        }
        assert_eq!(seen, inside, "{view}");
    }
    let first = there.git(&["rev-parse", "HEAD~1"]);
    let old = sandbox.json(&["map", "show", "--url", &url, "--commit", &first]);
    assert_eq!((&old["has_repo_map_file"], &old["commit"]), (&json!(false), &json!(first)));
    assert_eq!(sandbox.json(&["scopes"])["count"], 0, "looking maps nothing");
}

#[test]
fn its_submodules_are_those_of_its_tree() {
    let sandbox = Sandbox::new();
    let (there, url) = other(&sandbox, "other");
    let map = "schema_version: 1\nsources:\n  - {name: a, type: git_repo, submodule: third}\n  - {name: b, type: git_repo, submodule: fourth}\n";
    there.write(".colony/repo_map.yaml", map);
    let listed = "[submodule \"third\"]\n\tpath = third\n\turl = https://localhost:1/third.git\n";
    there.write(".gitmodules", listed);
    let pinned = "160000,0123456789012345678901234567890123456789,third";
    there.git(&["add", "-A"]);
    there.git(&["update-index", "--add", "--cacheinfo", pinned]);
    there.git(&["commit", "-qm", "submodule"]);
    let check = sandbox.json(&["map", "check", "--url", &url]);
    assert_eq!(check["count"], 1, "{check:#}");
    let inside = there.json(&["map", "check", "--rev", "HEAD"]);
    assert_eq!(check["problems"], inside["problems"]);
    let preview = sandbox.json(&["map", "preview", "--url", &url, "--base-scope", "x"]);
    let inside = there.json(&["map", "preview", "--base-scope", "x"]);
    assert_eq!(preview["rows"], inside["rows"]);
    assert_eq!(preview["rows"][0]["code"], "offline");
}

#[test]
fn what_is_not_there_is_an_error_and_maps_nothing() {
    let sandbox = Sandbox::new();
    let (there, url) = other(&sandbox, "other");
    let dry = sandbox.json(&["map", "--url", &url, "-n"]);
    assert_eq!(dry["code"], "offline", "a dry run fetches nothing");
    assert_eq!(dry["hint"], format!("git colony map --url '{url}'"));
    for command in ["map", "map check", "map show", "map preview", "map tree"] {
        for (options, code) in [
            (["--branch", "none"], "revision-not-found"),
            (["--commit", "none"], "revision-not-found"),
            (["--commit", "0123456789012345678901234567890123456789"], "revision-not-found"),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let args = [&words[..], &["--url", &url], &options].concat();
            assert_eq!(sandbox.error(&args), code, "{args:?}");
        }
        let words: Vec<&str> = command.split(' ').collect();
        for url in ["ext::sh -c id", "--upload-pack=id", "fd::17"] {
            let url = format!("--url={url}");
            let args = [&words[..], &[&url]].concat();
            assert_eq!(sandbox.error(&args), "url-refused", "{args:?}");
        }
    }
    there.write(".colony/repo_map.yaml", "schema_version: 7\nsources: []\n");
    commit(&there, "broken");
    let broken = sandbox.json(&["map", "--url", &url]);
    assert_eq!(broken["code"], "map-invalid");
    let hint = broken["hint"].as_str().unwrap();
    let words: Vec<String> = hint.split(' ').skip(2).map(|word| word.replace('\'', "")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(sandbox.json(&words)["count"], 1, "{hint}");
    assert_eq!(sandbox.json(&["scopes"])["count"], 0);
    assert_eq!(sandbox.json(&["pages"])["total"], 0);
}

#[test]
fn scopes_of_other_repositories_are_not_replaced() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs", "--colony", "acme"]);
    let own = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    assert_eq!(own, "acme");
    let before = pages(&sandbox, "acme");
    let (there, url) = other(&sandbox, "other");
    there.colony(&["init", "--no-lfs", "--colony", "acme"]);
    let refused = sandbox.json(&["map", "--url", &url]);
    let row = &refused["results"][0];
    assert_eq!(
        (&row["status"], &row["scope_id"], &row["code"]),
        (&json!("error"), &json!("acme:code"), &json!("invalid-value"))
    );
    assert!(row["hint"].as_str().unwrap().contains("--base-scope"));
    let named = sandbox.json(&["map", "--url", &url, "--base-scope", "other"]);
    assert_eq!(named["ok"], true, "{named:#}");
    let (_, third) = other(&sandbox, "third");
    let third = |args: &[&str]| sandbox.json(&[&["map", "--url", &third], args].concat());
    assert_eq!(third(&["--base-scope", "acme"])["results"][0]["status"], "error");
    // The user names the scopes: they are replaced on purpose.
    assert_eq!(third(&["--base-scope", "other"])["ok"], true);
    assert_eq!(pages(&sandbox, "acme"), before);
}

#[test]
fn the_first_commit_as_a_name_does_not_replace_own_scopes() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["map"]);
    let root = sandbox.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let before = pages(&sandbox, &root);
    let (_, url) = other(&sandbox, "other");
    let told = sandbox.json(&["map", "--url", &url, "--base-scope", &root]);
    let rows = told["results"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["status"] == "error"), "{told:#}");
    assert_eq!(pages(&sandbox, &root), before);
}
