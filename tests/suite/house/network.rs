//! Each place that starts a command with the network, and what it may do there. Whatever sends something needs a
//! permission that one file grants.

use super::sources;

/// The places that prepare a command for a remote. All but the last two only fetch or ask.
const PLACES: [&str; 8] = [
    "clones/hub/hub_creation.rs",
    "clones/hub/mod.rs",
    "clones/new_clone/clone_large_files.rs",
    "git/remote/fetch.rs",
    "git/remote/mod.rs",
    "lfs/hydrate.rs",
    "git/lfs/lfs_upload.rs",
    "git/remote/push.rs",
];

fn files_with(words: &[&str]) -> Vec<String> {
    let code = |text: &str| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let has = |text: &str| words.iter().any(|word| code(text).contains(word));
    let files = sources().into_iter().filter(|(_, text)| has(text));
    let mut names: Vec<_> = files.map(|(path, _)| path.display().to_string()).collect();
    names.sort();
    names
}

#[test]
fn every_network_command_is_started_in_a_listed_place() {
    let found = files_with(&["Network::new(", "self.network(", ".sending("]);
    let mut places = PLACES.map(str::to_owned);
    places.sort();
    assert_eq!(found, places);
}

#[test]
fn only_the_gate_of_consent_permits_a_push() {
    assert_eq!(files_with(&["PushPermit::to("]), ["records/consent.rs"]);
    assert_eq!(files_with(&["Direction::Push)?"]), ["git/remote/mod.rs"]);
    // git's own commands that send.
    let sends = ["args([\"push\"", "\"lfs\", \"push\"", "\"send-pack\"", "\"remote\", \"update\""];
    assert_eq!(files_with(&sends), ["git/lfs/lfs_upload.rs", "git/remote/push.rs"]);
}
