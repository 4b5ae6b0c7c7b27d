//! Two texts of a file → a patch in the format that `git apply` takes.

/// So many lines around a change are shown.
const CONTEXT_LINES: usize = 3;

/// The patch that turns `before` into `after`, with this path below the folder it is applied in; empty where both are the same.
/// One hunk holds all changes: edits of front matter are near each other.
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - same;
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count().min(rest);
    if same == old.len() && same == new.len() {
        return String::new();
    }
    let start = same.saturating_sub(CONTEXT_LINES);
    let behind = end.min(CONTEXT_LINES);
    let part = |lines: &[&str], mark: char, from: usize, to: usize| -> String {
        let shown = lines.get(from..to).unwrap_or_default();
        shown.iter().map(|line| marked(mark, line)).collect()
    };
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let range = |count: usize| match count {
        0 => "0,0".to_owned(),
        count => format!("{},{count}", start + 1),
    };
    format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{} +{} @@\n{}{}{}{}",
        range(old_end + behind - start),
        range(new_end + behind - start),
        part(&old, ' ', start, same),
        part(&old, '-', same, old_end),
        part(&new, '+', same, new_end),
        part(&old, ' ', old_end, old_end + behind),
    )
}

fn marked(mark: char, line: &str) -> String {
    if line.ends_with('\n') {
        format!("{mark}{line}")
    } else {
        format!("{mark}{line}\n\\ No newline at end of file\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        assert_eq!(
            unified_diff("a/b.md", before, &before.replace("5\n", "5\nnew\n")),
            "diff --git a/a/b.md b/a/b.md\n--- a/a/b.md\n+++ b/a/b.md\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n"
        );
        assert_eq!(unified_diff("x", "a\n", "a\n"), "");
        assert_eq!(
            unified_diff("x", "a", "a\nb\n"),
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
        );
    }
}
