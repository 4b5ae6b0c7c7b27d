//! GitHub's workflow commands: one line for each annotation, shown beside the line of the file in a pull request.

use skills_core::diagnostic::{Severity, escaped};

use super::Annotation;

/// The workflow command of one annotation, without a line break at its end.
pub(in crate::cli) fn line(annotation: &Annotation) -> String {
    let command = match annotation.level {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut properties = Vec::new();
    if !annotation.file.is_empty() {
        properties.push(format!("file={}", escaped_property(&annotation.file)));
    }
    if annotation.line > 0 {
        properties.push(format!("line={}", annotation.line));
        properties.push(format!("col={}", annotation.column.max(1)));
    }
    properties.push(format!("title={}", escaped_property(&annotation.code)));
    let mut message = annotation.whole_message();
    if let Some(help) = &annotation.help {
        message = format!("{message}\n{help}");
    }
    format!("::{command} {}::{}", properties.join(","), escaped_data(&message))
}

/// The data of a command: what would end its line is escaped, and what a terminal would obey is spelled out.
fn escaped_data(text: &str) -> String {
    let lines = text.split('\n').map(|line| escaped(line).replace('%', "%25"));
    lines.collect::<Vec<_>>().join("%0A")
}

/// A property of a command: what would end the property is escaped too.
fn escaped_property(text: &str) -> String {
    escaped_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        let mut annotation = super::super::sample();
        annotation.file = "a\u{1b}[2J\u{202e}.md".to_owned();
        annotation.message = "one\r\ntwo\u{9b}".to_owned();
        let line = line(&annotation);
        assert!(line.contains(r"file=a\u{1b}[2J\u{202e}.md"), "{line}");
        assert!(line.contains(r"one\u{d}%0Atwo\u{9b}"), "{line}");
    }

    #[test]
    fn what_would_end_a_property_or_the_line_is_escaped() {
        assert_eq!(
            line(&super::super::sample()),
            "::warning file=ui/a%2Cb%3A 100%25.md,line=3,col=7,title=field-invalid::\
             `inherit` is <maybe> & \"so\"%0Awrite true%0Aor false"
        );
    }
}
