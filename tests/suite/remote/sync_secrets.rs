//! What looks like a secret stays at home, with the refs that bring it and no others; what a remote has is
//! none any more.

use std::sync::{Arc, Mutex};

use git_colony::testing::{Progress, Step};
use serde_json::Value;

use super::sync_refs::{Two, result, row};

const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nabc\n";

/// Adds an empty bare repository as a remote.
fn add_empty(two: &Two, name: &str) -> String {
    let path = two.a.outside().join(format!("{name}.git"));
    let path = path.to_str().unwrap().to_owned();
    two.a.git(&["init", "-q", "--bare", &path]);
    two.a.git(&["remote", "add", name, &path]);
    path
}

/// Commits files on the branch that is checked out.
fn commit(two: &Two, files: &[(&str, &str)]) {
    for (path, content) in files {
        two.a.write(path, content);
    }
    two.a.git(&["add", "-A", "-f"]);
    two.a.git(&["commit", "-q", "-m", "more"]);
}

#[test]
fn what_any_remote_has_is_published_already() {
    let two = Two::new();
    let a = &two.a;
    commit(&two, &[("keys/test.key", KEY)]);
    commit(&two, &[("later.txt", "later\n")]);
    a.git(&["push", "-q", "origin", "main"]);
    add_empty(&two, "second");
    a.colony(&["fork", "x", "--no-switch"]);
    let did = a.json(&["sync", "second", "--push"]);
    assert_eq!(result(&did, "refs/heads/fork/x"), "created", "{did:#}");
    // Deleted on the branch, and there again; and in a history of its own.
    a.git(&["rm", "-q", "-r", "keys"]);
    a.git(&["commit", "-q", "-m", "away"]);
    a.git(&["push", "-q", "origin", "main"]);
    a.colony(&["fork", "again"]);
    commit(&two, &[("keys/test.key", KEY)]);
    a.git(&["switch", "-q", "main"]);
    a.colony(&["fork", "anew"]);
    a.git(&["switch", "-q", "--orphan", "fresh"]);
    commit(&two, &[("keys/test.key", KEY)]);
    a.git(&["branch", "-f", "fork/anew", "fresh"]);
    let did = a.json(&["sync", "second"]);
    for name in ["refs/heads/fork/again", "refs/heads/fork/anew"] {
        assert_eq!(result(&did, name), "created", "{did:#}");
    }
    // The same name with other content is another file.
    commit(&two, &[("keys/test.key", "another\n")]);
    a.git(&["rm", "-q", "--cached", "keys/test.key"]);
    a.git(&["commit", "-q", "-m", "away"]);
    commit(&two, &[("keys/test.key", "another\n")]);
    a.git(&["branch", "-f", "fork/anew", "fresh"]);
    let did = a.json(&["sync", "second"]);
    assert_eq!(result(&did, "refs/heads/fork/anew"), "kept_home", "{did:#}");
}

/// Makes three checkpoints, of which the second brings secrets, and three forks, of which the second does and
/// the third goes on from there; returns the refs of the checkpoints.
fn with_finds(two: &Two) -> [String; 3] {
    let a = &two.a;
    let checkpoint = |label: &str, more: &[&str]| {
        let args = [&["checkpoint", "-m", label, "--off-branch"][..], more].concat();
        let id = a.json(&args)["ref"].clone();
        format!("refs/{}", id.as_str().unwrap())
    };
    let clean = checkpoint("clean", &[]);
    a.write(".env", "TOKEN=1\n");
    a.write("it's.pem", "x\n");
    let allow = ["--allow-secret", ".env", "--allow-secret", "it's.pem"];
    let secret = checkpoint("secret", &allow);
    a.remove(".env");
    a.remove("it's.pem");
    let after = checkpoint("after", &[]);
    a.colony(&["fork", "clean", "--no-switch"]);
    a.colony(&["fork", "bad"]);
    commit(two, &[("id_rsa", "x\n")]);
    a.git(&["rm", "-q", "id_rsa"]);
    commit(two, &[("more.txt", "x\n")]);
    a.colony(&["fork", "worse"]);
    commit(two, &[("deep/.netrc", "x\n")]);
    [clean, secret, after]
}

#[test]
fn a_find_keeps_what_brings_it_and_nothing_else() {
    let two = Two::new();
    let [clean, secret, after] = with_finds(&two);
    let a = &two.a;
    // Each time anew, and from what is remembered.
    for args in [&["sync", "-n"][..], &["sync"], &["sync"], &["sync", "-n"]] {
        let did = a.json(args);
        let told = |name: &str| (result(&did, name), row(&did, name)["reason"].clone());
        for name in [&clean, &after, "refs/heads/fork/clean", "refs/colony/forks/clean"] {
            let result = told(name).0;
            assert!(["created", "up_to_date"].contains(&&*result), "{name} {did:#}");
        }
        let wanted = [
            (&*secret, "it would publish '.env', 'it's.pem', which look like secrets"),
            ("refs/heads/fork/bad", "it would publish 'id_rsa', which looks like a secret"),
            ("refs/colony/forks/bad", "it would publish 'id_rsa', which looks like a secret"),
            (
                "refs/heads/fork/worse",
                "it would publish 'deep/.netrc', 'id_rsa', which look like secrets",
            ),
        ];
        for (name, why) in wanted {
            assert_eq!(told(name), ("kept_home".to_owned(), why.into()), "{did:#}");
        }
    }
}

