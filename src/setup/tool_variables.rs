//! The variables of a new tool: values of its template that have a default.
//!
//! Each template has `version` and `author`, and one of its language. A value that is not free text has one
//! form, which needs no escaping in any language.

use crate::model::{Code, Error, Result, text};

use super::scaffolds::Template;
use super::tool_spec::{MAX_LINE, is_unseen};

/// A variable of a template.
#[derive(Clone, Copy)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    default: &'static str,
    form: Form,
}

/// The form of a value.
#[derive(Clone, Copy)]
enum Form {
    /// Three numbers.
    Version,
    /// One line; empty only by default.
    Line,
    /// Two numbers, of which this is the first.
    Release(&'static str),
    /// One of these.
    OneOf(&'static [&'static str]),
}

const fn variable(name: &'static str, default: &'static str, form: Form) -> Variable {
    Variable { name, default, form }
}

const VERSION: Variable = variable("version", "0.1.0", Form::Version);
const AUTHOR: Variable = variable("author", "", Form::Line);
const C: &[Variable] = &[
    AUTHOR,
    // CMake 3.16, which the template accepts, knows no newer standard of C.
    variable("standard", "99", Form::OneOf(&["99", "11"])),
    VERSION,
];
const CPP: &[Variable] = &[AUTHOR, variable("standard", "17", Form::OneOf(&["17", "20"])), VERSION];
const JULIA: &[Variable] = &[AUTHOR, variable("julia", "1.6", Form::Release("1")), VERSION];
const PYTHON: &[Variable] = &[AUTHOR, variable("python", "3.9", Form::Release("3")), VERSION];
const RUST: &[Variable] =
    &[AUTHOR, variable("edition", "2021", Form::OneOf(&["2018", "2021", "2024"])), VERSION];

/// The values of a template's variables, checked.
#[derive(Clone, Debug)]
pub struct Variables {
    template: Template,
    given: Vec<(&'static str, String)>,
}

impl Variables {
    /// Checks the values that were given, as `NAME=VALUE`.
    pub fn new(template: Template, assignments: &[String]) -> Result<Variables> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        for assignment in assignments {
            let (name, value) = assignment.split_once('=').ok_or_else(|| {
                refused(format!("'{assignment}' is not NAME=VALUE"), "--var", assignment)
            })?;
            let variable = known(template, name)?;
            let value = value.trim();
            variable.check(value)?;
            if given.iter().any(|(other, _)| *other == name) {
                let message = format!("the variable '{name}' is given twice");
                return Err(refused(message, "--var", name));
            }
            given.push((variable.name, value.to_owned()));
        }
        Ok(Variables { template, given })
    }

    /// Returns the value of a variable; `None` if the template does not have it.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut given = self.given.iter();
        if let Some((_, value)) = given.find(|(other, _)| *other == name) {
            return Some(value);
        }
        let mut all = of(self.template).iter();
        all.find(|variable| variable.name == name).map(|variable| variable.default)
    }
}

/// Returns the variables of a template, by name.
pub fn of(template: Template) -> &'static [Variable] {
    match template {
        Template::PythonLib => PYTHON,
        Template::CLibrary => C,
        Template::CmakeProject => CPP,
        Template::JuliaModule => JULIA,
        Template::RustCrate => RUST,
    }
}

fn known(template: Template, name: &str) -> Result<Variable> {
    let all = of(template);
    all.iter().find(|variable| variable.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|variable| variable.name).collect();
        let message = format!(
            "a {} has no variable '{name}', expected {}",
            template.as_str(),
            text::either(&names)
        );
        refused(message, "--var", name).detail("known", names)
    })
}

impl Variable {
    fn check(self, value: &str) -> Result<()> {
        let (good, wanted) = match self.form {
            Form::Version => (
                value.split('.').count() == 3 && value.split('.').all(is_number),
                "expected three numbers, as in '1.0.0'".to_owned(),
            ),
            Form::Line => (
                !value.is_empty()
                    && value.chars().count() <= MAX_LINE
                    && !value.chars().any(is_unseen),
                format!("expected one line, not empty, of at most {MAX_LINE} characters"),
            ),
            Form::Release(first) => (
                value
                    .split_once('.')
                    .is_some_and(|(major, minor)| major == first && is_number(minor)),
                format!("expected a release, as in '{}'", self.default),
            ),
            Form::OneOf(values) => {
                (values.contains(&value), format!("expected {}", text::either(values)))
            }
        };
        if good {
            return Ok(());
        }
        let message = format!("'{value}' cannot be the {} of a tool: {wanted}", self.name);
        Err(refused(message, "--var", value))
    }
}

/// Returns `true` for a number that every language reads as such: without a zero before it.
fn is_number(text: &str) -> bool {
    let is_short = (1..=9).contains(&text.len());
    is_short && text.bytes().all(|c| c.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

/// Returns the refusal of an option's value.
pub(super) fn refused(message: String, option: &str, value: &str) -> Error {
    Error::new(Code::InvalidValue, message)
        .unchanged()
        .hint("git colony tools new -h")
        .detail("option", option)
        .detail("value", value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_form_of_its_variable() {
        for (template, assignment, good) in [
            (Template::RustCrate, "version=1.20.300", true),
            (Template::RustCrate, "version=1.2", false),
            (Template::RustCrate, "version=01.2.3", false),
            (Template::RustCrate, "version=1.2.3-rc", false),
            (Template::RustCrate, "edition=2024", true),
            (Template::RustCrate, "edition=2022", false),
            (Template::PythonLib, "python=3.12", true),
            (Template::PythonLib, "python=2.7", false),
            (Template::PythonLib, "python=3.9\"", false),
            (Template::JuliaModule, "julia=1.10", true),
            (Template::CLibrary, "standard=11", true),
            (Template::CmakeProject, "standard=11", false),
            (Template::CLibrary, "author=Ada = <a@b>", true),
            (Template::CLibrary, "author= ", false),
            (Template::CLibrary, "author=a\u{202e}b", false),
            (Template::CLibrary, "author", false),
            (Template::CLibrary, "edition=2021", false),
            (Template::CLibrary, "=x", false),
        ] {
            let made = Variables::new(template, &[assignment.to_owned()]);
            assert_eq!(made.is_ok(), good, "{assignment}");
        }
        let twice = ["version=1.0.0".to_owned(), "version=1.0.0".to_owned()];
        Variables::new(Template::RustCrate, &twice).unwrap_err();
    }
}
