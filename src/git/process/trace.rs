//! Prints each process that is started and its time, for bug reports: `-v`, or `COLONY_TRACE=1`.
//!
//! No credential is printed: the user information of URLs is left out, and configuration of one command travels in
//! variables, which are never printed. Filters and merge drivers are started by gix or by git and are not printed.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use crate::model::World;
use crate::model::text::typed_word;

/// The variable that asks for it.
pub(crate) const VARIABLE: &str = "COLONY_TRACE";

type Narrate = Arc<dyn Fn(&str) + Send + Sync>;

/// Where processes are printed; nowhere unless asked for.
#[derive(Clone, Default)]
pub(crate) struct Trace(Option<Narrate>);

impl Trace {
    /// Returns the trace of a run.
    pub(crate) fn of(world: &World) -> Trace {
        let wanted = world.text_variable(VARIABLE);
        let is_wanted = wanted.is_some_and(|wanted| !matches!(wanted, "0" | "false" | "no"));
        Trace(is_wanted.then(|| Arc::clone(&world.narrate)))
    }

    /// Notes that a command begins.
    pub(crate) fn begin(&self, command: &Command) -> Option<Traced> {
        let narrate = self.0.as_ref()?;
        Some(Traced { narrate: Arc::clone(narrate), words: words(command), began: Instant::now() })
    }
}

/// A running command.
pub(crate) struct Traced {
    narrate: Narrate,
    words: String,
    began: Instant,
}

impl Traced {
    /// Tells what it was, how long it took and how it ended.
    pub(crate) fn ended(self, code: Option<i32>) {
        let millis = self.began.elapsed().as_millis();
        let ending = match code {
            Some(0) => String::new(),
            Some(code) => format!(", exit code {code}"),
            None => ", ended by a signal".to_owned(),
        };
        (self.narrate)(&format!("trace: {} ({millis} ms{ending})", self.words));
    }

    /// Tells what it is, of one that goes on as long as it is talked to.
    pub(crate) fn goes_on(self) {
        (self.narrate)(&format!("trace: {} (started)", self.words));
    }
}

fn words(command: &Command) -> String {
    let path = Path::new(command.get_program());
    let program = path.file_name().unwrap_or(path.as_os_str());
    let args = command.get_args().map(|arg| redacted(&arg.to_string_lossy()));
    let words: Vec<_> = std::iter::once(program.to_string_lossy().into_owned())
        .chain(args)
        .map(|word| typed_word(&word))
        .collect();
    words.join(" ")
}

/// Takes the user information out of what may be a URL, wherever it begins.
fn redacted(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // A query may hold a token as well.
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{}", redacted(path))
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn what_may_be_a_credential_is_left_out() {
        for (word, expected) in [
            ("https://ada:s3cret@host.example/r.git", "https://host.example/r.git"),
            ("--url=https://t0ken@host/r?key=x", "--url=https://host/r"),
            ("https://host/r.git", "https://host/r.git"),
            ("https://a/https://b:c@d/", "https://a/https://d/"),
            ("HEAD", "HEAD"),
        ] {
            assert_eq!(redacted(word), expected);
        }
    }
}
