//! A file of a skill, for people: saved, never shown. What may be had is what `get_asset` serves.

use std::fmt::Write as _;

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use skills_core::{
    catalog::{Catalog, FileEntry, Presence, Skill, SkillKind},
    relpath::RelPath,
    resolve::find_file,
};

use super::PageSource;

/// The file, for a browser that saves it.
pub(super) fn download(source: &PageSource, skill: &Skill, file: &str) -> Response {
    let snapshot = &source.snapshot;
    let found = RelPath::parse(file).ok().and_then(|file| {
        let owner = owner(&snapshot.catalog, skill, &file)?;
        Some((file, owner))
    });
    let Some((file, owner)) = found else {
        let message = "This skill has no such file. Its page has those there are.";
        return source.not_found("No such file", message, vec![&skill.identity]);
    };
    match snapshot.read(owner, &file, snapshot.settings().assets.max_size_bytes) {
        Ok(bytes) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
                (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
                (header::CONTENT_DISPOSITION, disposition(file.name())),
            ];
            (headers, bytes).into_response()
        }
        Err(error) => {
            let message = format!("The file {error}.");
            source.not_found("The file cannot be read", &message, vec![&skill.identity])
        }
    }
}

/// The skill that a file belongs to: in the tree only what is declared, in a bundle every file of its own.
fn owner<'a>(catalog: &'a Catalog, skill: &'a Skill, file: &RelPath) -> Option<&'a Skill> {
    match skill.kind {
        SkillKind::Bundle => {
            let listed = catalog.files(skill)?.file(file)?;
            matches!(listed, FileEntry::Regular { .. }).then_some(skill)
        }
        SkillKind::Tree => {
            let found = find_file(catalog, skill, file)?;
            (found.presence == Presence::Present).then_some(found.owner)
        }
    }
}

/// Saved under its own name, in characters that no header misreads.
fn disposition(name: &str) -> HeaderValue {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    HeaderValue::try_from(format!("attachment; filename*=UTF-8''{encoded}"))
        .unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_add_to_the_header() {
        assert_eq!(disposition("a.ts"), "attachment; filename*=UTF-8''a.ts");
        assert_eq!(
            disposition("a\"; x=é\r\n.html"),
            "attachment; filename*=UTF-8''a%22%3B%20x%3D%C3%A9%0D%0A.html"
        );
    }
}
