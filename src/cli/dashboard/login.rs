//! Logins: a code that is exchanged for a token, once. Nothing of it is written anywhere but to the terminal.
//!
//! Codes and tokens have 128 random bits. Kept are their digests, which are compared in constant time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::model::World;

/// How long a code counts.
pub(super) const CODE_LIFETIME: Duration = Duration::from_mins(1);

/// How many tokens count at once; the oldest leaves.
const MAX_TOKENS: usize = 16;

/// After this many wrong codes each answer waits.
const MAX_FREE_ATTEMPTS: usize = 10;

/// Who is logged in.
#[derive(Default)]
pub(super) struct Logins {
    code: Option<(blake3::Hash, Instant)>,
    tokens: VecDeque<blake3::Hash>,
    wrong: usize,
}

/// How an attempt to log in ended.
pub(super) enum Attempt {
    /// With a token.
    In(String),
    /// With the wrong code; the answer waits.
    Wrong(Duration),
}

impl Logins {
    /// Makes a code; the one before no longer counts.
    pub(super) fn new_code(&mut self, world: &World, now: Instant) -> String {
        let code = secret(world);
        self.code = Some((digest(&code), now + CODE_LIFETIME));
        code
    }

    /// Exchanges a code for a token.
    pub(super) fn log_in(&mut self, code: &str, world: &World, now: Instant) -> Attempt {
        let is_right =
            self.code.as_ref().is_some_and(|(known, until)| *known == digest(code) && now < *until);
        if !is_right {
            self.wrong += 1;
            let is_slow = self.wrong > MAX_FREE_ATTEMPTS;
            return Attempt::Wrong(if is_slow { Duration::from_secs(1) } else { Duration::ZERO });
        }
        self.code = None;
        self.wrong = 0;
        let token = secret(world);
        self.tokens.push_back(digest(&token));
        if self.tokens.len() > MAX_TOKENS {
            self.tokens.pop_front();
        }
        Attempt::In(token)
    }

    /// Returns the digest of a token, if it counts.
    pub(super) fn client_of(&self, token: &str) -> Option<String> {
        let own = digest(token);
        self.tokens.iter().find(|known| **known == own).map(ToString::to_string)
    }

    /// Returns `true` if a client is still logged in.
    pub(super) fn has(&self, client: &str) -> bool {
        self.tokens.iter().any(|known| known.to_string() == client)
    }

    /// Ends all logins; returns how many.
    pub(super) fn end_all(&mut self) -> usize {
        let count = self.tokens.len();
        *self = Logins::default();
        count
    }
}

fn secret(world: &World) -> String {
    format!("{:016x}{:016x}", (world.entropy)(), (world.entropy)())
}

fn digest(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}
