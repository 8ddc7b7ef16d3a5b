//! The `git-colony-extract` program: a PDF on standard input, the text of its pages on standard
//! output, each followed by a form feed.
//!
//! It is started by `git-colony` with limits, so it has none of its own. Exit codes: 0 done, 1 the
//! document is broken (standard error says how), 3 a password is missing. Whatever a hostile document
//! makes the reader do, a panic included, happens here and nowhere else.

#![expect(clippy::print_stdout, reason = "this is a program")]

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use pdf_oxide::PdfDocument;

/// The reader and its version, as `--version` prints them: part of the keys of cached text. A test
/// compares it with the locked version.
const READER: &str = "pdf_oxide 0.3.78";

/// The reason why there is no text.
enum Fault {
    Encrypted,
    Broken(String),
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|arg| arg == "--version") {
        println!("{READER}");
        return ExitCode::SUCCESS;
    }
    match extract() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Fault::Encrypted) => ExitCode::from(3),
        Err(Fault::Broken(reason)) => {
            // If standard error is closed, the exit code still shows the failure.
            writeln!(std::io::stderr(), "{reason}").ok();
            ExitCode::from(1)
        }
    }
}

fn extract() -> Result<(), Fault> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(broken)?;
    let document = PdfDocument::from_bytes(bytes).map_err(broken)?;
    if document.is_encrypted() && !document.authenticate(b"").unwrap_or(false) {
        return Err(Fault::Encrypted);
    }
    let mut stdout = std::io::stdout().lock();
    for page in 0..document.page_count().map_err(broken)? {
        let extracted = document.extract_text(page).map_err(broken)?;
        // A form feed in the text would look like the end of the page.
        let text = extracted.replace('\u{c}', "\n");
        write!(stdout, "{text}\u{c}").map_err(broken)?;
    }
    stdout.flush().map_err(broken)
}

fn broken(error: impl std::fmt::Display) -> Fault {
    Fault::Broken(error.to_string())
}
