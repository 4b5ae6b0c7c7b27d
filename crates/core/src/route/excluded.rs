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
/// Words that also stand before things that a request lacks: "there is no error handling".
const LACKS: &[&str] = &["no", "without"];
/// Words that may stand between an exclusion and a name.
const FILLERS: &[&str] = &[
    "the", "a", "an", "any", "use", "using", "load", "loading", "with", "via", "run", "want",
    "need", "through",
];
/// More words between make another sentence of it.
const MAX_FILLERS: usize = 3;

/// The names that a request excludes: it in lower case, with single blanks, if any word of it excludes something.
#[derive(Debug)]
pub struct Exclusions(Option<String>);

impl Exclusions {
    /// Reads a request.
    pub fn new(request: &str) -> Self {
        let text = request.to_lowercase().replace('’', "'");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let excludes = EXCLUSIONS.iter().any(|exclusion| text.contains(exclusion));
        Self(excludes.then_some(text))
    }

    /// Whether the request excludes this name wherever it mentions it. A name of one word is too often a word of the sentence.
    pub fn has(&self, name: &str) -> bool {
        let Some(text) = &self.0 else { return false };
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(is_separator).filter(|word| !word.is_empty()).collect();
        let [first, rest @ ..] = words.as_slice() else { return false };
        if rest.is_empty() {
            return false;
        }
        let mentions = text.match_indices(first).filter_map(|(at, _)| {
            let (before, named) = text.split_at(at);
            let behind = behind_name(named.strip_prefix(first)?, rest)?;
            let written = named.strip_suffix(behind).unwrap_or(named);
            Some(is_excluded(before, written, behind))
        });
        mentions.reduce(|all, excluded| all && excluded).unwrap_or(false)
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '_' | '/' | ' ')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text behind a name, if the other words of the name follow its first and nothing that would make it a longer one.
fn behind_name<'a>(mut behind: &'a str, rest: &[&str]) -> Option<&'a str> {
    for word in rest {
        behind = behind.strip_prefix(is_separator)?.strip_prefix(word)?;
    }
    let mut next = behind.chars();
    let is_longer = match next.next() {
        Some('-') => next.next().is_some_and(is_word),
        Some(c) => is_word(c),
        None => false,
    };
    (!is_longer).then_some(behind)
}

/// Whether an exclusion and at most a few fillers stand before a name that is written so.
fn is_excluded(before: &str, written: &str, behind: &str) -> bool {
    let quotes = ['"', '\'', '`', '/'];
    let mut before = before.trim_end_matches(quotes);
    let is_name =
        !written.contains(' ') || behind.starts_with(quotes) || behind.starts_with(" skill");
    for _ in 0..=MAX_FILLERS {
        let Some(text) = before.strip_suffix(' ') else { return false };
        let ends_with = |word: &&&str| {
            text.strip_suffix(**word)
                .is_some_and(|rest| **word == "n't" || !rest.ends_with(is_word))
        };
        if let Some(word) = EXCLUSIONS.iter().find(ends_with) {
            return is_name || !LACKS.contains(word);
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
            ("Don’t use data-export", "data-export", true),
            ("There is no error handling in our service", "error-handling", false),
            ("without error-handling", "error-handling", true),
            ("without the \"error handling\" skill", "error-handling", true),
            ("it has no data-export yet; add a data-export", "data-export", false),
        ];
        for (request, name, expected) in table {
            assert_eq!(Exclusions::new(request).has(name), expected, "{request}");
        }
    }
}
