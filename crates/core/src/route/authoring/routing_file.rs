//! Routing tests as they are written: `routing.yaml`, and `tests` in the front matter of a skill.

use crate::{
    diagnostic::Position,
    document::front_matter_field,
    route::MAX_REQUEST_CHARS,
    yaml::{self, YamlNode},
};

/// A file with more values is refused: some ten thousand tests.
const MAX_ROUTING_VALUES: usize = 60_000;
/// A search shows no more hits.
const MAX_TEST_WITHIN: usize = 25;
/// The fields of a test.
const TEST_FIELDS: [&str; 4] = ["request", "expect", "not", "within"];

/// A request and what it should find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingTest {
    /// The request.
    pub request: String,
    /// What it should find, where that is said.
    pub expect: Option<ExpectedSkill>,
    /// A skill that must not come first.
    pub not: Option<String>,
    /// How many skills may be shown until the expected one.
    pub within: usize,
    /// Where it is written.
    pub at: Position,
}

/// What a request should find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedSkill {
    /// The skill of this path or name.
    Named(String),
    /// No skill at all: `expect: none`.
    Nothing,
}

/// What is wrong in a file of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingFileError {
    /// Where.
    pub at: Position,
    /// What is true.
    pub message: String,
    /// The way out.
    pub hint: String,
}

impl RoutingFileError {
    fn new(at: Position, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into() }
    }
}

/// The tests of a `routing.yaml`: a list, or a map with the list under `tests`. Every mistake is reported, not only the first.
pub fn read_routing_file(text: &str) -> Result<Vec<RoutingTest>, Vec<RoutingFileError>> {
    let text = text.trim_start_matches('\u{feff}');
    let root = yaml::parse_long(text, MAX_ROUTING_VALUES).map_err(|error| {
        let hint =
            "put quotes around a request that holds `: `, `#` or starts with a special character";
        vec![RoutingFileError::new(error.at, format!("not valid YAML: {}", error.message), hint)]
    })?;
    let mut errors = Vec::new();
    let list = match root.entries() {
        Some(entries) => {
            for entry in entries.iter().filter(|entry| entry.key != "tests") {
                let message = format!("there is no field `{:.40}` here", entry.key);
                errors.push(RoutingFileError::new(
                    entry.at,
                    message,
                    "write the list of tests under `tests:`",
                ));
            }
            root.get("tests").unwrap_or(&root)
        }
        None => &root,
    };
    let mut tests = Vec::new();
    match list.items() {
        Some(items) => {
            for item in items {
                match test(item) {
                    Ok(one) => tests.push(one),
                    Err(found) => errors.extend(found),
                }
            }
        }
        None if list.is_null() => {}
        None if !errors.is_empty() => {}
        None => errors.push(RoutingFileError::new(
            list.at,
            format!("the file is {}, not a list of tests", list.kind()),
            "write `- request: …` and `expect: PATH` for each test",
        )),
    }
    if errors.is_empty() { Ok(tests) } else { Err(errors) }
}

fn test(item: &YamlNode) -> Result<RoutingTest, Vec<RoutingFileError>> {
    let Some(entries) = item.entries() else {
        let message = format!("a test is {}, not `request` and `expect`", item.kind());
        return Err(vec![RoutingFileError::new(
            item.at,
            message,
            "write `- {request: …, expect: PATH}`",
        )]);
    };
    let mut errors = Vec::new();
    for entry in entries.iter().filter(|entry| !TEST_FIELDS.contains(&entry.key.as_str())) {
        let near = TEST_FIELDS.iter().find(|field| strsim::osa_distance(field, &entry.key) <= 2);
        let hint = match near {
            Some(near) => format!("write `{near}`"),
            None => format!("a test has {}", TEST_FIELDS.join(", ")),
        };
        let message = format!("there is no field `{:.40}` in a test", entry.key);
        errors.push(RoutingFileError::new(entry.at, message, hint));
    }
    let mut text = |key: &str| {
        let node = item.get(key).filter(|node| !node.is_null())?;
        let text = node.text().map(str::trim).filter(|text| !text.is_empty());
        if text.is_none() {
            let message = match node.text() {
                Some(_) => format!("`{key}` is empty"),
                None => format!("`{key}` is {}, not text", node.kind()),
            };
            errors.push(RoutingFileError::new(node.at, message, format!("write `{key}: …`")));
        }
        text.map(str::to_owned)
    };
    let (request, expect, not) = (text("request"), text("expect"), text("not"));
    if request.is_none() && item.get("request").is_none_or(YamlNode::is_null) {
        let hint = "write the request as an agent would: `request: \"sign in with a cookie\"`";
        errors.push(RoutingFileError::new(item.at, "a test has no `request`", hint));
    }
    if request.as_ref().is_some_and(|text| text.chars().nth(MAX_REQUEST_CHARS).is_some()) {
        let message = format!("a request is over {MAX_REQUEST_CHARS} characters");
        errors.push(RoutingFileError::new(item.at, message, "say what is asked for in a sentence"));
    }
    if expect.is_none() && not.is_none() && errors.is_empty() {
        let hint = "write `expect: PATH`, `expect: none`, or `not: PATH`";
        errors.push(RoutingFileError::new(item.at, "a test expects nothing", hint));
    }
    let within = within(item, &mut errors);
    match request.filter(|_| errors.is_empty()) {
        Some(request) => Ok(RoutingTest {
            request,
            expect: expect.map(|expect| match expect.as_str() {
                "none" => ExpectedSkill::Nothing,
                _ => ExpectedSkill::Named(expect),
            }),
            not,
            within,
            at: item.at,
        }),
        None => Err(errors),
    }
}

