//! An excerpt of a text around the first searched word.

/// How many characters an excerpt has, roughly.
const EXCERPT_CHARS: usize = 160;

/// About 160 characters of `text` around the first occurrence of any of the words, cut at white space where there is
/// some near, white space single; the beginning of the text where none occurs.
pub fn excerpt(text: &str, words: &[&str]) -> String {
    // One letter for one letter, so that places in the two are the same.
    let lowered: String = text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
    let find = |word: &&str| {
        Some(word.to_lowercase())
            .filter(|word| !word.is_empty())
            .and_then(|word| lowered.find(&word))
    };
    let first = words.iter().filter_map(find).min();
    let first = first.and_then(|at| lowered.get(..at)).map_or(0, |before| before.chars().count());
    // A third before the match and the rest behind it; white space in the window may be folded, so take some more.
    let start = first.saturating_sub(EXCERPT_CHARS / 3);
    let chars: Vec<char> = text.chars().skip(start).take(EXCERPT_CHARS * 4).collect();
    let cut = if start == 0 { 0 } else { word_start(&chars, 0).min(first - start) };
    let line =
        chars.iter().skip(cut).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    let head = if start + cut > 0 { "…" } else { "" };
    if line.chars().count() <= EXCERPT_CHARS {
        return format!("{head}{line}");
    }
    let window: String = line.chars().take(EXCERPT_CHARS).collect();
    format!("{head}{}…", window.trim_end())
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
