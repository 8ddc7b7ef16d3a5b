//! The bounds of the MCP server.

use std::time::Duration;

use crate::model::Result;

use super::setting_kind::{parse_number, parse_range, parse_seconds, wanted};
use super::setting_layers::Layers;
use super::{Kind, TABLE};

/// The bounds of the MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSettings {
    /// Maximum tokens of an answer.
    pub answer_tokens: u32,
    /// Maximum bytes of the arguments of a call, as JSON.
    pub max_argument_bytes: u64,
    /// Maximum number of calls that run or wait.
    pub max_calls: u32,
    /// How long a call may take; `None` for no limit.
    pub call_time: Option<Duration>,
}

impl Default for McpSettings {
    /// Returns the values where nothing sets them, for a server outside of a repository.
    fn default() -> McpSettings {
        let text = |key: &str| {
            let setting = TABLE.iter().find(|setting| setting.key == key);
            setting.map_or("", |setting| setting.default)
        };
        let range = |key| parse_range(Kind::Range(0, u32::MAX), text(key)).unwrap_or(u32::MAX);
        McpSettings {
            answer_tokens: range(ANSWER_TOKENS),
            max_argument_bytes: parse_number(text(MAX_ARGUMENT)).unwrap_or(u64::MAX),
            max_calls: range(MAX_CALLS),
            call_time: parse_seconds(text(CALL_TIME)).ok().flatten(),
        }
    }
}

const ANSWER_TOKENS: &str = "colony.mcp.answerTokens";
const MAX_ARGUMENT: &str = "colony.mcp.maxArgument";
const MAX_CALLS: &str = "colony.mcp.maxCalls";
const CALL_TIME: &str = "colony.mcp.callTime";

impl McpSettings {
    /// Reads them.
    pub(super) fn of(layers: &Layers<'_>) -> Result<McpSettings> {
        let range = |key| {
            let setting = layers.require(key)?;
            parse_range(setting.kind(), &setting.value).map_err(|wanted| setting.invalid(&wanted))
        };
        let argument = layers.require(MAX_ARGUMENT)?;
        let bytes =
            parse_number(&argument.value).ok_or_else(|| argument.invalid(&wanted(Kind::Number)))?;
        let time = layers.require(CALL_TIME)?;
        Ok(McpSettings {
            answer_tokens: range(ANSWER_TOKENS)?,
            max_argument_bytes: bytes,
            max_calls: range(MAX_CALLS)?,
            call_time: parse_seconds(&time.value).map_err(|wanted| time.invalid(&wanted))?,
        })
    }
}
