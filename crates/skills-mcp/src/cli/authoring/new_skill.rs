//! `new`: writes one skill into a repository of skills, and checks that it is served.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use skills_core::relpath::RelPath;

use super::{
    created::{Creation, NewFile, create},
    draft::{ROOT_NAME, SkillDraft, accepted_name, refuse_findings},
    shell_word, shown_path, skills_folder,
    templates::SkillLayout,
    visible_line,
};
use crate::{
    cli::{
        Context, Failure, Output,
        ask::{RefusedAnswer, Terminal},
        output::{bold, dim, safe},
        version::typed_command,
    },
    paths::is_folder,
};

#[derive(clap::Args)]
pub(in crate::cli) struct NewSkillOptions {
    /// Its path in the tree, such as ui/react/auth, or a bundle's name
    name: Option<String>,
    /// What the skill is for and when to use it, in a sentence or two
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Words that requests for it have, separated by commas; a tree skill needs three or more
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    keywords: Vec<String>,
    /// Make a bundle: a folder with a SKILL.md [default: what the repository has]
    #[arg(long, conflicts_with = "tree")]
    bundle: bool,
    /// Make a tree skill: a Markdown file [default: what the repository has]
    #[arg(long)]
    tree: bool,
}

/// Stands for a description where none is given and nobody can be asked; `check` asks for it to be written.
const OPEN_DESCRIPTION: &str = "TODO: say what this skill is for and when to use it.";
/// A description may be this long, as in the Agent Skills format.
const MAX_DESCRIPTION_CHARS: usize = 1_024;
/// A tree skill with fewer keywords is found by too many requests, or too few.
const MIN_TREE_KEYWORDS: usize = 3;
pub(super) fn run(context: &Context, options: &NewSkillOptions) -> Result<ExitCode, Failure> {
    let folder = skills_folder_of(context)?;
    let mut terminal = Terminal::open();
    if let Some(terminal) = terminal.as_mut().filter(|_| options.name.is_none()) {
        terminal
            .explain("The name is a path in the tree, such as ui/react/auth, or a bundle's name.");
    }
    let name = needed(terminal.as_mut(), options.name.as_deref(), "Name", "NAME", accepted_name)?;
    let layout = layout(&folder, options, &name, terminal.as_mut())?;
    let draft = SkillDraft { folder, name, layout };
    draft.check_place()?;
    let description = description(options, terminal.as_mut())?;
    let keywords = keywords(&draft, &description, options, terminal.as_mut())?;
    let file = NewFile { path: draft.file()?, text: draft.text(&description, &keywords) };
    let shown = shown_path(context, &draft.folder.join(file.path.as_str()));
    match create(&draft.folder, &file).map_err(Failure::environment)? {
        Creation::Kept => return Err(draft.exists(&shown)),
        Creation::Made => {}
    }
    let mut out = Output::new();
    out.line(format!("made  {}", bold(&safe(&shown))));
    let served = served_as(context, &draft.folder, &file.path, &shown)?;
    let request =
        if keywords.is_empty() { served.replace(['-', '/'], " ") } else { keywords.join(" ") };
    out.line(dim(&format!("      served as {served}")));
    let typed = typed_command(context.program, &context.environment);
    next(&mut out, &typed, &shell_word(&shown_path(context, &draft.folder)), &request);
    Ok(ExitCode::SUCCESS)
}

fn description(
    options: &NewSkillOptions,
    mut terminal: Option<&mut Terminal>,
) -> Result<String, Failure> {
    let given = options.description.as_deref();
    let given = given.or_else(|| terminal.is_none().then_some(OPEN_DESCRIPTION));
    if let Some(terminal) = terminal.as_mut().filter(|_| given.is_none()) {
        terminal.explain(
            "The description says what the skill is for and when to use it, such as \"How we write tests. Use when adding a test.\"",
        );
    }
    needed(terminal, given, "Description", "--description", |text| {
        visible_line(text, MAX_DESCRIPTION_CHARS)
    })
}

/// The keywords, which a bundle need not have.
fn keywords(
    draft: &SkillDraft,
    description: &str,
    options: &NewSkillOptions,
    mut terminal: Option<&mut Terminal>,
) -> Result<Vec<String>, Failure> {
    let accept = |words: &str| -> Result<Vec<String>, RefusedAnswer> {
        let keywords = accepted_keywords(words, draft.layout)?;
        refuse_findings(draft.text(description, &keywords), draft.layout)?;
        Ok(keywords)
    };
    let given = options.keywords.join(",");
    if !given.is_empty() || draft.layout == SkillLayout::Bundles {
        return accept(&given).map_err(|refused| refused.of("--keywords"));
    }
    if let Some(terminal) = terminal.as_mut() {
        terminal.explain(
            "Keywords are words that requests for this skill have: five to eight are best.",
        );
    }
    needed(terminal, None, "Keywords, with commas", "--keywords", accept)
}

