//! Lints of links: those of a body that lead to a file that is not there.
//!
//! Looks at Markdown's inline links, images and link definitions outside of code. A target with a scheme, an anchor, an
//! absolute path or a placeholder in it is not a file of the skill.

use super::{CheckedSkill, listed};
use crate::{
    catalog::{Folder, SkillKind},
    diagnostic::{Code, Finding, Position},
    relpath::RelPath,
};

pub(super) fn lint(checked: &CheckedSkill<'_>, found: &mut Vec<Finding>) {
    let Some(source) = checked.catalog.sources().get(checked.skill.source) else { return };
    let mut broken: Vec<(Position, String)> = Vec::new();
    for (at, target) in targets(checked.text.body()) {
        if is_broken(checked, &source.root, &target)
            && !broken.iter().any(|(_, known)| *known == target)
        {
            broken.push((at, target));
        }
    }
    let Some((first, _)) = broken.first() else { return };
    let at = Position { line: checked.text.lines_above_body() + first.line, column: first.column };
    let names: Vec<&str> = broken.iter().map(|(_, target)| target.as_str()).collect();
    let message = match names.as_slice() {
        [one] => format!("the link to `{one}` leads to a file that does not exist"),
        _ => format!("the links to {} lead to files that do not exist", listed(&names)),
    };
    let hint = match checked.skill.kind {
        SkillKind::Bundle => "write the path from the bundle's folder, and add the file to it",
        SkillKind::Tree => "write the path from this file's folder or from its resource folder",
    };
    found.push(Finding::new(Code::LinkBroken, at, message).hint(hint));
}

/// Whether a target is a path, and neither a file nor a folder of the source is there.
fn is_broken(checked: &CheckedSkill<'_>, root: &Folder, target: &str) -> bool {
    let Some(path) = path_of(target) else { return false };
    let skill = checked.skill;
    let bases = [Some(skill.file.folder()), skill.resources.clone()];
    !bases.into_iter().flatten().any(|base| {
        joined(&base, &path).is_some_and(|joined| {
            joined.is_root() || root.file(&joined).is_some() || root.folder(&joined).is_some()
        })
    })
}

/// A path followed from a folder; none where it leaves the source.
fn joined(base: &RelPath, path: &str) -> Option<RelPath> {
    let mut at = base.clone();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." if at.is_root() => return None,
            ".." => at = at.folder(),
            name => at = at.child(name).ok()?,
        }
    }
    Some(at)
}

/// The path that a link's target names, where it is one of a file beside the text.
fn path_of(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let path = percent_decoded(path);
    let scheme = path.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
    });
    let placeholder = path.contains(['{', '}', '<', '>', '$', '*', '|', '\\', '"', '…'])
        || path.contains("...")
        || path.contains("path/to/")
        || path.contains("example.com");
    // A single word is more often a placeholder (`url`, `link`) than a file without an extension.
    let is_path =
        path.contains(['/', '.']) && !path.starts_with(['/', '~', '@', '#', '!', '(', '[']);
    (is_path && !scheme && !placeholder).then_some(path)
}

fn percent_decoded(path: &str) -> String {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let byte =
            digit(0).zip(digit(1)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        if let Some(byte) = byte.filter(|_| *first == b'%') {
            decoded.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| path.to_owned())
}

/// Every link target of a Markdown text outside of code, with its place in the text.
fn targets(body: &str) -> Vec<(Position, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(body.lines()) {
        let text = line.trim_start();
        let marks = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, marks) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) if !line.contains("](") && !line.contains("]: ") => {}
            (None, None) => {
                let text = without_code(line);
                let targets = inline_targets(&text).chain(definition(&text));
                found.extend(targets.map(|target| (place(number, line, &target), target)));
            }
        }
    }
    found
}

/// Where a target is in the body.
fn place(line_number: u32, line: &str, target: &str) -> Position {
    let before = line.split(target).next().unwrap_or_default();
    let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
    Position { line: line_number, column }
}

/// The line with its code spans blanked.
fn without_code(line: &str) -> String {
    let mut parts = line.split('`');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = parts.collect();
    // An odd mark at the end opens nothing.
    for (number, part) in rest.iter().enumerate() {
        let is_code = number % 2 == 0 && number + 1 < rest.len();
        text.push_str(if is_code { " " } else { part });
    }
    text
}

/// The targets of `[text](target)` and `![text](target "title")`.
fn inline_targets(text: &str) -> impl Iterator<Item = String> {
    text.split("](").skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        if let Some(angled) = rest.strip_prefix('<') {
            return Some(angled.split_once('>')?.0.to_owned());
        }
        let mut depth = 0_u32;
        let end = rest.find(|c: char| match c {
            '(' => {
                depth += 1;
                false
            }
            ')' if depth == 0 => true,
            ')' => {
                depth -= 1;
                false
            }
            _ => c.is_whitespace(),
        })?;
        rest.get(..end).filter(|target| !target.is_empty()).map(str::to_owned)
    })
}

/// The target of `[label]: target`.
fn definition(text: &str) -> Option<String> {
    let (label, rest) = text.trim_start().strip_prefix('[')?.split_once("]: ")?;
    let target = rest.split_whitespace().next()?.trim_matches(['<', '>']);
    let is_definition = !label.is_empty() && !label.contains(['[', ']']) && !label.starts_with('^');
    // `[ ]: note` and checklists are no definitions; a target has a dot or a slash.
    (is_definition && target.contains(['.', '/'])).then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_of_code_are_found_with_their_lines() {
        let body = "See [a](a.md) and ![b](img/b%20c.png \"title\").\n`[no](x.md)`\n```\n[no](y.md)\n```\n\
                    [c](<with blank.md>) [d](d(1).md)\n[ref]: refs/e.md\n- [ ]: todo\n";
        let found = targets(body).into_iter().map(|(at, target)| (at.line, target));
        let expected = [
            (1, "a.md"),
            (1, "img/b%20c.png"),
            (6, "with blank.md"),
            (6, "d(1).md"),
            (7, "refs/e.md"),
        ];
        let expected = expected.map(|(line, target)| (line, target.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_paths_of_files_count() {
        for other in [
            "https://x.org/a.md",
            "mailto:a@b.c",
            "#anchor",
            "/etc/x.md",
            "~/x.md",
            "url",
            "{path}/x.md",
            "path/to/x.md",
            "$DIR/x",
        ] {
            assert_eq!(path_of(other), None, "{other}");
        }
        assert_eq!(path_of("a%20b.md#part").as_deref(), Some("a b.md"));
        assert_eq!(path_of("./x/y").as_deref(), Some("./x/y"));
    }
}
