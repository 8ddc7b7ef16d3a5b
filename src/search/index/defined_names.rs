//! The names that source code defines, with the lines of their definitions. A guess from the form of the lines, for many
//! languages, without their grammars.

use std::ops::Range;

use super::headings::{AFTER_NAME, defining_word, is_c_definition, is_definition};

/// The longest parameters of a function, in bytes.
const MAX_PARAMETERS: usize = 2_000;

/// The longest text between the parameters of a function and its body, in bytes.
const MAX_RESULT: usize = 300;

/// Begin a type of C, where other languages have the name of a value.
const C_TYPES: &[&str] = &[
    "bool", "char", "const", "double", "enum", "float", "int", "long", "short", "signed", "size_t",
    "struct", "union", "unsigned", "void",
];

/// Words before parentheses and a brace that define nothing.
const STATEMENTS: &[&str] = &[
    "and",
    "assert",
    "await",
    "case",
    "catch",
    "defer",
    "delete",
    "do",
    "elif",
    "else",
    "elseif",
    "elsif",
    "except",
    "fn",
    "for",
    "foreach",
    "func",
    "function",
    "go",
    "goto",
    "guard",
    "if",
    "in",
    "is",
    "lambda",
    "lock",
    "match",
    "new",
    "not",
    "or",
    "print",
    "raise",
    "repeat",
    "return",
    "select",
    "sizeof",
    "switch",
    "synchronized",
    "throw",
    "try",
    "typeof",
    "unless",
    "until",
    "using",
    "when",
    "while",
    "with",
    "yield",
];

/// Stand between the parameters of a function and its body.
const BEFORE_BODY: &[&str] = &[
    ":", "->", "&", "async", "const", "final", "noexcept", "override", "requires", "throws",
    "where",
];

/// The same on the line after the parameters.
const BEFORE_BODY_BELOW: &[&str] = &[":", "->", "throws"];

/// A name and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinedName<'a> {
    /// The first byte of its line.
    pub line: usize,
    /// The name, without what it belongs to.
    pub name: &'a str,
}

/// Finds the names that lines within a range of a text define, in order. A definition may end after the range.
pub fn within(text: &str, range: Range<usize>) -> impl Iterator<Item = DefinedName<'_>> {
    let lines = text.get(range.clone()).unwrap_or_default().split_inclusive('\n');
    let starts = lines.scan(range.start, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    starts.filter_map(move |(start, line)| {
        let name = name_of(line, text.get(start..)?)?;
        Some(DefinedName { line: start, name })
    })
}

/// Returns the name that a line defines; `text` begins with the line.
fn name_of<'a>(line: &'a str, text: &'a str) -> Option<&'a str> {
    let name = if let Some(directive) = line.trim_start().strip_prefix('#') {
        first_name(directive.trim_start().strip_prefix("define ")?.trim_start())
    } else if let Some(end) = line.strip_prefix("} ") {
        // The end of 'typedef struct {'.
        first_name(end)
            .filter(|name| end.strip_prefix(name).is_some_and(|rest| rest.starts_with(';')))
    } else if let Some(lisp) = line.strip_prefix("(def") {
        let name = lisp.split_once(' ')?.1.trim_start_matches(['(', ' ']);
        name.split(|c: char| c.is_whitespace() || c == ')').next()
    } else if is_definition(line) {
        after_word(line)
    } else if is_c_definition(line.trim_end()) && !is_statement(line) {
        last_name(line.split('(').next()?)
    } else {
        function(line, text).or_else(|| assigned_function(line)).or_else(|| constant(line))
    };
    name.filter(|name| name.len() > 1 && !matches!(*name, "self" | "this"))
}

/// Returns the name after a word for definitions, as in `pub fn merge`.
fn after_word(line: &str) -> Option<&str> {
    let (word, rest) = defining_word(line)?;
    let rest = match rest.strip_prefix('(') {
        // The receiver of a method of Go.
        Some(receiver) => receiver.split_once(')')?.1.trim_start(),
        None => rest,
    };
    match word {
        "impl" => None,
        "typedef" => name_of_typedef(rest),
        "const" | "static" => name_of_value(rest, word),
        "let" => {
            let rest = ["mut ", "rec "]
                .iter()
                .find_map(|prefix| rest.strip_prefix(prefix))
                .unwrap_or(rest);
            first_name(rest).filter(|_| rest.contains(['=', ':']))
        }
        "type" | "val" | "var" => first_name(rest),
        // 'struct commit *merge(struct commit *one)', but not 'struct Commit(Oid);' of Rust
        "enum" | "struct" | "union" if rest.split('(').next().is_some_and(is_function_of_type) => {
            last_name(rest.split('(').next()?).filter(|_| !line.trim_end().ends_with(';'))
        }
        "enum" | "struct" | "union" => {
            let (name, after) = qualified_name(rest, false)?;
            let after = after.trim();
            let is_end = after.is_empty() || after.starts_with(['(', '{', '<', ':', ';']);
            let next = after.split_whitespace().next().unwrap_or_default();
            // 'struct commit *one = first;' is a use.
            (is_end || AFTER_NAME.contains(&next)).then_some(name)
        }
        _ => qualified_name(rest, word == "function").map(|(name, _)| name),
    }
}

