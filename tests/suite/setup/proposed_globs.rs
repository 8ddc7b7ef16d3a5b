//! `init` proposes globs for data that has much of the text of a tree, and leaves nothing out by itself.

use serde_json::{Value, json};

use crate::support::Sandbox;

const MAP: &str = ".colony/repo_map.yaml";

/// A repository with two tables that have a third of its text.
fn with_data() -> Sandbox {
    let sandbox = Sandbox::unborn();
    sandbox.write("src/code.rs", "let item = call(item);\n".repeat(20_000));
    sandbox.write("bench/1/raw.csv", "1,2,3,4\n".repeat(15_000));
    sandbox.write("bench/2/raw.csv", "4,3,2,1\n".repeat(15_000));
    sandbox.write("docs/few.csv", "1,2\n");
    // Neither is text that a map has: a format of git-lfs, and an ignored file.
    sandbox.write("docs/big.pdf", "%PDF".repeat(500_000));
    sandbox.write("ignored.json", "{}\n".repeat(500_000));
    sandbox.write(".colonyignore", "ignored.json\n");
    sandbox.git(&["add", "-A", "-f"]);
    sandbox.git(&["commit", "-qm", "data"]);
    sandbox
}

/// The paths of all mapped records.
fn mapped(sandbox: &Sandbox) -> Vec<String> {
    sandbox.colony(&["map"]);
    let listed = sandbox.json(&["pages", "--limit", "10000"]);
    let pages = listed["pages"].as_array().unwrap().iter();
    let records = pages.flat_map(|page| page["records"].as_array().unwrap());
    let paths = records.map(|record| record["path"].as_str().unwrap().to_owned());
    paths.collect()
}

#[test]
fn init_proposes_globs_for_data_and_leaves_nothing_out() {
    let sandbox = with_data();
    let planned = sandbox.json(&["init", "-n"]);
    let done = sandbox.json(&["init"]);
    let proposed =
        json!([{ "glob": "/bench/**/*.csv", "files": 2, "bytes": 240_000, "percent": 34 }]);
    assert_eq!(planned["proposed_globs"], proposed);
    assert_eq!(done["proposed_globs"], proposed);
    let map = sandbox.read(MAP);
    let lines =
        "    # exclude_globs:\n    #   - \"/bench/**/*.csv\"   # 34 % of the text, 2 files\n";
    assert!(map.contains(lines), "{map}");
    assert_eq!(sandbox.json(&["map", "check"])["count"], 0);
    let is_data = |path: &String| path.ends_with("raw.csv");
    assert!(mapped(&sandbox).iter().any(is_data), "it is only proposed");

    let uncommented = map.replace("    # exclude_globs:", "    exclude_globs:");
    let uncommented = uncommented.replace("    #   - \"", "      - \"");
    sandbox.write(MAP, uncommented);
    sandbox.git(&["commit", "-qam", "leave data out"]);
    assert_eq!(sandbox.json(&["map", "check"])["count"], 0);
    let paths = mapped(&sandbox);
    assert!(!paths.iter().any(is_data), "{paths:?}");
    assert!(paths.iter().any(|path| path == "docs/few.csv"));
}

#[test]
fn init_reports_its_proposals_to_people() {
    let sandbox = with_data();
    let told = sandbox.colony(&["init"]);
    let wanted = "attention: much of the text of this tree is data:\n  \
        /bench/**/*.csv  34 %  234.3 KiB in 2 files\n\
        'git colony map' cuts it into pages, too, unless you uncomment the globs for it in \
        .colony/repo_map.yaml\n";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn a_map_that_exists_is_kept_without_proposals() {
    let sandbox = with_data();
    let own = "schema_version: 1\nsources:\n  - name: own\n    type: git_repo\n";
    sandbox.write(MAP, own);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "own map"]);
    let done = sandbox.json(&["init"]);
    assert_eq!(done["status"], "initialized");
    assert_eq!(done["proposed_globs"], json!([]));
    assert_eq!(sandbox.read(MAP), own);
}

#[test]
fn without_much_data_the_map_is_the_template() {
    let sandbox = Sandbox::new();
    sandbox.write("small.csv", "1,2\n".repeat(100));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "a little"]);
    assert_eq!(sandbox.json(&["init"])["proposed_globs"], json!([]));
    let template = include_str!("../../../src/init/repo_map_template.yaml");
    assert_eq!(sandbox.read(MAP), template);
    let unborn = Sandbox::unborn();
    unborn.write("big.csv", "1,2\n".repeat(100_000));
    let done: Value = unborn.json(&["init"]);
    assert_eq!(done["proposed_globs"], json!([]), "only committed files count");
}
