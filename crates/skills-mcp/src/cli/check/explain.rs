//! What each code means, why it matters, an example and the way out. `docs/diagnostics.md` is made of the same text.

use std::fmt::Write as _;

use skills_core::diagnostic::Code;

use super::super::{Failure, output::safe, report::level_name};

/// A section for each code: `## code`, then three paragraphs that begin with `Why:`, `Example:` and `Fix:`.
const EXPLANATIONS: &str = include_str!("explanations.md");

/// The command that explains a code.
pub(super) fn command(code: Code) -> String {
    format!("skills-mcp check --explain {}", code.name())
}

/// The explanation of the code of this name.
pub(super) fn explained(name: &str) -> Result<String, Failure> {
    let code = Code::named(name).ok_or_else(|| {
        let all = || {
            let names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
            format!("there are {}", names.join(", "))
        };
        let near = Code::near(name).map(|near| format!("did you mean `{near}`?"));
        let hint = near.unwrap_or_else(all);
        Failure::usage(format!("there is no code `{}`", safe(name)), hint)
    })?;
    Ok(format!("{} ({})\n\n{}", code.name(), level_name(code.severity()), section(code)))
}

/// The explanation of a code as Markdown: what it means, why it matters, an example, the way out.
pub(super) fn section(code: Code) -> String {
    let mut meaning = code.meaning().to_owned();
    if let Some(first) = meaning.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{meaning}.\n\n{}", paragraphs(code).unwrap_or_default())
}

fn paragraphs(code: Code) -> Option<&'static str> {
    let heading = format!("## {}\n", code.name());
    let mut sections = EXPLANATIONS.split("\n## ");
    let own = sections.find(|section| {
        let line = section.trim_start_matches("## ").lines().next();
        line == heading.trim_start_matches("## ").lines().next()
    })?;
    Some(own.split_once('\n')?.1.trim())
}

/// The page of all codes.
pub fn page() -> String {
    let mut page = String::from(PAGE_HEAD);
    let is_lint = |code: &Code| Code::LINTS.contains(code);
    let (lints, others): (Vec<Code>, Vec<Code>) = Code::ALL.iter().partition(|code| is_lint(code));
    for (title, codes) in [("Found by every command", others), ("Found by `check` only", lints)] {
        let _ = write!(page, "\n## {title}\n");
        for code in codes {
            let (name, level) = (code.name(), level_name(code.severity()));
            let _ = write!(page, "\n### {name}\n\n*{level}.* {}\n", section(code));
        }
    }
    page
}

const PAGE_HEAD: &str = "# Diagnostics

A test makes this page from the tables in the code. Do not edit it: `UPDATE_DOCS=1 ./scripts/test` writes it again.

Every finding has a stable code. An *error* means that a file is not served; a *warning*, that it is served less well than its
author meant; a *note* is worth knowing. `skills-mcp check --explain CODE` prints a section of this page, and `check.rules` in
the content's `config.yaml` [changes what a code counts](check.md#rules).
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_and_nothing_else_is() {
        for code in Code::ALL {
            let text =
                paragraphs(*code).unwrap_or_else(|| panic!("{} is not explained", code.name()));
            for part in ["Why: ", "Example:", "Fix: "] {
                assert!(text.contains(part), "{}: no {part}", code.name());
            }
        }
        let sections = EXPLANATIONS.lines().filter_map(|line| line.strip_prefix("## "));
        for name in sections {
            assert!(Code::named(name).is_some(), "{name}");
        }
    }
}
