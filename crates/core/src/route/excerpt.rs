//! A window of text around the first word that was looked for.

/// How many characters an excerpt has, roughly.
const WINDOW: usize = 160;

/// About 160 characters of `text` around the first occurrence of any of the words, cut at white space where there is
/// some near, white space single; the beginning of the text where none occurs.
pub fn excerpt(text: &str, words: &[&str]) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = line.chars().collect();
    if chars.len() <= WINDOW {
        return line;
    }
    let first = words.iter().filter_map(|word| position(&chars, word)).min().unwrap_or(0);
    // A third before the match, the rest behind it, and never past the end.
    let start = first.saturating_sub(WINDOW / 3).min(chars.len().saturating_sub(WINDOW));
    let start = if start == 0 { 0 } else { word_start(&chars, start).min(first) };
    let end = (start + WINDOW).min(chars.len());
    let window: String = chars.iter().skip(start).take(end - start).collect();
    let head = if start > 0 { "…" } else { "" };
    let tail = if end < chars.len() { "…" } else { "" };
    format!("{head}{}{tail}", window.trim())
}

/// Where the word starts, in characters, whatever the case.
fn position(chars: &[char], word: &str) -> Option<usize> {
    let wanted: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let same =
        |window: &[char]| window.iter().flat_map(|c| c.to_lowercase()).eq(wanted.iter().copied());
    (!wanted.is_empty()).then(|| chars.windows(wanted.len()).position(same)).flatten()
}

/// The next start of a word within a few characters, else the place itself.
fn word_start(chars: &[char], from: usize) -> usize {
    let near = chars.iter().skip(from).take(20).position(|c| *c == ' ');
    near.map_or(from, |blank| from + blank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_the_first_match_and_about_160_characters() {
        let text = format!("{} Needle here. {}", "before it ".repeat(40), "after it ".repeat(40));
        let excerpt = excerpt(&text, &["absent", "needle"]);
        assert!(
            excerpt.contains("Needle here.") && excerpt.starts_with('…') && excerpt.ends_with('…')
        );
        assert!((140..=162).contains(&excerpt.chars().count()), "{}", excerpt.chars().count());
    }

    #[test]
    fn a_short_text_is_whole_and_a_text_without_a_match_starts_at_its_start() {
        assert_eq!(excerpt("one\n\n two", &["two"]), "one two");
        assert!(excerpt(&"é ".repeat(300), &["x"]).starts_with("é é"));
    }

    #[test]
    fn cuts_fall_between_characters() {
        let text = format!("{}認証{}", "é".repeat(500), "漢字".repeat(300));
        assert!(excerpt(&text, &["認証"]).contains("認証"));
    }
}
