//! YAML text → a tree of [`YamlNode`]s that keep what was written and where.
//!
//! Values stay text (`1.10` is `1.10`, `no` is `no`); a reader that wants a boolean or a number asks for it, by
//! the rules of the YAML 1.2 core schema. Everything from outside is bounded: depth, nodes, aliases. Duplicate
//! keys are refused, tags never act, merge keys are plain keys. Used for front matter and for `config.yaml`.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::diagnostic::Position;

/// Deeper nesting is refused.
const MAX_DEPTH: usize = 16;
/// More nodes, aliases expanded, are refused.
const MAX_NODES: usize = 4_096;
/// More text copied through aliases is refused.
const MAX_ALIASED_BYTES: usize = 64 * 1024;

/// One YAML value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlNode {
    /// The value.
    pub value: YamlValue,
    /// Where it starts, in the text that was parsed.
    pub at: Position,
    /// Whether a tag (`!!int`, `!x`) stands before it. Tags never act here, but they may for other readers.
    pub tagged: bool,
}

/// A scalar as the core schema of YAML 1.2 reads it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CoreScalar<'a> {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number that a double holds exactly.
    Integer(i64),
    /// Any other number; infinite for `.inf`, not a number for `.nan`.
    Float(f64),
    /// Anything else, and everything in quotes.
    Text(&'a str),
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlValue {
    /// Text as written, without its quotes.
    Scalar {
        /// The text.
        text: String,
        /// Written without quotes, block or tag: may be read as null, boolean or number.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<YamlNode>),
    /// A map in the order of its keys.
    Mapping(Vec<YamlEntry>),
}

/// One `key: value` of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlEntry {
    /// The key's text.
    pub key: String,
    /// Where the key starts.
    pub at: Position,
    /// Whether the key is text to every reader: not `1`, `true` or `~`, and without a tag.
    pub is_text: bool,
    /// The value.
    pub value: YamlNode,
}

/// Why a text is not YAML that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// Where.
    pub at: Position,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// It is YAML, but over a limit or ambiguous: no repair may make it pass.
    pub refused: bool,
}

impl YamlNode {
    fn empty(at: Position) -> Self {
        let value = YamlValue::Scalar { text: String::new(), plain: true };
        Self { value, at, tagged: false }
    }

    /// The text of a scalar that is not null.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar { text, .. } if !self.is_null() => Some(text),
            YamlValue::Scalar { .. } | YamlValue::Sequence(_) | YamlValue::Mapping(_) => None,
        }
    }

    /// Whether nothing was written, or `null` or `~`.
    pub fn is_null(&self) -> bool {
        self.plain().is_some_and(|text| matches!(text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The boolean, where one was written.
    pub fn boolean(&self) -> Option<bool> {
        match self.plain()? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// The finite number, where one was written.
    pub fn number(&self) -> Option<f64> {
        let text = self.plain()?;
        let numeric =
            text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
        text.parse().ok().filter(|number: &f64| numeric && number.is_finite())
    }

    /// The value of a scalar in the core schema; none for a list or a map.
    pub fn core(&self) -> Option<CoreScalar<'_>> {
        match &self.value {
            YamlValue::Scalar { text, plain: false } => Some(CoreScalar::Text(text)),
            YamlValue::Scalar { text, plain: true } => Some(core_scalar(text)),
            YamlValue::Sequence(_) | YamlValue::Mapping(_) => None,
        }
    }

    /// The items of a sequence.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            YamlValue::Sequence(items) => Some(items),
            YamlValue::Scalar { .. } | YamlValue::Mapping(_) => None,
        }
    }

    /// The entries of a mapping.
    pub fn entries(&self) -> Option<&[YamlEntry]> {
        match &self.value {
            YamlValue::Mapping(entries) => Some(entries),
            YamlValue::Scalar { .. } | YamlValue::Sequence(_) => None,
        }
    }

    /// The value under `key`, where this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.entries()?.iter().find(|entry| entry.key == key)?.value)
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            YamlValue::Scalar { .. } if self.is_null() => "nothing",
            YamlValue::Scalar { .. } if self.boolean().is_some() => "a boolean",
            YamlValue::Scalar { .. } if self.number().is_some() => "a number",
            YamlValue::Scalar { .. } => "text",
            YamlValue::Sequence(_) => "a list",
            YamlValue::Mapping(_) => "a map",
        }
    }

    fn plain(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar { text, plain: true } => Some(text),
            YamlValue::Scalar { .. } | YamlValue::Sequence(_) | YamlValue::Mapping(_) => None,
        }
    }

    fn size(&self) -> usize {
        1 + match &self.value {
            YamlValue::Scalar { .. } => 0,
            YamlValue::Sequence(items) => items.iter().map(Self::size).sum(),
            YamlValue::Mapping(entries) => entries.iter().map(|entry| entry.value.size()).sum(),
        }
    }

    fn bytes(&self) -> usize {
        match &self.value {
            YamlValue::Scalar { text, .. } => text.len(),
            YamlValue::Sequence(items) => items.iter().map(Self::bytes).sum(),
            YamlValue::Mapping(entries) => {
                entries.iter().map(|e| e.key.len() + e.value.bytes()).sum()
            }
        }
    }

    fn depth(&self) -> usize {
        match &self.value {
            YamlValue::Scalar { .. } => 0,
            YamlValue::Sequence(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            YamlValue::Mapping(entries) => {
                1 + entries.iter().map(|e| e.value.depth()).max().unwrap_or(0)
            }
        }
    }
}

