//! The Skills extension: `skills/list`, `skills/get` and `resources/directory/read`.
//!
//! An entry is a skill's address, its front matter and its manifest: every file with digest and size. Not here: which skills are
//! published and what their files hash to (`published`).

use serde_json::{Map, Value, json};
use skills_core::{digest::hex, relpath::RelPath};

use super::{
    Refusal,
    cursor::PagedList,
    published::{
        BUNDLE_FILE, HashedSkill, Publication, PublishedSkill, description, entries_of, media_type,
    },
};

/// The extension's name in the capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Its methods.
pub const EXTENSION_METHODS: &[&str] = &["skills/list", "skills/get", "resources/directory/read"];

/// So many skills are on one page: clients are known that ask for 250 pages and no more.
const MAX_SKILLS_ON_PAGE: usize = 1_000;
/// A page ends with the skill that brings it to about so many bytes.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// Answers a method of the extension.
pub fn answer(
    publication: &Publication,
    method: &str,
    params: Option<&Value>,
) -> Result<Map<String, Value>, Refusal> {
    let text = |name: &str| match params.and_then(|params| params.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(Refusal::Params(format!("{method}: `{name}` is not text"))),
    };
    let uri = || text("uri")?.ok_or_else(|| Refusal::Params(format!("{method}: `uri` is missing")));
    match method {
        "skills/list" => list(publication, text("cursor")?),
        "skills/get" => get(publication, uri()?),
        _ => directory(publication, uri()?, text("cursor")?),
    }
}

fn list(publication: &Publication, cursor: Option<&str>) -> Result<Map<String, Value>, Refusal> {
    let after = PagedList::Skills.key(cursor)?;
    let skills = publication.addresses.after(after.as_deref());
    let mut page = Vec::new();
    let mut bytes = 0;
    let mut last = None;
    for address in skills {
        if page.len() == MAX_SKILLS_ON_PAGE || bytes >= MAX_PAGE_BYTES {
            break;
        }
        publication.check_cancelled()?;
        last = Some(address);
        let Some(skill) = publication.skill(address) else { continue };
        let hashed = match publication.hashed(address, skill) {
            // One skill that is being written again and again does not cost the others.
            Err(Refusal::Stale(_)) if publication.is_last_try => continue,
            hashed => hashed?,
        };
        let Some(hashed) = hashed else { continue };
        let entry = entry(address, &hashed)?;
        let a_file = address.root.len() + 130;
        bytes += hashed.front_matter.len() + (hashed.files.len() + 2) * a_file;
        page.push(entry);
    }
    let mut listed = Map::from_iter([("skills".to_owned(), Value::Array(page))]);
    let is_end = skills.last().map(|skill| &skill.root) == last.map(|skill| &skill.root);
    if let Some(last) = last.filter(|_| !is_end) {
        listed.insert("nextCursor".to_owned(), json!(PagedList::Skills.cursor(&last.root)));
    }
    Ok(listed)
}

fn get(publication: &Publication, uri: &str) -> Result<Map<String, Value>, Refusal> {
    let unknown = || {
        let what = |uri: &str| format!("'{uri}' is not the SKILL.md of a published skill");
        Refusal::Params(publication.other_than(uri, what))
    };
    let (address, path) = publication.addresses.find(uri).ok_or_else(unknown)?;
    if path.as_str() != BUNDLE_FILE {
        return Err(unknown());
    }
    let skill = publication.skill(address).ok_or_else(unknown)?;
    let hashed = publication.hashed(address, skill)?.ok_or_else(unknown)?;
    Ok(Map::from_iter([("skill".to_owned(), entry(address, &hashed)?)]))
}

/// Clients refuse an entry with any other key.
fn entry(address: &PublishedSkill, hashed: &HashedSkill) -> Result<Value, Refusal> {
    let internal = |error: serde_json::Error| Refusal::Internal(error.to_string());
    let front_matter: Value = serde_json::from_str(&hashed.front_matter).map_err(internal)?;
    let file = |uri: String, digest: &[u8], size: u64| json!({"uri": uri, "digest": format!("sha256:{}", hex(digest)), "size": size});
    let own = file(address.text_uri(), &hashed.digest, hashed.size);
    let beside = hashed
        .files
        .iter()
        .map(|beside| file(address.uri(&beside.path), &beside.digest, beside.size));
    let resources: Vec<Value> = std::iter::once(own).chain(beside).collect();
    Ok(json!({"uri": address.text_uri(), "frontmatter": front_matter, "resources": resources}))
}

/// A folder has at most as many entries as a skill may have files, so that there is one page.
fn directory(
    publication: &Publication,
    uri: &str,
    cursor: Option<&str>,
) -> Result<Map<String, Value>, Refusal> {
    if let Some(cursor) = cursor {
        let message = format!("unknown cursor '{cursor:.200}'; all of a folder is on one page");
        return Err(Refusal::Params(message));
    }
    let unknown = || {
        let what = |uri: &str| format!("'{uri}' is not a folder of a published skill");
        Refusal::Params(publication.other_than(uri, what))
    };
    let (address, folder) = publication.addresses.find(uri).ok_or_else(unknown)?;
    let skill = publication.skill(address).ok_or_else(unknown)?;
    let hashed = publication.hashed(address, skill)?.ok_or_else(unknown)?;
    let (files, folders) = entries_of(&hashed, &folder);
    if !folder.is_root() && files.is_empty() && folders.is_empty() {
        return Err(unknown());
    }
    let mut entries = Vec::new();
    if folder.is_root() {
        let description = description(skill);
        entries.push(
            json!({"uri": address.text_uri(), "name": address.name(), "description": description,
            "mimeType": "text/markdown", "size": hashed.size}),
        );
    }
    entries.extend(files.into_iter().map(|(path, size)| {
        let mut entry = json!({"uri": address.uri(path), "name": path.name(), "size": size});
        if let (Some(media_type), Some(entry)) = (media_type(path.name()), entry.as_object_mut()) {
            entry.insert("mimeType".to_owned(), json!(media_type));
        }
        entry
    }));
    let below = |name: &str| -> Option<(RelPath, String)> {
        Some((folder.child(name).ok()?, name.to_owned()))
    };
    entries.extend(folders.into_iter().filter_map(below).map(|(path, name)| {
        json!({"uri": address.uri(&path), "name": name, "mimeType": "inode/directory"})
    }));
    Ok(Map::from_iter([("resources".to_owned(), Value::Array(entries))]))
}
