//! `git colony credential`: what git runs to learn who asks at one host (gitcredentials).
//!
//! Only `get` is answered: git says `store` and `erase` when it is done, and nothing is kept here.

use std::io::{Read as _, Write as _};

use crate::git::credentials::TokenSource;
use crate::model::Error;
use crate::ui::answer::Outcome;

use super::{Face, Stop};

/// A question of git is shorter than this many bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Tell git the token for one host; set for git by the commands that go over the network
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The host, with its port
    #[arg(long = "for", value_name = "HOST")]
    host: String,
    /// The environment variable that holds the token
    #[arg(long)]
    variable: String,
    /// The user that goes with it
    #[arg(long)]
    username: String,
    /// What git asks for: get, store or erase
    action: String,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    if args.action != "get" {
        return Ok(Outcome::Yes);
    }
    let source = TokenSource {
        host: args.host,
        variable: args.variable,
        username: args.username,
    };
    let mut question = Vec::new();
    let read = (&mut face.env.stdin)
        .take(MAX_BYTES)
        .read_to_end(&mut question);
    read.map_err(|error| Error::io("cannot read the question of git", error))?;
    let answer = source.answer(&face.env.world, &question)?;
    let written = face
        .env
        .stdout
        .write_all(&answer)
        .and_then(|()| face.env.stdout.flush());
    written.map_err(Stop::Stream)?;
    Ok(Outcome::Yes)
}
