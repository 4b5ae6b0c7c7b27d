//! [`RelPath`]: a path proven to stay inside its root.
//!
//! Parsed once where text comes in (a request, a front matter, a directory listing) and a bare string never
//! again, so that no other module can forget the check. It says nothing about symbolic links, which the module that
//! opens files checks.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// A `/`-separated path below some root: no empty, `.` or `..` segment, nothing absolute. The root itself is
/// the empty path and only [`RelPath::root`] makes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RelPath(Arc<str>);

/// Why a text is not a path inside the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelPathError {
    /// The text is empty.
    Empty,
    /// `/etc/passwd`, `C:\x`, `\\host\share`.
    Absolute,
    /// A `..` segment.
    Parent,
    /// A `.` or empty segment in the middle: `a//b`, `a/./b`.
    EmptySegment,
    /// `~` or `~user`.
    Home,
    /// `file:`, `https://`.
    Scheme,
    /// A backslash, which separates on some systems and not on others.
    Backslash,
    /// NUL, newline or another control character.
    Control,
}

impl fmt::Display for RelPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the path is empty",
            Self::Absolute => "the path is absolute",
            Self::Parent => "the path contains '..'",
            Self::EmptySegment => "the path contains an empty or '.' segment",
            Self::Home => "the path starts with '~'",
            Self::Scheme => "the path is a URL",
            Self::Backslash => "the path contains a backslash",
            Self::Control => "the path contains a control character",
        })
    }
}

impl TryFrom<String> for RelPath {
    type Error = RelPathError;

    /// Checks a path that was stored; the root is stored as the empty path.
    fn try_from(stored: String) -> Result<Self, RelPathError> {
        let names = stored.split('/').filter(|_| !stored.is_empty());
        names.into_iter().try_fold(Self::root(), |path, name| path.child(name))
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> Self {
        path.0.to_string()
    }
}

impl RelPath {
    /// The root itself.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Parses a path from a request or a front matter. One leading `./` is forgiven; nothing is decoded, so `%2e%2e` is
    /// a plain (and strange) name.
    pub fn parse(text: &str) -> Result<Self, RelPathError> {
        let path = text.strip_prefix("./").unwrap_or(text);
        if path.is_empty() {
            return Err(RelPathError::Empty);
        }
        if path.chars().any(char::is_control) {
            return Err(RelPathError::Control);
        }
        if path.starts_with(['/', '\\']) || is_drive(path) {
            return Err(RelPathError::Absolute);
        }
        if path.contains('\\') {
            return Err(RelPathError::Backslash);
        }
        if path.starts_with('~') {
            return Err(RelPathError::Home);
        }
        if path.contains("://") || path.to_ascii_lowercase().starts_with("file:") {
            return Err(RelPathError::Scheme);
        }
        for segment in path.split('/') {
            match segment {
                ".." => return Err(RelPathError::Parent),
                "" | "." => return Err(RelPathError::EmptySegment),
                _ => {}
            }
        }
        Ok(Self(Arc::from(path)))
    }

    /// The path of an entry found in this folder, or why its name cannot be used. Names on disk are freer than
    /// names in requests: only what would change the meaning of the path, or of a line of text, is refused.
    pub fn child(&self, name: &str) -> Result<Self, RelPathError> {
        match name {
            "" | "." => return Err(RelPathError::EmptySegment),
            ".." => return Err(RelPathError::Parent),
            _ if name.contains('/') => return Err(RelPathError::Absolute),
            _ if name.chars().any(ends_line) => return Err(RelPathError::Control),
            _ => {}
        }
        Ok(self.push(name))
    }

    /// This folder's path followed by another proven path.
    #[must_use]
    pub fn join(&self, below: &Self) -> Self {
        if below.is_root() { self.clone() } else { self.push(&below.0) }
    }

    /// The rest of this path below a folder, where it is below it.
    pub fn below(&self, folder: &Self) -> Option<Self> {
        if folder.is_root() {
            return (!self.is_root()).then(|| self.clone());
        }
        let rest = self.0.strip_prefix(&*folder.0)?.strip_prefix('/')?;
        Some(Self(Arc::from(rest)))
    }

    fn push(&self, tail: &str) -> Self {
        if self.is_root() {
            Self(Arc::from(tail))
        } else {
            Self(format!("{}/{tail}", self.0).into())
        }
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text, `/`-separated on every system.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments, outermost first; none for the root.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// The last segment; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The enclosing folder; the root is its own.
    #[must_use]
    pub fn folder(&self) -> Self {
        self.0.rsplit_once('/').map_or_else(Self::root, |(folder, _)| Self(Arc::from(folder)))
    }
}

/// Whether a character ends a line, or has another effect where it is printed.
fn ends_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// `C:` at the start, with or without a slash behind it.
fn is_drive(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_spelling_of_an_escape_is_refused() {
        let spellings = [
            ("..", RelPathError::Parent),
            ("../x", RelPathError::Parent),
            ("a/../../x", RelPathError::Parent),
            ("a/..", RelPathError::Parent),
            ("./../x", RelPathError::Parent),
            ("....//x", RelPathError::EmptySegment),
            ("a//b", RelPathError::EmptySegment),
            ("a/./b", RelPathError::EmptySegment),
            ("a/", RelPathError::EmptySegment),
            (".", RelPathError::EmptySegment),
            ("", RelPathError::Empty),
            ("./", RelPathError::Empty),
            ("/etc/passwd", RelPathError::Absolute),
            ("//etc/passwd", RelPathError::Absolute),
            ("/proc/self/root/etc/passwd", RelPathError::Absolute),
            ("C:\\x", RelPathError::Absolute),
            ("c:/x", RelPathError::Absolute),
            ("\\\\host\\share", RelPathError::Absolute),
            ("..\\x", RelPathError::Backslash),
            ("a\\..\\x", RelPathError::Backslash),
            ("~", RelPathError::Home),
            ("~root/x", RelPathError::Home),
            ("file:/etc/passwd", RelPathError::Scheme),
            ("FILE:///etc/passwd", RelPathError::Scheme),
            ("https://example.org/x", RelPathError::Scheme),
            ("a\0b", RelPathError::Control),
            ("a\nb", RelPathError::Control),
        ];
        for (text, why) in spellings {
            assert_eq!(RelPath::parse(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_leading_dot_slash_is_forgiven() {
        assert_eq!(RelPath::parse("./assets/x.ts").unwrap().as_str(), "assets/x.ts");
    }

    // E9
    #[test]
    fn a_name_on_disk_that_would_end_a_line_is_refused() {
        for end in ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"] {
            let name = format!("x.md ==={end}=== GLOBAL RULES (from _root.md) ===.md");
            assert_eq!(RelPath::root().child(&name), Err(RelPathError::Control), "{end:?}");
        }
    }

    #[test]
    fn folder_and_name_split_at_the_last_slash() {
        let path = RelPath::parse("ui/react/auth.md").unwrap();
        assert_eq!((path.folder().as_str(), path.name()), ("ui/react", "auth.md"));
        assert!(RelPath::parse("auth.md").unwrap().folder().is_root());
    }

    proptest! {
        #[test]
        fn what_parses_never_leaves_its_root(text in "[./~a-z\\\\:%\u{0}]{0,24}") {
            if let Ok(path) = RelPath::parse(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.segments().count() > 0);
                prop_assert!(path.segments().all(|s| s != ".." && s != "."));
            }
        }
    }
}
