//! Changes of a JSON text that leave every other byte as it is: comments, order, line breaks, trailing commas.
//!
//! What is added and then removed leaves the text as it was; a map or list that has become empty goes with it, unless a
//! comment is in it or the text shows that it was empty before.

use std::ops::Range;

use serde::Serialize as _;
use serde_json::{
    Value,
    ser::{PrettyFormatter, Serializer},
};

use super::tree::{ConfigTree, FileLanguage, TreeError, TreeValue, line_at};

/// How the lines of a text are indented where it shows nothing else.
const USUAL_INDENT: &str = "  ";

/// A step on the way to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonStep<'a> {
    Key(&'a str),
    At(usize),
}

/// Sets the value at these keys; maps on the way are made where they are missing.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, TreeError> {
    let tree = parsed(text)?;
    let mut inner = &tree;
    for (depth, key) in path.iter().enumerate() {
        if inner.members().is_none() {
            return Err(no_map(text, inner, path.get(..depth).unwrap_or_default()));
        }
        let Some(next) = inner.get(key) else {
            let rest = path.get(depth + 1..).unwrap_or_default();
            let value = nested(rest, value.clone());
            return Ok(appended(text, &tree, inner, Some(key), &value));
        };
        inner = next;
    }
    let style = Style::of(text, &tree);
    let indent = indent_at(text, line_start(text, inner.range.start)).to_owned();
    Ok(spliced(text, inner.range.clone(), &style.written(value, &indent)))
}

/// Adds a value to the end of the list at these keys, which is made where it is missing.
pub(super) fn push(text: &str, path: &[&str], value: &Value) -> Result<String, TreeError> {
    let tree = parsed(text)?;
    match tree.at(path) {
        Some(list) if list.items().is_some() => Ok(appended(text, &tree, list, None, value)),
        Some(other) => {
            let message = format!("`{}` is no list", path.join("."));
            Err(TreeError { line: line_at(text, other.range.start), message })
        }
        None => set(text, path, &Value::Array(vec![value.clone()])),
    }
}

