//! Recognizes likely secrets: by the name of a file, and by the beginning of its content. The forms of tokens and keys:
//! `model::secret_forms`.
//!
//! Every command that stores or publishes new files asks here. It reads nothing itself.

use crate::model::RepoPath;

pub use crate::model::secret_forms::contains_secret;

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
    let folder = path
        .ancestors()
        .last()
        .map(|folder| String::from_utf8_lossy(folder.name()).to_ascii_lowercase());
    let is_it = |(above, known): &(&str, &str)| folder.as_deref() == Some(above) && name == *known;
    SECRET_NAMES_IN.iter().any(is_it)
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
        for path in ["config.json", "kube/config", "docker/config.json", "credentials", "x.tf"] {
            assert!(!is_secret(path), "{path}");
        }
    }
}
