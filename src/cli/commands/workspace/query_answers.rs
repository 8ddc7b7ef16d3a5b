//! What `git colony catalog query` says.

use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::query::Answered;
use crate::workspace::query::query_file::{FileText, QueryFileReport};
use crate::workspace::query::query_list::{FilePath, QueryListReport};
use crate::workspace::query::query_log::{CommitOf, QueryLogReport};
use crate::workspace::query::query_text::{NotSearched, QueryTextReport, TextHit};

impl Answered {
    /// Returns the sentence about results of this name.
    fn sentence(&self, name: &str) -> String {
        let results = text::count(self.result_count, name);
        let queried = match self.repositories_queried {
            1 => "1 repository".to_owned(),
            many => format!("{many} repositories"),
        };
        let skipped = match self.skipped.len() {
            0 => String::new(),
            many => format!(", {many} skipped"),
        };
        let cut = if self.truncated { "; there are more" } else { "" };
        format!("{results} in {queried}{skipped}{cut}")
    }

    fn reasons(&self) -> Vec<String> {
        let skipped = self.skipped.iter();
        let reason = skipped.map(|repository| {
            format!("skipped '{}': {}", repository.display_name, repository.reason)
        });
        reason.collect()
    }

    fn outcome(&self) -> Outcome {
        if self.result_count == 0 { Outcome::No } else { Outcome::Yes }
    }
}

impl NotSearched {
    /// Returns the line about them; `None` if all files were searched.
    fn sentence(&self) -> Option<String> {
        let reasons: Vec<_> = [
            (self.secret, "likely secret"),
            (self.too_large, "too large"),
            (self.not_text, "not UTF-8"),
            (self.not_a_file, "not a plain file"),
            (self.unreadable, "unreadable"),
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
        let files = text::count(self.count, "file");
        (self.count > 0).then(|| format!("not searched: {files} ({})", reasons.join(", ")))
    }
}

impl Answer for QueryTextReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        self.answered.sentence("line")
    }

    fn narration(&self) -> Vec<String> {
        let mut lines = self.answered.reasons();
        lines.extend(self.files_not_searched.sentence());
        lines
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let line = |hit: &TextHit| {
            let TextHit { of, path, .. } = hit;
            let number = hit.line_number.map_or_else(String::new, |number| format!(":{number}"));
            format!("{}: {path}{number}: {}", of.display_name, hit.line_text)
        };
        self.hits.iter().map(line).collect()
    }

    fn outcome(&self) -> Outcome {
        self.answered.outcome()
    }
}

impl Answer for QueryFileReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        self.answered.sentence("file")
    }

    fn narration(&self) -> Vec<String> {
        self.answered.reasons()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let lines = |file: &FileText| {
            let cut = if file.truncated { ", cut" } else { "" };
            let size = text::size(file.bytes_read as u64);
            let title = format!("{}: {} ({size}{cut})", file.of.display_name, file.path);
            let content = file.content.lines().map(|line| format!("  {line}"));
            std::iter::once(title).chain(content).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(lines).collect()
    }

    fn outcome(&self) -> Outcome {
        self.answered.outcome()
    }
}

impl Answer for QueryListReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        self.answered.sentence("file")
    }

    fn narration(&self) -> Vec<String> {
        self.answered.reasons()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let line = |file: &FilePath| format!("{}: {}", file.of.display_name, file.path);
        self.paths.iter().map(line).collect()
    }

    fn outcome(&self) -> Outcome {
        self.answered.outcome()
    }
}

impl Answer for QueryLogReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        self.answered.sentence("commit")
    }

    fn narration(&self) -> Vec<String> {
        self.answered.reasons()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |entry: &CommitOf| {
            let id = entry.commit.commit.chars().take(8).collect();
            vec![entry.of.display_name.clone(), id, entry.commit.summary.clone()]
        };
        text::table(&self.commits.iter().map(row).collect::<Vec<_>>())
    }

    fn outcome(&self) -> Outcome {
        self.answered.outcome()
    }
}
