//! The name and description of a new tool, checked before anything is written.
//!
//! A name becomes a directory, a package, a module and a symbol at once, so it has the one form that all of
//! them accept. Free text may hold anything but characters that editors do not show.

use crate::model::{Code, Error, RepoPath, Result, text};

use super::scaffolds::Template;
use super::tool_entry::{Location, ToolEntry};
use super::tool_files::ToolFiles;
use super::tool_variables::{self, Variables};

const MAX_NAME: usize = 64;
pub(super) const MAX_LINE: usize = 200;
/// In characters; in the worst case, this is the length limit for a string in C99.
const MAX_TEXT: usize = 1_000;

/// The tool that is asked for, as typed.
#[derive(Clone, Debug)]
pub struct WantedTool {
    /// Its template.
    pub template: Template,
    /// Its purpose.
    pub purpose: String,
    /// Its name.
    pub name: String,
    /// Its capability.
    pub capability: String,
    /// The SPDX identifier of its license.
    pub license: String,
    /// Its description; may be empty.
    pub description: String,
    /// Its files beside those of the template, as `PATH=TEXT`.
    pub files: Vec<String>,
    /// The values of the template's variables, as `NAME=VALUE`.
    pub variables: Vec<String>,
}

/// A tool that can be created.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    wanted: WantedTool,
    files: ToolFiles,
    variables: Variables,
}

impl ToolSpec {
    /// Checks the request.
    pub fn new(wanted: WantedTool) -> Result<ToolSpec> {
        let wanted = WantedTool {
            capability: wanted.capability.trim().to_owned(),
            description: wanted.description.trim().replace("\r\n", "\n"),
            ..wanted
        };
        check_name("purpose", &wanted.purpose)?;
        check_name("name", &wanted.name)?;
        check_capability(&wanted.capability)?;
        check_license(&wanted.license)?;
        check_description(&wanted.description)?;
        let spec = ToolSpec {
            files: ToolFiles::new(&wanted.files)?,
            variables: Variables::new(wanted.template, &wanted.variables)?,
            wanted,
        };
        if spec.template().reserves(&spec.snake()) {
            let (name, template) = (spec.name(), spec.template().as_str());
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{name}' is reserved in the language or build system of a {template}"),
            )
            .unchanged()
            .hint(format!("choose another name, as in '{name}-tool'"))
            .detail("value", name));
        }
        Ok(spec)
    }

    /// Returns its template.
    pub fn template(&self) -> Template {
        self.wanted.template
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.wanted.name
    }

    /// Returns its name with `_` in place of `-`.
    pub fn snake(&self) -> String {
        self.wanted.name.replace('-', "_")
    }

    /// Returns its purpose.
    pub fn purpose(&self) -> &str {
        &self.wanted.purpose
    }

    /// Returns its capability.
    pub fn capability(&self) -> &str {
        &self.wanted.capability
    }

    /// Returns the SPDX identifier of its license.
    pub fn license(&self) -> &str {
        &self.wanted.license
    }

    /// Returns its description.
    pub fn description(&self) -> &str {
        &self.wanted.description
    }

    /// Returns its files beside those of the template.
    pub fn files(&self) -> &ToolFiles {
        &self.files
    }

    /// Returns the values of the template's variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Returns its directory.
    pub fn directory(&self) -> RepoPath {
        format!("tools/{}/{}", self.wanted.purpose, self.wanted.name).as_str().into()
    }

    /// Returns its entry in the registry.
    pub fn entry(&self) -> ToolEntry {
        let mut extra = serde_json::Map::new();
        extra.insert("description".to_owned(), self.description().into());
        extra.insert("template".to_owned(), self.template().as_str().into());
        ToolEntry {
            capability: self.wanted.capability.clone(),
            container_image: None,
            extra,
            headless: "native".to_owned(),
            license: self.wanted.license.clone(),
            location: Location::below(&self.directory()),
            name: self.wanted.name.clone(),
            purpose: self.wanted.purpose.clone(),
            version: self.variables.value("version").unwrap_or_default().to_owned(),
        }
    }
}

fn refused(what: &str, value: &str, wanted: &str) -> Error {
    let message = format!("'{value}' cannot be the {what} of a tool: {wanted}");
    tool_variables::refused(message, &format!("--{what}"), value)
}

