//! What a walk says of what it runs into, with the way out.

use skills_core::diagnostic::{Code, Finding};

/// The way out of a link that is not followed.
pub(super) const LINK_REFUSED: &str = "replace the link by what it leads to, or link to a folder with a SKILL.md; in a directory that you name, `links.allow` in your own configuration lists further folders";

/// The way out of whatever a walk runs into.
const HINTS: &[(Code, &str)] = &[
    (Code::LinkRefused, LINK_REFUSED),
    (Code::LinkLoop, "remove the link"),
    (Code::Unreadable, "fix its permissions, or move it away"),
    (Code::NameUnusable, "rename it, with letters, digits and hyphens"),
    (Code::NotRegular, "remove it, or put a regular file in its place"),
    (Code::TooDeep, "move it up"),
    (Code::TooMany, "split the source into several"),
];

/// A finding about something that was walked into.
pub(super) fn finding(code: Code, message: impl Into<String>) -> Finding {
    let hint = HINTS.iter().find(|(known, _)| *known == code).map(|(_, hint)| *hint);
    let finding = Finding::whole(code, message);
    match hint {
        Some(hint) => finding.hint(hint),
        None => finding,
    }
}
