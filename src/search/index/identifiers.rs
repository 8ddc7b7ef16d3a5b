//! The identifiers in a question: words that are written as in code.

/// What joins the parts of an identifier with dots or hyphens.
const JOINERS: [char; 2] = ['-', '.'];

/// Returns the identifier that a question consists of: with an underscore, capitals inside, or parts that are joined by
/// dots or hyphens.
pub fn only(question: &str) -> Option<&str> {
    let identifier = only_word(question)?;
    is_of_code(identifier).then_some(identifier)
}

/// Returns the name that a question asks for: its only word, or the only one that is written as in code.
pub fn only_name(question: &str) -> Option<&str> {
    let name = only_word(question).or_else(|| {
        let mut of_code = question.split_whitespace().map(trimmed).filter(|word| is_of_code(word));
        let name = of_code.next()?;
        of_code.all(|other| other == name).then_some(name)
    })?;
    name.rsplit([':', '.']).next().filter(|name| !name.is_empty())
}

fn only_word(question: &str) -> Option<&str> {
    let mut words = question.split_whitespace();
    let word = trimmed(words.next()?);
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || JOINERS.contains(&c);
    (words.next().is_none() && !word.is_empty() && word.chars().all(is_name)).then_some(word)
}

/// Returns a word without the marks around it, as in `` `merge_base()`? ``.
fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_')
}

fn is_of_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let mut pairs = inner.chars().zip(inner.chars().skip(1));
    let is_joined =
        inner.split(JOINERS).count() > 1 && inner.split(JOINERS).all(|part| !part.is_empty());
    inner.contains('_')
        || is_joined
        || pairs.any(|(letter, next)| letter.is_lowercase() && next.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_written_as_in_code() {
        for (question, identifier) in [
            ("merge_base", Some("merge_base")),
            ("`mergeBase()`?", Some("mergeBase")),
            ("--no-ignore", Some("no-ignore")),
            ("core.autocrlf", Some("core.autocrlf")),
            ("merge", None),
            ("Merge", None),
            ("src/merge_base.rs", None),
            ("merge_base works", None),
            ("...", None),
        ] {
            assert_eq!(only(question), identifier, "{question}");
        }
    }

    #[test]
    fn a_question_asks_for_one_name() {
        for (question, name) in [
            ("merge", Some("merge")),
            ("Repo::merge_base", Some("merge_base")),
            ("how does merge_base() work", Some("merge_base")),
            ("merge_base and treeOf", None),
            ("how does it work", None),
            ("", None),
        ] {
            assert_eq!(only_name(question), name, "{question}");
        }
    }
}
