//! `JUnit`'s XML, which most build servers read: suites of test cases, each passed, failed or skipped.

use std::fmt::Write as _;

/// One test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct JunitCase {
    /// Its name: a file, a request.
    pub(in crate::cli) name: String,
    /// The group it belongs to.
    pub(in crate::cli) class: String,
    /// The file it is about, where it is about one.
    pub(in crate::cli) file: Option<String>,
    /// How it ended.
    pub(in crate::cli) outcome: JunitOutcome,
}

/// How a test case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum JunitOutcome {
    /// Well.
    Passed,
    /// Not well.
    Failed {
        /// Which kind of failure, such as a diagnostic's code.
        kind: String,
        /// The failure in one line.
        message: String,
        /// All there is to say, in any number of lines.
        detail: String,
    },
}

/// The document of one suite, with a line break at its end.
pub(in crate::cli) fn document(suite: &str, cases: &[JunitCase]) -> String {
    let failed =
        cases.iter().filter(|case| matches!(case.outcome, JunitOutcome::Failed { .. })).count();
    let counts = format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\"", cases.len());
    let name = escaped(suite);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"{name}\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" {counts} skipped=\"0\">");
    for case in cases {
        let file = case.file.as_ref().map(|file| format!(" file=\"{}\"", escaped(file)));
        let file = file.unwrap_or_default();
        let (class, name) = (escaped(&case.class), escaped(&case.name));
        let head = format!("    <testcase classname=\"{class}\" name=\"{name}\"{file}");
        match &case.outcome {
            JunitOutcome::Passed => {
                let _ = writeln!(xml, "{head}/>");
            }
            JunitOutcome::Failed { kind, message, detail } => {
                let (kind, message) = (escaped(kind), escaped(message));
                let _ = writeln!(xml, "{head}>");
                let _ = writeln!(
                    xml,
                    "      <failure type=\"{kind}\" message=\"{message}\">{}</failure>",
                    escaped(detail)
                );
                let _ = writeln!(xml, "    </testcase>");
            }
        }
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// A text for an attribute or an element. Characters that XML 1.0 cannot hold become U+FFFD.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            // An attribute would have a blank in their place.
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\r' => safe.push_str("&#13;"),
            _ if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_and_texts_escaped() {
        let case = |name: &str, outcome| JunitCase {
            name: name.to_owned(),
            class: "check".to_owned(),
            file: Some("a.md".to_owned()),
            outcome,
        };
        let failed = JunitOutcome::Failed {
            kind: "k".to_owned(),
            message: "a < b".to_owned(),
            detail: "one\ntwo \u{1b}".to_owned(),
        };
        let xml = document("s & t", &[case("good", JunitOutcome::Passed), case("bad", failed)]);
        assert!(xml.contains("<testsuite name=\"s &amp; t\" tests=\"2\" failures=\"1\""), "{xml}");
        assert!(xml.contains("message=\"a &lt; b\">one&#10;two \u{fffd}</failure>"), "{xml}");
    }
}
