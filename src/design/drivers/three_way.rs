//! The three-way merge of values: who changed what, and where both did. It writes nothing; `render`
//! makes text of its result.

use serde::Serialize;

use crate::store::data_tree::{self, Data, Entry, Node, Style, same};

use super::lists;

/// The rules of a driver beyond "changed on one side: take it".
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'r> {
    /// The keys that may identify the items of a list, the best first.
    pub(super) identity: &'r [&'r str],
    /// The member that identifies a map as a record, whose members are not mixed with another's.
    pub(super) record: Option<&'r str>,
    /// How lists of items without identity are merged.
    pub(super) plain_lists: PlainLists,
    /// How a number that both sides changed is merged.
    pub(super) numbers: Numbers,
    /// Whether lists of triples are sets.
    pub(super) triples: Triples,
}

/// How lists of items without identity are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainLists {
    /// They are one value.
    Atomic,
    /// Where both sides only add, both additions are taken.
    JoinAdditions,
}

/// How a number that both sides changed is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// It is a conflict, as for any value.
    Conflict,
    /// Both up: the larger; both down: the smaller.
    MaxOnIncrease,
    /// Both up: the smaller; both down: the larger.
    MinOnIncrease,
}

/// Whether lists of triples are sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Triples {
    /// They are lists like others.
    AsLists,
    /// Subject, predicate and object are the identity, and some predicates have one object.
    AsSets,
}

/// Why two changes conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clash {
    /// Both changed it, differently.
    BothChanged,
    /// Both added it, differently.
    BothAdded,
    /// One deleted what the other changed.
    DeletedAndChanged,
    /// One side raised a number that the other lowered.
    MixedDirection,
    /// Both gave a subject another object for a predicate that allows one.
    OneObject,
    /// Both changed a comment, differently.
    Comment,
}

impl Clash {
    /// Returns it as text.
    pub fn sentence(self) -> &'static str {
        match self {
            Clash::BothChanged => "both changed it",
            Clash::BothAdded => "both added it, differently",
            Clash::DeletedAndChanged => "one deleted what the other changed",
            Clash::MixedDirection => "one raised it, the other lowered it",
            Clash::OneObject => "both gave it another object, and it has one",
            Clash::Comment => "both changed its comment",
        }
    }
}

/// A conflict that a person has to settle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Where it is in the file: keys, and items by their identity, joined by `/`.
    pub at: String,
    /// The reason.
    pub clash: Clash,
}

/// The result for one value.
#[derive(Clone, Debug)]
pub(super) enum Merged<'n> {
    Ours(&'n Node),
    Theirs(&'n Node),
    /// A map or list made of entries of both, in the frame of ours.
    Joined(&'n Node, Vec<EntryPlace<'n>>),
    /// A conflict.
    Both(&'n Node, &'n Node),
}

/// The result for one entry: its source, and its state on each side of a conflict.
#[derive(Clone, Debug)]
pub(super) struct EntryPlace<'n> {
    pub(super) base: Option<&'n Entry>,
    pub(super) ours: Option<&'n Entry>,
    pub(super) theirs: Option<&'n Entry>,
    pub(super) state: EntryState<'n>,
}

/// Whether an entry exists.
#[derive(Clone, Debug)]
pub(super) enum EntryState<'n> {
    There(Merged<'n>),
    /// It exists on one side and not on the other: a conflict.
    OnOneSide,
}

/// A merge in progress.
pub(super) struct Merge<'r> {
    pub(super) rules: Rules<'r>,
    pub(super) conflicts: Vec<Conflict>,
    path: Vec<String>,
}

