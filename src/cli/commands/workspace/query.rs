//! `git colony catalog query`

use clap::Subcommand;

use crate::cli::actions::{Effect, Group, How, Takes, action, as_arg, how, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::git::Checkout;
use crate::model::Result;
use crate::text::line_query::{Case, Reading};
use crate::ui::answer::Outcome;
use crate::workspace::query::QueryRequest;
use crate::workspace::query::mirror::Fetching;
use crate::workspace::query::query_file::{self, FileRequest, QueryFileReport};
use crate::workspace::query::query_indexed::{self, IndexedRequest};
use crate::workspace::query::query_list::{self, ListRequest, QueryListReport};
use crate::workspace::query::query_log::{self, LogRequest, QueryLogReport};
use crate::workspace::query::query_text::{self, QueryTextReport, TextLimits, TextRequest};

use super::catalog;

/// The repositories that an action asks.
const REPOSITORIES: Takes = same("repositories").about("By id, name or path (default: all)");
const CONVERSATION: Takes = as_arg("conversation_id", "conversation").about("For the trace");
const AT_REVISION: Takes =
    as_arg("ref", "revision").or("revision").about("Instead of the working tree");
const FETCH: Takes = same("fetch").about("Fetch mirrors first");

/// Ask the repositories of the catalog for text, a file or commits
///
/// Without a catalog, this repository alone is asked. Files are those that git would commit; what looks like a secret,
/// and what '.colonyignore' or '.voxignore' names, is hidden. A repository at a git host is answered from its mirror on
/// this machine, which '--fetch' makes and brings up to date. The exit code is 1 if nothing is found.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: QueryCommand,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum QueryCommand {
    Text(TextArgs),
    File(FileArgs),
    List(FilesArgs),
    Log(LogArgs),
}

/// What every query takes.
#[derive(Debug, clap::Args)]
struct Common {
    /// Ask only this repository, by its id, name or path; may be given several times
    #[arg(long = "repo", value_name = "REPOSITORY")]
    repositories: Vec<String>,
    /// Ask REVISION of each repository, without a checkout of it (default: the working tree; of a mirror the
    /// revision that its row names, else the default branch)
    #[arg(long = "rev", value_name = "REVISION")]
    revision: Option<String>,
    /// First fetch the repositories at git hosts that are asked, into mirrors on this machine
    #[arg(long)]
    fetch: bool,
    /// Name the conversation that the query is part of, in its trace
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
}

/// Find the lines that contain a text
#[derive(Debug, clap::Args)]
struct TextArgs {
    /// The text, taken literally without '--regex'
    #[arg(value_name = "TEXT")]
    query: String,
    #[command(flatten)]
    common: Common,
    /// Ask the index of 'git colony search' in each repository that has one, for passages about TEXT, the best first
    #[arg(long, conflicts_with_all = ["regex", "case_sensitive", "max_files", "max_file_bytes", "revision", "fetch"])]
    indexed: bool,
    /// Read TEXT as a regular expression
    #[arg(long)]
    regex: bool,
    /// Distinguish upper and lower case
    #[arg(long)]
    case_sensitive: bool,
    /// Show at most N lines of each repository
    #[arg(long, value_name = "N", default_value_t = 50)]
    max_matches: usize,
    /// Search at most N files of each repository
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    max_files: usize,
    /// Leave out files that have more than N bytes
    #[arg(long, value_name = "N", default_value_t = 262_144)]
    max_file_bytes: u64,
}

/// Read a file of each repository
#[derive(Debug, clap::Args)]
struct FileArgs {
    /// Its path from the root of the repositories, or an absolute one
    #[arg(value_name = "PATH")]
    path: String,
    #[command(flatten)]
    common: Common,
    /// Read at most N bytes of it
    #[arg(long, value_name = "N", default_value_t = 131_072)]
    max_bytes: usize,
}

/// List the files of each repository
#[derive(Debug, clap::Args)]
struct FilesArgs {
    /// Only those at or below PATH, from the root of the repositories
    #[arg(value_name = "PATH")]
    path: Option<String>,
    #[command(flatten)]
    common: Common,
    /// List at most N files of each repository
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    max_files: usize,
}

/// List the newest commits of each repository
#[derive(Debug, clap::Args)]
struct LogArgs {
    /// Only commits whose message has TEXT, with its case
    #[arg(value_name = "TEXT")]
    contains: Option<String>,
    #[command(flatten)]
    common: Common,
    /// Only commits that change PATH, from the root of the repositories
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// List at most N commits of each repository, 1000 or fewer
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    max_commits: usize,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("catalog query")
        .example("git colony catalog query text one", "lines with a word, in every repository")
        .example("git colony catalog query file a.txt", "one file of each")
        .example(
            "git colony catalog query log -n 3 --fetch",
            "the newest commits of each, also at git hosts",
        )
        .below([text_declaration(), file_declaration(), list_declaration(), log_declaration()])
}

