//! `init`: makes a repository of skills, or adds what a team needs to one that is there.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{
    created::{Creation, NewFile, create, foreseen, names_in},
    shell_word,
    skills_folder::{self, SKILLS_FOLDER},
    templates::{self, CiSystem, SkillLayout, TeamFacts},
    visible_line,
};
use crate::{
    cli::{
        Context, Failure, Output,
        ask::{RefusedAnswer, Terminal},
        output::{bold, counted, dim, safe},
        version::typed_command,
    },
    paths::{is_folder, is_taken, real_path_or_same},
    source::git::Remote,
};

#[derive(clap::Args)]
pub(in crate::cli) struct InitOptions {
    /// The folder to make it in
    #[arg(default_value = ".")]
    path: PathBuf,
    /// How the skills are laid out [default: tree]
    #[arg(long, value_enum)]
    layout: Option<SkillLayout>,
    /// Add what a team needs: CI job, CODEOWNERS, config.yaml, README.md, .gitignore
    #[arg(long)]
    team: bool,
    /// Where the CI job runs; implies --team [default: github]
    #[arg(long, value_enum, value_name = "SYSTEM")]
    ci: Option<CiSystem>,
    /// What the README calls the repository; implies --team [default: the folder's name]
    #[arg(long)]
    name: Option<String>,
    /// The repository's URL, for client entries in the README; implies --team
    #[arg(long)]
    url: Option<String>,
    /// Who approves changes, such as @your-org/your-team, for CODEOWNERS; implies --team
    #[arg(long, value_name = "USER|TEAM")]
    owner: Option<String>,
    /// Ask nothing: take the defaults for what no flag says
    #[arg(long, short)]
    yes: bool,
    /// Show which files would be made, and make none
    #[arg(long)]
    dry_run: bool,
}

/// A name of a repository may be this long.
const MAX_NAME_CHARS: usize = 80;
/// The answer that names no owners.
const NO_OWNERS: &str = "none";
/// The line of owners may be this long.
const MAX_OWNER_CHARS: usize = 200;

/// What is to be made.
struct RepositoryPlan {
    folder: PathBuf,
    /// The layout of the example; none where the folder has skills.
    layout: Option<SkillLayout>,
    team: Option<TeamFacts>,
}

pub(super) fn run(context: &Context, options: &InitOptions) -> Result<ExitCode, Failure> {
    if !context.shared.directories.is_empty() || !context.shared.repositories.is_empty() {
        return Err(Failure::usage(
            "init serves nothing, so --dir and --repo do not apply",
            "name the folder alone: `skills-mcp init PATH`",
        ));
    }
    let folder = context.environment.directory.join(&options.path);
    if is_taken(&folder) && !is_folder(&folder) {
        return Err(Failure::usage(
            format!("{} is not a folder", folder.display()),
            "name a folder, or one that does not exist yet",
        ));
    }
    let mut terminal = if options.yes { None } else { Terminal::open() };
    let plan = RepositoryPlan::asked(folder, options, terminal.as_mut())?;
    let mut files = Vec::new();
    let bug = |error: skills_core::relpath::RelPathError| Failure::bug(error.to_string());
    if let Some(layout) = plan.layout {
        files.extend(templates::example(layout).map_err(bug)?);
    }
    if let Some(facts) = &plan.team {
        files.extend(templates::team(facts).map_err(bug)?);
    }
    let mut out = Output::new();
    let made = make(&mut out, &plan.folder, &files, options.dry_run)?;
    if plan.layout.is_none() {
        let what = "no example was added, because there are skills already";
        out.line(format!("{}  {what}", dim("skipped   ")));
    }
    if options.dry_run {
        out.line(format!("{} would be made; nothing was", counted(made, "file")));
    } else {
        let typed = typed_command(context.program, &context.environment);
        next(&mut out, &typed, &shell_word(&options.path.to_string_lossy()), &plan);
    }
    Ok(ExitCode::SUCCESS)
}

