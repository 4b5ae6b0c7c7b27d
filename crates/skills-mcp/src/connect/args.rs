//! The server's own arguments in an entry, flag by flag, so that a flag of a command line changes only what it says.
//!
//! Not here: what a flag means (`cli`); a test there compares these flags with its own.

/// The flags of a server that take a value.
pub const VALUE_FLAGS: [&str; 9] = [
    DIRECTORY_FLAG,
    REPOSITORY_FLAG,
    "--native",
    "--tools",
    "--listing",
    "--listing-budget",
    "--client",
    SETTING_FLAG,
    "--log",
];
/// The flags of a server that take none.
pub const SWITCHES: [&str; 2] = ["--no-default-dirs", "--with-own-skills"];

pub(super) const DIRECTORY_FLAG: &str = "--dir";
pub(super) const REPOSITORY_FLAG: &str = "--repo";
const SETTING_FLAG: &str = "--set";

/// A flag with its value, or a word that is none of the flags above, such as a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryArg<'a> {
    /// The flag; none for other words.
    pub(super) flag: Option<&'a str>,
    /// Its value, where it takes one.
    pub(super) value: Option<&'a str>,
    /// As it is written.
    pub(super) words: &'a [String],
}

impl<'a> EntryArg<'a> {
    /// The arguments of an entry in their order.
    pub(super) fn all(mut args: &'a [String]) -> Vec<Self> {
        let mut all = Vec::new();
        while let Some(first) = args.first() {
            let (name, inline) = match first.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (first.as_str(), None),
            };
            let takes_value = VALUE_FLAGS.contains(&name);
            let next = args.get(1).filter(|_| takes_value && inline.is_none());
            let flag = (takes_value || SWITCHES.contains(&name)).then_some(name);
            let (words, rest) = args.split_at(1 + usize::from(next.is_some()));
            all.push(Self { flag, value: inline.or(next.map(String::as_str)), words });
            args = rest;
        }
        all
    }

    /// Whether it says where skills come from.
    pub(super) fn names_source(&self) -> bool {
        matches!(self.flag, Some(DIRECTORY_FLAG | REPOSITORY_FLAG))
    }

    /// Whether it takes the place of another: all that name sources do together, and a setting does for its own key.
    fn replaces(&self, other: &Self) -> bool {
        let key =
            |arg: &Self| arg.value.and_then(|value| value.split_once('=')).map(|(key, _)| key);
        match (self.flag, other.flag) {
            (Some(SETTING_FLAG), Some(SETTING_FLAG)) => key(self) == key(other),
            (Some(flag), Some(old)) => flag == old || (self.names_source() && other.names_source()),
            _ => false,
        }
    }
}

/// Whether arguments say where skills come from.
pub(super) fn name_sources(args: &[String]) -> bool {
    EntryArg::all(args).iter().any(EntryArg::names_source)
}

/// The arguments of an entry with those of a command line, each in the place of what it replaces. `without_sources` says
/// that a variable takes the place of what they say of sources.
pub(super) fn merged(old: &[String], new: &[String], without_sources: bool) -> Vec<String> {
    let new = EntryArg::all(new);
    let mut left = new.clone();
    let mut merged = Vec::new();
    for arg in EntryArg::all(old) {
        if new.iter().any(|new| new.replaces(&arg)) {
            let (here, later): (Vec<_>, Vec<_>) =
                left.iter().copied().partition(|new| new.replaces(&arg));
            merged.extend(here);
            left = later;
        } else if !(without_sources && arg.names_source()) {
            merged.push(arg);
        }
    }
    merged.extend(left);
    merged.iter().flat_map(|arg| arg.words).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_flag_replaces_itself_and_one_that_names_a_source_all_sources() {
        let old =
            "--repo https://x --set a.b=1 --set=a.c=2 --no-default-dirs serve --http 127.0.0.1:1";
        let cases = [
            ("", old.to_owned()),
            ("--tools flat", format!("{old} --tools flat")),
            ("--set a.b=3", old.replace("a.b=1", "a.b=3")),
            (
                "--set a.c=3 --set a.d=4",
                format!("{} --set a.d=4", old.replace("--set=a.c=2", "--set a.c=3")),
            ),
            ("--dir /x --dir /y", old.replace("--repo https://x", "--dir /x --dir /y")),
            ("--no-default-dirs", old.to_owned()),
        ];
        for (new, expected) in cases {
            let once = merged(&words(old), &words(new), false);
            assert_eq!(once, words(&expected), "{new}");
            assert_eq!(merged(&once, &words(new), false), once, "{new}");
        }
        let several = "--dir=/x --tools all --repo u";
        assert_eq!(
            merged(&words(several), &words("--repo v"), false),
            words("--repo v --tools all")
        );
        assert_eq!(merged(&words(several), &[], true), words("--tools all"));
        assert_eq!(
            merged(&words("--dir"), &words("--tools all"), false),
            words("--dir --tools all")
        );
    }
}
