//! `context hydrate`: which files are read, and which are skipped.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::time::Duration;

use git_colony::testing::{Code, working_files};
use insta::assert_snapshot;
use serde_json::json;

use super::{configure, empty, listed, refused, repository, skipped};
use crate::support::{Sandbox, id_of};

#[test]
fn hydration_answers_with_counts_and_tiers() {
    let sandbox = repository();
    assert_snapshot!(sandbox.colony(&["context", "hydrate", "-n"]));
    assert_eq!(sandbox.json(&["context", "list"])["count"], 0);
    assert_snapshot!(format!("{:#}", sandbox.json(&["context", "hydrate"])));
    let again = sandbox.json(&["context", "hydrate"]);
    assert_eq!((&again["stored"], &again["changed"]), (&json!(4), &json!(0)));
    assert_snapshot!(sandbox.colony(&["context", "hydrate", "--plan", "default"]));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_fragment_has_its_blob_and_texts_about_it() {
    let sandbox = repository();
    sandbox.colony(&["context", "hydrate"]);
    let told = sandbox.json(&["context", "list"]);
    let row = told["fragments"].as_array().unwrap().iter();
    let row = row.clone().find(|it| it["path"] == "src/lock.rs").unwrap();
    assert_eq!(row["fragment_id"], "default:repository:src/lock.rs");
    assert_eq!(row["hash"], id_of("blob", sandbox.read("src/lock.rs")));
    assert_eq!(row["metadata"]["detail_depth"], "1");
    assert_eq!(row["metadata"]["relevance_score"], "0.5");
    assert_eq!(row["metadata"]["access_count"], "0");
    assert_eq!(row["stale"], false);
    sandbox.write("src/lock.rs", "pub fn changed() {}\n");
    let told = sandbox.json(&["context", "list"]);
    let stale = told["fragments"].as_array().unwrap().iter();
    let stale: Vec<_> = stale.filter(|it| it["stale"] == true).map(|it| &it["path"]).collect();
    assert_eq!(stale, ["src/lock.rs"]);
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!((&told["stored"], &told["changed"]), (&json!(4), &json!(1)));
}

/// A repository with one file of each kind that is skipped, and the smallest that are not.
fn unusual() -> Sandbox {
    let sandbox = empty();
    sandbox.write("empty", "");
    sandbox.write("exact.txt", "a".repeat(262_144));
    sandbox.write("large.txt", "a".repeat(262_145));
    sandbox.write("a.PyC", "text");
    sandbox.write("latin.txt", b"caf\xe9");
    sandbox.write("zero.txt", b"a\0b");
    sandbox.write(".env", "TOKEN=1\n");
    sandbox.write("config.txt", format!("token = ghp_{}\n", "a1".repeat(18)));
    sandbox.write(".github/workflows/ci.yml", "on: push\n");
    sandbox.write("node_modules/x.js", "tracked()\n");
    sandbox.write("gone.txt", "gone\n");
    sandbox.write("folder/inner.txt", "inner\n");
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("ignored", "ignored words\n");
    symlink("/etc/passwd", sandbox.path("passwd")).unwrap();
    sandbox.git(&["add", "-A", "-f"]);
    sandbox.git(&["rm", "-q", "--cached", "ignored"]);
    let commit = sandbox.git(&["rev-parse", "HEAD"]);
    let link = format!("160000,{},sub", commit.trim());
    sandbox.git(&["update-index", "--add", "--cacheinfo", &link]);
    std::fs::create_dir(sandbox.path("sub")).unwrap();
    sandbox.git(&["commit", "-qm", "unusual"]);
    sandbox.remove("gone.txt");
    std::fs::remove_dir_all(sandbox.path("folder")).unwrap();
    std::fs::create_dir(sandbox.outside().join("elsewhere")).unwrap();
    std::fs::write(sandbox.outside().join("elsewhere/inner.txt"), "elsewhere\n").unwrap();
    symlink(sandbox.outside().join("elsewhere"), sandbox.path("folder")).unwrap();
    sandbox.write("untracked.txt", "new\n");
    sandbox
}

#[test]
fn what_is_not_text_large_secret_or_no_file_is_skipped() {
    let sandbox = unusual();
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(
        skipped(&told),
        [
            ".env secret",
            "a.PyC binary",
            "config.txt secret",
            "folder link",
            "folder/inner.txt link",
            "gone.txt missing",
            "large.txt too_large",
            "latin.txt not_utf8",
            "passwd link",
            "sub submodule",
            "zero.txt binary",
        ]
    );
    assert_eq!(told["skipped_count"], 11);
    let files = listed(&sandbox, &[]);
    let last = files.iter().map(|it| it.rsplit(' ').next().unwrap());
    let mut paths: Vec<&str> = last.collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            ".github/workflows/ci.yml",
            ".gitignore",
            "empty",
            "exact.txt",
            "node_modules/x.js",
            "untracked.txt",
        ]
    );
    let allowed = ["context", "hydrate", "--allow-secret", ".env"];
    let told = sandbox.json(&allowed);
    assert!(!skipped(&told).contains(&".env secret".to_owned()));
    assert!(skipped(&told).contains(&"config.txt secret".to_owned()));
}