impl RepositoryPlan {
    /// What the flags say, then what the person answers, then the defaults.
    fn asked(
        folder: PathBuf,
        options: &InitOptions,
        mut terminal: Option<&mut Terminal>,
    ) -> Result<Self, Failure> {
        let layout = match *possible_layouts(&folder)? {
            [] => None,
            [only] => Some(only).filter(|only| options.layout.is_none_or(|wanted| wanted == *only)),
            _ => Some(match (options.layout, terminal.as_mut()) {
                (Some(wanted), _) => wanted,
                (None, Some(terminal)) => ask_layout(terminal)?,
                (None, None) => SkillLayout::Tree,
            }),
        };
        let implied = options.ci.is_some()
            || [&options.name, &options.url, &options.owner].iter().any(|flag| flag.is_some());
        let is_team = match terminal.as_mut().filter(|_| !options.team && !implied) {
            Some(terminal) => {
                terminal.explain(
                    "A team gets a CI job, CODEOWNERS, config.yaml, a README with client entries and .gitignore.",
                );
                terminal.choose("For a team", &[("yes", true), ("no", false)], "no")?
            }
            None => options.team || implied,
        };
        let team = is_team.then(|| team_facts(&folder, options, terminal, layout)).transpose()?;
        Ok(Self { folder, layout, team })
    }
}

/// The layouts whose example may be made: none beside skills of another origin. What an earlier run has made does not count,
/// so that a run that failed can be completed.
fn possible_layouts(folder: &Path) -> Result<Vec<SkillLayout>, Failure> {
    let skills = folder.join(SKILLS_FOLDER);
    let is_whole = !is_folder(&skills)
        && (skills_folder::holds_tree(folder) || skills_folder::holds_bundles(folder));
    let mut possible = Vec::new();
    for layout in [SkillLayout::Tree, SkillLayout::Bundles] {
        let files = templates::example(layout).map_err(|error| Failure::bug(error.to_string()))?;
        let is_ours = |name: &String| {
            files.iter().any(|file| file.path.segments().nth(1) == Some(name.as_str()))
        };
        if !is_whole && names_in(&skills).iter().all(is_ours) {
            possible.push(layout);
        }
    }
    Ok(possible)
}

fn ask_layout(terminal: &mut Terminal) -> Result<SkillLayout, Failure> {
    terminal.explain(
        "A tree has Markdown files that come with the rules of the folders above them. Bundles are folders with a SKILL.md, \
         which other programs read too.",
    );
    let choices = [("tree", SkillLayout::Tree), ("bundles", SkillLayout::Bundles)];
    terminal.choose("Layout", &choices, "tree")
}

fn team_facts(
    folder: &Path,
    options: &InitOptions,
    mut terminal: Option<&mut Terminal>,
    layout: Option<SkillLayout>,
) -> Result<TeamFacts, Failure> {
    let real = real_path_or_same(folder);
    let own = real.file_name().map(|name| name.to_string_lossy().into_owned());
    let own = own.unwrap_or_else(|| "team-skills".to_owned());
    let name = answered(
        terminal.as_deref_mut(),
        "Name",
        "--name",
        options.name.as_deref(),
        &own,
        |name| visible_line(name, MAX_NAME_CHARS),
    )?;
    let ci = match (options.ci, terminal.as_deref_mut()) {
        (Some(ci), _) => ci,
        (None, None) => CiSystem::Github,
        (None, Some(terminal)) => {
            let choices = [("github", CiSystem::Github), ("gitlab", CiSystem::Gitlab)];
            terminal.choose("CI", &choices, "github")?
        }
    };
    let host = match ci {
        CiSystem::Github => "github.com",
        CiSystem::Gitlab => "gitlab.com",
    };
    let likely = format!("https://{host}/your-org/{}.git", kebab(&name));
    let url = answered(
        terminal.as_deref_mut(),
        "URL",
        "--url",
        options.url.as_deref(),
        &likely,
        accepted_url,
    )?;
    let owners = answered(
        terminal,
        "Owners, such as @org/team",
        "--owner",
        options.owner.as_deref(),
        NO_OWNERS,
        accepted_owners,
    )?;
    let is_whole = layout.is_none() && !is_folder(&folder.join(SKILLS_FOLDER));
    let skills = if is_whole { "." } else { SKILLS_FOLDER };
    Ok(TeamFacts { name, url, owners, ci, skills: skills.to_owned(), layout })
}

/// What a flag says, else what the person answers, else the default.
fn answered(
    terminal: Option<&mut Terminal>,
    question: &str,
    flag: &str,
    given: Option<&str>,
    default: &str,
    accept: impl Fn(&str) -> Result<String, RefusedAnswer>,
) -> Result<String, Failure> {
    match (given, terminal) {
        (Some(given), _) => accept(given).map_err(|refused| refused.of(flag)),
        (None, Some(terminal)) => terminal.ask(question, Some(default), accept),
        (None, None) => accept(default).map_err(|refused| refused.of(flag)),
    }
}

