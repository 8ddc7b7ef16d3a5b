//! A position in an event log, `<epoch>:<number>`.

use std::fmt;

use serde::{Serialize, Serializer};

/// Maximum bytes of an epoch.
const MAX_EPOCH_BYTES: usize = 64;

/// A position in an event log: everything up to it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The log: each that is created has another one.
    pub epoch: String,
    /// The number of the event; they start at 1.
    pub number: u64,
}

impl Position {
    /// The position before the first event of any log.
    pub const FIRST: Position = Position { epoch: String::new(), number: 0 };

    /// Parses what [`fmt::Display`] prints.
    pub fn parse(text: &str) -> Option<Position> {
        if text == "0:0" {
            return Some(Position::FIRST);
        }
        let (epoch, number) = text.rsplit_once(':')?;
        let is_epoch = (1..=MAX_EPOCH_BYTES).contains(&epoch.len())
            && epoch.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        Some(Position {
            epoch: is_epoch.then(|| epoch.to_owned())?,
            number: is_number.then(|| number.parse().ok())??,
        })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Position::FIRST {
            return f.write_str("0:0");
        }
        write!(f, "{}:{}", self.epoch, self.number)
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
