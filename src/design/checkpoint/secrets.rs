//! Recognizes likely secrets: by the name of a file, and by the beginning of its content.
//!
//! Every command that stores or publishes new files asks here. It reads nothing itself.

use crate::model::RepoPath;

/// Names of files that hold secrets, in any folder.
const SECRET_NAMES: &[&str] = &[
    ".env",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".pypirc",
    ".npmrc",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "credentials.json",
    "client_secret.json",
    "service-account.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "kubeconfig",
    "kubeconfig.yml",
    "kubeconfig.yaml",
    "application_default_credentials.json",
    "credentials.tfrc.json",
    ".terraformrc",
    ".vault-token",
    ".s3cfg",
    ".boto",
];

/// The same, for names that say so only in a folder of this name.
const SECRET_NAMES_IN: &[(&str, &str)] = &[
    (".docker", "config.json"),
    (".kube", "config"),
    (".aws", "credentials"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".gem", "credentials"),
    ("gh", "hosts.yml"),
];

/// Endings of file names that hold keys.
const SECRET_ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".ovpn",
    ".tfvars",
    ".tfvars.json",
    ".kubeconfig",
];

/// Endings of `.env.<something>` for files that are meant to be shared.
const SHARED_ENV: &[&str] = &[".example", ".sample", ".template", ".dist", ".defaults"];

/// Prefixes of secrets, and the minimum number of token characters that follow each.
const SECRET_PREFIXES: &[(&str, usize)] = &[
    ("-----BEGIN PRIVATE KEY-----", 0),
    ("-----BEGIN RSA PRIVATE KEY-----", 0),
    ("-----BEGIN EC PRIVATE KEY-----", 0),
    ("-----BEGIN DSA PRIVATE KEY-----", 0),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", 0),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----", 0),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----", 0),
    ("PuTTY-User-Key-File-", 1),
    ("ghp_", 36),
    ("gho_", 36),
    ("ghs_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("sk_live_", 20),
    ("sk-ant-", 20),
    ("AKIA", 16),
];

/// The number of bytes of a new file that are searched for secrets.
pub const SEARCHED_BYTES: u64 = 64 * 1024;

/// Returns `true` if the name of a file says that it holds a secret.
pub fn is_named_as_secret(path: &RepoPath) -> bool {
    let name = String::from_utf8_lossy(path.name()).to_ascii_lowercase();
    let shared = SHARED_ENV.iter().any(|ending| name.ends_with(ending));
    let is_env = name.starts_with(".env.") && !shared;
    let named = SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
    is_env || named || is_named_by_folder(path, &name)
}

fn is_named_by_folder(path: &RepoPath, name: &str) -> bool {
    let folder = path.ancestors().last();
    let folder = folder.map(|folder| String::from_utf8_lossy(folder.name()).to_ascii_lowercase());
    let is_it = |(above, known): &(&str, &str)| folder.as_deref() == Some(above) && name == *known;
    SECRET_NAMES_IN.iter().any(is_it)
}

/// Returns `true` if the beginning of a file holds a key or a token.
pub fn contains_secret(bytes: &[u8]) -> bool {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut begins = [false; 256];
    for first in SECRET_PREFIXES
        .iter()
        .filter_map(|(prefix, _)| prefix.bytes().next())
    {
        if let Some(begins) = begins.get_mut(usize::from(first)) {
            *begins = true;
        }
    }
    let begins = |byte: &u8| begins.get(usize::from(*byte)).is_some_and(|begins| *begins);
    let (mut rest, mut before) = (bytes, None);
    // One pass: most bytes begin no prefix.
    while let Some(at) = rest.iter().position(begins) {
        before = at.checked_sub(1).and_then(|at| rest.get(at)).or(before);
        let (_, here) = rest.split_at(at);
        let starts_word = before.is_none_or(|byte: &u8| !byte.is_ascii_alphanumeric());
        let is_secret = |(prefix, follow): &(&str, usize)| {
            let after = here.strip_prefix(prefix.as_bytes());
            after.is_some_and(|rest| {
                rest.iter().take_while(|byte| is_token(byte)).count() >= *follow
            })
        };
        if starts_word && SECRET_PREFIXES.iter().any(is_secret) {
            return true;
        }
        before = here.first();
        rest = here.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_credentials_are_known_by_name_and_folder() {
        let is_secret = |path: &str| is_named_as_secret(&RepoPath::from(path));
        for path in [
            ".docker/config.json",
            "home/.Docker/config.json",
            ".kube/config",
            "kubeconfig",
            "deploy/prod.kubeconfig",
            "terraform.tfvars",
            "a/b.auto.tfvars",
            "c.tfvars.json",
            ".aws/credentials",
            ".cargo/credentials.toml",
            "application_default_credentials.json",
        ] {
            assert!(is_secret(path), "{path}");
        }
        for path in [
            "config.json",
            "kube/config",
            "docker/config.json",
            "credentials",
            "x.tf",
        ] {
            assert!(!is_secret(path), "{path}");
        }
    }

    #[test]
    fn tokens_are_seen_and_look_alikes_are_not() {
        let token = format!("token = ghp_{}", "a1".repeat(18));
        assert!(contains_secret(token.as_bytes()));
        assert!(contains_secret(
            b"x\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc"
        ));
        assert!(!contains_secret(
            b"see ghp_ tokens, AKIA ids and sk-ant- keys"
        ));
        assert!(!contains_secret(b"SLOVAKIAABCDEFGHIJKLMNOPQR"));
    }
}
