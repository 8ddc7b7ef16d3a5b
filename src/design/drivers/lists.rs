//! Lists as entries with keys: matches the items of three versions, and orders them.

use std::collections::HashMap;

use crate::store::data_tree::{Data, Entry, Node};

use super::three_way::{Clash, EntryPlace, EntryState, Merge, Merged, PlainLists, Triples};
use super::triples;

/// Entries by a key that is unique among them, in their order.
#[derive(Debug)]
pub(super) struct Keyed<'n> {
    order: Vec<String>,
    entries: HashMap<String, &'n Entry>,
}

/// The three versions of a map or list.
pub(super) struct Sides<'n> {
    pub(super) base: Keyed<'n>,
    pub(super) ours: Keyed<'n>,
    pub(super) theirs: Keyed<'n>,
}

/// The position of additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sorting {
    /// Behind their predecessor in their own file.
    AsFound,
    /// By key, if both files are sorted by it.
    WhereSorted,
}

impl<'n> Keyed<'n> {
    pub(super) fn new(pairs: impl Iterator<Item = (String, &'n Entry)>) -> Keyed<'n> {
        let mut keyed = Keyed { order: Vec::new(), entries: HashMap::new() };
        for (key, entry) in pairs {
            keyed.order.push(key.clone());
            keyed.entries.insert(key, entry);
        }
        keyed
    }

    pub(super) fn get(&self, key: &str) -> Option<&'n Entry> {
        self.entries.get(key).copied()
    }

    fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    fn is_sorted(&self) -> bool {
        self.order.is_sorted()
    }
}

/// Returns the keys of `frame` in their order, and those that only `other` has in between.
pub(super) fn with_additions(
    frame: &Keyed<'_>,
    other: &Keyed<'_>,
    sorting: Sorting,
) -> Vec<String> {
    let mut behind: HashMap<Option<&str>, Vec<String>> = HashMap::new();
    let mut last = None;
    for key in &other.order {
        if frame.has(key) {
            last = Some(key.as_str());
        } else {
            behind.entry(last).or_default().push(key.clone());
        }
    }
    let mut order = Vec::new();
    let mut waiting = behind.remove(&None).unwrap_or_default();
    for key in &frame.order {
        // Entries that only the frame has at this place go first.
        if other.has(key) {
            order.append(&mut waiting);
            waiting = behind.remove(&Some(key.as_str())).unwrap_or_default();
        }
        order.push(key.clone());
    }
    order.append(&mut waiting);
    if sorting == Sorting::WhereSorted && frame.is_sorted() && other.is_sorted() {
        order.sort();
    }
    order
}

impl Merge<'_> {
    /// Merges two lists item by item; `None` if they have to be taken or settled as a whole.
    pub(super) fn list<'n>(
        &mut self,
        base: Option<&'n Node>,
        ours: &'n Node,
        theirs: &'n Node,
    ) -> Option<Merged<'n>> {
        let base = base.filter(|base| matches!(base.data, Data::List(..)));
        let all = [base, Some(ours), Some(theirs)];
        if self.rules.triples == Triples::AsSets && triples::are_in(&all, self.path()) {
            return Some(self.set(all, ours));
        }
        let identity = self.rules.identity.iter().copied();
        let mut possible = identity.filter_map(|key| Some((key, by_identity(&all, key)?)));
        if let Some((_, sides)) = possible.next() {
            let order = order_of(&sides)?;
            return Some(Merged::Joined(ours, self.places(&sides, &order)));
        }
        let sides = sides_of(&all, |nodes| by_value(nodes, Node::canonical));
        let one_changed = |side: &Keyed<'_>| side.order == sides.base.order && base.is_some();
        let all_there = |side: &Keyed<'_>| sides.base.order.iter().all(|key| side.has(key));
        let only_added = all_there(&sides.ours) && all_there(&sides.theirs);
        let joins = self.rules.plain_lists == PlainLists::JoinAdditions && only_added;
        let alike = sides.ours.order == sides.theirs.order;
        if !(one_changed(&sides.ours) || one_changed(&sides.theirs) || alike || joins) {
            return None;
        }
        let order = order_of(&sides)?;
        Some(Merged::Joined(ours, self.places(&sides, &order)))
    }

    /// Merges lists of triples: (base less both deletions) and both additions.
    fn set<'n>(&mut self, all: [Option<&'n Node>; 3], ours: &'n Node) -> Merged<'n> {
        let sides = sides_of(&all, |node| by_value(node, triples::key));
        let order = with_additions(&sides.ours, &sides.theirs, Sorting::WhereSorted);
        let mut places = self.places(&sides, &order);
        let added = |place: &EntryPlace<'_>| place.base.is_none();
        let mut by_ours = HashMap::new();
        for (number, place) in places.iter().enumerate() {
            if let (true, Some(entry), None) = (added(place), place.ours, place.theirs)
                && let Some(function) = triples::functional(&entry.value)
            {
                by_ours.insert(function, number);
            }
        }
        let mut clashing = Vec::new();
        for (number, place) in places.iter().enumerate() {
            if let (true, None, Some(entry)) = (added(place), place.ours, place.theirs)
                && let Some(function) = triples::functional(&entry.value)
                && let Some(other) = by_ours.get(&function)
            {
                clashing.extend([*other, number]);
                self.clash_at(&function, Clash::OneObject);
            }
        }
        for number in clashing {
            if let Some(place) = places.get_mut(number) {
                place.state = EntryState::OnOneSide;
            }
        }
        Merged::Joined(ours, places)
    }
}

