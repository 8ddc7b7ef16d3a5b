//! `git colony credential`: what git runs to learn who asks at one host (gitcredentials).
//!
//! Only `get` is answered. `store` keeps nothing; `erase` notes that the token was refused, for the time
//! of this one command, so that it is not offered again.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use crate::cli::{Face, Stop};
use crate::git::remote::credentials::TokenSource;
use crate::model::Error;
use crate::ui::answer::Outcome;

/// A question of git is shorter than this many bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Tell git the token for one host; set for git by the commands that go over the network
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The host, with its port
    #[arg(long = "for", value_name = "HOST")]
    host: String,
    /// The environment variable that holds the token
    #[arg(long)]
    variable: String,
    /// The user that goes with it
    #[arg(long)]
    username: String,
    /// The file that notes that the host has refused the token
    #[arg(long, value_name = "FILE")]
    refused: PathBuf,
    /// What git asks for: get, store or erase
    action: String,
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let source = TokenSource { host: args.host, variable: args.variable, username: args.username };
    let mut question = Vec::new();
    let stdin = &mut face.env.stdin;
    let read = stdin.take(MAX_BYTES).read_to_end(&mut question);
    read.map_err(|error| Error::io("cannot read the credential request of git", error))?;
    let world = &face.env.world;
    match args.action.as_str() {
        "get" => {
            let answer = source.answer(world, &question, &args.refused)?;
            let stdout = &mut face.env.stdout;
            let written = stdout.write_all(&answer).and_then(|()| stdout.flush());
            written.map_err(Stop::Stream)?;
        }
        "erase" => source.note_refusal(world, &question, &args.refused)?,
        _ => {}
    }
    Ok(Outcome::Yes)
}
