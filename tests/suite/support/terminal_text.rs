//! What a terminal shows after some bytes: as much of a terminal as the screen and plain lines need. Whatever else comes
//! is a fault of the program.

/// A terminal of a size, and its other screen.
pub(crate) struct TerminalText {
    rows: usize,
    columns: usize,
    lines: Vec<Vec<char>>,
    /// The screen that is not shown, with its cursor.
    other: (Vec<Vec<char>>, (usize, usize)),
    cursor: (usize, usize),
    /// Whether the cursor is shown.
    pub(crate) has_cursor: bool,
    /// Whether the other screen is shown.
    pub(crate) is_other: bool,
}

impl TerminalText {
    pub(crate) fn new(rows: usize, columns: usize) -> TerminalText {
        let lines = vec![vec![' '; columns]; rows];
        TerminalText {
            rows,
            columns,
            other: (lines.clone(), (0, 0)),
            lines,
            cursor: (0, 0),
            has_cursor: true,
            is_other: false,
        }
    }

    /// Returns the lines.
    pub(crate) fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>());
        lines.map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// Writes bytes to it.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let mut rest = text.as_ref();
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\u{1b}' => rest = self.escape(rest),
                '\r' => self.cursor.1 = 0,
                '\n' => self.next_line(),
                '\u{8}' => self.cursor.1 = self.cursor.1.saturating_sub(1),
                '\u{7}' => {}
                c => self.put(c),
            }
        }
    }

    fn next_line(&mut self) {
        self.cursor.0 += 1;
        if self.cursor.0 == self.rows {
            self.cursor.0 -= 1;
            self.lines.remove(0);
            self.lines.push(vec![' '; self.columns]);
        }
    }

    fn put(&mut self, c: char) {
        assert!(!c.is_control(), "the terminal gets {c:?}");
        if self.cursor.1 >= self.columns {
            self.cursor.1 = 0;
            self.next_line();
        }
        let (row, column) = self.cursor;
        self.lines[row][column] = c;
        self.cursor.1 += 1;
    }

    /// Obeys what begins with ESC, and returns what follows.
    fn escape<'a>(&mut self, rest: &'a str) -> &'a str {
        let Some(rest) = rest.strip_prefix('[') else {
            // The choice of a font, a title.
            return rest.get(1..).unwrap_or_default();
        };
        let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) else {
            return "";
        };
        let (parameters, after) = rest.split_at(end);
        let numbers = parameters.split(';').map(|number| number.parse().unwrap_or(1));
        let numbers: Vec<usize> = numbers.collect();
        match (after.as_bytes()[0], parameters) {
            (b'H', _) => {
                let column = numbers.get(1).copied().unwrap_or(1);
                self.cursor = (numbers[0].min(self.rows) - 1, column.min(self.columns) - 1);
            }
            (b'A', _) => self.cursor.0 = self.cursor.0.saturating_sub(numbers[0]),
            (b'C', _) => self.cursor.1 += numbers[0],
            (b'J', "2") => self.lines = vec![vec![' '; self.columns]; self.rows],
            (b'K' | b'J', _) => {
                let (row, column) = self.cursor;
                self.lines[row].iter_mut().skip(column).for_each(|c| *c = ' ');
            }
            (b'h', "?1049") => self.show_other(true),
            (b'l', "?1049") => self.show_other(false),
            (b'h', "?25") => self.has_cursor = true,
            (b'l', "?25") => self.has_cursor = false,
            _ => {}
        }
        &after[1..]
    }

    fn show_other(&mut self, wanted: bool) {
        if self.is_other != wanted {
            self.is_other = wanted;
            std::mem::swap(&mut self.lines, &mut self.other.0);
            std::mem::swap(&mut self.cursor, &mut self.other.1);
        }
    }
}
