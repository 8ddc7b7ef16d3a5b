//! Generated maps and hand-written ones, promoted and demoted.

use std::fmt::Write as _;

use crate::repo_map::row::{Destination, RouteRow};

use super::*;

const FILES: [&str; 14] = [
    "README.md",
    "docs/f.md",
    "docs/g.txt",
    "lit/[z].md",
    "lit/a.md",
    "lit/b.md",
    "lit/sub/c.md",
    "lit/sub/d.pdf",
    "lit/sub/deep/e.md",
    "lit/x y.md",
    "other/k.md",
    "papers/h.pdf",
    "papers/i.pdf",
    "src/j.rs",
];

const DIRECTORIES: [&str; 5] = ["lit", "lit/sub", "docs", "papers", "lit/sub/deep"];

const ROUTED: [&str; 13] = [
    "lit/**",
    "lit/",
    "lit/a.md",
    "/lit/b.md",
    "*.pdf",
    "**/*.md",
    "docs/",
    "papers/*.pdf",
    "lit/sub/",
    "lit/sub/**",
    "README.md",
    "!lit/sub/",
    "!*.txt",
];

const INCLUDED: [&str; 6] = ["*.md", "**/*.pdf", "sub/", "/a.md", "f.md", "!b.md"];

/// The number of generated maps.
const MAPS: u64 = 2000;

/// A generator of numbers, the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn one_in(&mut self, chance: usize) -> bool {
        self.below(chance) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn some<'a>(&mut self, of: &[&'a str], count: usize) -> Vec<&'a str> {
        (0..count).map(|_| self.pick(of)).collect()
    }
}

/// Writes a map as people do: in many ways.
struct Writer {
    dice: Dice,
    comments: usize,
}

impl Writer {
    fn comment(&mut self, chance: usize) -> String {
        if !self.dice.one_in(chance) {
            return String::new();
        }
        self.comments += 1;
        format!("# c{};", self.comments)
    }

    fn line(&mut self, out: &mut String, indent: usize, text: &str) {
        let above = self.comment(8);
        if !above.is_empty() {
            writeln!(out, "{}{above}", " ".repeat(indent)).unwrap();
        }
        let behind = self.comment(8);
        let gap = if behind.is_empty() { "" } else { "  " };
        writeln!(out, "{}{text}{gap}{behind}", " ".repeat(indent)).unwrap();
    }

    fn glob(&mut self, glob: &str) -> String {
        let is_plain =
            glob.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/');
        match self.dice.below(3) {
            0 => format!("'{glob}'"),
            1 if is_plain => glob.to_owned(),
            _ => format!("\"{glob}\""),
        }
    }

    fn globs(&mut self, out: &mut String, indent: usize, key: &str, globs: &[&str]) {
        let globs: Vec<String> = globs.iter().map(|glob| self.glob(glob)).collect();
        if self.dice.one_in(40) {
            // Several lines within brackets: not edited here.
            writeln!(out, "{}{key}: [", " ".repeat(indent)).unwrap();
            writeln!(out, "{}  {}]", " ".repeat(indent), globs.join(",\n      ")).unwrap();
        } else if globs.is_empty() || self.dice.one_in(2) {
            self.line(out, indent, &format!("{key}: [{}]", globs.join(", ")));
        } else {
            let deeper = indent + 2 * self.dice.below(2);
            self.line(out, indent, &format!("{key}:"));
            for glob in globs {
                self.line(out, deeper, &format!("- {glob}"));
            }
        }
    }

    /// Writes a row whose keys are in `lines`, at the column of its list.
    fn row(&mut self, column: usize, lines: &str) -> String {
        let (indent, mut out) = (column + 2, String::new());
        let mut is_first = true;
        for line in lines.lines() {
            let is_key =
                line.starts_with(&" ".repeat(indent)) && !line.trim_start().starts_with('#');
            if is_first && is_key {
                is_first = false;
                writeln!(out, "{}- {}", " ".repeat(column), line.trim_start()).unwrap();
            } else {
                writeln!(out, "{line}").unwrap();
            }
        }
        if self.dice.one_in(4) {
            out.push('\n');
        }
        out
    }