/// Removes the value at the end of these steps, and maps and lists that say nothing then and that we may have made.
pub(super) fn remove(text: &str, path: &[JsonStep<'_>]) -> Result<String, TreeError> {
    let tree = parsed(text)?;
    let Some((_, above)) = path.split_last() else { return Ok(text.to_owned()) };
    match descend(&tree, above) {
        Some(container)
            if !above.is_empty() && is_alone(text, container) && !was_empty(text, container) =>
        {
            remove(text, above)
        }
        _ => remove_alone(text, path),
    }
}

/// Removes the value at the end of these steps and nothing around it.
pub(super) fn remove_alone(text: &str, path: &[JsonStep<'_>]) -> Result<String, TreeError> {
    let tree = parsed(text)?;
    let Some((last, above)) = path.split_last() else { return Ok(text.to_owned()) };
    let Some(container) = descend(&tree, above) else { return Ok(text.to_owned()) };
    let elements = elements(container);
    let at = match last {
        JsonStep::At(at) => (*at < elements.len()).then_some(*at),
        JsonStep::Key(key) => {
            let members = container.members().unwrap_or_default();
            members.iter().rposition(|member| member.key == *key)
        }
    };
    Ok(at.map_or_else(|| text.to_owned(), |at| cut(text, &container.range, &elements, at)))
}

/// Whether a map or list has one element and nothing else, no comment either.
pub(super) fn is_alone(text: &str, container: &ConfigTree) -> bool {
    let elements = elements(container);
    let [element] = elements.as_slice() else { return false };
    let close = container.range.end.saturating_sub(1);
    let before = text.get(container.range.start + 1..element.start).unwrap_or_default();
    let after = text.get(element.end..close).unwrap_or_default().trim_start();
    let after = after.strip_prefix(',').unwrap_or(after);
    before.trim().is_empty() && after.trim().is_empty()
}

/// Whether a text was an object without members before we wrote into it.
pub(super) fn was_empty_object(text: &str) -> bool {
    parsed(text).is_ok_and(|tree| tree.members().is_some() && was_empty(text, &tree))
}

/// Whether a map or list was empty before we wrote into it: its first element has several lines and begins on that of the
/// bracket, as `appended` writes it there and nowhere else.
fn was_empty(text: &str, container: &ConfigTree) -> bool {
    let has_break = |range: Range<usize>| text.get(range).is_some_and(|text| text.contains('\n'));
    elements(container).first().is_some_and(|first| {
        !has_break(container.range.start..first.start) && has_break(first.clone())
    })
}

fn parsed(text: &str) -> Result<ConfigTree, TreeError> {
    ConfigTree::parse(text, FileLanguage::Json)
}

fn no_map(text: &str, tree: &ConfigTree, path: &[&str]) -> TreeError {
    let what =
        if path.is_empty() { "the file".to_owned() } else { format!("`{}`", path.join(".")) };
    TreeError { line: line_at(text, tree.range.start), message: format!("{what} is no object") }
}

fn nested(path: &[&str], value: Value) -> Value {
    path.iter().rev().fold(value, |value, key| {
        Value::Object(std::iter::once(((*key).to_owned(), value)).collect())
    })
}

fn descend<'t>(tree: &'t ConfigTree, path: &[JsonStep<'_>]) -> Option<&'t ConfigTree> {
    path.iter().try_fold(tree, |tree, step| match step {
        JsonStep::Key(key) => tree.get(key),
        JsonStep::At(at) => tree.items()?.get(*at),
    })
}

/// Where the elements of a map or list are.
fn elements(tree: &ConfigTree) -> Vec<Range<usize>> {
    match &tree.value {
        TreeValue::Map(members) => {
            members.iter().map(|member| member.start..member.value.range.end).collect()
        }
        TreeValue::List(items) => items.iter().map(|item| item.range.clone()).collect(),
        TreeValue::Text(_) | TreeValue::Bare(_) => Vec::new(),
    }
}

/// How a text is written.
struct Style {
    line_break: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str, tree: &ConfigTree) -> Self {
        let first = elements(tree).first().map(|first| first.start);
        let unit = first.map(|at| indent_at(text, line_start(text, at)));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or(USUAL_INDENT).to_owned();
        Self { line_break: line_break(text), unit }
    }

    /// A value in lines, the first of which is not indented.
    fn written(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        // Writing to memory does not fail.
        let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        let text = String::from_utf8(bytes).unwrap_or_default();
        text.replace('\n', &format!("{}{indent}", self.line_break))
    }
}

/// The line break that a text uses.
pub(super) fn line_break(text: &str) -> &'static str {
    let first = text.find('\n').unwrap_or_default();
    if text.get(..first).is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { "\n" }
}

/// The text with an element more at the end of a map or list.
fn appended(
    text: &str,
    tree: &ConfigTree,
    container: &ConfigTree,
    key: Option<&str>,
    value: &Value,
) -> String {
    let style = Style::of(text, tree);
    let element = |value: String| match key {
        Some(key) => format!("{}: {value}", Value::from(key)),
        None => value,
    };
    // A text without a value: blank, or comments.
    if container.range == (0..text.len()) && !text.starts_with(['{', '[']) {
        let kept = if text.trim().is_empty() { "" } else { text };
        let gap = if kept.is_empty() || kept.ends_with('\n') { "" } else { style.line_break };
        let written = element(style.written(value, &style.unit));
        return format!("{kept}{gap}{{{0}{1}{written}{0}}}{0}", style.line_break, style.unit);
    }
    let outer = indent_at(text, line_start(text, container.range.start));
    let open = container.range.start + 1;
    let close = container.range.end.saturating_sub(1);
    let elements = elements(container);
    let Some(last) = elements.last() else {
        let kept = text.get(open..close).unwrap_or_default().trim_end();
        if kept.is_empty() {
            // On the line of the bracket: `was_empty` tells by it that the brackets were there before.
            return spliced(text, open..close, &element(style.written(value, outer)));
        }
        let indent = format!("{outer}{}", style.unit);
        let written = element(style.written(value, &indent));
        let inner = format!("{kept}{0}{indent}{written}{0}{outer}", style.line_break);
        return spliced(text, open..close, &inner);
    };
    let comma = comma_after(text, last.end, close);
    let anchor = rest_of_line(text, comma.map_or(last.end, |comma| comma + 1), close);
    let first = elements.first().map_or(open, |first| first.start);
    let is_in_lines = text.get(open..first).is_some_and(|before| before.contains('\n'));
    let added = if is_in_lines {
        let start = line_start(text, last.start);
        let indent = indent_at(text, start);
        let is_alone = start + indent.len() == last.start;
        let indent = if is_alone { indent.to_owned() } else { format!("{outer}{}", style.unit) };
        format!("{}{indent}{}", style.line_break, element(style.written(value, &indent)))
    } else if text.get(last.clone()).is_some_and(|last| last.contains('\n')) {
        format!(" {}", element(style.written(value, outer)))
    } else {
        format!(" {}", element(value.to_string()))
    };
    let (before, after) =
        (if comma.is_none() { "," } else { "" }, if comma.is_some() { "," } else { "" });
    let kept = text.get(last.end..anchor).unwrap_or_default();
    spliced(text, last.end..anchor, &format!("{before}{kept}{added}{after}"))
}

/// The text without one element of a map or list.
fn cut(text: &str, container: &Range<usize>, elements: &[Range<usize>], at: usize) -> String {
    let (open, close) = (container.start + 1, container.end.saturating_sub(1));
    let Some(element) = elements.get(at) else { return text.to_owned() };
    let previous = at.checked_sub(1).and_then(|at| elements.get(at));
    let from = previous.map_or(open, |previous| previous.end);
    let before = text.get(from..element.start).unwrap_or_default();
    let comma = comma_after(text, element.end, close);
    let end = comma.map_or(element.end, |comma| comma + 1);
    let rest = text.get(end..close).unwrap_or_default().split('\n').next().unwrap_or_default();
    // What follows on the line must not become part of a comment.
    let has_next = ends_in_line_comment(before) && !rest.trim().is_empty();
    let start = if has_next { element.start } else { from + before.trim_end().len() };
    // A comment between the element and its comma.
    let inside = comma.and_then(|comma| text.get(element.end..comma)).unwrap_or_default();
    let inside = inside.trim_end();
    let is_last = at + 1 == elements.len();
    let shorter = match (previous, is_last) {
        // The comma before it has nothing to separate any more.
        (Some(previous), true) if comma.is_none() => {
            let separator = comma_after(text, previous.end, element.start).unwrap_or(previous.end);
            let kept = text.get(separator + 1..start).unwrap_or_default();
            spliced(text, separator..end, kept)
        }
        _ => spliced(text, start..end, inside),
    };
    if elements.len() > 1 {
        return shorter;
    }
    let close = close.saturating_sub(end - start - inside.len());
    let inner = shorter.get(open..close).unwrap_or_default();
    if inner.trim().is_empty() { spliced(&shorter, open..close, "") } else { shorter }
}

/// Where the next comma is, past white space and comments.
fn comma_after(text: &str, from: usize, end: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..end)?;
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with(',') {
            return Some(at);
        }
        at += comment_length(trimmed)?;
    }
}

