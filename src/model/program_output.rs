//! Assembles the output of a program from pieces: lines, and lines that overwrite each other.

use super::World;

/// Longer lines are passed on in pieces.
const MAX_LINE_BYTES: usize = 4096;

/// A unit of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputLine {
    /// A permanent line.
    Line(String),
    /// A progress line, which the next one overwrites.
    Passing(String),
}

impl OutputLine {
    /// Returns the text of either.
    pub fn text(&self) -> &str {
        match self {
            OutputLine::Line(text) | OutputLine::Passing(text) => text,
        }
    }

    /// Passes it on to the user.
    pub fn tell(&self, world: &World) {
        match self {
            OutputLine::Line(text) => (world.narrate)(text),
            OutputLine::Passing(text) => world.progress.pass_on(text),
        }
    }
}

/// Assembles pieces. A line that ends in `\r\n` is passed on twice: at `\r` the next byte is
/// unknown.
#[derive(Default)]
pub struct Listening {
    open: Vec<u8>,
    has_returned: bool,
}

impl Listening {
    /// Adds a piece; returns the lines that are complete, in order.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<OutputLine> {
        bytes.iter().filter_map(|byte| self.next(*byte)).collect()
    }

    /// Returns the last output, if its line never ended.
    pub fn finish(&mut self) -> Option<OutputLine> {
        self.has_returned = false;
        (!self.open.is_empty()).then(|| self.line())
    }

    fn next(&mut self, byte: u8) -> Option<OutputLine> {
        let was_over = std::mem::replace(&mut self.has_returned, byte == b'\r');
        if was_over && byte != b'\n' {
            self.open.clear();
        }
        match byte {
            b'\n' => Some(self.line()),
            b'\r' => (!self.open.is_empty()).then(|| OutputLine::Passing(self.text())),
            byte => {
                self.open.push(byte);
                (self.open.len() == MAX_LINE_BYTES).then(|| self.line())
            }
        }
    }

    fn line(&mut self) -> OutputLine {
        let text = self.text();
        self.open.clear();
        OutputLine::Line(text)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.open).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_what_is_written_over_passes_in_any_pieces() {
        let said = b"one\n\n10%\r20%\rdone\r\nlast";
        let line = |text: &str| OutputLine::Line(text.to_owned());
        let passing = |text: &str| OutputLine::Passing(text.to_owned());
        for size in 1..=said.len() {
            let mut listening = Listening::default();
            let pieces = said.chunks(size);
            let mut heard: Vec<_> = pieces.flat_map(|piece| listening.take(piece)).collect();
            heard.extend(listening.finish());
            let wanted = [
                line("one"),
                line(""),
                passing("10%"),
                passing("20%"),
                passing("done"),
                line("done"),
                line("last"),
            ];
            assert_eq!(heard, wanted, "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_told_in_pieces() {
        let mut listening = Listening::default();
        let heard = listening.take(&[b'x'; 2 * MAX_LINE_BYTES + 1]);
        assert_eq!(heard.len(), 2);
        assert_eq!(listening.finish(), Some(OutputLine::Line("x".to_owned())));
        assert_eq!(listening.finish(), None);
    }
}