    fn source(&mut self, column: usize, number: usize) -> String {
        let (indent, mut out) = (column + 2, String::new());
        let is_literature = !self.dice.one_in(3);
        self.line(&mut out, indent, &format!("name: s{number}"));
        let kind = if is_literature { "literature" } else { "git_repo" };
        self.line(&mut out, indent, &format!("type: {kind}"));
        if self.dice.one_in(2) {
            let start = self.dice.pick(&["lit", "docs/", "papers", "."]);
            self.line(&mut out, indent, &format!("start_dir: {start}"));
        }
        if self.dice.one_in(2) {
            let count = self.dice.below(3);
            let globs = self.dice.some(&INCLUDED, count);
            self.globs(&mut out, indent, "include_globs", &globs);
        }
        if self.dice.one_in(6) {
            let globs = self.dice.some(&["*.txt", "sub/", "/a.md", "*.pdf"], 1);
            self.globs(&mut out, indent, "exclude_globs", &globs);
        }
        self.row(column, &out)
    }

    fn route(&mut self, column: usize) -> String {
        let (indent, mut out) = (column + 2, String::new());
        let count = 1 + self.dice.below(3);
        let globs = self.dice.some(&ROUTED, count);
        self.globs(&mut out, indent, "paths", &globs);
        match self.dice.below(4) {
            0 => self.line(&mut out, indent, "ingest_to: knowledge_base"),
            1 => self.line(&mut out, indent, "ingest_to: \"vcm\""),
            2 => self.line(&mut out, indent, "profile: paper"),
            _ => {}
        }
        self.row(column, &out)
    }

    fn map(&mut self) -> WrittenMap {
        let column = 2 * self.dice.below(2);
        let counts = (1 + self.dice.below(3), self.dice.below(4));
        let sources: Vec<String> =
            (0..counts.0).map(|number| self.source(column, number)).collect();
        let routes: Vec<String> = (0..counts.1).map(|_| self.route(column)).collect();
        let mut text = String::new();
        self.line(&mut text, 0, "schema_version: 1");
        if self.dice.one_in(2) {
            text.push('\n');
        }
        let listed = format!("sources:\n{}", sources.concat());
        let routed = match routes.as_slice() {
            [] if self.dice.one_in(2) => String::new(),
            [] => "knowledge_routing: []\n".to_owned(),
            rows => format!("knowledge_routing:\n{}", rows.concat()),
        };
        let parts = if self.dice.one_in(5) { [routed, listed] } else { [listed, routed] };
        text.push_str(&parts.concat());
        if self.dice.one_in(6) {
            text = text.trim_end().to_owned();
        }
        WrittenMap { text, sources, routes }
    }
}

/// The text of a map, and that of each of its rows.
struct WrittenMap {
    text: String,
    sources: Vec<String>,
    routes: Vec<String>,
}

fn comments(text: &str) -> Vec<&str> {
    let starts = text.match_indices("# c").map(|(at, _)| at);
    starts.map(|at| text[at..].split(';').next().unwrap()).collect()
}

fn targets(dice: &mut Dice) -> Vec<Target> {
    let count = 1 + dice.below(3);
    let targets = (0..count).map(|_| {
        let is_directory = dice.one_in(3);
        let path = if is_directory { dice.pick(&DIRECTORIES) } else { dice.pick(&FILES) };
        Target { path: path.into(), is_directory }
    });
    targets.collect()
}

/// One generated map, moved in one direction.
struct Case<'a> {
    text: &'a str,
    rows: [&'a [String]; 2],
    files: Files<'a>,
    direction: Direction,
}

