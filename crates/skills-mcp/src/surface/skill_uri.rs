//! The `skill://` address of a skill, for clients that see no path of this machine.
//!
//! Its last part is the skill's own name, and what stands before it keeps it apart from others: a plugin, a source, folders.

use std::fmt::Write as _;

use skills_core::catalog::{Skill, SkillKind};

/// The address of a skill's folder, without a slash behind it.
pub(super) fn folder(skill: &Skill) -> String {
    let mut uri = String::from("skill://");
    for byte in skill.label.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            // A plugin, or a source.
            b':' => uri.push('/'),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// The address of a skill's own file.
pub(super) fn file(skill: &Skill) -> String {
    let name = match skill.kind {
        SkillKind::Bundle => skill.file.name(),
        SkillKind::Tree => "SKILL.md",
    };
    format!("{}/{name}", folder(skill))
}
