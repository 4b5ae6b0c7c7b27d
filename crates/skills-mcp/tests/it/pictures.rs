//! Pictures of the terminal for the documents, drawn from what the real program prints on a terminal; a picture that differs fails.
//!
//! Not here: pictures of pages, which need a browser (`tests/outside/pictures.rs`).

use std::{fmt::Write as _, fs, path::PathBuf};

use skills_testkit::Home;

use crate::support::{example, on_terminal, server};

const COLUMNS: usize = 100;
const CELL_WIDTH: f64 = 8.4;
const LINE_HEIGHT: f64 = 19.0;
const PICTURE_MARGIN: f64 = 18.0;

/// How a run of characters is drawn.
#[derive(Clone, Copy, Default, PartialEq)]
struct TextStyle {
    bold: bool,
    dim: bool,
    colour: Option<usize>,
}

/// The sixteen colours of a terminal, on a dark ground.
const PALETTE: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
    "#5c6370", "#ff7a85", "#b5e08c", "#ffd68a", "#7cc4ff", "#dd8ff0", "#6fd3df", "#ffffff",
];

impl TextStyle {
    /// The style after the parameters of an escape sequence `ESC [ … m`.
    fn after(mut self, parameters: &str) -> Self {
        for parameter in parameters.split(';') {
            match parameter.parse().unwrap_or(0) {
                0 => self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                22 => (self.bold, self.dim) = (false, false),
                39 => self.colour = None,
                code @ 30..=37 => self.colour = Some(code - 30),
                code @ 90..=97 => self.colour = Some(code - 82),
                // Italics and underlines are drawn as plain text.
                _ => {}
            }
        }
        self
    }

    fn attributes(self) -> String {
        let colour = self.colour.and_then(|number| PALETTE.get(number).copied());
        let fill = colour.or(self.dim.then_some("#8b929e")).or(self.bold.then_some("#ffffff"));
        let fill = fill.map(|fill| format!(" fill=\"{fill}\"")).unwrap_or_default();
        let weight = if self.bold { " font-weight=\"700\"" } else { "" };
        format!("{fill}{weight}")
    }
}

/// The runs of a line, each with its style, and the style that goes on in the next line.
fn runs(line: &str, mut style: TextStyle) -> (Vec<(TextStyle, String)>, TextStyle) {
    let mut runs = Vec::new();
    for (number, part) in line.split("\u{1b}[").enumerate() {
        let text = if number == 0 {
            part
        } else {
            let (parameters, text) = part.split_once('m').expect("only colours and weights");
            style = style.after(parameters);
            text
        };
        if !text.is_empty() {
            runs.push((style, text.to_owned()));
        }
    }
    (runs, style)
}

fn columns(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap()
}

/// The parts of a text between two spaces or more, each with the column at which it begins: SVG does not keep such spaces.
fn phrases(text: &str) -> Vec<(u32, &str)> {
    let mut column = 0;
    let mut phrases = Vec::new();
    for (number, part) in text.split("  ").enumerate() {
        column += if number == 0 { 0 } else { 2 };
        let words = part.trim();
        if !words.is_empty() {
            phrases.push((column + columns(part) - columns(part.trim_start()), words));
        }
        column += columns(part);
    }
    phrases
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A terminal that shows a command and what it prints, as SVG. Each run has its width, so that columns stand below each other in
/// whatever font the reader has.
fn drawn(command: &str, shown: &str) -> String {
    let prompt = format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m");
    let lines: Vec<&str> =
        std::iter::once(prompt.as_str()).chain(shown.trim_end().lines()).collect();
    let width = 2.0 * PICTURE_MARGIN + CELL_WIDTH * f64::from(u32::try_from(COLUMNS).unwrap());
    let rows = f64::from(u32::try_from(lines.len()).unwrap());
    let height = 2.0 * PICTURE_MARGIN + LINE_HEIGHT * rows;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#d5d9e0\">\n",
        escaped(command)
    );
    let (mut style, mut y) = (TextStyle::default(), PICTURE_MARGIN + 14.0);
    for line in lines {
        let (parts, next) = runs(line, style);
        let mut column = 0_u32;
        for (part, text) in parts {
            for (offset, words) in phrases(&text) {
                writeln!(
                    picture,
                    "<text x=\"{:.1}\" y=\"{y:.0}\" textLength=\"{:.1}\"{}>{}</text>",
                    PICTURE_MARGIN + CELL_WIDTH * f64::from(column + offset),
                    CELL_WIDTH * f64::from(columns(words)),
                    part.attributes(),
                    escaped(words)
                )
                .unwrap();
            }
            column += columns(&text);
        }
        (style, y) = (next, y + LINE_HEIGHT);
    }
    picture + "</g>\n</svg>\n"
}

/// Runs a command on a terminal, and compares what it shows with the picture in the documents.
fn pictured(name: &str, command: &str, arguments: &[&str], max_lines: usize) {
    let home = Home::new();
    let mut program = server(&home);
    program.env("SKILLS_DIR", example()).env("TERM", "xterm-256color").current_dir(home.path());
    let seen = on_terminal(COLUMNS, program.args(arguments), &[]);
    assert_eq!(seen.get("code"), Some(&serde_json::json!(0)), "{seen}");
    let shown = seen.get("shown").and_then(serde_json::Value::as_str).unwrap();
    assert!(shown.contains("\u{1b}[1m"), "nothing is bold: {shown}");
    // Where the program is differs from machine to machine.
    let shown = shown.replace(env!("CARGO_BIN_EXE_skills-mcp"), "/usr/local/bin/skills-mcp");
    let whole = shown.lines().count() <= max_lines;
    let mut shown: String =
        shown.lines().take(max_lines).fold(String::new(), |all, line| all + line + "\n");
    if !whole {
        shown.push_str("\u{1b}[2m[…]\u{1b}[0m\n");
    }
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/pictures/{name}.svg"));
    let made = drawn(command, &shown);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &made).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == made, "docs/pictures/{name}.svg: run UPDATE_DOCS=1 ./scripts/test");
}

#[test]
fn the_picture_of_demo_is_what_the_terminal_shows() {
    let task = "Create a React login component with authentication";
    pictured("demo", &format!("skills-mcp demo \"{task}\""), &["demo", task], 34);
}

#[test]
fn the_picture_of_try_is_what_the_terminal_shows() {
    let request = "sign in with a session cookie";
    let command = format!("skills-mcp try \"{request}\" --limit 3");
    pictured("try", &command, &["try", request, "--limit", "3"], 30);
}

#[test]
fn colours_weights_and_special_characters_are_drawn() {
    let picture = drawn("x", "\u{1b}[1;31ma<b\u{1b}[0m c\u{1b}[2md\n e\u{1b}[22mf");
    for part in [
        "fill=\"#e06c75\" font-weight=\"700\">a&lt;b<",
        "x=\"51.6\"",
        "fill=\"#8b929e\">d<",
        "x=\"26.4\" y=\"70\" textLength=\"8.4\" fill=\"#8b929e\">e<",
        "textLength=\"8.4\">f<",
    ] {
        assert!(picture.contains(part), "{part} is not in {picture}");
    }
}