/// A URL that clients can follow. No secret is in it.
fn accepted_url(url: &str) -> Result<String, RefusedAnswer> {
    match Remote::parse(url) {
        Ok(_) => Ok(url.to_owned()),
        Err(error) => Err(RefusedAnswer::new(format!("the URL {error}"), error.hint())),
    }
}

/// Users, teams or addresses as CODEOWNERS has them; or none.
fn accepted_owners(owners: &str) -> Result<String, RefusedAnswer> {
    if matches!(owners.trim(), "" | NO_OWNERS) {
        return Ok(String::new());
    }
    let owners = visible_line(owners, MAX_OWNER_CHARS)?;
    let is_owner = |word: &str| word.contains('@') && !word.contains('#');
    if owners.split_whitespace().all(is_owner) {
        Ok(owners)
    } else {
        Err(RefusedAnswer::new(
            "owners are users, teams or mail addresses",
            "write them as @user, @your-org/your-team or name@example.org, with blanks between them",
        ))
    }
}

/// The words of a name with hyphens between them.
fn kebab(name: &str) -> String {
    let lowered = name.to_lowercase();
    let words = lowered.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "skills".to_owned() } else { words.join("-") }
}

/// Makes the files and says of each what became of it; returns how many are new.
fn make(
    out: &mut Output,
    folder: &Path,
    files: &[NewFile],
    is_dry_run: bool,
) -> Result<usize, Failure> {
    let mut made = 0;
    for file in files {
        let creation = if is_dry_run {
            foreseen(folder, file)
        } else {
            create(folder, file).map_err(|why| {
                let total = files.len();
                Failure::environment(format!("{why}; {made} of {total} files were made"))
                    .with_hint("resolve this and run the command again: it keeps what is there and makes the rest")
            })?
        };
        let path = file.path.as_str();
        match creation {
            Creation::Made if is_dry_run => out.line(format!("would make  {path}")),
            Creation::Made => out.line(format!("made        {path}")),
            Creation::Kept => {
                out.line(format!("kept        {path}  {}", dim("it exists, and is unchanged")));
            }
        }
        made += usize::from(creation == Creation::Made);
    }
    Ok(made)
}

/// What to do with it.
fn next(out: &mut Output, typed: &str, path: &str, plan: &RepositoryPlan) {
    out.heading("Next");
    let step = |out: &mut Output, command: &str, about: &str| {
        out.line(format!("  {}", bold(&safe(command))));
        out.sentence("    ", about);
    };
    step(out, &format!("{typed} --dir {path} list"), "shows what agents can find");
    if plan.layout.is_some() {
        let command = format!("{typed} --dir {path} try \"Review this pull request\"");
        step(out, &command, "shows what a request finds, and why");
    }
    step(out, &format!("{typed} --dir {path} new"), "writes another skill");
    if let Some(team) = &plan.team {
        let is_open = team.url.contains("/your-org/");
        let routing =
            "Write a routing.yaml beside the skills: requests, and the skill that each must find.";
        for (is_left, task) in [
            (is_open, "Write the repository's URL into README.md in the place of your-org."),
            (team.owners.is_empty(), "Write into CODEOWNERS who approves changes."),
            (plan.layout.is_none(), routing),
        ] {
            if is_left {
                out.sentence("  ", task);
            }
        }
        return;
    }
    step(out, &format!("{typed} add {path}"), "serves them from now on, to every client");
    step(out, &format!("{typed} connect"), "connects the clients on this machine");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_the_last_part_of_a_url() {
        assert_eq!(kebab("Team Skills (2026)"), "team-skills-2026");
        assert_eq!(kebab("équipe"), "quipe");
        assert_eq!(kebab("…"), "skills");
    }

    #[test]
    fn owners_are_users_teams_or_addresses() {
        assert_eq!(accepted_owners(" "), Ok(String::new()));
        assert_eq!(accepted_owners("@a/b c@d.org"), Ok("@a/b c@d.org".to_owned()));
        assert!(accepted_owners("team").is_err());
        assert!(accepted_owners("@a\n* @b").is_err());
    }

    #[test]
    fn a_url_holds_no_secret() {
        assert!(accepted_url("https://user:token@example.org/a.git").is_err());
        assert_eq!(
            accepted_url("git@example.org:a/b.git"),
            Ok("git@example.org:a/b.git".to_owned())
        );
    }
}
