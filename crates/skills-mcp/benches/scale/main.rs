//! How the release binary fares over its standard streams, at 10 to 100,000 skills, or many of it at once.
//!
//! `cargo bench -p skills-mcp-server --bench scale -- [SIZE…] [--markdown] [--rounds N] [--table bundles|tree]`
//! prints a table over bundles and one over tree skills; with `--many SERVERS [--seconds N]` one over many servers.
//! CONTRIBUTING.md says how to read them. What a figure is to be held against is measured in the same run, on the same
//! files and the same connection. Not here: what the core's parts take, which is `crates/core/benches`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints its figures, touches files and processes, and fails loudly"
)]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are far below what a float holds exactly"
)]

mod corpus;
mod edits;
mod figures;
mod machine;
mod many;
mod options;
mod serving;
mod table;
mod tree;

use std::process::ExitCode;

use corpus::Corpus;
use options::{Options, Which};
use table::{Column, Table, note, progress};

/// The columns over bundles: those of a server at rest, then those of a server while files change.
const BUNDLES: [Column; serving::COLUMNS.len() + edits::COLUMNS.len()] = {
    let mut columns = [("", ""); serving::COLUMNS.len() + edits::COLUMNS.len()];
    let (first, second) = columns.split_at_mut(serving::COLUMNS.len());
    first.copy_from_slice(&serving::COLUMNS);
    second.copy_from_slice(&edits::COLUMNS);
    columns
};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    match options.which {
        Which::Many(servers) => {
            let table = Table::start("Many servers", &many::COLUMNS, options.markdown);
            for skills in options.sizes {
                table.row(&many::measure(skills, servers, options.seconds));
            }
        }
        Which::Bundles => bundles(&options),
        Which::Tree => trees(&options),
        Which::Both => {
            bundles(&options);
            trees(&options);
        }
    }
    ExitCode::SUCCESS
}

fn bundles(options: &Options) {
    let table = Table::start("Bundles", &BUNDLES, options.markdown);
    for skills in &options.sizes {
        progress(&format!("{skills} bundles: writing"));
        let mut corpus = Corpus::write(*skills);
        progress(&format!("{skills} bundles: start and answers"));
        let mut cells = serving::measure(&corpus);
        progress(&format!("{skills} bundles: edits"));
        cells.extend(edits::measure(&mut corpus, options.rounds_at(*skills)));
        table.row(&cells);
    }
    let searcher = machine::searcher().0;
    note(&format!("The column `rg` is `{searcher}` here."));
}

fn trees(options: &Options) {
    let table = Table::start("Tree skills", &tree::COLUMNS, options.markdown);
    for skills in &options.sizes {
        progress(&format!("{skills} tree skills"));
        table.row(&tree::measure(*skills));
    }
}