/// Whether a text of white space, commas and comments ends in a comment that only the end of the line ends.
fn ends_in_line_comment(text: &str) -> bool {
    let mut rest = text;
    let mut is_line = false;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t', '\r', '\n']);
        let Some(length) = comment_length(rest) else { return is_line };
        is_line = rest.starts_with("//");
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// How long the comment is that a text begins with.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |end| end + 2))
}

/// The end of what belongs to a line: a comment at its end.
fn rest_of_line(text: &str, from: usize, end: usize) -> usize {
    let rest = text.get(from..end).unwrap_or_default();
    let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let comment = comment_length(rest.get(blank..).unwrap_or_default());
    comment.map_or(from, |length| {
        let line = rest.get(..blank + length).unwrap_or_default().trim_end_matches('\r');
        from + line.len()
    })
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

fn indent_at(text: &str, line: usize) -> &str {
    let rest = text.get(line..).unwrap_or_default();
    let length = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest.get(..length).unwrap_or_default()
}

fn spliced(text: &str, range: Range<usize>, new: &str) -> String {
    let mut spliced = text.to_owned();
    spliced.replace_range(range, new);
    spliced
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Texts of many styles, none of which has `servers`.
    const TEXTS: &[&str] = &[
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1,\n}\n",
        "{\n\t\"a\": 1, // the first\n\t\"b\": {\"c\": []} /* the last */\n\t// \"d\": 2\n}",
        "{\r\n    \"a\": [\r\n        1\r\n    ]\r\n}\r\n",
        "{\"a\":1}",
        "{ \"a\": 1, \"b\": 2 }\n",
        "// first\n{\n  // inside\n  \"a\": \"}, // no comment\", // after\n}\n// last\n",
        "{\n  \"a\": 1 // without a comma\n}\n",
        "{\n  \"a\": 1, \"b\": 2\n}\n",
        "{}",
        "{}\n",
        "{ /* nothing */ }\n",
        "{\"a\": {\n  \"b\": 1\n}}\n",
    ];

    #[test]
    fn what_is_added_and_removed_leaves_the_text_as_it_was() {
        let value = json!({"command": "/x y", "args": ["--dir", "a\"b"]});
        for text in TEXTS {
            let added = set(text, &["servers", "skills"], &value).unwrap();
            let read = parsed(&added).unwrap();
            assert_eq!(read.at(&["servers", "skills", "command"]).unwrap().text(), Some("/x y"));
            assert_eq!(read.get("a"), parsed(text).unwrap().get("a"), "{added}");
            assert_eq!(added.contains("\r\n"), text.contains("\r\n"));
            assert!(!added.replace("\r\n", "").contains('\r'));
            let path = [JsonStep::Key("servers"), JsonStep::Key("skills")];
            let removed = remove(&added, &path).unwrap();
            if text.contains("nothing") {
                assert_eq!(parsed(&removed).unwrap(), parsed(text).unwrap(), "{removed}");
            } else {
                assert_eq!(removed, *text, "{added}");
            }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[ -~\\n]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-z/*\",{} ]{1,6}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_file_is_as_it_was_after_an_entry_came_and_went(value in values(), is_in_lines: bool) {
            let root = json!({"first": value.clone(), "servers": {"other": value}});
            let text = if is_in_lines { format!("{root:#}\n") } else { root.to_string() };
            let path = [JsonStep::Key("servers"), JsonStep::Key("skills")];
            let added = set(&text, &["servers", "skills"], &json!({"command": "x"})).unwrap();
            let mut wanted = root;
            wanted["servers"]["skills"] = json!({"command": "x"});
            prop_assert_eq!(serde_json::from_str::<Value>(&added).unwrap(), wanted);
            prop_assert_eq!(remove(&added, &path).unwrap(), text);
        }
    }

    #[test]
    fn an_element_is_removed_from_any_place() {
        let text = "{\n  \"s\": {\n    \"a\": 1, // one\n    \"b\": 2, // two\n    \"c\": 3 // three\n  }\n}\n";
        for key in ["a", "b", "c"] {
            let removed = remove(text, &[JsonStep::Key("s"), JsonStep::Key(key)]).unwrap();
            let tree = parsed(&removed).unwrap();
            assert_eq!(tree.get("s").unwrap().members().unwrap().len(), 2, "{removed}");
            assert!(tree.at(&["s", key]).is_none(), "{removed}");
        }
    }

    #[test]
    fn comments_around_an_element_stay_without_it() {
        let cases = [
            (
                "{\"a\": 1, \"s\": {\n  // \"old\": {\"command\": \"x\"},\n  \"k\": {}\n}}",
                "{\"a\": 1, \"s\": {\n  // \"old\": {\"command\": \"x\"},\n}}",
            ),
            ("{\"s\": {\"k\": {} /* mine */}}", "{\"s\": { /* mine */}}"),
            (
                "{\"s\": {\"k\": 1 /* one */, // two\n  \"b\": 2}}",
                "{\"s\": { /* one */ // two\n  \"b\": 2}}",
            ),
            ("{\"s\": { // first\n  \"k\": 1, \"b\": 2}}", "{\"s\": { // first\n   \"b\": 2}}"),
            ("{\"s\": {\"k\": 1}}", "{}"),
        ];
        for (text, wanted) in cases {
            let removed = remove(text, &[JsonStep::Key("s"), JsonStep::Key("k")]).unwrap();
            assert_eq!(removed, wanted, "{text}");
            parsed(&removed).unwrap();
        }
    }

    #[test]
    fn a_map_that_was_empty_before_stays() {
        for text in
            ["{\"s\": {}}", "{\n  \"s\": {}\n}\n", "{\r\n\t\"a\": 1,\r\n\t\"s\": {}\r\n}", "{}\n"]
        {
            let added = set(text, &["s", "k"], &json!({"command": "x", "args": []})).unwrap();
            let path = [JsonStep::Key("s"), JsonStep::Key("k")];
            assert_eq!(remove(&added, &path).unwrap(), text, "{added}");
        }
        let commented = set("// mine", &["s", "k"], &json!(1)).unwrap();
        assert_eq!(commented, "// mine\n{\n  \"s\": {\n    \"k\": 1\n  }\n}\n");
        let of_nothing = set("", &["s", "k"], &json!({"command": "x"})).unwrap();
        assert!(!was_empty_object(&of_nothing), "{of_nothing}");
        assert!(was_empty_object(&set("{}", &["s", "k"], &json!({"command": "x"})).unwrap()));
    }

    #[test]
    fn a_list_gets_an_element_and_loses_it() {
        for text in [
            "{\"h\": {\"E\": [1]}, \"z\": 1}",
            "{\n  \"h\": {\n    \"E\": [\n      1\n    ]\n  }\n}\n",
        ] {
            let added = push(text, &["h", "E"], &json!({"x": 1})).unwrap();
            assert_eq!(parsed(&added).unwrap().at(&["h", "E"]).unwrap().items().unwrap().len(), 2);
            let path = [JsonStep::Key("h"), JsonStep::Key("E"), JsonStep::At(1)];
            assert_eq!(remove(&added, &path).unwrap(), text, "{added}");
        }
        let made = push("{}", &["h", "E"], &json!(1)).unwrap();
        assert_eq!(made, "{\"h\": {\n  \"E\": [\n    1\n  ]\n}}");
        let path = [JsonStep::Key("h"), JsonStep::Key("E"), JsonStep::At(0)];
        assert_eq!(remove(&made, &path).unwrap(), "{}");
    }

    #[test]
    fn a_value_is_replaced_in_its_place() {
        let text = "{\n  \"s\": {\"old\": 1}, // here\n  \"t\": 2\n}\n";
        let set = set(text, &["s"], &json!({"new": 1})).unwrap();
        assert_eq!(set, "{\n  \"s\": {\n    \"new\": 1\n  }, // here\n  \"t\": 2\n}\n");
    }

    #[test]
    fn what_is_no_object_is_an_error_with_its_line() {
        let error = set("{\n  \"s\": []\n}", &["s", "x"], &json!(1)).unwrap_err();
        assert_eq!((error.line, &*error.message), (2, "`s` is no object"));
        assert_eq!(set("{\n  'a': 1\n}", &["s"], &json!(1)).unwrap_err().line, 2);
        assert_eq!(set("[1]", &["s"], &json!(1)).unwrap_err().message, "the file is no object");
    }
}
