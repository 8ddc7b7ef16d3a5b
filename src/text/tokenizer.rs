//! Which tokens are counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way to count tokens. Counts are exact for the vocabularies, and an estimate for `Bytes`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// The vocabulary `o200k_base`.
    #[default]
    O200k,
    /// The vocabulary `cl100k_base`.
    Cl100k,
    /// A quarter of the bytes, rounded up.
    Bytes,
}

impl Tokenizer {
    /// Returns the one of this name; the usual one for a name that is none.
    pub fn named(name: &str) -> Tokenizer {
        let all = [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Bytes];
        let tokenizer = all.into_iter().find(|candidate| candidate.name() == name);
        tokenizer.unwrap_or_default()
    }

    /// Returns its name, as the setting `map.tokenizer` has it.
    pub fn name(self) -> &'static str {
        match self {
            Tokenizer::O200k => "o200k",
            Tokenizer::Cl100k => "cl100k",
            Tokenizer::Bytes => "bytes",
        }
    }
}