#[test]
fn a_listing_stops_at_the_file_that_would_be_too_much() {
    let sandbox = empty();
    for number in 0..41 {
        sandbox.write(&format!("data/{number:02}.txt"), "a".repeat(262_144));
    }
    sandbox.write("data/99.txt", "small\n");
    sandbox.write("more/a.txt", "more\n");
    configure(
        &sandbox,
        "[projects.all]\nresources = [\n  { id = \"data\", type = \"directory\", location = \"data\" },\n  { id = \"more\", type = \"directory\", location = \"more\" },\n]\n[projects.more]\nresources = [{ id = \"more\", type = \"directory\", location = \"more\" }]\n",
    );
    let told = sandbox.json(&["context", "hydrate", "--project", "all"]);
    assert_eq!((&told["stored"], &told["bytes"]), (&json!(40), &json!(10_485_760)));
    assert_eq!(told["stopped"], true);
    assert_eq!(skipped(&told), ["data/40.txt project_full"]);
    let told = sandbox.json(&["context", "hydrate", "--project", "more"]);
    assert_eq!((&told["stored"], &told["stopped"]), (&json!(1), &json!(false)));
}

#[test]
fn a_directory_is_walked_without_what_tools_fill() {
    let sandbox = empty();
    for path in [
        "top.txt",
        ".hidden",
        "a/b.txt",
        ".dir/x",
        "node_modules/x",
        "a/target/x",
        "venv/x",
        "build/x",
        "a/deep/dist",
    ] {
        sandbox.write(&format!("d/{path}"), path);
    }
    symlink("/etc", sandbox.path("d/etc")).unwrap();
    configure(
        &sandbox,
        "[projects.d]\nresources = [{ id = \"d\", type = \"directory\", location = \"d/\" }]\n",
    );
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(skipped(&told), ["d/etc link"]);
    let mut files = listed(&sandbox, &[]);
    files.sort();
    assert_eq!(
        files,
        ["hot d d/.hidden", "hot d d/a/b.txt", "hot d d/a/deep/dist", "hot d d/top.txt"]
    );
}

#[test]
fn names_of_any_bytes_are_read_and_shown_safely() {
    let sandbox = empty();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff\x1b[31m\nname");
    std::fs::write(sandbox.path(".").join(name), "strange\n").unwrap();
    sandbox.write("\u{e9}.txt", "accent\n");
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(told["skipped"], json!([]));
    let text = sandbox.colony(&["context", "list"]);
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains("\u{e9}.txt"));
    let rows = sandbox.json(&["context", "list"]);
    let odd = rows["fragments"].as_array().unwrap().iter().find(|it| it["path"].is_object());
    assert_eq!(odd.unwrap()["path"]["bytes"], "YmFk/xtbMzFtCm5hbWU=");
}

