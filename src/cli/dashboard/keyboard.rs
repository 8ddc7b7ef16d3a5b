//! The keys of the terminal: Enter asks for another link, 'x' ends all logins.

use std::io::{BufRead as _, BufReader, Read};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::env::Env;

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Another link.
    Enter,
    /// The end of all logins.
    EndAll,
}

/// Reads lines on a thread of its own, which ends with the process. In the background there is no keyboard.
pub(super) fn listen(env: &mut Env) -> UnboundedReceiver<Key> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let input: Box<dyn Read + Send> = match crate::env::keyboard() {
        Some(keyboard) => Box::new(keyboard),
        None => std::mem::replace(&mut env.stdin, Box::new(std::io::empty())),
    };
    let thread = std::thread::Builder::new().name("keyboard".to_owned());
    // Without the thread there are no keys, and all else works.
    thread.spawn(move || read(input, &sender)).ok();
    receiver
}

fn read(input: Box<dyn Read + Send>, sender: &UnboundedSender<Key>) {
    for line in BufReader::new(input).lines() {
        let key = match line.as_deref().map(str::trim) {
            Ok("") => Key::Enter,
            Ok("x") => Key::EndAll,
            Ok(_) => continue,
            Err(_) => return,
        };
        if sender.send(key).is_err() {
            return;
        }
    }
}
