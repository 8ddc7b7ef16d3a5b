//! `git colony merge-driver`: the command that git runs for files whose attributes name a driver of ours.
//!
//! It prints nothing on standard output, which is git's, and lists on standard error what must be
//! settled. 0 is merged, 1 is a conflict; more than 128 would end the whole merge of git and means a
//! wrong command line only.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use crate::cli::{Face, Stop};
use crate::design::drivers::{Driver, Marks};
use crate::model::{Code, Error, RepoPath};
use crate::setup::merge_driver::{self, Request, Settled};
use crate::ui::answer::Outcome;

/// Merge one file for git; configured by 'git colony init'
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The driver
    name: String,
    /// What git puts for %A %O %B %P, and may put for %L %S %X %Y
    #[arg(
        num_args = 4..=8,
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    args: Vec<OsString>,
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let Some(driver) = Driver::named(&args.name) else {
        let names = Driver::ALL.map(Driver::name).join(", ");
        return Err(Error::new(
            Code::InvalidValue,
            format!("no merge driver is named '{}', only {names}", args.name),
        )
        .unchanged()
        .into());
    };
    let mut words = args.args.into_iter();
    let mut file = || words.next().unwrap_or_default();
    let (ours, base, theirs, path) = (file(), file(), file(), file());
    let mut label = |name: &str| {
        let text = words.next().unwrap_or_default().to_string_lossy().into_owned();
        // An older git leaves what it does not know as it is.
        let is_known = !text.is_empty() && !matches!(text.as_str(), "%L" | "%S" | "%X" | "%Y");
        if is_known { text } else { name.to_owned() }
    };
    let (length, base_label) = (label("7"), label("base"));
    let (our_label, their_label) = (label("ours"), label("theirs"));
    let world = face.world()?;
    let request = Request {
        driver,
        ours: world.absolute(Path::new(&ours)),
        base: world.absolute(Path::new(&base)),
        theirs: world.absolute(Path::new(&theirs)),
        path: RepoPath::new(path.into_vec()),
        marks: Marks {
            ours: our_label,
            theirs: their_label,
            // Beyond any that git passes, a mark would fill the file.
            length: length.parse().unwrap_or(7).clamp(1, 1000),
        },
        base_label,
    };
    match merge_driver::run(&world, &face.flags, &request)? {
        Settled::Clean => Ok(Outcome::Yes),
        Settled::Conflicted => Ok(Outcome::No),
    }
}