impl Case<'_> {
    /// Checks what may be checked of the outcome; returns the new text, if there is one.
    fn check(&self) -> Option<String> {
        let map = RepoMap::read(self.text.as_bytes()).map.unwrap();
        let changed = match change(self.text, &map, self.files, self.direction).unwrap() {
            Ok(changed) => changed,
            Err(refusal) => {
                assert!(!refusal.why.is_empty());
                return None;
            }
        };
        let new = changed.text;
        assert_eq!(RepoMap::read(new.as_bytes()).map.as_ref(), Some(&changed.map), "{new}");
        self.check_routes(&map, &changed.map, &new);
        assert_eq!(comments(self.text), comments(&new), "{}\n{new}", self.text);
        let ends = |text: &str| {
            (text.matches("\r\n").count() > 0, text.replace("\r\n", "").contains('\n'))
        };
        if self.text.contains('\n') {
            assert_eq!(ends(self.text), ends(&new));
        }
        let [sources, routes] = self.rows;
        let kept =
            sources.iter().zip(&map.sources).filter(|(_, row)| changed.map.sources.contains(row));
        let routed = routes.iter().zip(&map.knowledge_routing);
        let alike =
            |row: &RouteRow| map.knowledge_routing.iter().filter(|other| *other == row).count();
        let routed = routed
            .filter(|(_, row)| alike(row) == 1 && changed.map.knowledge_routing.contains(row));
        for written in kept.map(|pair| pair.0).chain(routed.map(|pair| pair.0)) {
            let written = written.trim_end();
            assert!(new.contains(written), "{written}\nis not in\n{new}");
        }
        Some(new)
    }

    fn check_routes(&self, before: &RepoMap, after: &RepoMap, text: &str) {
        let (old, new) = (Routing::of(before).unwrap(), Routing::of(after).unwrap());
        let takers = [before, after].map(|map| sources::takers(map).unwrap());
        for file in self.files.all {
            let (was, is) = (old.route(file), new.route(file));
            let [had, has] = [&takers[0], &takers[1]].map(|takers| takers.names_of(file));
            if !self.files.is_chosen(file) {
                assert!(same(&was, &is), "{file} {was:?} {is:?}\n{text}");
                assert_eq!(had, has, "{file}\n{text}");
                continue;
            }
            let promoted = matches!(is, Route::Vcm { .. }) && !has.is_empty();
            let demoted = matches!(is, Route::KnowledgeBase { .. }) && has.is_empty();
            assert!(promoted || demoted, "{file} {is:?} {has:?}\n{text}");
            assert_eq!(promoted, self.direction == Direction::Promote, "{file}\n{text}");
        }
    }
}

#[test]
fn generated_maps_change_only_where_files_move() {
    let all = FILES.map(RepoPath::from);
    let mut outcomes = [[0usize; 2]; 2];
    for seed in 0..MAPS {
        let mut writer = Writer { dice: Dice(seed), comments: 0 };
        let WrittenMap { mut text, mut sources, mut routes } = writer.map();
        if writer.dice.one_in(5) {
            let crlf = |text: &mut String| *text = text.replace('\n', "\r\n");
            crlf(&mut text);
            sources.iter_mut().chain(&mut routes).for_each(crlf);
        }
        let read = RepoMap::read(text.as_bytes());
        assert!(read.map.is_some(), "{:?}\n{text}", read.problems);
        let targets = targets(&mut writer.dice);
        let files = Files { all: &all, targets: &targets };
        // Every second map is moved in the other direction first.
        let ways = [Direction::Promote, Direction::Demote];
        let index = usize::from(seed % 2 == 0);
        let case = Case { text: &text, rows: [&sources, &routes], files, direction: ways[index] };
        let new = case.check();
        outcomes[index][usize::from(new.is_some())] += 1;
        if let Some(new) = new {
            let back = Case { text: &new, rows: [&[], &[]], direction: ways[1 - index], ..case };
            back.check();
        }
    }
    for [refused, done] in outcomes {
        assert!(done > refused * 4, "{outcomes:?}");
    }
}

fn moved(text: &str, files: &[&str], direction: Direction) -> Result<String, Refusal> {
    let all = FILES.map(RepoPath::from);
    let target = |path: &&str| Target { path: (*path).into(), is_directory: !FILES.contains(path) };
    let targets: Vec<Target> = files.iter().map(target).collect();
    let files = Files { all: &all, targets: &targets };
    let map = RepoMap::read(text.as_bytes()).map.unwrap();
    change(text, &map, files, direction).unwrap().map(|changed| changed.text)
}

const MAP: &str = "\
schema_version: 1
sources:
  - {name: all, type: git_repo}
  - name: papers    # the good ones
    type: literature
    start_dir: lit/
    include_globs: ['sub/**']
    exclude_globs:
      # not ready
      - \"b.md\"
