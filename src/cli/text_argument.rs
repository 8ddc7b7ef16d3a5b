//! A text that a command is given: as an argument, or from standard input where the argument is '-'.

use std::io::Read as _;

use crate::env::Env;
use crate::model::{Code, Error, Result};

/// A text, and what it is called in errors.
pub(super) struct TextArgument<'a> {
    /// Its name with its article.
    pub(super) what: &'a str,
    /// Its maximum size.
    pub(super) max_bytes: usize,
}

impl TextArgument<'_> {
    /// Returns the text: `typed`, unless that is '-', or `exact` as it stands.
    pub(super) fn read(
        &self,
        env: &mut Env,
        typed: Option<String>,
        exact: Option<String>,
    ) -> Result<String> {
        match typed.as_deref() {
            Some("-") => self.read_stdin(env),
            _ => Ok(exact.or(typed).unwrap_or_default()),
        }
    }

    fn read_stdin(&self, env: &mut Env) -> Result<String> {
        let TextArgument { what, max_bytes } = self;
        let mut bytes = Vec::new();
        // One byte more than it may have.
        let limit = *max_bytes as u64 + 1;
        let read = env.stdin.by_ref().take(limit).read_to_end(&mut bytes);
        read.map_err(|error| Error::io("cannot read standard input", error))?;
        if bytes.len() > *max_bytes {
            let message = format!("{what} has at most {max_bytes} bytes, this one has more");
            return Err(Error::new(Code::ValueTooLarge, message).unchanged());
        }
        String::from_utf8(bytes).map_err(|_| {
            Error::new(Code::InvalidValue, format!("{what} is UTF-8 text")).unchanged()
        })
    }
}
