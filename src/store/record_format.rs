//! Records of ours in JSON: `format` is the number of their format.

use serde::de::DeserializeOwned;

use crate::model::{Code, Error, Result, ResultExt as _};

/// Parses a record of the format that this version reads; a record of any other but a newer one is broken.
pub fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    read: u32,
    newer: impl FnOnce(u64) -> String,
    broken: impl Fn() -> String,
) -> Result<T> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).or_code(Code::RepositoryBroken, &broken)?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format == u64::from(read) => {
            serde_json::from_value(value).or_code(Code::RepositoryBroken, broken)
        }
        Some(format) if format > u64::from(read) => {
            Err(Error::new(Code::NewerFormat, newer(format)))
        }
        _ => {
            let message = format!("{}: it is not of format {read}", broken());
            Err(Error::new(Code::RepositoryBroken, message))
        }
    }
}
