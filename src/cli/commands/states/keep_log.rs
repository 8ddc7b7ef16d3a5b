//! `git colony keep-log`: what reads the output of a program that 'agents new -x' starts in the background.

use std::fs::OpenOptions;
use std::path::PathBuf;

use crate::cli::{Face, Stop};
use crate::model::Error;
use crate::store::files::bounded_log;
use crate::ui::answer::Outcome;

/// Write standard input to a log that stays small; started with the program of an agent
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The log
    file: PathBuf,
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let cannot = |error| Error::io("cannot write the log of a program", error);
    let opened = OpenOptions::new().read(true).append(true).open(&args.file);
    bounded_log::copy(&mut face.env.stdin, &mut opened.map_err(cannot)?).map_err(cannot)?;
    Ok(Outcome::Yes)
}