#[test]
fn unmerged_files_are_read_once_and_a_subdirectory_alone() {
    let sandbox = repository();
    sandbox.git(&["switch", "-qc", "other"]);
    sandbox.write("src/lock.rs", "other\n");
    sandbox.git(&["commit", "-qam", "other"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("src/lock.rs", "main\n");
    sandbox.git(&["commit", "-qam", "main"]);
    assert!(!sandbox.try_git(&["merge", "-q", "other"]));
    sandbox.write(
        ".colony/colony.toml",
        "[projects.app]\nresources = [{ id = \"code\", type = \"git-checkout\", location = \"src\" }]\n",
    );
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(told["stored"], 2);
    let told = sandbox.json(&["context", "list"]);
    let ids = told["fragments"].as_array().unwrap().iter();
    let ids: Vec<_> = ids.map(|it| it["fragment_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["app:code:lock.rs", "app:code:other.rs"]);
}

#[test]
fn a_checkout_that_git_cannot_list_is_an_error() {
    let sandbox = repository();
    let elsewhere = sandbox.outside().join("plain");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("a.txt"), "plain").unwrap();
    let location = format!("x git-checkout {}", elsewhere.display());
    sandbox.git(&["config", "colony.project.x.resource", &location]);
    let view = sandbox.with("GIT_CEILING_DIRECTORIES", sandbox.outside());
    let told = refused(&view, &["context", "hydrate"]);
    assert!(told.contains("cannot list the files of"), "{told}");
    assert_eq!(view.json(&["context", "list"])["count"], 0);
}

#[test]
fn scopes_and_documents_are_hydrated_as_they_were_mapped() {
    let sandbox = repository();
    sandbox.colony(&["map"]);
    sandbox.colony(&["ingest", "docs"]);
    let scope = sandbox.json(&["scopes"])["mappings"][0]["scope_id"].as_str().unwrap().to_owned();
    configure(
        &sandbox,
        &format!(
            "[projects.a]\nresources = [\n  {{ id = \"pages\", type = \"scope\", location = \"{scope}\" }},\n  {{ id = \"known\", type = \"knowledge\", location = \"docs/\" }},\n  {{ id = \"none\", type = \"scope\", location = \"no-such-scope\" }},\n]\n"
        ),
    );
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(skipped(&told), ["no-such-scope no_location"]);
    let files = listed(&sandbox, &[]);
    assert!(files.contains(&"hot a src/lock.rs".to_owned()), "{files:?}");
    let documents = files.iter().filter(|it| *it == "hot a docs/guide.md");
    assert!(documents.count() >= 1, "{files:?}");
}

#[test]
fn large_files_are_read_where_their_content_is_here() {
    let sandbox = empty();
    let oid = "3ef9550502e554fbe76d38efa3b857394d56618fa8fcc8b4a2686c2df2cb5019";
    let pointer = |oid: &str, size: usize| {
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n")
    };
    sandbox.write("here.txt", pointer(oid, 12));
    sandbox.write("missing.txt", pointer(&"ab".repeat(32), 12));
    sandbox.write("large.txt", pointer(&"ab".repeat(32), 262_145));
    let folder = format!(".git/lfs/objects/{}/{}", &oid[..2], &oid[2..4]);
    sandbox.write(&format!("{folder}/{oid}"), "the content\n");
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(skipped(&told), ["large.txt too_large", "missing.txt lfs_missing"]);
    let row = &sandbox.json(&["context", "list"])["fragments"][0];
    assert_eq!((&row["path"], &row["bytes"]), (&json!("here.txt"), &json!(12)));
}

#[test]
fn a_listing_that_does_not_end_is_stopped() {
    let sandbox = repository();
    let script = "case \" $* \" in *' ls-files '*) exec sleep 600;; esac";
    let here = sandbox.stand_in("git", script);
    let limit = Duration::from_millis(200);
    let listed = working_files::of_git(&here.world(), &here.root, 100, limit);
    assert_eq!(listed.unwrap_err().code(), Code::GitFailed);
    let real = working_files::of_git(&sandbox.world(), &sandbox.root, 100, Duration::from_mins(1));
    assert_eq!(real.unwrap().len(), 4);
}
