//! Numbers and names as a reader wants them. Pure.

use std::fmt::Write as _;

/// `1234567` → `1,234,567`.
pub fn count(n: impl Whole) -> String {
    let digits = n.whole().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A large number in three digits: `1.23 M`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn short(n: impl Whole) -> String {
    let n = n.whole();
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| n >= *size) else {
        return count(n);
    };
    // Thousands are shortened from ten thousand on.
    let size = if unit == "k" { 1_000 } else { size };
    format!("{} {unit}", three_digits(n as f64 / size as f64))
}

/// A number in three digits.
pub fn three_digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A size in bytes.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn bytes(n: impl Whole) -> String {
    let n = n.whole();
    match n {
        ..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{} KiB", three_digits(n as f64 / 1024.0)),
        _ => format!("{} MiB", three_digits(n as f64 / 1_048_576.0)),
    }
}

/// A score.
pub fn score(score: impl Share) -> String {
    score.share().map_or_else(|| "–".to_owned(), |score| format!("{score:.2}"))
}

/// A whole number, however a template hands it over.
pub trait Whole {
    /// The number.
    fn whole(&self) -> u64;
}

impl Whole for u64 {
    fn whole(&self) -> u64 {
        *self
    }
}

impl Whole for usize {
    fn whole(&self) -> u64 {
        *self as u64
    }
}

impl<T: Whole> Whole for &T {
    fn whole(&self) -> u64 {
        (*self).whole()
    }
}

/// Something that may be a number: templates hand values over as they come.
pub trait Share {
    /// The number, if there is one.
    fn share(&self) -> Option<f64>;
}

impl Share for f64 {
    fn share(&self) -> Option<f64> {
        Some(*self)
    }
}

impl<T: Share> Share for Option<T> {
    fn share(&self) -> Option<f64> {
        self.as_ref().and_then(T::share)
    }
}

impl<T: Share> Share for &T {
    fn share(&self) -> Option<f64> {
        (*self).share()
    }
}

/// As part of a query.
pub fn query(text: impl AsRef<str>) -> String {
    text.as_ref().bytes().fold(String::new(), |mut query, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            query.push(char::from(byte));
        } else {
            let _ = write!(query, "%{byte:02X}");
        }
        query
    })
}

/// So much of a text is enough to know it by.
const MAX_BRIEF_CHARS: usize = 160;

/// The beginning of a text, on one line.
pub fn brief(text: impl AsRef<str>) -> String {
    let line = text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().nth(MAX_BRIEF_CHARS).is_none() {
        return line;
    }
    let cut: String = line.chars().take(MAX_BRIEF_CHARS).collect();
    format!("{}…", cut.trim_end())
}

/// A part of a sentence.
#[derive(Debug)]
pub struct SentencePart<'a> {
    /// Whether it stood between backticks.
    pub code: bool,
    /// Its text.
    pub text: &'a str,
}

/// A sentence, with what is to be typed set apart.
pub fn parts(text: &str) -> impl Iterator<Item = SentencePart<'_>> {
    // A backtick that none follows is only a backtick.
    let paired = text.matches('`').count().is_multiple_of(2);
    let separator = if paired { '`' } else { '\u{0}' };
    let parts = text.split(separator).enumerate();
    parts
        .map(|(at, text)| SentencePart { code: at % 2 == 1, text })
        .filter(|part| !part.text.is_empty())
}

/// The address of a skill's page. `search` is also the address of the search, so that the page of a skill of that name ends in `/`.
pub fn skill_address(identity: impl AsRef<str>) -> String {
    let identity = identity.as_ref();
    let end = if identity == "search" { "/" } else { "" };
    format!("/skills/{}{end}", query(identity))
}

/// The address of a file of a skill.
pub fn file_address(identity: impl AsRef<str>, file: impl AsRef<str>) -> String {
    format!("{}?file={}", skill_address(identity), query(file))
}

/// `s` unless there is one.
pub fn plural(n: impl Whole) -> &'static str {
    if n.whole() == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0_u64, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [9_999_u64, 10_000, 1_234_567, 250_000_000].map(short),
            ["9,999", "10.0 k", "1.23 M", "250 M"]
        );
        assert_eq!([10_u64, 2_048, 5_242_880].map(bytes), ["10 B", "2.00 KiB", "5.00 MiB"]);
        assert_eq!([0_u64, 1, 2].map(plural), ["s", "", "s"]);
    }

    #[test]
    fn a_query_holds_any_name() {
        assert_eq!(query("ui/react auth&x=1\"é"), "ui/react%20auth%26x%3D1%22%C3%A9");
    }

    #[test]
    fn a_brief_text_is_one_line() {
        assert_eq!(brief("one\n two"), "one two");
        assert_eq!(brief("x".repeat(500)).chars().count(), MAX_BRIEF_CHARS + 1);
    }

    #[test]
    fn an_address_leads_to_one_skill() {
        assert_eq!(skill_address("ui/react?x"), "/skills/ui/react%3Fx");
        assert_eq!(skill_address("search"), "/skills/search/", "not the search");
        assert_eq!(file_address("pdf", "a b.ts"), "/skills/pdf?file=a%20b.ts");
    }
}
