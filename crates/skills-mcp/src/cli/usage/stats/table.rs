//! Columns that fit: the first is cut, the last ones are left out where the terminal is too narrow.

use crate::cli::output::{dim, fitted};

/// The first column keeps at least this much.
const MIN_TABLE_WIDTH: usize = 26;
/// Lines of text are at least this long.
const MIN_TEXT_WIDTH: usize = 18;
/// Between two columns.
const COLUMN_GAP: usize = 2;

/// A table with its headings, two blanks before each line. Columns stand in the order of their weight.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let width = width.saturating_sub(2);
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| cell(row, column).chars().count());
        let head = heads.get(column).map_or(0, |head| head.chars().count());
        cells.max().unwrap_or(0).max(head)
    };
    let widths: Vec<usize> = (0..heads.len()).map(widest).collect();
    let first = widths.first().copied().unwrap_or(0);
    let (mut used, mut columns) = (first.min(MIN_TABLE_WIDTH), 1);
    for wide in widths.iter().skip(1) {
        if used + COLUMN_GAP + wide > width {
            break;
        }
        used += COLUMN_GAP + wide;
        columns += 1;
    }
    // What is left over goes to the first.
    let room = first.min(first.min(MIN_TABLE_WIDTH) + width.saturating_sub(used));
    let line = |cells: Vec<String>| {
        let mut line = String::from("  ");
        for (column, text) in cells.iter().enumerate().take(columns) {
            if column == 0 {
                let text = fitted(text, room);
                let pad = room.saturating_sub(text.chars().count());
                line.push_str(&text);
                line.push_str(&" ".repeat(pad));
            } else {
                let wide = widths.get(column).copied().unwrap_or(0);
                let pad = wide.saturating_sub(text.chars().count());
                line.push_str(&" ".repeat(COLUMN_GAP + pad));
                line.push_str(text);
            }
        }
        line.trim_end().to_owned()
    };
    let mut lines = vec![dim(&line(heads.iter().map(|head| (*head).to_owned()).collect()))];
    lines.extend(rows.iter().map(|row| line(row.clone())));
    lines
}

/// A text in lines of at most `width`, each after an indent; a word that is longer is cut.
pub(super) fn wrapped(text: &str, indent: usize, width: usize) -> Vec<String> {
    let room = width.saturating_sub(indent).max(MIN_TEXT_WIDTH);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in fitted(text, usize::MAX).split(' ') {
        let word = fitted(word, room);
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines.into_iter().map(|line| format!("{}{line}", " ".repeat(indent))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_to_its_width_by_leaving_out_its_last_columns() {
        let rows = vec![
            vec!["a-very-long-name-of-some-skill".to_owned(), "12".to_owned(), "seldom".to_owned()],
            vec!["b".to_owned(), "1,234".to_owned(), "often".to_owned()],
        ];
        let wide = table(&["skill", "served", "how"], &rows, 80);
        assert_eq!(wide[1], "  a-very-long-name-of-some-skill      12  seldom");
        let narrow = table(&["skill", "served", "how"], &rows, 36);
        assert_eq!(narrow[1], "  a-very-long-name-of-some-…      12");
        assert!(narrow.iter().skip(1).all(|line| line.chars().count() <= 36));
    }

    #[test]
    fn texts_wrap() {
        assert_eq!(
            wrapped("one two\u{1b} three four", 2, 23),
            ["  one two\\u{1b} three", "  four"]
        );
    }
}
