//! A ref transaction, held open by a git process that reads its commands from a pipe.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};

use crate::git::{full_disk, lock_file};
use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, Result};

/// A ref transaction whose locks git holds until it is committed or dropped.
#[must_use = "a prepared transaction has to be committed, or its refs stay as they are"]
pub struct PreparedRefs {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    interrupt: Interrupt,
    /// Its error output, where it shares a pipe with the answers.
    said: String,
}

impl PreparedRefs {
    pub(in crate::git) fn prepare(
        mut child: Child,
        interrupt: Interrupt,
        commands: &[u8],
    ) -> Result<Self> {
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let Some((stdin, stdout)) = stdin.zip(stdout) else {
            return Err(Error::new(Code::GitFailed, "cannot talk to git update-ref"));
        };
        let stdout = BufReader::new(stdout);
        let mut prepared =
            PreparedRefs { child, stdin: Some(stdin), stdout, interrupt, said: String::new() };
        // On a refusal the pipe is closed; the reason is on standard error, read below.
        let sent = prepared.send(commands);
        let answered =
            sent.is_ok() && prepared.expect("start: ok") && prepared.expect("prepare: ok");
        if answered { Ok(prepared) } else { Err(prepared.refusal()) }
    }

    /// Moves the refs.
    pub fn commit(mut self) -> Result<()> {
        let sent = self.send(b"commit\0");
        if sent.is_ok() && self.expect("commit: ok") {
            self.stdin = None;
            return Ok(());
        }
        Err(self.refusal())
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.stdin {
            Some(pipe) => pipe.write_all(bytes).and_then(|()| pipe.flush()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn expect(&mut self, answer: &str) -> bool {
        loop {
            let mut line = Vec::new();
            // It has ended, or its output cannot be read.
            if !matches!(self.stdout.read_until(b'\n', &mut line), Ok(1..)) {
                return false;
            }
            if line.trim_ascii_end() == answer.as_bytes() {
                return true;
            }
            self.said.push_str(&String::from_utf8_lossy(&line));
        }
    }

    fn refusal(mut self) -> Error {
        self.stdin = None;
        let mut said = std::mem::take(&mut self.said);
        let mut rest = Vec::new();
        // Without git's message the refusal is still reported.
        drop(match self.child.stderr.take() {
            Some(mut stderr) => stderr.read_to_end(&mut rest),
            None => self.stdout.read_to_end(&mut rest),
        });
        said.push_str(&String::from_utf8_lossy(&rest));
        let line =
            said.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
        let said = line.unwrap_or(said.trim()).trim_start_matches("fatal: ");
        let said = &*full_disk::with_reason_of(said);
        if let Err(interrupted) = self.interrupt.check() {
            return interrupted;
        }
        if said.is_empty() {
            // Most likely it was killed: its locks stay, and only git can name them.
            return Error::new(Code::GitFailed, "git update-ref ended without an answer")
                .hint("run the command again; git names the lock files that were left, if any");
        }
        let error = Error::new(Code::RefMoved, format!("git cannot move the refs: {said}"));
        if said.contains("ref updates aborted by hook") {
            return error
                .detail("hook", "reference-transaction")
                .hint("the reference-transaction hook of this repository refused");
        }
        if let Some(lock) = lock_file::named_in(said) {
            return lock_file::in_the_way("git cannot lock the refs", &lock);
        }
        if said.contains("File exists") || said.contains("Unable to create") {
            return Error::new(Code::Locked, format!("git cannot lock the refs: {said}"))
                .hint("git colony doctor   # names the lock files that are left");
        }
        // Another process moved none: git does not take the date, or cannot read the repository.
        let is_of_refs = ["prepare:", "commit:"].iter().any(|part| said.starts_with(part));
        if !is_of_refs && !said.contains("cannot lock ref") {
            return Error::new(Code::GitFailed, format!("git cannot move the refs: {said}"));
        }
        error.hint(
            "git colony status   # another process moved a ref: check, then run the command again",
        )
    }
}

impl Drop for PreparedRefs {
    fn drop(&mut self) {
        // Closing the pipe makes git drop its locks; waiting makes sure they are gone.
        self.stdin = None;
        self.child.wait().ok();
        self.interrupt.release(self.child.id());
    }
}
