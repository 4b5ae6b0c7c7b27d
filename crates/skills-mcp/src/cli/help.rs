//! The help: commands in groups by what they are for, and examples below each command's own help.
//!
//! Not here: the words about a command or a flag, which are at its definition.

use std::{ffi::OsString, fmt::Write as _};

use clap::{Command, builder::StyledStr};

use super::{
    output::{entry, terminal_width},
    style::{HELP_STYLES, bold, heading},
};

/// The commands by what they are for. A command that is in no group is in the last.
const GROUPS: &[(&str, &[&str])] = &[
    ("See what there is", &["list", "show", "try", "why", "run", "demo"]),
    (
        "Set up this machine",
        &["doctor", "connect", "disconnect", "add", "remove", "sync", "status", "config", "trust"],
    ),
    ("Write skills", &["init", "new", "check", "test", "learn", "schema"]),
    ("Serve", &["serve", "mcp-server", "hook", "tools"]),
    ("See what is used", &["stats", "dashboard", "collect"]),
];
/// The last group.
const OTHER: &str = "Other";

/// Examples by command, each with what it does.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "serve",
        &[
            ("serve --dir ./skills", "one directory, to the client that starts it"),
            ("serve --http 127.0.0.1:8080", "over HTTP, for several clients"),
        ],
    ),
    (
        "list",
        &[
            ("list", "the whole tree"),
            ("list ui", "one part of it"),
            ("list --all", "what is not served too, and why"),
        ],
    ),
    (
        "show",
        &[
            ("show ui/react/auth", "the text as an agent receives it"),
            ("show ui/react/auth --files", "with every file of its folder"),
        ],
    ),
    (
        "try",
        &[
            ("try write a commit message", "what an agent would find, and why"),
            ("try write a commit --expect code/commits", "fails if another skill is found"),
        ],
    ),
    (
        "test",
        &[
            ("test", "the routing tests beside the skills"),
            ("test ./skills --format junit", "for a build server"),
        ],
    ),
    (
        "tools",
        &[("tools --client codex", "what Codex shows its model"), ("tools --json", "for programs")],
    ),
    ("hook", &[("hook claude-code", "reads a prompt's JSON from standard input")]),
    (
        "run",
        &[
            ("run deploy/docker scripts/setup.sh --arg port=8080", "runs it in its sandbox"),
            ("run deploy/docker scripts/setup.sh --explain", "only says what it would be allowed"),
        ],
    ),
    ("why", &[("why pdf", "which copy is served, and which others it hides")]),
    (
        "connect",
        &[
            ("connect", "the clients that are found on this machine"),
            ("connect claude-code --hook", "one client, with a fitting skill named at each prompt"),
            ("connect --dir ~/team/skills", "to this folder of skills"),
            ("connect --dry-run", "only shows what it would write"),
        ],
    ),
    (
        "disconnect",
        &[
            ("disconnect codex", "takes out what connect wrote for one client"),
            ("disconnect --dry-run", "only shows what it would take out"),
        ],
    ),
    (
        "add",
        &[
            ("add ~/team/skills", "a folder"),
            ("add acme/skills --branch main", "a repository on GitHub"),
            ("add ./skills --project", "for everyone who works on the project"),
        ],
    ),
    ("remove", &[("remove acme", "by its name"), ("remove ~/team/skills", "by its folder or URL")]),
    (
        "config",
        &[
            ("config", "every setting and where it comes from"),
            ("config set analytics.enabled true", "into your own file"),
        ],
    ),
    ("config get", &[("config get matching.min_score", "its value")]),
    (
        "config set",
        &[
            ("config set matching.min_score 0.3", "a number"),
            ("config set links.allow [~/shared]", "a list"),
        ],
    ),
    ("config unset", &[("config unset matching.min_score", "its default counts again")]),
    (
        "doctor",
        &[
            ("doctor", "what is wrong, and the next step"),
            ("doctor --all", "everything it knows"),
            ("doctor --json", "for a bug report"),
        ],
    ),
    (
        "check",
        &[
            ("check ./skills", "one directory"),
            ("check --fix", "correct what is certain"),
            ("check --strict --format sarif", "for a build server"),
            ("check --explain yaml-invalid", "what a finding means"),
        ],
    ),
    ("schema", &[("schema front-matter", "the JSON Schema of a skill's front matter")]),
    ("trust", &[("trust", "what each source asks for"), ("trust --yes", "agree to what waits")]),
    (
        "sync",
        &[
            ("sync --repo https://example.org/team/skills.git", "fetch now"),
            ("sync --locked", "exactly what skills.lock says"),
        ],
    ),
    ("status", &[("status", "each repository's commit and what changed")]),
    (
        "stats",
        &[
            ("stats --days 7", "the last week"),
            ("stats --skill ui/react/auth", "one skill"),
            ("stats --csv misses", "what found nothing, for a spreadsheet"),
        ],
    ),
    ("learn", &[("learn", "words to add, from what was asked before")]),
    (
        "dashboard",
        &[("dashboard", "opens the browser"), ("dashboard --no-open", "only prints the address")],
    ),
    ("collect", &[("collect --listen 127.0.0.1:8787 --store sqlite:events.db", "one file")]),
    ("demo", &[("demo", "the built-in example"), ("demo write a Dockerfile", "another task")]),
    ("mcp-server", &[("mcp-server", "the skills/ folder of this project")]),
    (
        "init",
        &[
            ("init my-skills", "a folder with examples"),
            ("init --team --owner @your-org/your-team", "with a CI job and CODEOWNERS"),
        ],
    ),
    (
        "new",
        &[
            ("new code/commits", "asks for the rest on a terminal"),
            ("new pdf --bundle", "a folder"),
        ],
    ),
    (
        "completions",
        &[("completions bash", "a script for bash; zsh, fish and others are known too")],
    ),
    ("man", &[("man", "the page, to be kept as skills-mcp.1 in a folder of manual pages")]),
];