/// Returns the name of `LIMIT: usize = 20`, `char *names[] = {` or `int merge(int one)`.
fn name_of_value<'a>(rest: &'a str, word: &str) -> Option<&'a str> {
    let is_type = |name: &str| C_TYPES.contains(&name) || name.ends_with("_t");
    if word == "const" && !first_name(rest).is_some_and(is_type) {
        return first_name(rest).filter(|_| rest.contains(['=', ':', ';']));
    }
    let target = rest.split('=').next()?;
    let is_declared = target.contains('(') && target.trim_end().ends_with(';');
    let name = last_name(target.split([':', '[', ';', '(']).next()?);
    name.filter(|name| !is_declared && !is_type(name))
}

/// Returns `true` for the text before the parameters of a function that returns a structure.
fn is_function_of_type(before: &str) -> bool {
    let mut names = before.split(|c| !is_of_name(c)).filter(|name| !name.is_empty());
    names.nth(1).is_some() && !before.contains(['{', '<', '=', ';', ':'])
}

/// Returns the name of a type, as in 'typedef struct commit alias;' or 'typedef int (*compare)(int)'.
fn name_of_typedef(rest: &str) -> Option<&str> {
    if let Some((_, pointer)) = rest.split_once("(*") {
        return first_name(pointer);
    }
    let name = last_name(rest.split(['{', ';', '[', '(']).next()?)?;
    Some(name).filter(|name| !C_TYPES.contains(name))
}

/// Returns the last part of `self.merge`, `Repo::merge` or `Repo:merge`, and the text after it.
fn qualified_name(text: &str, has_colon: bool) -> Option<(&str, &str)> {
    let mut name = first_name(text)?;
    let mut rest = text.get(name.len()..)?;
    while let Some(next) = rest
        .strip_prefix("::")
        .or_else(|| rest.strip_prefix('.'))
        .or_else(|| rest.strip_prefix(':').filter(|_| has_colon))
        && let Some(part) = first_name(next)
    {
        name = part;
        rest = next.get(part.len()..)?;
    }
    Some((name, rest))
}

/// Returns the name before the parameters of a function or method that no word introduces; its body follows them.
fn function<'a>(line: &'a str, text: &'a str) -> Option<&'a str> {
    let (before, _) = line.split_once('(')?;
    let head = before.trim();
    let allowed = |c: char| is_of_name(c) || " *&:<>[],~#\t".contains(c);
    let begins = head.starts_with(|c: char| c.is_alphabetic() || "_$#~*".contains(c));
    let is_generic = head.contains('<');
    let is_type = !head.contains(',') || is_generic;
    if !begins || !is_type || !head.chars().all(allowed) || is_statement(head) {
        return None;
    }
    // 'a:not(.b) {' of CSS, a label of C
    if head.replace("::", "").contains(':') {
        return None;
    }
    let name = last_name(head).filter(|name| before.trim_end().ends_with(name))?;
    has_body(text.get(before.len()..)?).then_some(name)
}

