//! How words look on a terminal: the same styles for the help, for errors and for what commands print.
//!
//! Not here: whether a stream shows styles. `output` decides that, by the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.

use clap::builder::styling::{AnsiColor, Style, Styles};

/// A heading.
const HEADING: Style = Style::new().bold().underline();
/// What is typed as it stands: commands, flags, names.
const LITERAL: Style = Style::new().bold();
/// Of lesser weight.
const DIM: Style = Style::new().dimmed();
/// What is as it should be.
const GOOD: Style = AnsiColor::Green.on_default();
/// What works and is not as it should be.
const WARNING: Style = AnsiColor::Yellow.on_default();
/// What does not work.
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// The styles of the help and of mistakes in the command line.
pub(super) const HELP_STYLES: Styles = Styles::plain()
    .header(HEADING)
    .usage(HEADING)
    .literal(LITERAL)
    .error(ERROR)
    .valid(GOOD)
    .invalid(WARNING);

/// A heading.
pub(super) fn heading(text: &str) -> String {
    styled(HEADING, text)
}

/// Emphasised.
pub(super) fn bold(text: &str) -> String {
    styled(LITERAL, text)
}

/// Of lesser weight.
pub(super) fn dim(text: &str) -> String {
    styled(DIM, text)
}

/// As it should be.
pub(super) fn good(text: &str) -> String {
    styled(GOOD, text)
}

/// Not as it should be.
pub(super) fn warning(text: &str) -> String {
    styled(WARNING, text)
}

/// Wrong.
pub(super) fn error(text: &str) -> String {
    styled(ERROR, text)
}

/// No text has no style: an escape sequence alone would be invisible output.
fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}
