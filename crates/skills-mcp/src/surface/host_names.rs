//! Names that a client fills in when it loads a skill by itself: folders and arguments. A model that loads the skill from this server is
//! told what they stand for; a prompt has them filled in.
//!
//! Not here: the text itself, which stays the author's bytes.

use skills_core::catalog::Skill;

use super::{Call, skill::base_directory};

pub(super) const SKILL_FOLDER: &str = "${CLAUDE_SKILL_DIR}";
/// The names of a skill's own folder.
const FOLDER_NAMES: [&str; 5] =
    [SKILL_FOLDER, "${SKILL_DIR}", "$SKILL_DIR", "{baseDir}", "<skill-dir>"];
/// The name of the folder of the plugin around a skill.
const PLUGIN_ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";
const ARGUMENTS: &str = "$ARGUMENTS";

/// Says what the names in a text stand for, in one line; `None` if the text has none of them.
pub(super) fn explained(call: &Call, skill: &Skill, text: &str) -> Option<String> {
    if !text.contains(['$', '{', '<']) {
        return None;
    }
    let mut said = Vec::new();
    if text.contains(PLUGIN_ROOT) {
        let folder = match call.profile.remote {
            None => call.snapshot.plugin_root(skill),
            Some(_) => "the plugin's folder on the server".to_owned(),
        };
        said.push(format!("`{PLUGIN_ROOT}` is {folder}"));
    }
    let mut folders = FOLDER_NAMES.iter().filter(|name| text.contains(**name));
    if let Some(name) = folders.next() {
        let folder = match call.profile.remote {
            None => base_directory(call, skill),
            Some(_) => "the skill's folder on the server".to_owned(),
        };
        said.push(format!("`{name}` is {folder}"));
        said.extend(folders.map(|name| format!("`{name}`, too")));
    }
    if text.contains(ARGUMENTS) {
        said.push(format!("`{ARGUMENTS}` is what the user asked for"));
    }
    (!said.is_empty()).then(|| format!("In the text, {}.", said.join("; ")))
}

/// A text with the arguments of a prompt in their places (`$ARGUMENTS`, `$ARGUMENTS[0]`, `$0`), or behind it.
pub(super) fn filled_in(text: &str, arguments: Option<&str>) -> String {
    let arguments = arguments.unwrap_or_default().trim();
    let words = words(arguments);
    let (mut filled, mut rest, mut has_place) = (String::with_capacity(text.len()), text, false);
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let name = ARGUMENTS.trim_start_matches('$');
        let given = |at: usize| words.get(at).map(String::as_str);
        let place = if let Some(behind) = after.strip_prefix(name) {
            let place = behind.strip_prefix('[').and_then(numbered);
            let place = place.and_then(|(at, left)| {
                Some((given(at).unwrap_or_default(), left.strip_prefix(']')?))
            });
            place.or(Some((arguments, behind)))
        } else {
            // A price is no place: only a word that was given has one.
            numbered(after).and_then(|(at, left)| Some((given(at)?, left)))
        };
        has_place |= place.is_some();
        let (value, left) = place.unwrap_or(("$", after));
        filled.push_str(value);
        rest = left;
    }
    filled.push_str(rest);
    if !has_place && !arguments.is_empty() {
        return format!("{filled}\n\nARGUMENTS: {arguments}");
    }
    filled
}

/// A number at the start of a text, and what follows it.
fn numbered(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
}

/// The words of arguments; quotes hold a word together.
fn words(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in arguments.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_in_their_places_or_behind_the_text() {
        for (text, arguments, filled) in [
            ("Fix $ARGUMENTS now.", Some("#5"), "Fix #5 now."),
            ("Fix $ARGUMENTS.", None, "Fix ."),
            ("Fix it.", Some("#5"), "Fix it.\n\nARGUMENTS: #5"),
            ("Fix it.", Some(" "), "Fix it."),
            ("$ARGUMENTS[1] for $ARGUMENTS[0]", Some("123 high"), "high for 123"),
            ("$0, then $1 and $2", Some("'a b' \"c\""), "a b, then c and $2"),
            ("It costs $5.", None, "It costs $5."),
            ("$ARGUMENTS[7]", Some("a"), ""),
        ] {
            assert_eq!(filled_in(text, arguments), filled, "{text} {arguments:?}");
        }
    }
}