/// The largest whole number up to which a double holds every one.
const MAX_EXACT_INTEGER: i64 = 1 << 53;

/// A plain scalar in the core schema.
fn core_scalar(text: &str) -> CoreScalar<'_> {
    let all =
        |digits: &str, is: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|b| is(&b));
    let based = |prefix: &str, radix: u32, is: fn(&u8) -> bool| {
        let digits = text.strip_prefix(prefix).filter(|digits| all(digits, is))?;
        let value = digits.chars().filter_map(|c| c.to_digit(radix));
        Some(value.fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit)))
    };
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return CoreScalar::Null,
        "true" | "True" | "TRUE" => return CoreScalar::Boolean(true),
        "false" | "False" | "FALSE" => return CoreScalar::Boolean(false),
        ".nan" | ".NaN" | ".NAN" => return CoreScalar::Float(f64::NAN),
        _ if matches!(unsigned, ".inf" | ".Inf" | ".INF") => {
            let is_negative = text.starts_with('-');
            return CoreScalar::Float(if is_negative { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        _ => {}
    }
    let octal = based("0o", 8, |byte| matches!(byte, b'0'..=b'7'));
    let hexadecimal = || based("0x", 16, u8::is_ascii_hexdigit);
    let decimal = || is_decimal(unsigned).then(|| text.parse::<f64>().ok()).flatten();
    let Some(number) = octal.or_else(hexadecimal).or_else(decimal) else {
        return CoreScalar::Text(text);
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "checked: whole and small"
    )]
    if number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER as f64 {
        CoreScalar::Integer(number as i64)
    } else {
        CoreScalar::Float(number)
    }
}

/// Digits with at most one point and at most one exponent, and a digit before the exponent.
fn is_decimal(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.map(|power| power.strip_prefix(['-', '+']).unwrap_or(power));
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|power| !power.is_empty() && digits(power))
}

/// Parses one document. An empty text is an empty (null) node.
pub fn parse(text: &str) -> Result<YamlNode, YamlError> {
    parse_below(text, 0)
}

/// Parses one document that has this many lines above it in its file; positions are the file's.
pub(crate) fn parse_below(text: &str, lines_above: u32) -> Result<YamlNode, YamlError> {
    parse_bounded(text, lines_above, MAX_NODES)
}

/// Parses a document of at most this many values, for a file that is a long list.
pub(crate) fn parse_long(text: &str, max_nodes: usize) -> Result<YamlNode, YamlError> {
    parse_bounded(text, 0, max_nodes)
}

