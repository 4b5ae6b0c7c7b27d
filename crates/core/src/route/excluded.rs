//! Whether a request excludes a skill by its name: "not amc-run-rtsp-calibration", "instead of the data export".

/// Words that exclude what follows them.
const EXCLUSIONS: &[&str] = &[
    "not",
    "n't",
    "no",
    "without",
    "instead of",
    "rather than",
    "other than",
    "except",
    "except for",
    "avoid",
];
/// Words that may stand between an exclusion and a name.
const FILLERS: &[&str] = &[
    "the", "a", "an", "any", "use", "using", "load", "loading", "with", "via", "run", "want",
    "need", "through",
];
/// More words between make another sentence of it.
const MAX_FILLERS: usize = 3;

/// A request in lower case, with single blanks.
#[derive(Debug)]
pub(super) struct Exclusions(Option<String>);

impl Exclusions {
    pub(super) fn new(request: &str) -> Self {
        let text = request.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        let excludes = EXCLUSIONS.iter().any(|exclusion| text.contains(exclusion));
        Self(excludes.then_some(text))
    }

    /// Whether the request excludes this name as a whole. A name of one word is too often a word of the sentence.
    pub(super) fn has(&self, name: &str) -> bool {
        let Some(text) = &self.0 else { return false };
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(is_separator).filter(|word| !word.is_empty()).collect();
        let [first, rest @ ..] = words.as_slice() else { return false };
        !rest.is_empty()
            && text.match_indices(first).any(|(at, _)| {
                let (before, named) = text.split_at(at);
                named.strip_prefix(first).is_some_and(|behind| is_whole_name(behind, rest))
                    && ends_with_exclusion(before)
            })
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '_' | '/' | ' ')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the other words of a name follow its first, and nothing that would make it a longer name.
fn is_whole_name(mut behind: &str, rest: &[&str]) -> bool {
    for word in rest {
        let Some(next) = behind.strip_prefix(is_separator).and_then(|next| next.strip_prefix(word))
        else {
            return false;
        };
        behind = next;
    }
    let mut next = behind.chars();
    match next.next() {
        Some('-') => !next.next().is_some_and(is_word),
        Some(c) => !is_word(c),
        None => true,
    }
}

/// Whether a text ends with an exclusion and at most a few fillers.
fn ends_with_exclusion(before: &str) -> bool {
    let mut before = before.trim_end_matches(['"', '\'', '`', '/']);
    for _ in 0..=MAX_FILLERS {
        let Some(text) = before.strip_suffix(' ') else { return false };
        let ends_with = |word: &&&str| {
            text.strip_suffix(**word)
                .is_some_and(|rest| **word == "n't" || !rest.ends_with(is_word))
        };
        if EXCLUSIONS.iter().any(|word| ends_with(&word)) {
            return true;
        }
        let Some(filler) = FILLERS.iter().find(ends_with) else { return false };
        before = text.strip_suffix(filler).unwrap_or(text);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_behind_an_exclusion_is_excluded() {
        let table = [
            ("Why is it not amc-run-rtsp calibration?", "amc-run-rtsp-calibration", true),
            ("Do this, don't use the `Data Export` skill", "data-export", true),
            ("instead of using the data_export", "data-export", true),
            ("rather than ui/react", "ui-react", true),
            ("export data, not a data-export-v2", "data-export", false),
            ("the note data-export", "data-export", false),
            ("not only this, but data-export", "data-export", false),
            ("do not export the data", "export", false),
            ("with data-export", "data-export", false),
            ("not a any the use data-export", "data-export", false),
        ];
        for (request, name, expected) in table {
            assert_eq!(Exclusions::new(request).has(name), expected, "{request}");
        }
    }
}
