//! The tokens of a text as it stands in JSON.

use super::tokenizer::Tokenizer;

/// Counts the tokens of the JSON string of a text, its quotes included; exact for the vocabularies.
pub fn json_tokens(tokenizer: Tokenizer, text: &str) -> usize {
    // A string can always be written as JSON.
    let json = serde_json::to_string(text).unwrap_or_default();
    match tokenizer {
        Tokenizer::O200k => bpe_openai::o200k_base().count(json.as_str()),
        Tokenizer::Cl100k => bpe_openai::cl100k_base().count(json.as_str()),
        Tokenizer::Bytes => json.len().div_ceil(4),
    }
}
