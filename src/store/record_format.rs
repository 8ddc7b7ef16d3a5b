//! Records of ours in JSON: `format` is the number of their format.

use serde::de::DeserializeOwned;

use crate::model::{Code, Error, Result, ResultExt as _};

/// Parses a record of a format that this version reads: at most `newest`. A record without the number has the first
/// format.
pub fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    newest: u32,
    newer: impl FnOnce(u64) -> String,
    broken: impl Fn() -> String,
) -> Result<T> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).or_code(Code::RepositoryBroken, &broken)?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format > u64::from(newest) => {
            Err(Error::new(Code::NewerFormat, newer(format)))
        }
        _ => serde_json::from_value(value).or_code(Code::RepositoryBroken, broken),
    }
}
