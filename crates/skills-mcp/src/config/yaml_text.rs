//! Values as YAML in one line: how one is written so that it is read back as it was, and where one ends in its line. Pure.
//!
//! Not here: which line of a file it belongs to (`edit`).

use skills_core::yaml::{self, CoreScalar};

use super::value::ConfigValue;

/// A text as a YAML scalar that means this text.
pub(super) fn scalar(text: &str) -> String {
    let is_plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '.' | '_' | '/' | '~' | '+' | '=' | '@' | ':' | '-' | '#')
    };
    let reads_back = || {
        let parsed = yaml::parse(text).ok();
        parsed.is_some_and(|parsed| parsed.core() == Some(CoreScalar::Text(text)))
    };
    if !text.is_empty() && text.chars().all(is_plain) && reads_back() {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

impl ConfigValue {
    /// The value as YAML in one line.
    pub fn yaml(&self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Share(share) => share.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Text(text) => scalar(text),
            Self::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| scalar(word)).collect();
                format!("[{}]", words.join(", "))
            }
            Self::Commands(pairs) | Self::Rules(pairs) => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|(key, value)| format!("{}: {}", scalar(key), scalar(value)))
                    .collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }
}

/// Where a value ends in its line; none where it goes on in the next one.
pub(super) fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut before, mut escaped) = (0_usize, None, ' ', false);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let opens = at == 0 || depth > 0;
        match quote {
            Some(open) => {
                if c == open && !escaped {
                    quote = None;
                }
                escaped = c == '\\' && open == '"' && !escaped;
            }
            None if opens && matches!(c, '"' | '\'') => quote = Some(c),
            None if opens && matches!(c, '[' | '{') => depth += 1,
            None if matches!(c, ']' | '}') => depth = depth.saturating_sub(1),
            None if c == '#' && before.is_whitespace() && depth == 0 => {
                end = at;
                break;
            }
            None => {}
        }
        before = c;
    }
    let is_whole = depth == 0 && quote.is_none();
    is_whole.then(|| text.get(..end).unwrap_or_default().trim_end_matches([' ', '\t', '\r']).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_where_it_would_mean_something_else() {
        for plain in ["~/x", "https://a.org/x.git#b", "git@h:x/y", "a.b"] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in ["true", "1.5", "~", "", "a b", "@x", "x:", "null", "a, b", "-"] {
            let written = scalar(quoted);
            assert_eq!(yaml::parse(&written).unwrap().core(), Some(CoreScalar::Text(quoted)));
            assert!(written.starts_with('"'), "{written}");
        }
    }
}
