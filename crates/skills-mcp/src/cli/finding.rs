//! A diagnostic on a terminal: the place, the message, the line itself with a mark, and the way out.

use skills_core::diagnostic::{Code, Diagnostic};

use super::{
    Output,
    output::{bold, dim, entry, safe},
};
use crate::store::Snapshot;

/// Prints one diagnostic with the whole path of its file.
pub(super) fn print(out: &mut Output, snapshot: &Snapshot, diagnostic: &Diagnostic) {
    print_below(out, &snapshot.described(diagnostic), snapshot, diagnostic);
}

/// Prints one diagnostic below a head of the caller's: place, level, code and message.
pub(super) fn print_below(
    out: &mut Output,
    head: &str,
    snapshot: &Snapshot,
    diagnostic: &Diagnostic,
) {
    let finding = &diagnostic.finding;
    out.entry("", 0, head);
    // A line with a secret in it does not go to a log.
    if finding.at.line > 0
        && finding.code != Code::SecretLikely
        && let Some(line) = snapshot.line(&diagnostic.source, &diagnostic.file, finding.at.line)
    {
        let number = finding.at.line.to_string();
        let (shown, mark) = window(
            &safe(&line).replace('\t', " "),
            finding.at.column,
            out.width.saturating_sub(number.len() + 9),
        );
        out.line(format!("      {} {shown}", dim(&format!("{number} |"))));
        let gutter = " ".repeat(number.len());
        out.line(format!(
            "      {} {}{}",
            dim(&format!("{gutter} |")),
            " ".repeat(mark),
            bold("^")
        ));
    }
    if let Some(hint) = &finding.hint {
        for line in entry("    ", 4, hint, out.width) {
            out.line(dim(&line));
        }
    }
}

/// The part of a line around a column, and where the column is in it.
fn window(line: &str, column: u32, width: usize) -> (String, usize) {
    let column = usize::try_from(column).unwrap_or(0).saturating_sub(1);
    let length = line.chars().count();
    let width = width.clamp(20, 120);
    let start =
        if length <= width { 0 } else { column.saturating_sub(width / 2).min(length - width) };
    let shown = line.chars().skip(start).take(width).collect();
    (shown, column.min(length).saturating_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_its_column_also_in_a_long_line() {
        assert_eq!(window("a: b: c", 5, 80), ("a: b: c".to_owned(), 4));
        let long = format!("{}X{}", "a".repeat(200), "b".repeat(200));
        let (shown, mark) = window(&long, 201, 60);
        assert_eq!(shown.chars().nth(mark), Some('X'));
        assert_eq!(shown.chars().count(), 60);
    }
}
