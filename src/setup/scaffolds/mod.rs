//! The first files of a new tool: what each template writes, and where.
//!
//! The texts are the files beside this one. Each `{{name}}` in them is replaced once; inserted text is not
//! searched again. Names are checked before (see [`super::tool_spec`]); free text is escaped for the language
//! of the file. A line of a template with the author is left out if there is none. Files that were given are taken as
//! they are. This module reads and writes no files.

mod escape;
pub mod uuid;

use crate::model::{RepoPath, Result};

use super::tool_spec::ToolSpec;
use escape::Syntax;

/// The template of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// A Python package.
    PythonLib,
    /// A library in C99, built by `CMake`.
    CLibrary,
    /// A library in C++17, built by `CMake`.
    CmakeProject,
    /// A Julia package.
    JuliaModule,
    /// A Rust library.
    RustCrate,
}

/// One file of a template.
struct Part {
    /// Its path, below the directory of the tool.
    path: &'static str,
    syntax: Syntax,
    text: &'static str,
}

macro_rules! parts {
    ($($path:literal $syntax:ident $file:literal,)+) => {
        &[$(Part { path: $path, syntax: Syntax::$syntax, text: include_str!($file) },)+]
    };
}

const PYTHON_LIB: &[Part] = parts![
    ".gitignore" Plain "python_lib/gitignore.in",
    "LICENSE" Plain "shared/LICENSE.in",
    "README.md" Markdown "python_lib/README.md.in",
    "pyproject.toml" Toml "python_lib/pyproject.toml.in",
    "src/{{snake}}/__init__.py" Python "python_lib/init.py.in",
    "src/{{snake}}/core.py" Python "python_lib/core.py.in",
    "tests/__init__.py" Python "python_lib/tests_init.py.in",
    "tests/test_smoke.py" Python "python_lib/test_smoke.py.in",
];

const C_LIBRARY: &[Part] = parts![
    ".gitignore" Plain "c_library/gitignore.in",
    "CMakeLists.txt" Cmake "c_library/CMakeLists.txt.in",
    "LICENSE" Plain "shared/LICENSE.in",
    "README.md" Markdown "c_library/README.md.in",
    "include/{{snake}}.h" C "c_library/header.h.in",
    "src/{{snake}}.c" C "c_library/source.c.in",
    "tests/test_smoke.c" C "c_library/test_smoke.c.in",
];

const CMAKE_PROJECT: &[Part] = parts![
    ".gitignore" Plain "cmake_project/gitignore.in",
    "CMakeLists.txt" Cmake "cmake_project/CMakeLists.txt.in",
    "LICENSE" Plain "shared/LICENSE.in",
    "README.md" Markdown "cmake_project/README.md.in",
    "include/{{snake}}.hpp" C "cmake_project/header.hpp.in",
    "src/{{snake}}.cpp" C "cmake_project/source.cpp.in",
    "tests/test_smoke.cpp" C "cmake_project/test_smoke.cpp.in",
];

const JULIA_MODULE: &[Part] = parts![
    ".gitignore" Plain "julia_module/gitignore.in",
    "LICENSE" Plain "shared/LICENSE.in",
    "Project.toml" Toml "julia_module/Project.toml.in",
    "README.md" Markdown "julia_module/README.md.in",
    "src/{{snake}}.jl" Julia "julia_module/module.jl.in",
    "test/runtests.jl" Julia "julia_module/runtests.jl.in",
];

const RUST_CRATE: &[Part] = parts![
    ".gitignore" Plain "rust_crate/gitignore.in",
    "Cargo.toml" Toml "rust_crate/Cargo.toml.in",
    "LICENSE" Plain "shared/LICENSE.in",
    "README.md" Markdown "rust_crate/README.md.in",
    "src/lib.rs" Rust "rust_crate/lib.rs.in",
    "tests/smoke.rs" Rust "rust_crate/smoke.rs.in",
];

