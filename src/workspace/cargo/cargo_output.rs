//! What cargo prints with `--message-format=json`: messages of the compiler, and between them the lines of test
//! programs.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::model::RepoPath;

/// The maximum number of messages, and of names of failed tests.
const MAX_LISTED: usize = 200;

/// A message of the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CargoDiagnostic {
    /// `error` or `warning`.
    pub level: String,
    /// The code of the compiler or lint.
    pub code: Option<String>,
    /// The message.
    pub message: String,
    /// The file, below the root if it is there.
    pub path: Option<RepoPath>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
}

/// The results of tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CargoTests {
    /// The number that passed.
    pub passed: u64,
    /// The number that failed.
    pub failed: u64,
    /// The number that did not run.
    pub ignored: u64,
    /// The names of those that failed, at most 200.
    pub failures: Vec<String>,
}

/// The output, taken apart.
#[derive(Debug, Default)]
pub(super) struct CargoOutput {
    pub(super) diagnostics: Vec<CargoDiagnostic>,
    pub(super) tests: Option<CargoTests>,
    /// The lines for people.
    pub(super) text: String,
    /// Whether a list was cut.
    pub(super) is_cut: bool,
}

/// Reads the output of cargo that ran at a root.
pub(super) fn read(stdout: &str, root: &Path) -> CargoOutput {
    let mut output = CargoOutput::default();
    for line in stdout.lines() {
        let message = line
            .starts_with('{')
            .then(|| serde_json::from_str::<Value>(line).ok())
            .flatten()
            .filter(|message| message.get("reason").is_some());
        match message {
            Some(message) => output.take_message(&message, root),
            None => output.take_line(line),
        }
    }
    output
}

impl CargoOutput {
    fn take_message(&mut self, message: &Value, root: &Path) {
        if message["reason"] != "compiler-message" {
            return;
        }
        let message = &message["message"];
        let text = |name: &str| message[name].as_str().map(str::to_owned);
        let level = text("level").unwrap_or_default();
        // What has no place only counts the others.
        let spans = message["spans"].as_array();
        let span = spans.and_then(|spans| spans.iter().find(|span| span["is_primary"] == true));
        if !matches!(level.as_str(), "error" | "warning") || span.is_none() && level == "warning" {
            return;
        }
        if self.diagnostics.len() >= MAX_LISTED {
            self.is_cut = true;
            return;
        }
        let code = message.get("code").and_then(|code| code.get("code")?.as_str());
        let number = |name: &str| span?.get(name)?.as_u64();
        let path = span.and_then(|span| span["file_name"].as_str()).map(Path::new);
        self.diagnostics.push(CargoDiagnostic {
            level,
            code: code.map(str::to_owned),
            message: text("message").unwrap_or_default(),
            path: path.map(|path| RepoPath::from(path.strip_prefix(root).unwrap_or(path))),
            line: number("line_start"),
            column: number("column_start"),
        });
    }

    fn take_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        if let Some(result) = line.strip_prefix("test result: ") {
            let tests = self.tests.get_or_insert_default();
            let number = |name: &str| {
                let parts = result.split([';', '.']).map(str::trim);
                let mut numbers =
                    parts.filter_map(|part| part.strip_suffix(name)?.trim().parse().ok());
                numbers.next().unwrap_or(0_u64)
            };
            tests.passed += number("passed");
            tests.failed += number("failed");
            tests.ignored += number("ignored");
        } else if let Some(failed) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            let tests = self.tests.get_or_insert_default();
            if tests.failures.len() < MAX_LISTED {
                tests.failures.push(failed.to_owned());
            } else {
                self.is_cut = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_tests_are_told_apart() {
        let stdout = concat!(
            "{\"reason\":\"compiler-artifact\"}\n",
            "{\"reason\":\"compiler-message\",\"message\":{\"level\":\"error\",\"code\":{\"code\":\"E0308\"},\"message\":\"mismatched types\",\"spans\":[{\"is_primary\":true,\"file_name\":\"src/a.rs\",\"line_start\":3,\"column_start\":7}]}}\n",
            "{\"reason\":\"compiler-message\",\"message\":{\"level\":\"warning\",\"code\":null,\"message\":\"1 warning emitted\",\"spans\":[]}}\n",
            "{not json\n",
            "test a::b ... ok\n",
            "test a::c ... FAILED\n",
            "test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.0s\n",
            "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n",
        );
        let output = read(stdout, Path::new("/x"));
        assert_eq!(output.diagnostics.len(), 1);
        assert_eq!(output.diagnostics[0].code.as_deref(), Some("E0308"));
        assert_eq!((output.diagnostics[0].line, output.diagnostics[0].column), (Some(3), Some(7)));
        let tests = output.tests.unwrap();
        assert_eq!((tests.passed, tests.failed, tests.ignored), (6, 1, 2));
        assert_eq!(tests.failures, ["a::c"]);
        assert!(output.text.starts_with("{not json\n"));
    }
}