fn within(item: &YamlNode, errors: &mut Vec<RoutingFileError>) -> usize {
    let Some(node) = item.get("within").filter(|node| !node.is_null()) else { return 1 };
    let number = node.text().and_then(|text| text.parse().ok());
    number.filter(|number| (1..=MAX_TEST_WITHIN).contains(number)).unwrap_or_else(|| {
        let shown = node.text().unwrap_or(node.kind());
        let message =
            format!("`within` is `{shown:.20}`, not a number from 1 to {MAX_TEST_WITHIN}");
        errors.push(RoutingFileError::new(
            node.at,
            message,
            "write `within: 3`, or leave it out for 1",
        ));
        1
    })
}

/// The tests in a skill's own text: `tests` in its front matter lists requests that must find it.
pub fn tests_of(text: &str, skill: &str) -> Result<Vec<RoutingTest>, Vec<RoutingFileError>> {
    let Some(node) = front_matter_field(text, "tests").filter(|node| !node.is_null()) else {
        return Ok(Vec::new());
    };
    let mut errors = Vec::new();
    let mut tests = Vec::new();
    for item in node.items().unwrap_or(std::slice::from_ref(&node)) {
        match item.text().map(str::trim).filter(|text| !text.is_empty()) {
            Some(request) => tests.push(RoutingTest {
                request: request.chars().take(MAX_REQUEST_CHARS).collect(),
                expect: Some(ExpectedSkill::Named(skill.to_owned())),
                not: None,
                within: 1,
                at: item.at,
            }),
            None => errors.push(RoutingFileError::new(
                item.at,
                format!("a test of this skill is {}, not a request", item.kind()),
                "write each test as the text of a request; `routing.yaml` takes `expect`, `not` and `within`",
            )),
        }
    }
    if errors.is_empty() { Ok(tests) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TEST-1
    #[test]
    fn a_list_or_a_map_with_a_list_is_read() {
        let list = "- request: sign in\n  expect: ui/react/auth\n  within: 3\n- {request: hello there, expect: none}\n- {request: draw, not: ui/vue}\n";
        let tests = read_routing_file(list).unwrap();
        assert_eq!(
            tests
                .iter()
                .map(|test| (test.expect.clone(), test.not.as_deref(), test.within))
                .collect::<Vec<_>>(),
            [
                (Some(ExpectedSkill::Named("ui/react/auth".to_owned())), None, 3),
                (Some(ExpectedSkill::Nothing), None, 1),
                (None, Some("ui/vue"), 1),
            ]
        );
        let indented = format!("  {}", list.trim_end().replace('\n', "\n  "));
        let under = read_routing_file(&format!("tests:\n{indented}")).unwrap();
        assert_eq!(under.len(), 3);
        assert_eq!(under[0].at, Position { line: 2, column: 5 });
        assert_eq!(read_routing_file("# none yet\n"), Ok(Vec::new()));
    }

    // TEST-1
    #[test]
    fn every_mistake_has_its_line_column_and_way_out() {
        let text = "- request: a\n  expct: b\n- expect: b\n- request: c\n- request: [d]\n  expect: e\n- request: f\n  expect: g\n  within: many\n- h\n- request: \"\"\n  expect: i\n";
        let errors = read_routing_file(text).unwrap_err();
        let found: Vec<String> = errors
            .iter()
            .map(|error| {
                format!("{}:{} {} ({})", error.at.line, error.at.column, error.message, error.hint)
            })
            .collect();
        assert_eq!(
            found,
            [
                "2:3 there is no field `expct` in a test (write `expect`)",
                "3:3 a test has no `request` (write the request as an agent would: `request: \"sign in with a cookie\"`)",
                "4:3 a test expects nothing (write `expect: PATH`, `expect: none`, or `not: PATH`)",
                "5:12 `request` is a list, not text (write `request: …`)",
                "9:11 `within` is `many`, not a number from 1 to 25 (write `within: 3`, or leave it out for 1)",
                "10:3 a test is text, not `request` and `expect` (write `- {request: …, expect: PATH}`)",
                "11:12 `request` is empty (write `request: …`)",
            ]
        );
        assert_eq!(read_routing_file("- a: b: c\n").unwrap_err()[0].at.line, 1);
        assert!(read_routing_file("just text").is_err());
        assert!(read_routing_file("test:\n- request: a\n").is_err());
    }

    // TEST-1
    #[test]
    fn a_skill_lists_requests_that_must_find_it() {
        let text = "---\nname: x\ndescription: y\ntests:\n  - sign in\n  - log out\n---\n";
        let tests = tests_of(text, "x").unwrap();
        assert_eq!(tests.len(), 2);
        assert_eq!(
            (tests[1].request.as_str(), tests[1].at),
            ("log out", Position { line: 6, column: 5 })
        );
        assert_eq!(tests_of("---\ndescription: tests:\n---\ntests: [a]\n", "x"), Ok(Vec::new()));
        assert_eq!(tests_of("---\ntests:\n- {a: b}\n---\n", "x").unwrap_err()[0].at.line, 3);
    }
}
