//! Messages as lines: standard input to the protocol, and what it answers to standard output.
//!
//! A line that is too long is refused without being kept. When the input ends, calls that run get a moment to
//! answer; then they are stopped, as by a signal.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::pin::Pin;
use std::sync::mpsc::{self, SyncSender};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt as _, DuplexStream};

use crate::env::Env;
use crate::model::interrupt::Interrupt;

use super::messages::{self, LineUse, OpenRequests, is_id};
use super::server::Server;

/// The longest message: the longest arguments, twice.
const MAX_LINE_BYTES: usize = 2 * 1024 * 1024;

/// How much of either end of a line that is too long is searched for its id.
const SEARCHED_BYTES: usize = 256;

/// How long calls may go on after the end of the input.
const LAST_CALLS: Duration = Duration::from_secs(5);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How many calls may block at once; others wait.
const MAX_THREADS: usize = 16;

/// How many pieces of output may wait for a client that reads slowly.
const MAX_PIECES: usize = 64;

/// How many requests may have no answer yet: more are read when a client has read some answers. Far more than calls run.
const MAX_OPEN: usize = 256;

/// A message to the thread that writes.
enum Output {
    Bytes(Vec<u8>),
    End,
}

/// Serves one client, until its input ends or a signal comes.
pub(super) fn serve(env: &mut Env, server: &Server) -> io::Result<()> {
    let input = std::mem::replace(&mut env.stdin, Box::new(io::empty()));
    let (output, written) = mpsc::sync_channel(MAX_PIECES);
    let (own, interrupt) = (server.clone(), env.world.interrupt.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(MAX_THREADS)
        .build()?;
    let protocol = move || {
        runtime.block_on(protocol(own, input, output.clone(), interrupt));
        // Calls that cannot be stopped any more are completed.
        drop(runtime);
        output.send(Output::End).ok();
    };
    let thread = std::thread::Builder::new().name("mcp".to_owned()).spawn(protocol)?;
    for piece in written {
        let Output::Bytes(bytes) = piece else { break };
        let sent = env.stdout.write_all(&bytes).and_then(|()| env.stdout.flush());
        if sent.is_err() {
            // Nobody reads: what runs is stopped, and the protocol ends when it writes the next time.
            break;
        }
    }
    server.calls.stop();
    // It returns nothing; a panic was printed already.
    thread.join().ok();
    Ok(())
}

async fn protocol(
    server: Server,
    input: Box<dyn Read + Send>,
    output: SyncSender<Output>,
    interrupt: Interrupt,
) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let open = OpenRequests::default();
    let handle = tokio::runtime::Handle::current();
    let reader = Reader { lines: ours, output: output.clone(), open: open.clone(), handle };
    let started =
        std::thread::Builder::new().name("mcp-input".to_owned()).spawn(move || reader.read(input));
    if started.is_err() {
        return;
    }
    let transport = AsyncRwTransport::new_server(theirs, Writer { output, open })
        .with_max_line_length(MAX_LINE_BYTES);
    let calls = server.calls.clone();
    let serving = async {
        // An input may end before the first message.
        if let Ok(running) = server.serve(transport).await {
            running.waiting().await.ok();
        }
    };
    tokio::select! {
        () = serving => {}
        () = signal(&interrupt) => {}
    }
    calls.stop();
}

