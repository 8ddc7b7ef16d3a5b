//! Triples of a knowledge graph: when two are the same, and which predicates have one object.

use crate::store::data_tree::{Data, Node};

/// The names of subject, predicate and object.
const NAMES: [[&str; 3]; 2] = [["subject", "predicate", "object"], ["s", "p", "o"]];

/// Predicates with one object per subject.
const FUNCTIONAL: [&str; 8] = [
    "\"rdf:type\"",
    "\"rdfs:label\"",
    "\"colony:created_at\"",
    "\"colony:created_by\"",
    "\"colony:supersedes\"",
    "\"colony:status\"",
    "\"http://www.w3.org/1999/02/22-rdf-syntax-ns#type\"",
    "\"http://www.w3.org/2000/01/rdf-schema#label\"",
];

/// Returns `true` if lists at a place hold triples: at the top, below `triples`, or written as
/// objects.
pub(super) fn are_in(versions: &[Option<&Node>], path: &[String]) -> bool {
    let is_their_place = path.is_empty() || path == ["triples"];
    let mut items = versions.iter().flatten().flat_map(|node| node.entries());
    items.any(|item| {
        let is_list = matches!(item.value.data, Data::List(..));
        parts(&item.value).is_some() && (is_their_place || !is_list)
    })
}

/// Returns the identity of an item: the three parts of a triple, all of anything else.
pub(super) fn key(node: &Node) -> String {
    match parts(node) {
        Some(parts) => parts.join(" "),
        None => node.canonical(),
    }
}

/// Returns subject and predicate, if the predicate has one object.
pub(super) fn functional(node: &Node) -> Option<String> {
    let [subject, predicate, _] = parts(node)?;
    let is_functional = FUNCTIONAL.contains(&predicate.as_str());
    is_functional.then(|| format!("{subject} {predicate}"))
}

fn parts(node: &Node) -> Option<[String; 3]> {
    match &node.data {
        Data::Scalar(_) | Data::Whole(_) => None,
        Data::Map(..) => NAMES.iter().find_map(|[subject, predicate, object]| {
            let part = |name| node.member(name).map(Node::canonical);
            Some([part(subject)?, part(predicate)?, part(object)?])
        }),
        Data::List(_, items) => match items.as_slice() {
            [subject, predicate, object] => {
                Some([subject, predicate, object].map(|item| item.value.canonical()))
            }
            _ => None,
        },
    }
}
