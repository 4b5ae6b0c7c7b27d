//! [`RequestScan`]: the `id` of a request that is too long to be kept.
//!
//! A client waits for an answer with its request's `id`, and some write the `id` last, behind the parameters. So the line
//! is read to its end, byte by byte and without keeping it: only the members of the outermost object are looked at. Not
//! here: whether the line is JSON at all; what cannot be read this way has no `id`.

use rmcp::model::RequestId;

/// No key of a message, and no `id`, is longer.
const MAX_TOKEN_BYTES: usize = 1_024;

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    /// Nothing of the object has come.
    #[default]
    Before,
    /// A key of the outermost object, or the white space around it.
    Key,
    /// The value under a key.
    Value,
    /// The object has ended, or there is none.
    After,
}

/// Which member a value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Member {
    Id,
    Method,
    #[default]
    Other,
}

/// Reads a line as it comes, and keeps no more than a key or an `id` of it.
#[derive(Debug, Default)]
pub(super) struct RequestScan {
    part: Part,
    member: Member,
    /// How many objects and arrays are open inside the value.
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The key or the `id` that is being read; none where it is too long.
    token: Option<Vec<u8>>,
    id: Option<RequestId>,
    has_method: bool,
}

impl RequestScan {
    /// Takes the next bytes of the line.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.take_one(*byte);
        }
    }

    /// The request's `id`. What has no method is an answer or nothing at all, and its number is none of ours.
    pub(super) fn id(self) -> Option<RequestId> {
        self.id.filter(|_| self.has_method)
    }

    fn take_one(&mut self, byte: u8) {
        match self.part {
            Part::Before if byte == b'{' => self.start(Part::Key),
            // A byte order mark and white space may come first.
            Part::Before if byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(&byte) => {}
            Part::Before => self.part = Part::After,
            Part::Key | Part::Value => self.take_inside(byte),
            Part::After => {}
        }
    }

    fn take_inside(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return self.keep(byte);
        }
        match (byte, self.part) {
            (b'"', _) => {
                self.in_text = true;
                self.keep(byte);
            }
            (b':', Part::Key) => self.end_key(),
            (b',' | b'}', _) if self.depth == 0 => {
                self.end_value();
                self.start(if byte == b',' { Part::Key } else { Part::After });
            }
            (b'{' | b'[', _) => {
                self.depth += 1;
                self.keep(byte);
            }
            (b'}' | b']', _) => {
                self.depth = self.depth.saturating_sub(1);
                self.keep(byte);
            }
            _ => self.keep(byte),
        }
    }

    fn start(&mut self, part: Part) {
        self.part = part;
        self.depth = 0;
        self.token = Some(Vec::new());
    }

    fn end_key(&mut self) {
        let key = self.token.take().and_then(|key| serde_json::from_slice::<String>(&key).ok());
        self.member = match key.as_deref() {
            Some("id") => Member::Id,
            Some("method") => Member::Method,
            _ => Member::Other,
        };
        self.start(Part::Value);
    }

    fn end_value(&mut self) {
        if self.part != Part::Value {
            return;
        }
        match self.member {
            Member::Method => self.has_method = true,
            // Of two, the last, as everywhere else.
            Member::Id => {
                let token = self.token.take();
                self.id = token.and_then(|id| serde_json::from_slice(&id).ok());
            }
            Member::Other => {}
        }
    }

    /// Keeps a byte of a key or an `id`, as long as that is short.
    fn keep(&mut self, byte: u8) {
        if self.part == Part::Value && self.member != Member::Id {
            return;
        }
        if let Some(token) = &mut self.token {
            token.push(byte);
            if token.len() > MAX_TOKEN_BYTES {
                self.token = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<RequestId> {
        let mut whole = RequestScan::default();
        whole.take(line.as_bytes());
        let mut single = RequestScan::default();
        for byte in line.bytes() {
            single.take(&[byte]);
        }
        let found = whole.id();
        assert_eq!(single.id(), found, "however it comes: {line}");
        found
    }

    #[test]
    fn e13_overlong_the_id_is_found_wherever_it_stands() {
        let long = "x".repeat(5_000);
        let text = RequestId::String("a\"b".into());
        for (line, expected) in [
            (
                format!(
                    r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"a":"{long}"}}}}"#
                ),
                RequestId::Number(7),
            ),
            (
                format!(
                    r#"{{"method":"tools/call","params":{{"id":1,"a":["{long}",{{"id":2}}]}},"jsonrpc":"2.0","id": 7 }}"#
                ),
                RequestId::Number(7),
            ),
            (
                format!(
                    r#" {{ "params" : "\"id\":9,{long}\\" , "id" : "a\"b" , "method" : "x" }}"#
                ),
                text,
            ),
            // Cut off behind it: what was read is enough.
            (format!(r#"{{"id":7,"method":"x","params":["{long}"#), RequestId::Number(7)),
            (r#"{"\u0069d":7,"method":"x"}"#.to_owned(), RequestId::Number(7)),
        ] {
            assert_eq!(id(&line), Some(expected), "{line:.80}");
        }
    }

    #[test]
    fn e13_overlong_what_is_no_request_has_no_id() {
        let long = "9".repeat(5_000);
        for line in [
            "xxxx".to_owned(),
            String::new(),
            r#"[{"id":1,"method":"x"}]"#.to_owned(),
            r#"{"id":1,"result":{"method":"x"}}"#.to_owned(),
            r#"{"method":"x","params":{"id":1}}"#.to_owned(),
            r#"{"id":{},"method":"x"}"#.to_owned(),
            format!(r#"{{"id":"{long}","method":"x"}}"#),
            format!(r#"{{"{long}":1,"method":"x"}}"#),
            r#""id":1,"method":"x""#.to_owned(),
        ] {
            assert_eq!(id(&line), None, "{line:.80}");
        }
    }
}
