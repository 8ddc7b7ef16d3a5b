//! Arguments that look like options of git or of ours are data, in every command about a workspace.

use super::catalog::{FILE, repository};
use crate::support::Sandbox;

#[test]
fn no_argument_becomes_an_option() {
    let sandbox = Sandbox::new();
    let one = repository(&sandbox, "one");
    sandbox.write(
        FILE,
        format!(
            "schema_version: 1\nrepositories:\n  - root_path: {}\n  - display_name: far\n    access_mode: remote_git_host\n    origin_url: https://host/far.git\n    default_ref: --output=pwned\n",
            one.root.display()
        ),
    );
    let before = (sandbox.visible_state(), one.visible_state());
    for evil in ["--output=pwned", "-opwned", "--upload-pack=touch pwned", "--exec=touch pwned"] {
        let rev = format!("--rev={evil}");
        let repo = format!("--repo={evil}");
        let path = format!("--path={evil}");
        for words in [
            &["groups", "--", evil][..],
            &["catalog", "add", "--", evil],
            &["catalog", "remove", "--", evil],
            &["catalog", "focus", "--", evil],
            &["query", "text", "--", evil],
            &["query", "text", "--indexed", "--", evil],
            &["query", "text", "--regex", "--", evil],
            &["query", "file", "--", evil],
            &["query", "list", "--", evil],
            &["query", "log", "--", evil],
            &["query", "log", &path],
            &["query", "log", &rev],
            &["query", "text", "x", &rev],
            &["query", "file", "own.txt", &rev],
            &["query", "list", &rev],
            &["query", "log", &repo],
            &["git", "diff", "--", evil],
            &["git", "blame", "--", evil],
            &["validate", "--", evil],
            &["cargo", "test", "--", evil],
        ] {
            let answer = sandbox.json(words);
            assert_ne!(answer["code"], "internal", "{words:?} {answer:#}");
        }
    }
    for place in [&sandbox.root, &one.root, &sandbox.outside()] {
        assert!(!place.join("pwned").exists());
    }
    assert_eq!((sandbox.visible_state(), one.visible_state()), before);
}
