//! [`JsonWeight`]: how much memory a JSON text takes once it is parsed, found before it is.
//!
//! Parsed, a text of many small values is up to seventy times as large as it is on the wire, so bytes alone limit nothing. Not
//! here: whether the text is JSON; what the parser reads before it finds that it is not has been counted.

/// A parsed value takes about so many bytes, with its key and its share of the containers around it.
const VALUE_BYTES: usize = 200;

/// The weight of a text.
#[derive(Debug)]
pub(super) struct JsonWeight {
    bytes: usize,
    values: usize,
}

impl JsonWeight {
    /// Weighs a text.
    pub(super) fn of(text: &[u8]) -> Self {
        let (mut values, mut in_text, mut escaped) = (0, false, false);
        for byte in text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_text,
                b'"' => in_text = !in_text,
                // Each value is the first of an object or an array, or follows a comma.
                b'{' | b'[' | b',' if !in_text => values += 1,
                _ => {}
            }
        }
        Self { bytes: text.len(), values }
    }

    /// How many values there are inside the outermost one, where an empty object or array counts as one too.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// About how much memory they take.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.values * VALUE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_is_inside_texts_is_not() {
        for (text, expected) in [
            ("", 0),
            ("1", 0),
            ("{}", 1),
            ("[1, 2, 3]", 3),
            (r#"{"a": 1, "b": [1, {"": 1}]}"#, 5),
            (r#"{"a": "[1,2,{3}]"}"#, 1),
            (r#"["\",[", "\\", 3]"#, 3),
            (r#"{"\\\",{[":"\\"}"#, 1),
        ] {
            assert_eq!(JsonWeight::of(text.as_bytes()).values(), expected, "{text}");
        }
    }

    #[test]
    fn h05_a_text_of_small_values_weighs_many_times_its_bytes() {
        let small = format!("[{}1]", r#"{"":1},"#.repeat(1_000));
        let weight = JsonWeight::of(small.as_bytes());
        assert!(weight.memory() > 400_000, "{weight:?}");
        let text = format!(r#"{{"context": "{}"}}"#, "a, [b] {c} ".repeat(1_000));
        let weight = JsonWeight::of(text.as_bytes());
        assert!(weight.memory() < 12_000, "{weight:?}");
    }
}
