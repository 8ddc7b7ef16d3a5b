//! The program that extracts text from PDF: `git-colony-extract` if it was built, otherwise
//! `pdftotext` of poppler.
//!
//! It is a child process with limits in either case: a PDF can send any reader into an endless
//! loop.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::process::bounded::{self, End, Finished, Limits};
use crate::git::process::on_path;
use crate::model::{Result, World};

use super::{MAX_PDF_BYTES, MAX_TEXT_BYTES, ReadFault};

/// The project's own program, built with the feature `pdf`; it is installed beside `git-colony`.
const OWN: &str = "git-colony-extract";

/// The limits for one document.
const LIMITS: Limits =
    Limits { time: Duration::from_mins(1), memory_bytes: 2 << 30, output_bytes: MAX_TEXT_BYTES };

/// The minimum time for a document, in seconds, however many have timed out.
const MIN_SECONDS: u64 = 2;

/// The exit code of both programs if a password is missing or text extraction is not allowed.
const EXIT_NOT_ALLOWED: i32 = 3;

/// A program that extracts text from PDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extractor {
    program: PathBuf,
    kind: Kind,
    version: String,
    limits_seconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Own,
    Poppler,
}

impl Extractor {
    /// Finds the program; starts it once to read its version.
    pub fn find(world: &World) -> Result<Option<Extractor>> {
        let beside = world.program.parent().map(|folder| folder.join(OWN));
        let own = beside.filter(|path| path.is_absolute() && path.is_file());
        let poppler = on_path(world, "pdftotext");
        for (program, kind) in [(own, Kind::Own), (poppler, Kind::Poppler)] {
            let Some(program) = program else { continue };
            let Some(version) = version(world, &program, kind)? else {
                continue;
            };
            return Ok(Some(Extractor {
                program,
                kind,
                version,
                limits_seconds: LIMITS.time.as_secs(),
            }));
        }
        Ok(None)
    }

    /// Returns the same with another time limit.
    #[must_use]
    pub fn within_seconds(self, seconds: u64) -> Extractor {
        Extractor { limits_seconds: seconds, ..self }
    }

    /// Returns the same with a shorter time limit, depending on how many documents have timed out:
    /// a folder of them costs two minutes, not a minute each.
    #[must_use]
    pub fn with_less_time(&self, timed_out: u32) -> Extractor {
        let seconds = self.limits_seconds.checked_shr(timed_out).unwrap_or(0);
        let least = MIN_SECONDS.min(self.limits_seconds);
        self.clone().within_seconds(seconds.max(least))
    }

    /// Returns its name and version, like `pdftotext-22.12.0`: part of every cache key that depends
    /// on the text.
    pub fn id(&self) -> String {
        let name = match self.kind {
            Kind::Own => "pdf_oxide",
            Kind::Poppler => "pdftotext",
        };
        format!("{name}-{}", self.version)
    }

    /// Extracts the text of a document, page by page; a page may be empty.
    pub fn pages(
        &self,
        world: &World,
        bytes: Vec<u8>,
    ) -> Result<std::result::Result<Vec<String>, ReadFault>> {
        if bytes.len() as u64 > MAX_PDF_BYTES {
            return Ok(Err(ReadFault::TooLarge { most_bytes: MAX_PDF_BYTES }));
        }
        // The header may follow some bytes of a mail or a printer.
        let head = bytes.get(..1024).unwrap_or(&bytes);
        if !head.windows(5).any(|window| window == b"%PDF-") {
            return Ok(Err(broken("it does not begin with a PDF header")));
        }
        let args: &[&str] = match self.kind {
            Kind::Own => &[],
            Kind::Poppler => &["-enc", "UTF-8", "-eol", "unix", "-", "-"],
        };
        let limits = Limits { time: Duration::from_secs(self.limits_seconds), ..LIMITS };
        let finished = bounded::run(world, &self.program, args, bytes, limits)?;
        Ok(finished.map_or(Err(ReadFault::ExtractorMissing), |finished| self.judge(&finished)))
    }

    fn judge(&self, finished: &Finished) -> std::result::Result<Vec<String>, ReadFault> {
        let said = finished.stderr.lines().next().unwrap_or_default();
        match finished.end {
            End::Exited(0) => {}
            End::Exited(EXIT_NOT_ALLOWED) => return Err(ReadFault::Encrypted),
            End::Exited(_) if finished.stderr.contains("Incorrect password") => {
                return Err(ReadFault::Encrypted);
            }
            End::Exited(code) if said.is_empty() => {
                return Err(broken(&format!("{} exited with {code}", self.id())));
            }
            End::Exited(_) => return Err(broken(said)),
            End::Crashed => return Err(broken(&format!("{} crashed", self.id()))),
            End::Killed => {
                return Err(ReadFault::Broken {
                    reason: format!("{} was ended", self.id()),
                    passing: true,
                });
            }
            End::TimedOut => {
                return Err(ReadFault::TimedOut { seconds: self.limits_seconds });
            }
            End::TooMuchOutput => {
                return Err(ReadFault::TooLarge { most_bytes: LIMITS.output_bytes });
            }
        }
        let printed = String::from_utf8_lossy(&finished.stdout);
        // Each page ends with a form feed. With a NUL the text would be binary.
        let text = printed.strip_suffix('\u{c}').unwrap_or(&printed);
        let page = |page: &str| page.replace('\0', "\u{fffd}");
        Ok(text.split('\u{c}').map(page).collect())
    }
}

fn broken(reason: &str) -> ReadFault {
    // One line of the reader's message is enough; it is untrusted.
    let reason = reason.chars().filter(|c| !c.is_control()).take(200);
    ReadFault::Broken { reason: reason.collect(), passing: false }
}

/// Asks a program for its version; `None` if it does not print one.
fn version(world: &World, program: &Path, kind: Kind) -> Result<Option<String>> {
    let limits = Limits { time: Duration::from_secs(10), output_bytes: 4096, ..LIMITS };
    let option = match kind {
        Kind::Own => "--version",
        Kind::Poppler => "-v",
    };
    let Some(finished) = bounded::run(world, program, &[option], Vec::new(), limits)? else {
        return Ok(None);
    };
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let said = match kind {
        Kind::Own => stdout.as_ref(),
        // poppler prints it to standard error.
        Kind::Poppler => finished.stderr.as_str(),
    };
    let word = said.lines().next().unwrap_or_default().rsplit(' ').next();
    let sound = |word: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
        (1..=40).contains(&word.len())
            && word.starts_with(|c: char| c.is_ascii_digit())
            && word.bytes().all(allowed)
    };
    Ok(word.filter(sound).map(str::to_owned))
}