#[test]
fn a_find_is_let_pass_by_its_name() {
    let two = Two::new();
    let [_, secret, _] = with_finds(&two);
    let a = &two.a;
    // The hint lets it pass, and only it.
    let did = a.json(&["sync"]);
    assert_eq!(
        row(&did, "refs/heads/fork/bad")["hint"],
        "git colony sync 'origin' --push --allow-secret 'id_rsa'   # publishes it anyway"
    );
    assert_eq!(
        row(&did, &secret)["hint"],
        r"git colony sync 'origin' --push --allow-secret '.env' --allow-secret 'it'\''s.pem'   # publishes it anyway"
    );
    let did = a.json(&["sync", "--push", "--allow-secret", "id_rsa"]);
    assert_eq!(result(&did, "refs/heads/fork/bad"), "created", "{did:#}");
    assert_eq!(result(&did, "refs/heads/fork/worse"), "kept_home");
    let why = row(&did, "refs/heads/fork/worse")["reason"].clone();
    assert_eq!(why, "it would publish 'deep/.netrc', which looks like a secret");
    let did = a.json(&["sync", "--allow-secret", "deep", "--allow-secret", ".env"]);
    assert_eq!(result(&did, "refs/heads/fork/worse"), "created", "{did:#}");
    assert_eq!(result(&did, &secret), "kept_home");
    let refused = a.json(&["--agent", "eve", "sync", "--allow-secret", "it's.pem"]);
    assert_eq!(refused["code"], "approval-refused", "{refused:#}");
}

#[test]
fn what_was_searched_is_remembered_as_long_as_it_counts() {
    let two = Two::new();
    let a = &two.a;
    commit(&two, &[("keys/test.key", KEY)]);
    a.git(&["push", "-q", "origin", "main"]);
    let second = add_empty(&two, "second");
    a.colony(&["fork", "x", "--no-switch"]);
    // Without consent it is searched for what would go.
    assert_eq!(a.json(&["sync", "second"])["waiting"]["refs"], 2);
    assert_eq!(a.json(&["sync", "second"])["waiting"]["refs"], 2);
    // No remote has it any more.
    a.git(&["remote", "remove", "origin"]);
    let did = a.json(&["sync", "second", "--push"]);
    assert_eq!(result(&did, "refs/heads/fork/x"), "kept_home", "{did:#}");
    assert_eq!(a.git(&["ls-remote", &second]), "");
    // A memory that is damaged is none.
    for text in ["", "{", "[]", r#"{"tips":["zz"],"published":[],"finds":[],"brought":{}}"#] {
        a.write(".git/colony/cache/secrets-1.json", text);
        let did = a.json(&["sync", "second"]);
        assert_eq!(result(&did, "refs/heads/fork/x"), "kept_home", "{text} {did:#}");
    }
}

#[test]
fn a_blob_is_read_once() {
    let two = Two::new();
    let a = &two.a;
    a.colony(&["fork", "x"]);
    let token = format!("token = ghp_{}\n", "a1".repeat(18));
    commit(&two, &[("notes.txt", &token)]);
    assert_eq!(result(&a.json(&["sync"]), "refs/heads/fork/x"), "kept_home");
    // In another commit, where nobody can read it any more.
    a.git(&["commit", "-q", "--amend", "-m", "other words"]);
    let blob = a.git(&["rev-parse", "HEAD:notes.txt"]);
    let (shelf, rest) = blob.split_at(2);
    std::fs::remove_file(a.path(".git/objects").join(shelf).join(rest)).unwrap();
    let did = a.json(&["sync"]);
    assert_eq!(result(&did, "refs/heads/fork/x"), "kept_home", "{did:#}");
}

#[test]
fn how_far_it_is_is_told() {
    let two = Two::new();
    two.a.colony(&["fork", "x"]);
    commit(&two, &[("more.txt", "x\n")]);
    two.at_remote(&["branch", "new", "main"]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let mut world = two.a.world();
    world.progress = Progress::new(move |step| {
        heard.lock().unwrap().push(match step {
            Step::Said(what) | Step::Part { what, .. } => (*what).to_owned(),
            other => format!("{other:?}"),
        });
    });
    let run = two.a.run_in(world, &["--json", "sync"]);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(result(&did, "refs/heads/fork/x"), "created", "{did:#}");
    let told = told.lock().unwrap();
    for wanted in [
        "list the refs of 'origin'",
        "fetch from 'origin'",
        "search for secrets",
        "push 2 refs to 'origin'",
    ] {
        assert!(told.iter().any(|said| said == wanted), "{wanted} {told:?}");
    }
    assert_eq!(told.last().map(String::as_str), Some("Ended"));
}