knowledge_routing:
  - paths: [lit/**]
    profile: paper
  - paths:
      - docs/f.md
    ingest_to: knowledge_base # for now
";

#[test]
fn a_row_of_one_file_changes_and_a_row_of_many_is_split() {
    let new = moved(MAP, &["docs/f.md", "lit/a.md"], Direction::Promote).unwrap();
    let wanted = MAP
        .replace("['sub/**']", "['sub/**', '/a.md']")
        .replace("[lit/**]", "[lit/**, \"!/lit/a.md\"]")
        .replace("knowledge_base # for now", "vcm # for now")
        .replace("      - docs/f.md\n", "      - docs/f.md\n      - /lit/a.md\n")
        .replace(
            "knowledge_routing",
            "  - name: literature\n    type: literature\n    include_globs: [\"/docs/f.md\"]\nknowledge_routing",
        );
    assert_eq!(new, wanted);
    let back = moved(&new, &["lit/a.md", "docs/f.md"], Direction::Demote).unwrap();
    assert_eq!(back, MAP);
}

#[test]
fn an_excluded_file_is_refused_with_the_wanted_change() {
    let refusal = moved(MAP, &["lit/b.md"], Direction::Promote).unwrap_err();
    assert_eq!(refusal.why, "source 'papers' excludes 'lit/b.md' on purpose, by 'exclude_globs'");
    let wanted = "row 2 of 'sources': add to 'exclude_globs': [\"!/b.md\"]";
    assert_eq!(refusal.wanted.last().unwrap(), wanted);
}

#[test]
fn a_row_in_braces_is_refused_with_the_wanted_change() {
    let text = MAP.replace("  - paths: [lit/**]\n    profile: paper\n", "  - {paths: [lit/**]}\n");
    let refusal = moved(&text, &["lit/sub"], Direction::Promote).unwrap_err();
    assert!(refusal.why.contains("not edited here"), "{}", refusal.why);
    let wanted = "row 1 of 'knowledge_routing': add to 'paths': [\"!/lit/sub/\"]";
    assert_eq!(refusal.wanted.first().unwrap(), wanted);
    // What does not touch that row can be done.
    assert!(moved(&text, &["docs/f.md"], Direction::Promote).is_ok());
}

#[test]
fn an_unrouted_file_is_demoted_by_a_row_of_its_own() {
    let new = moved(MAP, &["docs/g.txt"], Direction::Demote).unwrap();
    let row = "  - paths: [\"/docs/g.txt\"]\n    ingest_to: knowledge_base\n";
    assert_eq!(new, format!("{MAP}{row}"));
    let map = RepoMap::read(new.as_bytes()).map.unwrap();
    let last = map.knowledge_routing.last().unwrap();
    assert_eq!(last.ingest_to, Destination::KnowledgeBase);
    assert_eq!(moved(&new, &["docs/g.txt"], Direction::Demote).unwrap(), new);
}

#[test]
fn a_row_of_a_person_outlives_a_round_trip() {
    let special =
        MAP.replace("    ingest_to: knowledge_base # for now\n", "    profile: special\n");
    let text = format!("{special}  - paths: [docs/]\n    profile: general\n");
    let new = moved(&text, &["docs/f.md"], Direction::Promote).unwrap();
    let back = moved(&new, &["docs/f.md"], Direction::Demote).unwrap();
    let routing = |text: &str| Routing::of(&RepoMap::read(text.as_bytes()).map.unwrap()).unwrap();
    let file = RepoPath::from("docs/f.md");
    assert!(same(&routing(&text).route(&file), &routing(&back).route(&file)));
    assert!(back.contains("profile: special"), "{back}");
}

#[test]
fn a_quoted_bracket_is_a_letter() {
    let new = moved(MAP, &["lit/[z].md"], Direction::Promote).unwrap();
    let new = moved(&new, &["lit/a.md"], Direction::Promote).unwrap();
    let back = moved(&new, &["lit/[z].md", "lit/a.md"], Direction::Demote).unwrap();
    assert_eq!(back, MAP);
}

#[test]
fn a_directory_is_also_the_files_to_come() {
    let text = MAP.replace("['sub/**']", "['*.md', '*.pdf']");
    let new = moved(&text, &["lit/sub"], Direction::Promote).unwrap();
    assert!(new.contains("['*.md', '*.pdf', '/sub/']"), "{new}");
    assert_eq!(moved(&new, &["lit/sub"], Direction::Promote).unwrap(), new);
}
