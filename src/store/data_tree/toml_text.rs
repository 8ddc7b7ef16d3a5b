//! The one opener of TOML: every reader begins here, and a text that does not parse has one problem, with its position.

use toml::Spanned;
use toml::de::DeTable;

use crate::model::text::Position;
use crate::store::yaml::Fault;

/// Parses a text.
pub(in crate::store) fn open(text: &str) -> Result<Spanned<DeTable<'_>>, Fault> {
    DeTable::parse(text).map_err(|error| Fault {
        position: error.span().map(|span| Position::of(text.as_bytes(), span.start)),
        message: error.message().lines().next().unwrap_or("it is not TOML").to_owned(),
    })
}