/// A line of help is not wider than this.
pub(super) const MAX_HELP_WIDTH: usize = 100;

/// Whether these arguments ask for help, on any command.
pub(super) fn is_asked_for(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.any(|argument| ["-h", "--help", "help"].iter().any(|help| argument == *help))
}

/// The same command line with its groups and examples.
pub(super) fn dressed(command: Command) -> Command {
    let program = command.get_name().to_owned();
    let width = terminal_width().unwrap_or(MAX_HELP_WIDTH).min(MAX_HELP_WIDTH);
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| with_examples(command, name, &program, width))
    });
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}{{after-help}}",
        groups(&command, width).trim_end()
    );
    let after = command.get_after_help().map(|text| text.ansi().to_string()).unwrap_or_default();
    let (short, long) = flags(&command);
    command
        .help_template(StyledStr::from(template))
        .after_help(StyledStr::from(format!("{short}\n{after}")))
        .after_long_help(StyledStr::from(format!("{long}\n{after}")))
}

/// The flags of every command under their headings, short and long. A command line without commands has the same flags and
/// nothing else to list.
fn flags(command: &Command) -> (String, String) {
    let mut alone = Command::new("skills-mcp")
        .version(super::version::VERSION)
        .max_term_width(MAX_HELP_WIDTH)
        .styles(HELP_STYLES)
        .args(command.get_arguments().cloned())
        .help_template("{all-args}");
    let text = |help: StyledStr| format!("{}\n", help.ansi().to_string().trim_end());
    (text(alone.render_help()), text(alone.render_long_help()))
}

/// The command of this name, such as `config get`, with its examples and those of the commands below it.
fn with_examples(command: Command, name: &str, program: &str, width: usize) -> Command {
    let below: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = below.iter().fold(command, |command, below| {
        let whole = format!("{name} {below}");
        command.mut_subcommand(below, |command| with_examples(command, &whole, program, width))
    });
    let Some((_, examples)) = EXAMPLES.iter().find(|(of, _)| *of == name) else { return command };
    let mut text = heading("Examples:");
    let widest = examples.iter().map(|(example, _)| example.len()).max().unwrap_or(0);
    for (example, what) in *examples {
        // Styles take no room, so that the padding is made by hand.
        let padding = " ".repeat(widest - example.len());
        let head = format!("  {}{padding}", bold(&format!("{program} {example}")));
        for line in entry(&head, widest + program.len() + 3, what, width) {
            text.push('\n');
            text.push_str(&line);
        }
    }
    let text = match command.get_after_help() {
        Some(after) => format!("{text}\n\n{}", after.ansi()),
        None => text,
    };
    command.after_help(StyledStr::from(text))
}

/// The list of commands, in groups.
fn groups(command: &Command, width: usize) -> String {
    let shown: Vec<&Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let widest = shown.iter().map(|command| command.get_name().len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut group = |title: &str, members: &[&Command]| {
        if members.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{}", heading(&format!("{title}:")));
        for member in members {
            let name = member.get_name();
            let head = format!("  {}{}", bold(name), " ".repeat(widest - name.len()));
            for line in entry(&head, widest + 2, &about(member), width) {
                text.push_str(&line);
                text.push('\n');
            }
        }
    };
    for (title, names) in GROUPS {
        let members: Vec<&Command> = names
            .iter()
            .filter_map(|name| shown.iter().find(|command| command.get_name() == *name).copied())
            .collect();
        group(title, &members);
    }
    let is_grouped =
        |command: &&Command| GROUPS.iter().any(|(_, names)| names.contains(&command.get_name()));
    let others: Vec<&Command> =
        shown.iter().filter(|command| !is_grouped(command)).copied().collect();
    group(OTHER, &others);
    text
}

/// What a command does, and what else it is called.
fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    if aliases.is_empty() { about } else { format!("{about} [also: {}]", aliases.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::{super::command_line, *};

    #[cfg(all(feature = "http", feature = "usage"))]
    #[test]
    fn c06_every_example_is_a_command_line_that_is_understood() {
        let line = command_line("skills-mcp");
        for (name, examples) in EXAMPLES {
            let mut parts = name.split(' ');
            let found = parts.try_fold(&line, |line, part| line.find_subcommand(part));
            assert!(found.is_some(), "{name}");
            for (example, what) in *examples {
                assert!(example.starts_with(name) && !what.is_empty(), "{example}");
                let words = std::iter::once("skills-mcp").chain(example.split(' '));
                let parsed = line.clone().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn c06_every_command_has_an_example() {
        let line = command_line("skills-mcp");
        let mut names: Vec<String> = Vec::new();
        for command in line.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            names.push(name.to_owned());
            let below = command.get_subcommands().map(Command::get_name);
            names.extend(
                below.filter(|below| *below != "help").map(|below| format!("{name} {below}")),
            );
        }
        for name in names {
            assert!(EXAMPLES.iter().any(|(of, _)| *of == name), "{name} has no example");
        }
    }

    #[test]
    fn c06_every_command_is_in_the_help_once() {
        let line = dressed(command_line("skills-mcp"));
        let text = groups(&line, 80);
        let named: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("  \u{1b}[1m")?.split('\u{1b}').next())
            .collect();
        let mut commands: Vec<&str> = line
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut once = named.clone();
        commands.sort_unstable();
        once.sort_unstable();
        assert_eq!(once, commands);
    }
}
