//! [`JsonWeight`]: how much memory a JSON text takes once it is parsed, by its bytes as they come.
//!
//! Parsed, a text of many small values is up to seventy times as large as it is on the wire, so bytes alone limit nothing. Not
//! here: whether the text is JSON; what the parser reads before it finds that it is not has been counted.

/// A parsed value takes about so many bytes, with its key and its share of the containers around it.
const VALUE_BYTES: usize = 200;

/// The weight of what has come of a text.
#[derive(Debug, Default)]
pub(super) struct JsonWeight {
    bytes: usize,
    values: usize,
    in_text: bool,
    escaped: bool,
}

impl JsonWeight {
    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        for byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                // Each value is the first of an object or an array, or follows a comma.
                b'{' | b'[' | b',' if !self.in_text => self.values += 1,
                _ => {}
            }
        }
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

    fn values(text: &str) -> usize {
        let mut whole = JsonWeight::default();
        whole.take(text.as_bytes());
        let mut single = JsonWeight::default();
        for byte in text.bytes() {
            single.take(&[byte]);
        }
        assert_eq!(single.values(), whole.values(), "however it comes: {text}");
        whole.values()
    }

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
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn h05_a_text_of_small_values_weighs_many_times_its_bytes() {
        let mut weight = JsonWeight::default();
        weight.take(format!("[{}1]", r#"{"":1},"#.repeat(1_000)).as_bytes());
        assert!(weight.memory() > 400_000, "{weight:?}");
        let mut weight = JsonWeight::default();
        weight.take(format!(r#"{{"context": "{}"}}"#, "a, [b] {c} ".repeat(1_000)).as_bytes());
        assert!(weight.memory() < 12_000, "{weight:?}");
    }
}