/// Waits for a signal.
async fn signal(interrupt: &Interrupt) {
    while interrupt.check().is_ok() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Passes on the input, line by line, and the end of it.
struct Reader {
    lines: DuplexStream,
    output: SyncSender<Output>,
    open: OpenRequests,
    handle: tokio::runtime::Handle,
}

impl Reader {
    fn read(mut self, input: Box<dyn Read + Send>) {
        let mut input = BufReader::new(input);
        let mut line = Line::default();
        loop {
            let piece = match input.fill_buf() {
                Ok([]) => break,
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let length = match piece.iter().position(|byte| *byte == b'\n') {
                Some(at) => at + 1,
                None => piece.len(),
            };
            let (taken, is_end) = piece
                .split_at_checked(length)
                .map_or((piece, false), |(taken, _)| (taken, taken.ends_with(b"\n")));
            line.take(taken);
            input.consume(length);
            if is_end && self.pass_on(&std::mem::take(&mut line)).is_err() {
                return;
            }
        }
        self.wait_for_last_calls();
    }

    fn pass_on(&mut self, line: &Line) -> io::Result<()> {
        if line.is_too_long() {
            let most = MAX_LINE_BYTES / 1024 / 1024;
            let message = format!("the message is longer than {most} MiB");
            return self.refuse(&messages::too_long(&line.id(), &message));
        }
        // Answers that a client does not read would fill the memory.
        while self.open.count() >= MAX_OPEN {
            std::thread::sleep(POLL_INTERVAL);
        }
        match self.open.take(&line.head) {
            LineUse::Dropped => Ok(()),
            LineUse::Line => self.handle.block_on(self.lines.write_all(&line.head)),
            LineUse::Batch(messages) => {
                let lines: Vec<_> = messages.iter().map(Value::to_string).collect();
                let text = lines.join("\n") + "\n";
                self.handle.block_on(self.lines.write_all(text.as_bytes()))
            }
            LineUse::Refused(refusal) => {
                self.refuse(&refusal.unwrap_or_else(|| messages::not_json(&line.id())))
            }
        }?;
        self.open.take_whole().iter().try_for_each(|answers| self.refuse(answers))
    }

    fn refuse(&self, refusal: &Value) -> io::Result<()> {
        let bytes = format!("{refusal}\n").into_bytes();
        self.output.send(Output::Bytes(bytes)).map_err(io::Error::other)
    }

    /// A shell that pipes messages in wants their answers, too.
    fn wait_for_last_calls(&self) {
        let mut waited = Duration::ZERO;
        while self.open.count() > 0 && waited < LAST_CALLS {
            std::thread::sleep(POLL_INTERVAL);
            waited += POLL_INTERVAL;
        }
    }
}

/// A line of which no more is kept than a message may have.
#[derive(Default)]
struct Line {
    head: Vec<u8>,
    /// The end of a line that is too long.
    tail: Vec<u8>,
    length: usize,
}

impl Line {
    fn take(&mut self, piece: &[u8]) {
        self.length += piece.len();
        if !self.is_too_long() {
            self.head.extend_from_slice(piece);
            return;
        }
        self.head.truncate(SEARCHED_BYTES);
        self.tail.extend_from_slice(piece);
        let over = self.tail.len().saturating_sub(SEARCHED_BYTES);
        self.tail.drain(..over);
    }

    fn is_too_long(&self) -> bool {
        self.length > MAX_LINE_BYTES
    }

    /// Returns the id of the message, where it is first or last in it; else null.
    fn id(&self) -> Value {
        const NAME: &str = "\"id\":";
        let end = if self.is_too_long() { &self.tail } else { &self.head };
        let from = end.len().saturating_sub(SEARCHED_BYTES);
        let tail = String::from_utf8_lossy(end.get(from..).unwrap_or_default());
        let last = tail.trim_end().strip_suffix('}').and_then(|text| text.rsplit_once(NAME));
        let to = self.head.len().min(SEARCHED_BYTES);
        let head = String::from_utf8_lossy(self.head.get(..to).unwrap_or_default());
        let first = head.split_once(NAME).filter(|(before, _)| before.len() < 32);
        let last = last.and_then(|(_, id)| serde_json::from_str(id.trim()).ok());
        let first = first.and_then(|(_, id)| {
            let id = id.split_once([',', '}']).map_or(id, |(id, _)| id);
            serde_json::from_str(id.trim()).ok()
        });
        first.filter(is_id).or_else(|| last.filter(is_id)).unwrap_or(Value::Null)
    }
}

/// Hands what the protocol writes to the thread that owns standard output: one message at a time.
struct Writer {
    output: SyncSender<Output>,
    open: OpenRequests,
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut written = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            written.extend(self.open.answer(line).unwrap_or_default());
            if line.ends_with(b"\n") && !written.is_empty() && !written.ends_with(b"\n") {
                written.push(b'\n');
            }
        }
        // A client that reads slowly stops the protocol, not the calls.
        let sent = self.output.send(Output::Bytes(written));
        Poll::Ready(sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id_of(before: &str, after: &str) -> Value {
        let mut line = Line::default();
        line.take(before.as_bytes());
        for _ in 0..3 {
            line.take(&vec![b'x'; 1024 * 1024]);
        }
        line.take(after.as_bytes());
        assert!(line.is_too_long() && line.head.len() + line.tail.len() <= 2 * SEARCHED_BYTES);
        line.id()
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_id() {
        assert_eq!(id_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"", "\"}\n"), json!(7));
        assert_eq!(id_of("{\"method\":\"", "\",\"jsonrpc\":\"2.0\",\"id\":\"a\"}\n"), json!("a"));
        assert_eq!(
            id_of("{\"params\":{\"text\":\"a long beginning, then \\\"id\\\":9", "\"}}\n"),
            json!(null)
        );
    }
}