fn sides_of<'n>(
    all: &[Option<&'n Node>; 3],
    keyed: impl Fn(Option<&'n Node>) -> Keyed<'n>,
) -> Sides<'n> {
    let [base, ours, theirs] = *all;
    Sides { base: keyed(base), ours: keyed(ours), theirs: keyed(theirs) }
}

/// Keys items by their value; equal ones get a running number.
fn by_value(node: Option<&Node>, name: impl Fn(&Node) -> String) -> Keyed<'_> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let entries = node.map(Node::entries).unwrap_or_default().iter();
    Keyed::new(entries.map(|entry| {
        let key = name(&entry.value);
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        (if *count > 1 { format!("{key}#{count}") } else { key }, entry)
    }))
}

/// Keys items by one member; `None` if an item lacks it or two have the same.
fn by_identity<'n>(all: &[Option<&'n Node>; 3], key: &str) -> Option<Sides<'n>> {
    let mut sides = Vec::new();
    let mut is_empty = true;
    for node in all {
        let entries = node.map(Node::entries).unwrap_or_default();
        let mut pairs = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for entry in entries {
            let identity = entry.value.scalar_member(key)?;
            if identity == "null" || !seen.insert(identity.clone()) {
                return None;
            }
            pairs.push((identity.trim_matches('"').to_owned(), entry));
        }
        is_empty &= pairs.is_empty();
        sides.push(Keyed::new(pairs.into_iter()));
    }
    let [base, ours, theirs] = <[Keyed<'_>; 3]>::try_from(sides).ok()?;
    (!is_empty).then_some(Sides { base, ours, theirs })
}

/// Returns the order of the merged list; `None` if both sides have reordered the items.
fn order_of(sides: &Sides<'_>) -> Option<Vec<String>> {
    let in_all = |key: &&String| {
        let Sides { base, ours, theirs } = sides;
        base.has(key) && ours.has(key) && theirs.has(key)
    };
    let common =
        |side: &Keyed<'_>| -> Vec<String> { side.order.iter().filter(in_all).cloned().collect() };
    let [base, ours, theirs] = [&sides.base, &sides.ours, &sides.theirs].map(common);
    let (frame, other) = if theirs == base || theirs == ours {
        (&sides.ours, &sides.theirs)
    } else if ours == base {
        (&sides.theirs, &sides.ours)
    } else {
        return None;
    };
    Some(with_additions(frame, other, Sorting::WhereSorted))
}
