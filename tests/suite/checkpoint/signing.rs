//! Signed checkpoints: git verifies them, undo and redo give the very same objects back, and a
//! signature that cannot be made changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use git_colony::testing::World;

use crate::support::{Sandbox, write_program};

/// Makes a key beside the repository and lets git sign commits and tags with it.
fn with_ssh_key(sandbox: &Sandbox) {
    let key = sandbox.outside().join("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f"])
        .arg(&key)
        .status()
        .unwrap();
    assert!(made.success());
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = sandbox.outside().join("allowed");
    let principals = "ada@example.com,ada@external.agent.colony.local";
    fs::write(&allowed, format!("{principals} {public}")).unwrap();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingKey", key.to_str().unwrap()),
        ("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
    ] {
        sandbox.git(&["config", name, value]);
    }
}

/// A commit or tag without its signature.
fn unsigned(sandbox: &Sandbox, object: &str) -> String {
    let kind = sandbox.git(&["cat-file", "-t", object]);
    let text = sandbox.git(&["cat-file", &kind, object]);
    let mut inside = false;
    let kept = text.lines().take_while(|line| !line.starts_with("-----BEGIN"));
    let kept = kept.filter(|line| {
        inside = line.starts_with("gpgsig") || (inside && line.starts_with(' '));
        !inside
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn id_of(answer: &serde_json::Value, field: &str) -> String {
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer[field].as_str().unwrap().to_owned()
}

#[test]
fn git_verifies_signed_checkpoints_and_undo_keeps_their_objects() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::init(&[&format!("--object-format={format}")]);
        sandbox.write("a.txt", "one\n");
        with_ssh_key(&sandbox);
        let label = "signed\n\u{e9} # kept";
        let made = sandbox.json(&["checkpoint", "-m", label, "--rationale", "# why\n\n\n  so"]);
        let (tag, sha) = (id_of(&made, "ref"), id_of(&made, "sha"));
        sandbox.git(&["verify-commit", &sha]);
        sandbox.git(&["verify-tag", &tag]);
        sandbox.git(&["verify-commit", "HEAD"]);
        let refs = sandbox.refs();
        sandbox.write("a.txt", "two\n");
        sandbox.colony(&["undo"]);
        assert_ne!(sandbox.refs(), refs);
        sandbox.colony(&["redo"]);
        assert_eq!(sandbox.refs(), refs);
        sandbox.git(&["verify-tag", &tag]);
        let shown = sandbox.json(&["checkpoints", "show", "@{0}"]);
        assert_eq!(shown["label"], label);
        assert_eq!(shown["rationale"], "# why\n\n\n  so");
        sandbox.check_invariants();
    }
}

#[test]
fn off_branch_checkpoints_and_tags_are_signed_and_restored() {
    let sandbox = Sandbox::new();
    with_ssh_key(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.write("new.txt", "new\n");
    let before = sandbox.visible_state();
    let made = sandbox.json(&["checkpoint", "-m", "beside", "--off-branch"]);
    sandbox.git(&["verify-commit", &id_of(&made, "sha")]);
    sandbox.git(&["verify-tag", &id_of(&made, "ref")]);
    let named = sandbox.json(&["tag", "-m", "start", "--rationale", "first", "HEAD"]);
    sandbox.git(&["verify-tag", &id_of(&named, "ref")]);
    assert!(!sandbox.try_git(&["verify-commit", "HEAD"]));
    sandbox.colony(&["restore", "beside"]);
    let after = sandbox.visible_state();
    assert_eq!((after.index, after.worktree), (before.index, before.worktree));
    sandbox.check_invariants();
}

#[test]
fn the_signature_of_a_handmade_tag_is_not_part_of_its_message() {
    let sandbox = Sandbox::new();
    with_ssh_key(&sandbox);
    let message = ["-m", "by hand", "-m", "a reason"];
    sandbox.git(&[&["tag", "-s", "checkpoint/by-hand"], &message[..]].concat());
    let shown = sandbox.json(&["checkpoints", "show", "by hand"]);
    assert_eq!(shown["rationale"], "a reason", "{shown:#}");
}

#[test]
fn a_signed_checkpoint_says_what_an_unsigned_one_says() {
    let objects = |signed: bool| {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", "user.name", " Ada \"L\", "]);
        sandbox.git(&["config", "i18n.commitEncoding", "ISO-8859-1"]);
        if signed {
            with_ssh_key(&sandbox);
        }
        sandbox.write("a.txt", "two\n");
        let mut world = sandbox.world_at(600);
        let moment = chrono::DateTime::parse_from_rfc3339("2026-03-04T05:06:07-03:30").unwrap();
        world.clock = std::sync::Arc::new(move || moment);
        let args = ["--json", "checkpoint", "-m", "\u{e9}", "--rationale", " x \n# y"];
        let run = sandbox.run_in(world, &args);
        let answer = serde_json::from_str(&run.stdout).unwrap();
        let tag = unsigned(&sandbox, &id_of(&answer, "ref"));
        let commit = unsigned(&sandbox, &id_of(&answer, "sha"));
        // The key of the worktree and the commit differ with the signature.
        let tag = tag.lines().filter(|line| !line.starts_with("object "));
        (tag.collect::<Vec<_>>().join("\n"), commit)
    };
    let signed = objects(true);
    assert_eq!(signed, objects(false));
    assert!(
        signed.1.contains("\nauthor Ada \"L <ada@example.com> 1772613367 -0330\n"),
        "{}",
        signed.1
    );
}

