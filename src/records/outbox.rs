//! The outboxes of a remote: where many repositories write one record at once, each posts what it has to a ref that it
//! alone writes, and the next sync of any repository joins all of them into the record.
//!
//! `refs/colony/outbox/<writer>/<record>` is a version of `refs/colony/<record>`. No repository keeps such refs itself.

use crate::git::RefName;

use super::exchanged_refs;

/// The prefix of all outboxes.
pub const OUTBOXES: &str = "refs/colony/outbox/";

/// What comes before the name of a record.
const RECORDS: &str = "refs/colony/";

/// The number of hex digits of a writer.
const DIGITS: usize = 16;

/// The name of a repository that writes to a remote: random, and of one repository only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer(String);

impl Writer {
    /// A new name from a random number.
    pub fn new(number: u64) -> Writer {
        Writer(format!("{number:016x}"))
    }

    /// Parses a name; `None` for anything else.
    pub fn parse(name: &str) -> Option<Writer> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (name.len() == DIGITS && name.bytes().all(is_hex)).then(|| Writer(name.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its outbox for a record; `None` for a ref that is not a record with many keys.
    pub fn outbox(&self, record: &RefName) -> Option<RefName> {
        exchanged_refs::kind_of(record).filter(|kind| kind.is_keyed())?;
        let record = record.as_bytes().strip_prefix(RECORDS.as_bytes())?;
        Some(RefName::new([OUTBOXES.as_bytes(), self.0.as_bytes(), b"/", record].concat()))
    }
}

/// Returns the record that an outbox is for, and who writes it; `None` for every other ref.
pub fn parse(outbox: &RefName) -> Option<(Writer, RefName)> {
    let text = std::str::from_utf8(outbox.as_bytes()).ok()?;
    let (writer, record) = text.strip_prefix(OUTBOXES)?.split_once('/')?;
    let record = RefName::from(format!("{RECORDS}{record}").as_str());
    let writer = Writer::parse(writer)?;
    (writer.outbox(&record).as_ref() == Some(outbox)).then_some((writer, record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outbox_is_of_one_writer_and_one_record() {
        let writer = Writer::new(255);
        for record in
            ["refs/colony/scopes", "refs/colony/knowledge", "refs/colony/blackboard/a%2Fb"]
        {
            let record = RefName::from(record);
            let outbox = writer.outbox(&record).unwrap();
            assert!(outbox.is_valid() && exchanged_refs::kind_of(&outbox).is_none());
            assert_eq!(parse(&outbox), Some((writer.clone(), record)));
        }
        for other in [
            "refs/colony/outbox/00000000000000ff/forks/x",
            "refs/colony/outbox/00000000000000ff/scopes/x",
            "refs/colony/outbox/00000000000000FF/scopes",
            "refs/colony/outbox/ff/scopes",
            "refs/colony/outbox/00000000000000ff",
            "refs/colony/outbox/00000000000000ff/outbox/00000000000000ff/scopes",
            "refs/colony/scopes",
        ] {
            assert_eq!(parse(&RefName::from(other)), None, "{other}");
        }
        assert_eq!(writer.outbox(&RefName::from("refs/colony/forks/x")), None);
    }
}
