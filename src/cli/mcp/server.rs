//! The server of one client: its calls, their previews and their answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{CallToolResult, ContentBlock, Tool};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};

use crate::cli::actions::{self, Action, Effect, Reach};
use crate::cli::served::calls::Calls;
use crate::cli::served::confine;
use crate::cli::served::previews::{Previewed, Previews};
use crate::cli::served::run_action::{Answered, Own, Place};
use crate::model::{Code, Error, Result};
use crate::records::consent;

use super::answer::{AnswerText, KeptAnswers};
use super::attend::{attend, progress};
use super::call_place::{self, KnownClones};
use super::updates::Subscriptions;
use super::{Options, any_action, tools};

/// What an answer has around the text of a context.
const CONTEXT_FRAME_TOKENS: usize = 256;

/// The server of one client.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) place: Arc<Place>,
    options: Options,
    grammar: Arc<clap::Command>,
    pub(super) calls: Calls,
    kept: Arc<Mutex<Kept>>,
    previews: Arc<Mutex<Previews>>,
    /// Whether the clone of an agent that stands in no repository was asked for: by the first call.
    has_clone: Arc<Mutex<bool>>,
    pub(super) subscriptions: Subscriptions,
}

/// The memory between calls.
#[derive(Default)]
struct Kept {
    rests: KeptAnswers,
    clones: KnownClones,
}

impl Server {
    pub(super) fn new(place: Place, options: Options) -> Server {
        Server {
            place: Arc::new(place),
            grammar: Arc::new(crate::cli::grammar::built()),
            calls: Calls::up_to(usize::try_from(options.bounds.max_calls).unwrap_or(usize::MAX)),
            options,
            kept: Arc::default(),
            previews: Arc::default(),
            has_clone: Arc::default(),
            subscriptions: Subscriptions::default(),
        }
    }

    /// Returns the tools that are offered.
    pub(super) fn tools(&self) -> Vec<Tool> {
        tools::offered(&self.grammar, &self.options)
    }