impl<'r> Merge<'r> {
    pub(super) fn new(rules: Rules<'r>) -> Merge<'r> {
        Merge { rules, conflicts: Vec::new(), path: Vec::new() }
    }

    /// Merges two values that both exist.
    pub(super) fn node<'n>(
        &mut self,
        base: Option<&'n Node>,
        ours: &'n Node,
        theirs: &'n Node,
    ) -> Merged<'n> {
        let (kept, taken) = (same(base, Some(ours)), same(base, Some(theirs)));
        let alike = same(Some(ours), Some(theirs));
        // Equal blocks are merged nevertheless: their comments may differ.
        if alike && !ours.is_block() {
            return Merged::Ours(ours);
        }
        // A collection that is read as one value has no members to compare.
        let has_parts = !base.is_some_and(Node::is_whole);
        match (&ours.data, &theirs.data) {
            (Data::Map(our_style, _), Data::Map(their_style, _))
                if has_parts && our_style.joins(*their_style) =>
            {
                if !alike && !kept && !taken && self.is_another(base, ours, theirs) {
                    return self.both(base, ours, theirs);
                }
                if kept && ours.entries().is_empty() {
                    return Merged::Theirs(theirs);
                }
                let base = base.filter(|base| matches!(base.data, Data::Map(..)));
                let places = self.members(base, ours, theirs);
                return Merged::Joined(ours, places);
            }
            (Data::List(our_style, _), Data::List(their_style, _))
                if has_parts && our_style.joins(*their_style) =>
            {
                if kept && ours.entries().is_empty() {
                    return Merged::Theirs(theirs);
                }
                if let Some(joined) = self.list(base, ours, theirs) {
                    return joined;
                }
            }
            _ => {}
        }
        if alike || taken {
            return Merged::Ours(ours);
        }
        if kept {
            return Merged::Theirs(theirs);
        }
        self.number(base, ours, theirs).unwrap_or_else(|| self.both(base, ours, theirs))
    }

    fn both<'n>(&mut self, base: Option<&'n Node>, ours: &'n Node, theirs: &'n Node) -> Merged<'n> {
        self.clash(match base {
            Some(_) => Clash::BothChanged,
            None => Clash::BothAdded,
        });
        Merged::Both(ours, theirs)
    }

    /// Returns the keys that lead to the current place.
    pub(super) fn path(&self) -> &[String] {
        &self.path
    }

    /// Records a conflict of one entry.
    pub(super) fn clash_at(&mut self, key: &str, clash: Clash) {
        self.path.push(key.to_owned());
        self.clash(clash);
        self.path.pop();
    }

    /// Records a conflict at the current place.
    pub(super) fn clash(&mut self, clash: Clash) {
        let at = self.path.join("/");
        self.conflicts.push(Conflict { at, clash });
    }

    /// Returns `true` if two maps are different records: then their members are not mixed.
    fn is_another(&self, base: Option<&Node>, ours: &Node, theirs: &Node) -> bool {
        let identity = |node: &Node, key: &str| node.member(key).map(Node::canonical);
        self.rules.record.is_some_and(|key| {
            let (ours, theirs) = (identity(ours, key), identity(theirs, key));
            let before = base.and_then(|base| identity(base, key));
            ours.is_some()
                && theirs.is_some()
                && ours != theirs
                && before != ours
                && before != theirs
        })
    }

    fn members<'n>(
        &mut self,
        base: Option<&'n Node>,
        ours: &'n Node,
        theirs: &'n Node,
    ) -> Vec<EntryPlace<'n>> {
        let keyed = |node: Option<&'n Node>| {
            let entries = node.map(Node::entries).unwrap_or_default();
            let pairs = entries.iter().map(|entry| (entry.key.clone(), entry));
            lists::Keyed::new(pairs)
        };
        let sides = lists::Sides {
            base: keyed(base),
            ours: keyed(Some(ours)),
            theirs: keyed(Some(theirs)),
        };
        let order = lists::with_additions(&sides.ours, &sides.theirs, lists::Sorting::AsFound);
        self.places(&sides, &order)
    }

    /// Merges entries with the same keys, in the given order.
    pub(super) fn places<'n>(
        &mut self,
        sides: &lists::Sides<'n>,
        order: &[String],
    ) -> Vec<EntryPlace<'n>> {
        let mut places = Vec::new();
        for key in order {
            self.path.push(key.clone());
            let place = self.place(sides.base.get(key), sides.ours.get(key), sides.theirs.get(key));
            places.extend(place);
            self.path.pop();
        }
        places
    }

    fn place<'n>(
        &mut self,
        base: Option<&'n Entry>,
        ours: Option<&'n Entry>,
        theirs: Option<&'n Entry>,
    ) -> Option<EntryPlace<'n>> {
        let value = |entry: Option<&'n Entry>| entry.map(|entry| &entry.value);
        let state = match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                EntryState::There(self.node(value(base), &ours.value, &theirs.value))
            }
            (None, None) => return None,
            (Some(entry), None) | (None, Some(entry)) => {
                if same(value(base), Some(&entry.value)) {
                    return None;
                }
                if base.is_some() {
                    self.clash(Clash::DeletedAndChanged);
                    EntryState::OnOneSide
                } else if ours.is_some() {
                    EntryState::There(Merged::Ours(&entry.value))
                } else {
                    EntryState::There(Merged::Theirs(&entry.value))
                }
            }
        };
        Some(EntryPlace { base, ours, theirs, state })
    }

    /// Merges a number that both changed, if there is a rule for it.
    fn number<'n>(
        &mut self,
        base: Option<&'n Node>,
        ours: &'n Node,
        theirs: &'n Node,
    ) -> Option<Merged<'n>> {
        let larger_on_increase = match self.rules.numbers {
            Numbers::Conflict => return None,
            Numbers::MaxOnIncrease => true,
            Numbers::MinOnIncrease => false,
        };
        let number = |node: &Node| -> Option<f64> {
            let number: f64 = node.scalar()?.parse().ok()?;
            number.is_finite().then_some(number)
        };
        let (before, our_number, their_number) = (number(base?)?, number(ours)?, number(theirs)?);
        let up = (our_number > before, their_number > before);
        let down = (our_number < before, their_number < before);
        let takes_larger = match (up, down) {
            ((true, true), _) => larger_on_increase,
            (_, (true, true)) => !larger_on_increase,
            ((true, _), (_, true)) | ((_, true), (true, _)) => {
                self.clash(Clash::MixedDirection);
                return Some(Merged::Both(ours, theirs));
            }
            // Written differently, but equal to the old number.
            _ => return None,
        };
        let is_ours = (our_number >= their_number) == takes_larger
            || our_number.total_cmp(&their_number).is_eq();
        Some(if is_ours { Merged::Ours(ours) } else { Merged::Theirs(theirs) })
    }
}