#[test]
fn an_agent_signs_with_the_configured_key() {
    let sandbox = Sandbox::new();
    with_ssh_key(&sandbox);
    sandbox.write("a.txt", "two\n");
    let made = sandbox.json(&["--agent", "ada", "checkpoint", "-m", "hers"]);
    let sha = id_of(&made, "sha");
    sandbox.git(&["verify-commit", &sha]);
    let who = sandbox.git(&["log", "-1", "--format=%an <%ae>|%cn <%ce>", &sha]);
    let agent = "agent:ada:agent <ada@external.agent.colony.local>";
    assert_eq!(who, format!("{agent}|{agent}"));
}

/// A signing program that fails, and says so in a file that it was started.
fn with_failing_program(sandbox: &Sandbox) -> std::path::PathBuf {
    let program = sandbox.outside().join("refuse");
    let started = sandbox.outside().join("started");
    let script =
        format!("#!/bin/sh\ntouch '{}'\necho 'no pinentry here' >&2\nexit 1\n", started.display());
    write_program(&program, script);
    sandbox.git(&["config", "gpg.program", program.to_str().unwrap()]);
    started
}

#[test]
fn the_commits_of_init_and_of_a_merge_are_signed_too() {
    let sandbox = Sandbox::new();
    with_ssh_key(&sandbox);
    sandbox.colony(&["init", "--no-lfs"]);
    sandbox.git(&["verify-commit", "HEAD"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["checkpoint", "-m", "new"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.colony(&["merge", "try", "-m", "joined"]);
    sandbox.git(&["verify-commit", "HEAD"]);
    sandbox.git(&["switch", "-q", "-c", "other", "HEAD~1"]);
    sandbox.colony(&["cherry-pick", "fork/try"]);
    sandbox.git(&["verify-commit", "HEAD"]);
}

#[test]
fn a_signature_that_fails_changes_nothing_and_quotes_git() {
    for key in ["commit.gpgSign", "tag.gpgSign", "tag.forceSignAnnotated"] {
        let sandbox = Sandbox::new();
        let started = with_failing_program(&sandbox);
        sandbox.git(&["config", key, "true"]);
        sandbox.write("a.txt", "two\n");
        let before = sandbox.visible_state();
        let refused = sandbox.json(&["checkpoint", "-m", "x"]);
        assert_eq!(refused["code"], "signing-failed", "{refused:#}");
        let said = refused["detail"]["stderr"].as_str().unwrap();
        assert!(said.contains("no pinentry here"), "{said}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("nothing has changed") && message.contains("no pinentry here"));
        assert!(refused["hint"].as_str().unwrap().starts_with("git config --show-origin"));
        assert!(started.exists());
        assert_eq!(sandbox.visible_state(), before);
        sandbox.check_invariants();
        sandbox.git(&["config", key, "perhaps"]);
        assert_eq!(sandbox.error(&["checkpoint", "-m", "x"]), "invalid-value");
        sandbox.git(&["config", key, "false"]);
        assert_eq!(sandbox.json(&["checkpoint", "-m", "x"])["ok"], true);
    }
}

#[test]
fn what_nobody_asked_for_is_never_signed() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "start"]);
    let started = with_failing_program(&sandbox);
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    sandbox.git(&["config", "tag.gpgSign", "true"]);
    sandbox.write("a.txt", "two\n");
    assert_eq!(sandbox.automatic_checkpoint()["changed"], true);
    sandbox.colony(&["checkpoint", "-m", "x", "--dry-run"]);
    sandbox.colony(&["tag", "-m", "x", "--dry-run"]);
    sandbox.colony(&["restore", "start"]);
    sandbox.colony(&["undo"]);
    sandbox.colony(&["redo"]);
    assert!(!started.exists());
    sandbox.check_invariants();
}

#[test]
fn signing_a_tag_runs_no_hook_and_no_template_of_the_user() {
    let sandbox = Sandbox::new();
    with_ssh_key(&sandbox);
    let (hooks, seen) = (sandbox.outside().join("hooks"), sandbox.outside().join("seen"));
    for folder in [hooks.clone(), hooks.join("hooks")] {
        let text = format!("#!/bin/sh\necho \"$GIT_DIR\" >>'{}'\n", seen.display());
        write_program(&folder.join("reference-transaction"), text);
    }
    sandbox.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    sandbox.git(&["config", "init.templateDir", hooks.to_str().unwrap()]);
    let mut world = sandbox.world();
    let template = ("GIT_TEMPLATE_DIR".into(), hooks.clone().into());
    world.variables.extend([template]);
    sandbox.write("a.txt", "two\n");
    let run = sandbox.run_in(world, &["checkpoint", "-m", "x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(!seen.is_empty() && !seen.contains(".sign"), "{seen}");
    sandbox.check_invariants();
}

#[test]
fn a_scratch_repository_of_a_killed_run_is_swept_away() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "start"]);
    sandbox.write(".git/colony/op-2.sign/HEAD", "ref: refs/heads/scratch\n");
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "next"]);
    sandbox.check_invariants();
    assert!(!sandbox.path(".git/colony/op-2.sign").exists());
}