/// A value that a flag gives or the person answers; without either it is an error.
fn needed<T>(
    terminal: Option<&mut Terminal>,
    given: Option<&str>,
    question: &str,
    what: &str,
    accept: impl Fn(&str) -> Result<T, RefusedAnswer>,
) -> Result<T, Failure> {
    match (given, terminal) {
        (Some(given), _) => accept(given).map_err(|refused| refused.of(what)),
        (None, Some(terminal)) => terminal.ask(question, None, accept),
        (None, None) => Err(Failure::usage(
            format!("{what} is missing"),
            "write `skills-mcp new NAME --description TEXT`, for a tree skill with `--keywords a,b,c`; on a terminal the command asks",
        )),
    }
}

/// The folder that `--dir` names, else the one around the start directory, else that of `SKILLS_DIR`.
fn skills_folder_of(context: &Context) -> Result<PathBuf, Failure> {
    let environment = &context.environment;
    let directories = &context.shared.directories;
    if directories.len() > 1 || !context.shared.repositories.is_empty() {
        return Err(Failure::usage(
            "a skill is written into one folder of this machine",
            "name it with one --dir PATH, and without --repo",
        ));
    }
    let around = || skills_folder::around(&environment.directory, environment.home.as_deref());
    if directories.is_empty()
        && let Some(found) = around()
    {
        return Ok(found);
    }
    let Some(named) = context.named()?.directories().next().cloned() else {
        return Err(Failure::usage(
            "there is no folder of skills here or above",
            "`skills-mcp init` makes one; --dir PATH names another",
        ));
    };
    if !is_folder(&named.path) {
        return Err(Failure::usage(
            format!("{}: there is no directory {}", named.origin, named.path.display()),
            "`skills-mcp init PATH` makes one",
        ));
    }
    Ok(skills_folder::at(&named.path).unwrap_or(named.path))
}

/// Keywords between commas, each once.
fn accepted_keywords(words: &str, layout: SkillLayout) -> Result<Vec<String>, RefusedAnswer> {
    let mut keywords: Vec<String> = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let word = visible_line(word, MAX_DESCRIPTION_CHARS)?;
        if !keywords.iter().any(|known| known.to_lowercase() == word.to_lowercase()) {
            keywords.push(word);
        }
    }
    if layout == SkillLayout::Tree && keywords.len() < MIN_TREE_KEYWORDS {
        let hint =
            format!("write at least {MIN_TREE_KEYWORDS} different words, with commas between them");
        return Err(RefusedAnswer::new("a tree skill with so few keywords is hard to find", hint));
    }
    Ok(keywords)
}

/// What the flags say, else what the name or the folder shows, else what the person answers.
fn layout(
    folder: &Path,
    options: &NewSkillOptions,
    name: &str,
    terminal: Option<&mut Terminal>,
) -> Result<SkillLayout, Failure> {
    let has_tree = || skills_folder::holds_tree(folder);
    // Agents' directories, such as .claude/skills, are read for bundles only.
    let is_of_agents = folder
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    if options.bundle || (is_of_agents && !options.tree) {
        return Ok(SkillLayout::Bundles);
    }
    if options.tree || name.contains('/') || name == ROOT_NAME || has_tree() {
        return Ok(SkillLayout::Tree);
    }
    match terminal {
        _ if skills_folder::holds_bundles(folder) => Ok(SkillLayout::Bundles),
        None => Ok(SkillLayout::Tree),
        Some(terminal) => terminal.choose(
            "Kind",
            &[("tree", SkillLayout::Tree), ("bundle", SkillLayout::Bundles)],
            "tree",
        ),
    }
}

/// The name under which the new file is served.
fn served_as(
    context: &Context,
    folder: &Path,
    file: &RelPath,
    shown: &str,
) -> Result<String, Failure> {
    let mut shared = context.shared.clone();
    shared.directories = vec![folder.to_path_buf()];
    shared.repositories.clear();
    let other = Context { shared, ..context.clone() };
    let snapshot = other.opened()?.snapshot;
    let path = folder.join(file.as_str());
    let mut skills = snapshot.catalog.skills();
    let served = skills
        .find(|skill| snapshot.source_path(skill.source).join(skill.file.as_str()) == path)
        .map(|skill| skill.identity.to_string());
    served.ok_or_else(|| {
        let found = snapshot.diagnostics().into_iter().find(|found| found.file == file.as_str());
        let why = found.map(|found| format!(": {}", found.finding.message)).unwrap_or_default();
        Failure::finding(format!("{shown} is not served{why}"))
            .with_hint("move the file; `skills-mcp doctor` shows what is served")
    })
}

/// What to do next.
fn next(out: &mut Output, typed: &str, folder: &str, request: &str) {
    out.heading("Next");
    out.sentence("  ", "Write its rules and steps into the file.");
    for (command, about) in [
        (
            format!("{typed} --dir {folder} try {}", shell_word(request)),
            "shows whether a request finds the skill, and why",
        ),
        (format!("{typed} check {folder}"), "shows mistakes, each with file, line and fix"),
    ] {
        out.line(format!("  {}", bold(&safe(&command))));
        out.sentence("    ", about);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_skill_has_three_different_keywords() {
        let accepted = |words| accepted_keywords(words, SkillLayout::Tree);
        assert_eq!(accepted("a, b ,c,,A").map(|words| words.len()), Ok(3));
        assert!(accepted("a,b,A").is_err());
        assert!(accepted("a,b,c\u{200b}").is_err());
    }
}