fn check_name(what: &str, value: &str) -> Result<()> {
    let words = || value.split(['-', '_']);
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(plain);
    let begins = value.starts_with(|c: char| c.is_ascii_lowercase());
    if value.len() > MAX_NAME || !begins || !words().all(is_word) {
        let wanted = format!(
            "it consists of a-z and 0-9, with single '-' or '_' between, begins with a letter, and has at most {MAX_NAME} characters"
        );
        return Err(refused(what, value, &wanted));
    }
    if text::names_device(value) {
        return Err(refused(what, value, "it is the name of a device on some systems"));
    }
    Ok(())
}

fn check_capability(value: &str) -> Result<()> {
    if value.is_empty() || value.chars().count() > MAX_LINE || value.chars().any(is_unseen) {
        let wanted = format!("it is one line, not empty, of at most {MAX_LINE} characters");
        return Err(refused("capability", value, &wanted));
    }
    Ok(())
}

/// Accepts any identifier of SPDX's form; the list of existing ones changes with every release.
fn check_license(value: &str) -> Result<()> {
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'.' || c == b'-';
    // Only at the end does '+' have a meaning: this version or a later one.
    let id = value.strip_suffix('+').unwrap_or(value);
    let begins = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    if value.len() > MAX_NAME || !begins || !id.bytes().all(plain) {
        let wanted = "it is one SPDX identifier, as in MIT, Apache-2.0 or LicenseRef-Internal";
        return Err(refused("license", value, wanted));
    }
    Ok(())
}

fn check_description(value: &str) -> Result<()> {
    let unseen = |c: char| is_unseen(c) && c != '\n' && c != '\t';
    if value.chars().any(unseen) || value.chars().count() > MAX_TEXT {
        let wanted = format!(
            "it is text without control and direction characters, of at most {MAX_TEXT} characters"
        );
        return Err(refused("description", value, &wanted));
    }
    Ok(())
}

/// Returns `true` for characters that control, turn the direction of text, or end a line invisibly: compilers
/// refuse some of them, and no review shows them.
pub(super) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(template: Template, name: &str) -> WantedTool {
        WantedTool {
            template,
            purpose: "p".to_owned(),
            name: name.to_owned(),
            capability: "c".to_owned(),
            license: "MIT".to_owned(),
            description: String::new(),
            files: Vec::new(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn a_name_has_the_form_that_all_languages_accept() {
        let long = "a".repeat(65);
        for bad in [
            "", ".", "..", "a/b", "../x", "A", "1a", "-a", "a-", "a--b", "a_-b", "a b", "a.b",
            "\u{e4}", "a\n", "con", &long,
        ] {
            let refused = ToolSpec::new(wanted(Template::RustCrate, bad)).unwrap_err();
            assert_eq!(refused.code(), Code::InvalidValue, "{bad}");
        }
        for good in ["a", "a1", "low-pass", "low_pass", "x-2", &long[1..]] {
            ToolSpec::new(wanted(Template::RustCrate, good)).unwrap();
        }
    }

    #[test]
    fn each_language_reserves_its_own_words() {
        for (template, word) in [
            (Template::RustCrate, "crate"),
            (Template::RustCrate, "core"),
            (Template::PythonLib, "import"),
            (Template::PythonLib, "json"),
            (Template::PythonLib, "tests"),
            (Template::CLibrary, "string"),
            (Template::CLibrary, "all"),
            (Template::CmakeProject, "namespace"),
            (Template::JuliaModule, "baremodule"),
        ] {
            ToolSpec::new(wanted(template, word)).unwrap_err();
        }
        ToolSpec::new(wanted(Template::RustCrate, "json")).unwrap();
    }

    #[test]
    fn a_license_is_one_identifier() {
        for (license, good) in [
            ("MIT", true),
            ("GPL-2.0+", true),
            ("LicenseRef-Internal", true),
            ("MIT OR Apache-2.0", false),
            ("", false),
            ("MIT\"", false),
            ("+", false),
            ("-x", false),
        ] {
            let wanted =
                WantedTool { license: license.to_owned(), ..wanted(Template::RustCrate, "a") };
            assert_eq!(ToolSpec::new(wanted).is_ok(), good, "{license}");
        }
    }

    #[test]
    fn a_description_holds_no_characters_that_no_review_shows() {
        for (description, good) in [
            ("two\nlines\tand a tab", true),
            ("windows\r\nnewlines", true),
            ("\u{202e}turned", false),
            ("\u{1b}[31m", false),
            ("a\rb", false),
            ("a\u{2028}b", false),
            ("\u{feff}b\u{feff}b", false),
        ] {
            let wanted = WantedTool {
                description: description.to_owned(),
                ..wanted(Template::RustCrate, "a")
            };
            assert_eq!(ToolSpec::new(wanted).is_ok(), good, "{description:?}");
        }
    }
}
