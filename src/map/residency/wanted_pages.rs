//! The pages that a request or a lock names, found in the state or in the page table.

use std::cell::OnceCell;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::map::pages::{self, Opened};
use crate::map_rows::reading::Reading;
use crate::model::{Code, Result};
use crate::page::page_text::{PageTexts, Rendering};
use crate::page::pages::{self as page_ids, Page};
use crate::source::literature::Literature;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::ScopeRow;
use crate::store::state::{State, StoredPage, Wanted};
use crate::text::chunk::ChunkSize;
use crate::text::tokenizer::Tokenizer;

/// A page that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissingPage {
    /// The id as it was given.
    pub page_id: String,
    /// Why not.
    pub reason: MissingReason,
    /// How many pages begin with it, if they are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin_so: Option<usize>,
}

impl MissingPage {
    /// Returns the reason as text.
    pub fn why(&self) -> String {
        match self.begin_so {
            Some(count) => format!("{count} pages begin with this id"),
            None => self.reason.text().to_owned(),
        }
    }
}

/// Why a page was not found, before its name is added.
pub(super) struct Missed {
    reason: MissingReason,
    begin_so: Option<usize>,
}

impl Missed {
    fn several(count: usize) -> Missed {
        Missed { reason: MissingReason::Ambiguous, begin_so: Some(count) }
    }

    /// Returns the missing page.
    pub(super) fn named(self, page_id: String) -> MissingPage {
        MissingPage { page_id, reason: self.reason, begin_so: self.begin_so }
    }
}

impl From<MissingReason> for Missed {
    fn from(reason: MissingReason) -> Missed {
        Missed { reason, begin_so: None }
    }
}

/// Why a page cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingReason {
    /// No page of this worktree has the id.
    NotFound,
    /// Several pages begin with it.
    Ambiguous,
    /// The repository that it was mapped from is gone.
    SourceGone,
    /// An object of it is missing.
    ObjectMissing,
}

impl MissingReason {
    /// Returns the reason as text.
    fn text(self) -> &'static str {
        match self {
            MissingReason::NotFound => "no page of this worktree has this id",
            MissingReason::Ambiguous => "several pages begin with this id",
            MissingReason::SourceGone => "the repository that it was mapped from is gone",
            MissingReason::ObjectMissing => "an object of it is missing",
        }
    }
}

/// Looks pages up by their ids.
pub(super) struct Finder<'a> {
    session: &'a Session,
    opened: OnceCell<Opened>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(session: &'a Session) -> Finder<'a> {
        Finder { session, opened: OnceCell::new() }
    }

    fn table(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = pages::open(self.session, None)?;
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Finds pages, each once; the state is asked first, since it has the resident and the locked ones.
    pub(super) fn find(
        &self,
        state: &mut State,
        names: &[String],
    ) -> Result<(Vec<Wanted>, Vec<MissingPage>)> {
        let whole = names.iter().filter_map(|name| whole_id(name));
        let stored = unless_busy(state.known(&whole.collect::<Vec<_>>()))?;
        let (mut pages, mut missing) = (Vec::<Wanted>::new(), Vec::new());
        for name in names {
            let known = whole_id(name).filter(|id| stored.contains(id));
            let wanted = match known {
                Some(id) => Ok(Wanted { id, page: None }),
                None => self.load(state, name)?,
            };
            match wanted {
                Ok(wanted) if pages.iter().any(|other| other.id == wanted.id) => {}
                Ok(wanted) => pages.push(wanted),
                Err(missed) => missing.push(missed.named(name.clone())),
            }
        }
        Ok((pages, missing))
    }

    /// Loads pages again that had been in the state.
    pub(super) fn load(
        &self,
        state: &mut State,
        name: &str,
    ) -> Result<std::result::Result<Wanted, Missed>> {
        let opened = self.table()?;
        let (scope, page) = match opened.find(name) {
            Ok(wanted) => wanted,
            Err(error) if error.code() == Code::PageNotFound => {
                let several = error.details().get("begin_so").and_then(Value::as_u64);
                return match several.and_then(|count| usize::try_from(count).ok()) {
                    Some(count) => Ok(Err(Missed::several(count))),
                    None => in_state(state, name),
                };
            }
            Err(error) => return Err(error),
        };
        if let Err(reason) = self.read(&scope, &page)? {
            return Ok(Err(reason.into()));
        }
        // A page is plain data; it can always be written as JSON.
        let packed = serde_json::to_vec(&page).unwrap_or_default();
        Ok(Ok(Wanted {
            id: page.id.0,
            page: Some(StoredPage {
                id: page.id.0,
                scope: scope.scope,
                place: scope.place,
                tokens: u64::from(page.tokens),
                packed,
            }),
        }))
    }

    /// Reads the text of a page once: a page that is loaded can be shown.
    fn read(
        &self,
        scope: &ScopeRow,
        page: &Page,
    ) -> Result<std::result::Result<(), MissingReason>> {
        let place = scope.place.as_deref();
        if place.is_some_and(|place| !place.exists()) {
            return Ok(Err(MissingReason::SourceGone));
        }
        let read = || {
            let reading = Reading::of(self.session, place)?;
            let world = &self.session.world;
            let reader = Literature::new(world, ChunkSize::default(), Tokenizer::default());
            let library = reading.library();
            let (rendering, tokenizer) = (Rendering::Json, Tokenizer::default());
            PageTexts::new(&library, &reader, rendering, tokenizer).check(page)
        };
        match read() {
            Ok(()) => Ok(Ok(())),
            Err(error) if error.code() == Code::Interrupted => Err(error),
            Err(_) => Ok(Err(MissingReason::ObjectMissing)),
        }
    }
}

/// Returns the pages that all have their ids in full, each once, as the state may have them.
pub(super) fn in_full(names: &[String]) -> Option<Vec<Wanted>> {
    let mut wanted = Vec::<Wanted>::new();
    for name in names {
        let id = whole_id(name)?;
        if wanted.iter().all(|other| other.id != id) {
            wanted.push(Wanted { id, page: None });
        }
    }
    Some(wanted)
}

/// Returns the id that a text is in full.
fn whole_id(name: &str) -> Option<[u8; 16]> {
    let (from, to) = page_ids::range(name)?;
    (from == to).then_some(from)
}

/// Finds a page by the beginning of its id among those that are resident or locked.
fn in_state(state: &mut State, name: &str) -> Result<std::result::Result<Wanted, Missed>> {
    let Some((from, to)) = page_ids::range(name) else {
        return Ok(Err(MissingReason::NotFound.into()));
    };
    let pages = unless_busy(state.pages_between(from, to))?;
    Ok(match pages.as_slice() {
        [] => Err(MissingReason::NotFound.into()),
        [page] => Ok(Wanted { id: page.id, page: None }),
        several => Err(Missed::several(several.len())),
    })
}

/// Returns what was read from the state, nothing where it is unusable. One that another process holds may have the page.
fn unless_busy<T: Default>(read: std::result::Result<T, Unusable>) -> Result<T> {
    match read {
        Err(why) => why.waited("the state of the colony").map_or_else(|| Ok(T::default()), Err),
        Ok(read) => Ok(read),
    }
}