/// Returns `true` for a text that begins with parameters and a body.
fn has_body(text: &str) -> bool {
    let mut depth = 0_usize;
    let close = text.char_indices().take_while(|(at, _)| *at < MAX_PARAMETERS).find(|(_, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let Some(after) = close.and_then(|(at, _)| text.get(at + 1..)) else {
        return false;
    };
    let after = after.get(..after.floor_char_boundary(MAX_RESULT)).unwrap_or_default();
    let result = after.trim_start();
    let on_next_line = after.len() - result.len() > after.find('\n').unwrap_or(after.len());
    let words = if on_next_line { BEFORE_BODY_BELOW } else { BEFORE_BODY };
    if !result.starts_with('{') && !words.iter().any(|word| result.starts_with(word)) {
        return false;
    }
    let body = result.find(['{', '}', ';', '=', '"', '\'']).and_then(|end| result.get(end..));
    let line = body.and_then(|body| body.lines().next()).unwrap_or_default().trim_end();
    // 'each(list) { |it|' and 'run(list) { it ->' are calls.
    let is_block = line.trim_start_matches(['{', ' ']).starts_with('|')
        || line.ends_with("->")
        || line.ends_with(" in");
    line.starts_with('{') && !is_block
}

/// Returns the name that gets a function, as in `exports.merge = function () {` and `merge: async (one) => {`.
fn assigned_function(line: &str) -> Option<&str> {
    let (target, value) = line.split_once(" <- ").or_else(|| line.split_once(['=', ':']))?;
    let (target, value) = (target.trim(), value.trim());
    let target = target.strip_prefix("module.").unwrap_or(target);
    let is_exported = target.starts_with("exports.") && !value.starts_with('=');
    let name = target.rsplit([' ', '.']).next()?;
    let function = value.strip_prefix("async ").unwrap_or(value);
    let is_arrow = function.contains("=>")
        && (function.starts_with('(')
            || first_name(function)
                .and_then(|parameter| function.strip_prefix(parameter))
                .is_some_and(|rest| rest.trim_start().starts_with("=>")));
    let is_function = function.starts_with("function") || is_arrow || value.starts_with("class ");
    let is_name = !name.is_empty() && name != "exports" && name.chars().all(is_of_name);
    (is_name && (is_exported || is_function)).then_some(name)
}

/// Returns the name of a value that is written as a constant: `MAX_WORD = 64`, `static final int MAX_WORD = 64;`.
fn constant(line: &str) -> Option<&str> {
    let (target, value) = line.split_once('=')?;
    let target = target.trim().trim_end_matches([':', '?', ' ']);
    // 'MAX_WORD: int = 64'
    let typed = target.split_once(": ").map_or(target, |(name, _)| name);
    let name = typed.rsplit(' ').next()?;
    let is_plain = target.chars().all(|c| is_of_name(c) || " <>[]:,|*&?".contains(c));
    let letters = || name.chars().filter(|c| c.is_alphabetic());
    let is_constant = letters().next().is_some()
        && letters().all(char::is_uppercase)
        && name.chars().all(is_of_name);
    (is_plain && is_constant && !value.starts_with(['=', '>', '~'])).then_some(name)
}

/// Returns `true` for a line that begins with a statement, or whose word before the parentheses is one.
fn is_statement(line: &str) -> bool {
    let mut words = line.split('(').next().unwrap_or_default().split_whitespace();
    let [first, last] = [words.next(), words.next_back()];
    [first, last].iter().flatten().any(|word| STATEMENTS.contains(word))
}

fn first_name(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    text.get(..end).filter(|name| !name.is_empty())
}

fn last_name(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(|c| !is_of_name(c));
    text.rsplit(|c| !is_of_name(c)).next().filter(|name| !name.is_empty())
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        within(text, 0..text.len()).map(|definition| definition.name).collect()
    }

    /// Asserts that the first line of each text defines a name, and no other line one.
    fn assert_defined(cases: &[(&str, &str)]) {
        for (text, name) in cases {
            assert_eq!(names(text), [*name], "{text}");
        }
    }

    #[test]
    fn words_for_definitions_name_what_follows() {
        assert_defined(&[
            ("pub(crate) fn merge_base(one: Oid) -> Oid {", "merge_base"),
            ("    pub fn inner<T: Name>(&self) {", "inner"),
            ("    pub const fn empty() -> Oid {", "empty"),
            ("pub unsafe extern \"C\" fn merge(one: *const Oid) {", "merge"),
            ("static LIMIT: usize = 20;", "LIMIT"),
            ("pub struct Notify;", "Notify"),
            ("    private static final class Named {", "Named"),
            ("    def merged?(one)", "merged"),
            ("pub struct Commit(Oid, Oid);", "Commit"),
            ("class Merge(Base):", "Merge"),
            ("    async def run(self):", "run"),
            ("    def self.merge(one)", "merge"),
            ("class Git::Merge < Base", "Merge"),
            ("function M.merge(one)", "merge"),
            ("function M:merge(one)", "merge"),
            ("export default class App extends Component {", "App"),
            ("func (r *Repo) Merge() error {", "Merge"),
            ("type Named = string | null", "Named"),
            ("    suspend fun merge(one: Oid) {", "merge"),
            ("data class Commit(val id: Oid)", "Commit"),
            ("enum class Side {", "Side"),
            ("let rec merge one other =", "merge"),
            ("(defn merge-base [one other]", "merge-base"),
            ("(define (merge one)", "merge"),
        ]);
    }

    #[test]
    fn functions_of_c_are_named_before_their_parameters() {
        assert_defined(&[
            ("static int merge_base(struct commit *one)", "merge_base"),
            ("struct commit *merge(struct commit *one)", "merge"),
            ("char *base_name (const char *path)", "base_name"),
            ("static int\nmerge_base (struct commit *one,\n  int x)\n{", "merge_base"),
            ("std::vector<Oid> Repo::merge(const Oid &one) const {", "merge"),
            ("Repo::Repo(int x)\n    : x_(x) {", "Repo"),
            ("static const struct option options[] = {", "options"),
            ("const char *names[] = {", "names"),
            ("typedef struct commit commit_t;", "commit_t"),
            ("typedef struct {\n  int x;\n} commit_t;", "commit_t"),
            ("typedef int (*compare)(int, int);", "compare"),
            ("  #  define MAX_WORD 64", "MAX_WORD"),
            ("static const uint16_t TABLE[1024] = {", "TABLE"),
        ]);
    }

    #[test]
    fn methods_are_named_before_their_parameters_and_body() {
        assert_defined(&[
            ("    public static int mergeBase(Commit one) throws IOException {", "mergeBase"),
            ("    public synchronized void run() {", "run"),
            ("  private Map<String, Integer> count(\n      String one,\n      int x) {", "count"),
            ("    public void Merge(int x)\n    {", "Merge"),
            ("  merge(one, other = {}) {", "merge"),
            ("  async merge(one: Oid): Promise<Oid> {", "merge"),
            ("  get #base() {", "base"),
            ("merge_base() {", "merge_base"),
            ("merge_base ()\n{", "merge_base"),
        ]);
    }

    #[test]
    fn values_that_are_functions_or_constants_have_names() {
        assert_defined(&[
            ("exports.merge = function (one) {", "merge"),
            ("module.exports.LIMIT = 20;", "LIMIT"),
            ("Repo.prototype.merge = function merge(one) {", "merge"),
            ("  const merge = async (one) => {", "merge"),
            ("  merge: function (one) {", "merge"),
            ("  merge = one => one;", "merge"),
            ("merge <- function(one, x = 2) {", "merge"),
            ("MAX_WORD = 64", "MAX_WORD"),
            ("MAX_WORD: int = 64", "MAX_WORD"),
            ("    private static final int MAX_WORD = 64;", "MAX_WORD"),
            ("CFLAGS := -O2", "CFLAGS"),
        ]);
    }

    #[test]
    fn uses_of_names_define_nothing() {
        for text in [
            "impl<T> Merge for T {",
            "impl Merge {",
            "## 2.1 Merges",
            "def",
            "",
            "    return merge(one, other);",
            "    merge(one, other)",
            "  if (merge(one)) {",
            "  } else if (merge(one)) {",
            "else if (merge(one)) {",
            "  for (const one of all(x)) {",
            "  synchronized (lock) {",
            "  describe('merge', () => {",
            "  expect(one).toBe({",
            "  run(function () {",
            "  new Merge(one) {",
            "  list.each(one) { |it|",
            "  each(list) { |it|",
            "  launch(scope) { one ->",
            "  x = merge(one) {",
            "  const all = list.map((one) => one);",
            "  Some(one) => merge(one),",
            "  one == other && (x) => {",
            "typedef struct {",
            "a:not(.b) {",
            "@media (print) {",
            "name = 64",
            "    struct commit *one = first(list);",
            "struct commit *first(struct list *one);",
            "const char *name_of(int one);",
            "    a class that merges",
            "    class that merges",
            "function of the merge",
            "let it be",
            "X == 64",
            "print(x)\nreturn {",
            "some prose about a function (for example, this one)",
            "(",
            "f(",
            "f()",
        ] {
            assert!(names(text).is_empty(), "{text}: {:?}", names(text));
        }
    }

    #[test]
    fn a_name_has_the_place_of_its_line() {
        let text = "one\nfn two() {}\nfn three() {}\n";
        let names: Vec<_> = within(text, 4..16).collect();
        assert_eq!(names, [DefinedName { line: 4, name: "two" }]);
    }
}