#[test]
fn gnupg_signs_as_git_configures_it() {
    let sandbox = Sandbox::new();
    let home = tempfile::Builder::new().prefix("gpg").tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let gpg = |args: &[&str]| {
        let output = Command::new("gpg")
            .env("GNUPGHOME", home.path())
            .args(["--batch", "--quiet"])
            .args(args)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
    };
    let key = "Ada <ada@example.com>";
    gpg(&["--passphrase", "", "--quick-generate-key", key, "ed25519", "sign", "never"]);
    for name in ["commit.gpgSign", "tag.gpgSign"] {
        sandbox.git(&["config", name, "true"]);
    }
    sandbox.write("a.txt", "two\n");
    let mut world: World = sandbox.world();
    let variable = ("GNUPGHOME".into(), home.path().into());
    world.variables.extend([variable]);
    let run = sandbox.run_in(world.clone(), &["checkpoint", "-m", "x"]);
    let verified =
        sandbox.with("GNUPGHOME", home.path()).git_output(&["log", "-1", "--format=%G?"]);
    let stopped =
        Command::new("gpgconf").env("GNUPGHOME", home.path()).args(["--kill", "all"]).status();
    assert!(stopped.is_ok());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(String::from_utf8_lossy(&verified.stdout).trim(), "G");
    sandbox.check_invariants();
}