    /// Answers the call of a tool; `None` if no such tool is offered.
    pub(super) async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        if name == tools::CONTINUE {
            return Some(self.go_on(&arguments));
        }
        if tools::is_any_action(name, &self.options) {
            return Some(self.call_any(name, &arguments, context).await);
        }
        let action =
            actions::find(name).filter(|action| tools::is_offered(action, &self.options))?;
        Some(self.call_action(action, arguments, context).await)
    }

    /// Answers the call of a tool that stands for all actions.
    async fn call_any(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        match any_action::request(tool, arguments, &self.options) {
            Ok(any_action::Request::Call(action, own)) => {
                self.call_action(action, own, context).await
            }
            Ok(any_action::Request::List(words)) => {
                let mut text = any_action::listed(&self.grammar, &words, &self.options);
                let nonce = self.place.world.nonce8();
                self.kept().rests.fit(&mut text, self.budget(), &nonce);
                self.worded(text, None)
            }
            Err(error) => self.result(tool, arguments, Answered::of_error(&error)),
        }
    }

    async fn call_action(
        &self,
        action: &'static Action,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let called = match self.refuse_long(&arguments) {
            Ok(()) => self.call(action, arguments.clone(), context).await,
            Err(error) => Err(error),
        };
        let answered = called.unwrap_or_else(|error| Answered::of_error(&error));
        self.result(action.name, &arguments, answered)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic elsewhere loses at most one rest.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most tokens of an answer.
    fn budget(&self) -> usize {
        usize::try_from(self.options.bounds.answer_tokens).unwrap_or(usize::MAX)
    }

    /// Does an action; what fails is an answer, too.
    fn act(&self, action: &'static Action, arguments: Map<String, Value>, own: Own) -> Answered {
        let done = self.try_act(action, arguments, own);
        done.unwrap_or_else(|error| Answered::of_error(&error))
    }

    /// Does it where it belongs.
    fn try_act(
        &self,
        action: &'static Action,
        mut given: Map<String, Value>,
        own: Own,
    ) -> Result<Answered> {
        let notes = self.make_first_clone(&own)?;
        let site = call_place::take(&self.place, &mut self.kept().clones, action, &mut given)?;
        let place = site.clone.as_ref().unwrap_or(&self.place);
        let mut answered = self.act_in(place, action, given, own)?;
        answered.notes.extend(notes);
        answered.notes.extend(site.note);
        self.kept().clones.note_made(action, &answered.object);
        Ok(answered)
    }

    /// Makes the clone of an agent that stands in no repository, in the first call, since a client waits for the answer to a
    /// call longer than for the start of a server.
    fn make_first_clone(&self, own: &Own) -> Result<Vec<String>> {
        let mut has_clone = self.has_clone.lock().unwrap_or_else(PoisonError::into_inner);
        if *has_clone {
            return Ok(Vec::new());
        }
        let notes = self.place.make_missing_clone(own)?;
        *has_clone = true;
        Ok(notes)
    }

    fn act_in(
        &self,
        place: &Place,
        action: &'static Action,
        mut given: Map<String, Value>,
        own: Own,
    ) -> Result<Answered> {
        let preview = tools::take_preview(action, &mut given, &self.options);
        // Before anything is decided by them: a text may hold the 'true' that destroys.
        let mut arguments = actions::typed_arguments(&self.grammar, action, &given)?;
        confine::confine(place, action, &mut arguments)?;
        self.fit_context(action, &mut arguments);
        let line = actions::command_line(&self.grammar, action, &arguments)?;
        let directory = place.state.as_ref().filter(|_| reads_state(action));
        let is_direct = self.options.trust || !self.needs_preview(place, action, &arguments)?;
        if is_direct && preview.is_none() {
            return Ok(place.run(line.into_words(), directory, own));
        }
        let client = String::new();
        let wanted = Previewed { client, action, arguments, line, directory, preview };
        place.run_previewed(&self.previews, wanted, own)
    }

    /// Lets a context be what one answer holds, where nothing else says how long it is.
    fn fit_context(&self, action: &Action, arguments: &mut Map<String, Value>) {
        let has_other =
            ["budget_tokens", "plan", "view"].iter().any(|name| arguments.contains_key(*name));
        if action.name == "context" && !has_other {
            let budget = self.budget().saturating_sub(CONTEXT_FRAME_TOKENS).max(1);
            arguments.insert("budget_tokens".to_owned(), budget.into());
        }
    }

    /// Returns `true` if a preview comes first. What publishes needs none where a person has consented to it; that does
    /// not follow a call into another clone.
    fn needs_preview(
        &self,
        place: &Place,
        action: &Action,
        arguments: &Map<String, Value>,
    ) -> Result<bool> {
        if action.effect.destroys(arguments) || !action.effect.publishes(arguments) {
            return Ok(action.effect.destroys(arguments));
        }
        if place.world.cwd != self.place.world.cwd {
            return Ok(true);
        }
        let remote = arguments.get("remote").and_then(Value::as_str);
        let is_given = consent::is_given(&place.open_in_memory()?, remote);
        // A remote that cannot be used is what the preview says.
        Ok(!is_given.unwrap_or(false))
    }

    fn refuse_long(&self, arguments: &Map<String, Value>) -> Result<()> {
        let limit = self.options.bounds.max_argument_bytes;
        let length = serde_json::to_vec(arguments).map_or(0, |text| text.len());
        if u64::try_from(length).unwrap_or(u64::MAX) <= limit {
            return Ok(());
        }
        let message = format!(
            "the arguments have {length} bytes, and 'colony.mcp.maxArgument' allows {limit}"
        );
        Err(Error::new(Code::Usage, message))
    }

    /// Tells the next lines of an answer.
    fn go_on(&self, arguments: &Map<String, Value>) -> CallToolResult {
        let nonce = self.place.world.nonce8();
        let next = self.kept().rests.go_on(arguments, self.budget(), &nonce);
        if let Some(text) = next {
            return self.worded(text, None);
        }
        let message = "there is no rest of that continuation";
        let gone = Answered::of_error(&Error::new(Code::AnswerGone, message));
        self.result(tools::CONTINUE, arguments, gone)
    }

    /// Words an answer as text, and cuts that to the budget.
    fn result(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        answered: Answered,
    ) -> CallToolResult {
        let action = actions::find(tool);
        // Without its clone no call can help: the command is for a person.
        let has_clone = *self.has_clone.lock().unwrap_or_else(PoisonError::into_inner);
        let reach = |action: &Action| {
            if has_clone { tools::reach(action, &self.options) } else { Reach::None }
        };
        let worded = |text: &str| actions::in_calls(&self.grammar, action, &reach, text);
        let mut text = AnswerText::new(tool, arguments, &answered, &worded);
        let nonce = self.place.world.nonce8();
        self.kept().rests.fit(&mut text, self.budget(), &nonce);
        self.worded(text, Some(answered))
    }

    /// Words an answer for the protocol. The whole of it is for programs, which ask for it.
    fn worded(&self, text: AnswerText, answered: Option<Answered>) -> CallToolResult {
        let is_failure = answered.as_ref().is_some_and(Answered::is_failure);
        let structured = match answered {
            Some(answered) => answered.object,
            None => text.head.clone(),
        };
        let texts = text.into_texts(&self.place.world.nonce8());
        let content = texts.into_iter().map(ContentBlock::text).collect();
        let mut result = CallToolResult::success(content);
        result.is_error = Some(is_failure);
        result.structured_content = self.options.structured.then(|| structured.into());
        result
    }

    /// Runs an action on a thread of its own, in its turn, until it ends or is stopped.
    async fn call(
        &self,
        action: &'static Action,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answered> {
        let call = self.calls.begin()?;
        let turn = if action.effect == Effect::Reads {
            None
        } else {
            tokio::select! {
                turn = self.calls.turn() => Some(turn),
                () = context.ct.cancelled() => {
                    let message = "the call was canceled before its turn";
                    return Err(Error::new(Code::Interrupted, message).unchanged());
                }
            }
        };
        let (progress, reports) = progress(context);
        let own = Own {
            action: Some(action),
            interrupt: call.interrupt.clone(),
            progress,
            ..Own::default()
        };
        let server = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let answered = server.act(action, arguments, own);
            drop(turn);
            answered
        });
        let answered = attend(work, &call, context, reports, self.options.bounds.call_time).await;
        call.end();
        answered
    }
}

/// Returns `true` if the clone for reading answers it, where there is one.
fn reads_state(action: &Action) -> bool {
    const STATE: [&str; 8] = [
        "get_repo_state",
        "list_recent_decisions",
        "get_branch_topology",
        "diff_against_checkpoint",
        "diff_design",
        "find_existing_tool",
        "list_tools",
        "show_log",
    ];
    STATE.contains(&action.name)
}