impl Style {
    /// Returns `true` if entries of one style can be put among entries of the other.
    fn joins(self, other: Style) -> bool {
        matches!((self, other), (Style::Flow, Style::Flow) | (Style::Block(_), Style::Block(_)))
    }
}

/// The side that conflicts are settled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Theirs,
}

impl<'n> EntryPlace<'n> {
    /// Returns `true` if this place exists when conflicts are settled for a side.
    pub(super) fn is_on(&self, side: Side) -> bool {
        match (&self.state, side) {
            (EntryState::There(_), _) => true,
            (EntryState::OnOneSide, Side::Ours) => self.ours.is_some(),
            (EntryState::OnOneSide, Side::Theirs) => self.theirs.is_some(),
        }
    }

    /// Returns the merged value; `None` if the only side that has it keeps its text.
    pub(super) fn merged(&self) -> Option<&Merged<'n>> {
        match &self.state {
            EntryState::There(merged) => Some(merged),
            EntryState::OnOneSide => None,
        }
    }
}

impl Merged<'_> {
    /// Returns the canonical spelling of the value when conflicts are settled for a side.
    pub(super) fn canonical(&self, side: Side) -> String {
        match (self, side) {
            (Merged::Ours(node) | Merged::Theirs(node), _)
            | (Merged::Both(node, _), Side::Ours)
            | (Merged::Both(_, node), Side::Theirs) => node.canonical(),
            (Merged::Joined(frame, places), _) => {
                let there = places.iter().filter(|place| place.is_on(side)).filter_map(|place| {
                    let entry = place.ours.or(place.theirs)?;
                    let value = match place.merged() {
                        Some(merged) => merged.canonical(side),
                        None => entry.value.canonical(),
                    };
                    Some((entry.key.as_str(), value))
                });
                let mut out = String::new();
                match frame.data {
                    Data::Map(..) => data_tree::write_map(&mut out, there.collect()),
                    _ => data_tree::write_list(&mut out, there.map(|(_, value)| value)),
                }
                out
            }
        }
    }
}