fn text_declaration() -> Declaration {
    Declaration::of("catalog query text").answers::<QueryTextReport>().action(
        action("query_text", Group::Repository, Effect::Reads).takes(&[
            how("query", How::Text("query")).required(),
            REPOSITORIES,
            AT_REVISION,
            FETCH,
            same("regex").plain(),
            same("case_sensitive").plain(),
            same("indexed").about("Ask the search indexes, for passages about the query"),
            as_arg("limit", "max_matches").or("max_matches").about("Of each repository"),
            CONVERSATION,
        ]),
    )
}

fn file_declaration() -> Declaration {
    Declaration::of("catalog query file").answers::<QueryFileReport>().action(
        action("query_file", Group::Repository, Effect::Reads).takes(&[
            same("path").about("From the root of each repository, or absolute"),
            REPOSITORIES,
            AT_REVISION,
            FETCH,
            same("max_bytes").plain(),
            CONVERSATION,
        ]),
    )
}

fn list_declaration() -> Declaration {
    Declaration::of("catalog query list").answers::<QueryListReport>().action(
        action("query_list", Group::Repository, Effect::Reads).takes(&[
            same("path").about("Only at or below it"),
            REPOSITORIES,
            AT_REVISION,
            FETCH,
            as_arg("limit", "max_files").or("max_files").about("Of each repository"),
            CONVERSATION,
        ]),
    )
}

fn log_declaration() -> Declaration {
    Declaration::of("catalog query log").answers::<QueryLogReport>().action(
        action("query_log", Group::Repository, Effect::Reads).takes(&[
            same("contains").about("In the message, with its case"),
            same("path").about("Only commits that change it"),
            REPOSITORIES,
            AT_REVISION,
            FETCH,
            as_arg("limit", "max_commits").or("max_commits").about("Of each repository"),
            CONVERSATION,
        ]),
    )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    let reach = face.reach(&checkout)?;
    let workspace = catalog::workspace(&world, &checkout, &reach);
    match args.command {
        QueryCommand::Text(args) if args.indexed => {
            let request = IndexedRequest {
                query: args.query,
                asked: asked(face, &checkout, args.common)?,
                most_matches: args.max_matches,
            };
            face.answer(&query_indexed::query_indexed(workspace, &request)?)
        }
        QueryCommand::Text(args) => {
            let request = TextRequest {
                query: args.query,
                reading: if args.regex { Reading::Expression } else { Reading::Literal },
                case: if args.case_sensitive { Case::Sensitive } else { Case::Insensitive },
                asked: asked(face, &checkout, args.common)?,
                limits: TextLimits {
                    matches: args.max_matches,
                    files: args.max_files,
                    file_bytes: args.max_file_bytes,
                },
            };
            face.answer(&query_text::query_text(workspace, &request)?)
        }
        QueryCommand::File(args) => {
            let request = FileRequest {
                path: args.path,
                asked: asked(face, &checkout, args.common)?,
                most_bytes: args.max_bytes,
            };
            face.answer(&query_file::query_file(workspace, &request)?)
        }
        QueryCommand::List(args) => {
            let request = ListRequest {
                below: args.path,
                asked: asked(face, &checkout, args.common)?,
                most_files: args.max_files,
            };
            face.answer(&query_list::query_list(workspace, &request)?)
        }
        QueryCommand::Log(args) => {
            let request = LogRequest {
                contains: args.contains,
                path: args.path,
                asked: asked(face, &checkout, args.common)?,
                most_commits: args.max_commits,
            };
            face.answer(&query_log::query_log(workspace, &request)?)
        }
    }
}

/// Returns what every query has.
fn asked(face: &Face<'_>, checkout: &Checkout, common: Common) -> Result<QueryRequest> {
    let has_settings = common.fetch && checkout.git_root.is_some();
    let session = has_settings.then(|| face.session(Opening::InMemory)).transpose()?;
    Ok(QueryRequest {
        repositories: common.repositories,
        conversation_id: common.conversation,
        revision: common.revision,
        fetching: if common.fetch {
            Fetching::First { timeout: session.and_then(|session| session.settings.timeout) }
        } else {
            Fetching::Never
        },
    })
}