impl Template {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Template::PythonLib => "python_lib",
            Template::CLibrary => "c_library",
            Template::CmakeProject => "cmake_project",
            Template::JuliaModule => "julia_module",
            Template::RustCrate => "rust_crate",
        }
    }

    /// Returns `true` if the language or its tools reserve a name, in the form with `_`.
    pub fn reserves(self, snake: &str) -> bool {
        let words = match self {
            Template::PythonLib => include_str!("python_lib/reserved.txt"),
            Template::CLibrary => include_str!("c_library/reserved.txt"),
            Template::CmakeProject => include_str!("cmake_project/reserved.txt"),
            Template::JuliaModule => include_str!("julia_module/reserved.txt"),
            Template::RustCrate => include_str!("rust_crate/reserved.txt"),
        };
        words.split_whitespace().any(|word| word == snake)
    }

    fn parts(self) -> &'static [Part] {
        match self {
            Template::PythonLib => PYTHON_LIB,
            Template::CLibrary => C_LIBRARY,
            Template::CmakeProject => CMAKE_PROJECT,
            Template::JuliaModule => JULIA_MODULE,
            Template::RustCrate => RUST_CRATE,
        }
    }
}

/// Returns the files of a new tool by their paths in the repository, sorted.
pub fn render(spec: &ToolSpec, uuid: &str) -> Result<Vec<(RepoPath, Vec<u8>)>> {
    let parts = spec.template().parts().iter();
    let template = parts
        .map(|part| {
            let path = fill(part.path, Syntax::Plain, spec, uuid);
            let text = fill(&chosen_lines(part.text, spec), part.syntax, spec, uuid);
            (path.as_str().into(), text)
        })
        .collect();
    let directory = spec.directory();
    let files = spec.files().over(template)?.into_iter();
    Ok(files.map(|(path, text)| (directory.join(&path), text.into_bytes())).collect())
}

/// Leaves out the lines with the author if there is none.
fn chosen_lines(text: &str, spec: &ToolSpec) -> String {
    let has_author = spec.variables().value("author") != Some("");
    let lines = text.split_inclusive('\n');
    lines.filter(|line| has_author || !line.contains("{{author}}")).collect()
}

/// Replaces each `{{name}}`; an unknown one stays.
fn fill(template: &str, syntax: Syntax, spec: &ToolSpec, uuid: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        text.push_str(before);
        match value(name, syntax, spec, uuid) {
            Some(value) => text.push_str(&value),
            None => text.extend(["{{", name, "}}"]),
        }
        rest = after;
    }
    text + rest
}

fn value(name: &str, syntax: Syntax, spec: &ToolSpec, uuid: &str) -> Option<String> {
    Some(match name {
        "name" => spec.name().to_owned(),
        "snake" => spec.snake(),
        "dash" => spec.snake().replace('_', "-"),
        "upper" => spec.snake().to_ascii_uppercase(),
        "purpose" => spec.purpose().to_owned(),
        "license" => spec.license().to_owned(),
        "uuid" => uuid.to_owned(),
        "capability" => syntax.escape(spec.capability()),
        "description" => syntax.escape(spec.description()),
        "summary" => {
            let words: Vec<&str> = spec.description().split_whitespace().collect();
            syntax.escape(&words.join(" "))
        }
        variable => syntax.escape(spec.variables().value(variable)?),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tool_spec::WantedTool;
    use super::*;

    fn spec(template: Template, description: &str) -> ToolSpec {
        ToolSpec::new(WantedTool {
            template,
            purpose: "signal".to_owned(),
            name: "low-pass".to_owned(),
            capability: "filter".to_owned(),
            license: "MIT".to_owned(),
            description: description.to_owned(),
            files: Vec::new(),
            variables: vec!["author=A {{name}} \" B".to_owned()],
        })
        .unwrap()
    }

    #[test]
    fn every_name_in_every_template_is_known() {
        let all = [
            Template::PythonLib,
            Template::CLibrary,
            Template::CmakeProject,
            Template::JuliaModule,
            Template::RustCrate,
        ];
        for template in all {
            for (path, bytes) in render(&spec(template, ""), "u").unwrap() {
                // The author of these tools has a name like a variable.
                let text = String::from_utf8(bytes).unwrap().replace("A {{name}} ", "");
                assert!(!text.contains("{{") && !text.contains("}}"), "{path}");
                assert!(!path.to_string().contains("{{"), "{path}");
                assert!(path.is_safe() && path.is_at_or_below(&"tools/signal/low-pass".into()));
            }
        }
    }

    #[test]
    fn inserted_text_is_not_replaced_again() {
        let files = render(&spec(Template::RustCrate, "{{name}} {{license"), "u").unwrap();
        let lib = files.iter().find(|(path, _)| path.name() == b"lib.rs");
        let lib = String::from_utf8(lib.unwrap().1.clone()).unwrap();
        assert!(lib.contains("\"{{name}} {{license\""), "{lib}");
    }
}
