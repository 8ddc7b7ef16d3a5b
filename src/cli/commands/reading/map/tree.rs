//! `git colony map tree`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::map::map_tree;
use crate::model::time::Moment;
use crate::repo_map::listing::{Bounds, EntryKind, MapEntry, TreeReport};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::by_url::{self, ITS_BRANCH, ITS_COMMIT, OTHER_REPOSITORY};

/// Show directories and files of a commit, directories first
///
/// Symlinks and submodules are listed, never followed. If the list is too long, the deepest entries are
/// left out first, and 'truncated' is true.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Show the tree of REVISION (default: HEAD)
    #[arg(long, value_name = "REVISION", conflicts_with = "url")]
    rev: Option<String>,
    #[command(flatten)]
    of: by_url::Args,
    /// Show at most N levels of directories, 1 to 20
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=20))]
    max_depth: u8,
    /// Show at most N entries, 10 to 20000
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u16).range(10..=20_000))]
    max_nodes: u16,
    /// Count the tokens of each file, and of all files below each directory; list those with most first
    ///
    /// They are counted as pages count them, of the JSON of the records: mostly 10 to 15 % above those of the text.
    #[arg(long)]
    tokens: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map tree").answers::<TreeReport>().action(
        action("show_repo_tree", Group::Pages, Effect::Reads).takes(&[
            as_arg("ref", "rev").or("revision").about("Default HEAD"),
            OTHER_REPOSITORY,
            ITS_BRANCH,
            ITS_COMMIT,
            same("max_depth").about("1 to 20"),
            same("max_nodes").about("10 to 20000"),
            same("tokens").about("Count tokens; most first"),
        ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let map = args.of.map(super::state(args.rev.as_ref(), false));
    let bounds = Bounds { max_depth: args.max_depth.into(), max_nodes: args.max_nodes.into() };
    let report = if args.tokens {
        map_tree::tree(&session, &map, bounds)?
    } else {
        map_tree::list(&session, &map, bounds)?
    };
    face.answer(&report)
}

impl Answer for TreeReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let entries = text::count(self.count, "entry");
        let count = match self.root.tokens {
            Some(tokens) => format!("{entries}, {tokens} tokens"),
            None => entries,
        };
        if self.truncated {
            format!("{count}; more are left out: --max-depth and --max-nodes show more")
        } else {
            count
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        let all = self.root.tokens.unwrap_or_default();
        put(&self.root.children, 0, all, &mut lines);
        lines
    }
}

fn put(entries: &[MapEntry], depth: usize, all: u64, lines: &mut Vec<String>) {
    for entry in entries {
        let name = String::from_utf8_lossy(entry.path.name()).into_owned();
        let what = match (entry.kind, entry.bytes) {
            (EntryKind::Directory, _) => "/".to_owned(),
            (EntryKind::Link, _) => "  link".to_owned(),
            (EntryKind::Submodule, _) => format!("  submodule {}", entry.id.short()),
            (EntryKind::File, Some(bytes)) => format!("  {}", text::size(bytes)),
            (EntryKind::File, None) => "  not here".to_owned(),
        };
        let tokens = entry
            .tokens
            .map(|tokens| format!("  {tokens} tokens{}", share(tokens, all)))
            .unwrap_or_default();
        lines.push(format!("{}{name}{what}{tokens}", "  ".repeat(depth)));
        put(&entry.children, depth + 1, all, lines);
    }
}

/// Returns a share of all tokens in hundredths, if it is one at least.
fn share(tokens: u64, all: u64) -> String {
    let hundredths = tokens.saturating_mul(100).checked_div(all).unwrap_or_default();
    if hundredths == 0 { String::new() } else { format!(", {hundredths} %") }
}
