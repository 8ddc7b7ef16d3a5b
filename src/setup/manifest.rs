//! `.colony/manifest.json`: the colony of a repository, and how it stores large files.
//!
//! It is reviewed with the tree, so it never holds a secret, only names of secrets (`*_ref`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{Code, Error, Result, ResultExt as _};

/// Its path, relative to the root.
pub const PATH: &str = ".colony/manifest.json";

/// The format this version writes and the newest it reads.
pub const FORMAT: u64 = 1;

/// The whole manifest. Fields are in the order they are written: sorted, so that diffs stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The domain of an agent's email address.
    #[serde(default = "default_email_domain")]
    pub agent_email_domain: String,
    /// The colony.
    pub colony: String,
    /// The name of the secret that opens the repository; never the secret.
    #[serde(default)]
    pub credentials_ref: Option<String>,
    /// The branch that others are compared with.
    #[serde(default = "default_branch")]
    pub default_branch: String,
    /// The URL of the repository, without credentials.
    pub design_repo_url: String,
    /// Repositories that tools come from.
    #[serde(default)]
    pub imports_tooling_from: Vec<Value>,
    /// How large files are stored.
    #[serde(default)]
    pub lfs: Lfs,
    /// The program that the design belongs to.
    pub program: String,
    /// The format.
    #[serde(default = "default_format")]
    pub schema_version: u64,
    /// The system that is designed.
    pub target_system: String,
    /// Who owns the colony.
    pub tenant: String,
    /// How the repository is hosted.
    #[serde(default)]
    pub topology: Topology,
    /// Notifications about changes.
    #[serde(default)]
    pub webhook: Webhook,
}

/// How large files are stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lfs {
    /// The name of the secret that opens a separate store.
    #[serde(default)]
    pub credentials_ref: Option<String>,
    /// The place of large files.
    #[serde(default)]
    pub mode: LfsMode,
    /// The separate store.
    #[serde(default)]
    pub separate_url: Option<String>,
}

/// The place of large files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LfsMode {
    /// The remote of the repository.
    #[default]
    SameRemote,
    /// A store of their own.
    Separate,
    /// None: they are ordinary objects.
    Disabled,
}

/// How the repository is hosted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// On a server of the colony.
    SelfHostedGitea,
    /// Elsewhere.
    #[default]
    External,
    /// Without a network.
    AirGapped,
}

/// Notifications about changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Webhook {
    /// Whether they are sent.
    #[serde(default)]
    pub enabled: bool,
    /// The URL to send them to.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// The name of the secret that signs them.
    #[serde(default)]
    pub secret_ref: Option<String>,
}

fn default_email_domain() -> String {
    "agent.colony.local".to_owned()
}

fn default_branch() -> String {
    "main".to_owned()
}

fn default_format() -> u64 {
    FORMAT
}

impl Manifest {
    /// Returns the manifest of a new repository.
    pub fn new(colony: &str, url: &str, branch: &str, mode: LfsMode) -> Manifest {
        let unspecified = || "unspecified".to_owned();
        Manifest {
            agent_email_domain: default_email_domain(),
            colony: colony.to_owned(),
            credentials_ref: None,
            default_branch: branch.to_owned(),
            design_repo_url: url.to_owned(),
            imports_tooling_from: Vec::new(),
            lfs: Lfs { mode, ..Lfs::default() },
            program: colony.to_owned(),
            schema_version: FORMAT,
            target_system: unspecified(),
            tenant: unspecified(),
            topology: Topology::default(),
            webhook: Webhook::default(),
        }
    }

    /// Reads a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Manifest> {
        let invalid = |problem: String| {
            Error::new(Code::ManifestInvalid, format!("'{PATH}' is not a manifest: {problem}"))
        };
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        // Without this, a list of the right length would be read as the fields in order.
        let kind = match value {
            Value::Object(_) => None,
            Value::Array(_) => Some("a list"),
            Value::String(_) => Some("a text"),
            Value::Number(_) => Some("a number"),
            Value::Bool(_) => Some("a truth value"),
            Value::Null => Some("null"),
        };
        if let Some(kind) = kind {
            return Err(invalid(format!("it is {kind}, expected an object")));
        }
        let version = value.get("schema_version").map_or(Some(FORMAT), Value::as_u64);
        match version {
            Some(FORMAT) => {}
            Some(version) if version > FORMAT => {
                return Err(Error::new(
                    Code::NewerFormat,
                    format!("'{PATH}' has format {version}; this version reads {FORMAT}"),
                ));
            }
            _ => return Err(invalid("schema_version must be 1".to_owned())),
        }
        let manifest: Manifest =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if manifest.lfs.mode == LfsMode::Separate && manifest.lfs.separate_url.is_none() {
            return Err(invalid("lfs.mode 'separate' needs lfs.separate_url".to_owned()));
        }
        Ok(manifest)
    }

    /// Returns the file: indented by two spaces, with sorted keys and a final newline.
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut bytes =
            serde_json::to_vec_pretty(self).or_code(Code::Io, || "cannot write the manifest")?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Returns the bytes of a manifest with `lfs.mode` set to `same_remote` and everything else unchanged.
pub fn with_lfs(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut manifest = Manifest::parse(bytes)?;
    manifest.lfs.mode = LfsMode::SameRemote;
    let wanted = manifest.write()?;
    // If that one word can be replaced in place, the layout of the file stays.
    let text = String::from_utf8_lossy(bytes);
    if text.matches("\"disabled\"").count() == 1 {
        let edited = text.replacen("\"disabled\"", "\"same_remote\"", 1);
        if Manifest::parse(edited.as_bytes()).and_then(|edited| edited.write()).ok().as_ref()
            == Some(&wanted)
        {
            return Ok(edited.into_bytes());
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_manifest_reads_back_and_its_keys_are_sorted() {
        let bytes = Manifest::new("c", "", "main", LfsMode::Disabled).write().unwrap();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(Manifest::parse(&bytes).unwrap().colony, "c");
    }

    #[test]
    fn turning_lfs_on_keeps_the_layout() {
        let text = r#"{ "colony": "c", "design_repo_url": "", "program": "p",
            "target_system": "t", "tenant": "t", "lfs": {"mode": "disabled"} }"#;
        let edited = String::from_utf8(with_lfs(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(edited, text.replace("disabled", "same_remote"));
    }

    #[test]
    fn an_invalid_manifest_is_refused() {
        for (text, code) in [
            ("", Code::ManifestInvalid),
            ("[]", Code::ManifestInvalid),
            ("{}", Code::ManifestInvalid),
            (r#"{"schema_version": "1"}"#, Code::ManifestInvalid),
            (r#"{"schema_version": 2}"#, Code::NewerFormat),
        ] {
            assert_eq!(Manifest::parse(text.as_bytes()).unwrap_err().code(), code, "{text}");
        }
    }
}