fn parse_bounded(text: &str, lines_above: u32, max_nodes: usize) -> Result<YamlNode, YamlError> {
    let place = |line: usize, col: usize| Position {
        line: count(line) + lines_above,
        column: count(col + 1),
    };
    let mut builder = TreeBuilder { max_nodes, ..TreeBuilder::default() };
    let mut documents = 0;
    let mut events = Parser::new_from_str(text);
    while let Some(event) = events.next_event() {
        let (event, span) = event.map_err(|error| YamlError {
            at: place(error.marker().line(), error.marker().col()),
            message: error.info().to_owned(),
            refused: false,
        })?;
        let at = place(span.start.line(), span.start.col());
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return fail(at, "a second document starts here; one is expected");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tagged = tag.is_some();
                let plain = style == ScalarStyle::Plain && !tagged;
                let value = YamlValue::Scalar { text: text.into_owned(), plain };
                builder.place(YamlNode { value, at, tagged }, anchor)?;
            }
            Event::SequenceStart(anchor, tag) => {
                let value = YamlValue::Sequence(Vec::new());
                builder.open(YamlNode { value, at, tagged: tag.is_some() }, anchor)?;
            }
            Event::MappingStart(anchor, tag) => {
                let value = YamlValue::Mapping(Vec::new());
                builder.open(YamlNode { value, at, tagged: tag.is_some() }, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.close()?,
            Event::Alias(anchor) => builder.alias(anchor, at)?,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
    }
    Ok(builder.root.unwrap_or_else(|| YamlNode::empty(place(1, 0))))
}

/// The tree while it grows: a stack of open collections, so that depth costs no recursion.
#[derive(Default)]
struct TreeBuilder {
    open: Vec<OpenCollection>,
    root: Option<YamlNode>,
    anchors: HashMap<usize, YamlNode>,
    nodes: usize,
    max_nodes: usize,
    aliased_bytes: usize,
}

struct OpenCollection {
    node: YamlNode,
    anchor: usize,
    /// A mapping's key that waits for its value, and whether it is text to every reader.
    key: Option<(String, Position, bool)>,
}

impl TreeBuilder {
    fn open(&mut self, node: YamlNode, anchor: usize) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return refuse(node.at, format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.open.push(OpenCollection { node, anchor, key: None });
        Ok(())
    }

    fn close(&mut self) -> Result<(), YamlError> {
        match self.open.pop() {
            Some(OpenCollection { node, anchor, .. }) => self.place(node, anchor),
            None => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), YamlError> {
        let Some(target) = self.anchors.get(&anchor) else {
            return fail(at, "an alias refers to the value it stands in");
        };
        if self.open.len() + target.depth() > MAX_DEPTH {
            return refuse(at, format!("nested deeper than {MAX_DEPTH} levels through an alias"));
        }
        self.nodes += target.size();
        self.aliased_bytes += target.bytes();
        if self.aliased_bytes > MAX_ALIASED_BYTES {
            return refuse(at, "more than 64 KiB of text through aliases");
        }
        let copy = YamlNode { value: target.value.clone(), at, tagged: target.tagged };
        self.place(copy, 0)
    }

    /// Puts a finished node where it belongs: a key, a value, an item, or the root.
    fn place(&mut self, node: YamlNode, anchor: usize) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > self.max_nodes {
            let message = format!("more than {} values, aliases expanded", self.max_nodes);
            return refuse(node.at, message);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut parent.node.value {
            YamlValue::Sequence(items) => items.push(node),
            YamlValue::Mapping(entries) => match parent.key.take() {
                Some((key, at, is_text)) => {
                    entries.push(YamlEntry { key, at, is_text, value: node });
                }
                None => parent.key = Some(key(node, entries)?),
            },
            YamlValue::Scalar { .. } => {}
        }
        Ok(())
    }
}

fn key(node: YamlNode, entries: &[YamlEntry]) -> Result<(String, Position, bool), YamlError> {
    let is_text = !node.tagged && matches!(node.core(), Some(CoreScalar::Text(_)));
    let YamlValue::Scalar { text, .. } = node.value else {
        return fail(node.at, "a key must be text");
    };
    match entries.iter().find(|entry| entry.key == text) {
        Some(first) => {
            refuse(node.at, format!("duplicate key `{text}`, first on line {}", first.at.line))
        }
        None => Ok((text, node.at, is_text)),
    }
}

fn fail<T>(at: Position, message: impl Into<String>) -> Result<T, YamlError> {
    Err(YamlError { at, message: message.into(), refused: false })
}

fn refuse<T>(at: Position, message: impl Into<String>) -> Result<T, YamlError> {
    Err(YamlError { at, message: message.into(), refused: true })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(yaml: &str) -> Vec<String> {
        let node = parse(yaml).unwrap();
        node.entries()
            .unwrap()
            .iter()
            .map(|e| e.value.text().unwrap_or("<null>").to_owned())
            .collect()
    }

    // FILE-6
    #[test]
    fn values_stay_as_they_were_written() {
        let yaml = "a: 1.10\nb: no\nc: 2026-01-02\nd: 012\ne: 0x1F\nf: ~\ng: 'null'\nh: 1:30\n";
        assert_eq!(
            texts(yaml),
            ["1.10", "no", "2026-01-02", "012", "0x1F", "<null>", "null", "1:30"]
        );
    }

    #[test]
    fn booleans_and_numbers_are_read_on_request_and_only_unquoted() {
        let node = parse("a: true\nb: 'true'\nc: yes\nd: -1.5\ne: '3'\nf: inf\ng: nan\nh: 1e400\n")
            .unwrap();
        let get = |key| node.get(key).unwrap();
        assert_eq!(
            (get("a").boolean(), get("b").boolean(), get("c").boolean()),
            (Some(true), None, None)
        );
        assert_eq!(
            (get("d").number(), get("e").number(), get("f").number()),
            (Some(-1.5), None, None)
        );
        assert_eq!((get("g").number(), get("h").number()), (None, None));
    }

    // EXT-3
    #[test]
    fn scalars_are_what_the_core_schema_says() {
        let scalars = |yaml: &str| -> Vec<String> {
            let node = parse(yaml).unwrap();
            let values = node.entries().unwrap().iter().map(|entry| entry.value.core().unwrap());
            values.map(|value| format!("{value:?}")).collect()
        };
        let yaml = "a: 014\nb: 0o14\nc: 0x1F\nd: +5\ne: 1.10\nf: .5\ng: 5.\nh: 1e3\ni: 12345678901234567890\n";
        assert_eq!(
            scalars(yaml),
            [
                "Integer(14)",
                "Integer(12)",
                "Integer(31)",
                "Integer(5)",
                "Float(1.1)",
                "Float(0.5)",
                "Integer(5)",
                "Integer(1000)",
                "Float(1.2345678901234567e19)"
            ]
        );
        for text in [
            "yes",
            "on",
            "1:30",
            "2026-01-02",
            "-0x1F",
            "0b1",
            "1_000",
            "1e",
            ".",
            "e5",
            "+",
            "inf",
            "0o",
            "'5'",
            "!!str 5",
        ] {
            let node = parse(&format!("a: {text}\n")).unwrap();
            let value = node.get("a").unwrap().core().unwrap();
            assert!(matches!(value, CoreScalar::Text(_)), "{text}: {value:?}");
        }
        assert_eq!(
            scalars("a:\nb: ~\nc: Null\nd: TRUE\n"),
            ["Null", "Null", "Null", "Boolean(true)"]
        );
        assert_eq!(scalars("a: -.Inf\nb: .NaN\n"), ["Float(-inf)", "Float(NaN)"]);
    }

    #[test]
    fn a_key_that_others_do_not_read_as_text_and_a_tag_are_known() {
        let node = parse("1: a\n'2': b\ntrue: c\nx: !!int '3'\ny: !z [1]\n").unwrap();
        let known: Vec<(bool, bool)> = node
            .entries()
            .unwrap()
            .iter()
            .map(|entry| (entry.is_text, entry.value.tagged))
            .collect();
        assert_eq!(
            known,
            [(false, false), (true, false), (false, false), (true, true), (true, true)]
        );
    }

    #[test]
    fn a_duplicate_key_is_refused_with_both_places() {
        let error = parse("name: good\nx: 1\nname: evil\n").unwrap_err();
        assert_eq!((error.at.line, error.at.column), (3, 1));
        assert_eq!(error.message, "duplicate key `name`, first on line 1");
    }

    #[test]
    fn u01_an_alias_bomb_is_refused_at_once() {
        for levels in [5, 9] {
            let row = |level: usize| vec![format!("*a{}", level - 1); 10].join(",");
            let above: Vec<_> =
                (1..=levels).map(|level| format!("a{level}: &a{level} [{}]", row(level))).collect();
            let yaml = format!("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n{}\n", above.join("\n"));
            let error = parse(&yaml).unwrap_err();
            assert!(error.message.contains("aliases expanded"), "{}", error.message);
        }
    }

    #[test]
    fn u02_deep_nesting_is_refused_without_recursion() {
        for yaml in ["[".repeat(100_000), "{a: ".repeat(20_000), "- ".repeat(30_000)] {
            assert!(parse(&yaml).is_err());
        }
        let block: Vec<_> = (0..200).map(|level| " ".repeat(level) + "k:").collect();
        assert!(parse(&block.join("\n")).unwrap_err().message.contains("nested deeper"));
    }

    #[test]
    fn u03_self_alias_second_document_and_tags_do_not_act() {
        assert!(parse("a: &a [*a]\n").is_err());
        assert!(parse("a: 1\n---\nb: 2\n").is_err());
        let node = parse("a: !!python/object:os.system ls\nb: !!str true\n<<: {c: 1}\n").unwrap();
        assert_eq!(node.get("a").unwrap().text(), Some("ls"));
        assert_eq!(node.get("b").unwrap().boolean(), None);
        assert!(node.get("c").is_none());
    }

    #[test]
    fn positions_count_from_one() {
        let node = parse("a: 1\nlist:\n  - x\n  -   y\n").unwrap();
        let items = node.get("list").unwrap().items().unwrap();
        assert_eq!(items[1].at, Position { line: 4, column: 7 });
    }
}
