//! What the command line asks for.

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Bundles,
    Tree,
    Both,
    /// So many servers at once.
    Many(usize),
}

/// What is measured, and how it is shown.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) which: Which,
    pub(super) sizes: Vec<usize>,
    pub(super) markdown: bool,
    /// How long many servers are looked at.
    pub(super) seconds: u64,
    rounds: Option<usize>,
}

const USAGE: &str = "usage: scale [SIZE…] [--markdown] [--rounds N] [--table bundles|tree]\n       \
     scale [SIZE…] [--markdown] --many SERVERS [--seconds N]";

impl Options {
    pub(super) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, &'static str> {
        let mut options = Self {
            which: Which::Both,
            sizes: Vec::new(),
            markdown: false,
            seconds: 60,
            rounds: None,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // `cargo bench` says what it does.
                "--bench" => {}
                "--markdown" => options.markdown = true,
                "--rounds" => options.rounds = Some(number(arguments.next())?),
                "--many" => options.which = Which::Many(number(arguments.next())?),
                "--seconds" => options.seconds = number(arguments.next())? as u64,
                "--table" => {
                    options.which = match arguments.next().as_deref() {
                        Some("bundles") => Which::Bundles,
                        Some("tree") => Which::Tree,
                        _ => return Err(USAGE),
                    }
                }
                size => options.sizes.push(number(Some(size.to_owned()))?),
            }
        }
        if options.sizes.is_empty() {
            options.sizes = match options.which {
                Which::Many(_) => vec![1_000, 10_000],
                Which::Bundles | Which::Tree | Which::Both => vec![10, 100, 1_000, 10_000],
            };
        }
        Ok(options)
    }

    /// How many changes are made to so many skills.
    pub(super) fn rounds_at(&self, skills: usize) -> usize {
        self.rounds.unwrap_or(if skills >= 100_000 { 100 } else { 1_000 })
    }
}

/// A number of at least one.
fn number(text: Option<String>) -> Result<usize, &'static str> {
    text.and_then(|text| text.replace(['_', ','], "").parse().ok())
        .filter(|number| *number > 0)
        .ok_or(USAGE)
}
