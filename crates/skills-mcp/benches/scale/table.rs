//! A table, a row at a time, so that a long run shows what it has: aligned for a terminal, or Markdown for a note.

/// What a column shows: the group it belongs to, and its own name.
pub(super) type Column = (&'static str, &'static str);

/// No figure is wider.
const NARROWEST: usize = 8;

/// A table whose head has been printed.
#[derive(Debug)]
pub(super) struct Table {
    columns: &'static [Column],
    markdown: bool,
}

impl Table {
    /// Prints the head.
    pub(super) fn start(title: &str, columns: &'static [Column], markdown: bool) -> Self {
        let table = Self { columns, markdown };
        if markdown {
            let whole = |(group, name): &Column| format!("{group} {name}").trim().to_owned();
            println!("**{title}**\n");
            table.print(columns.iter().map(whole));
            table.print(columns.iter().map(|_| "---:".to_owned()));
        } else {
            println!("{title}\n");
            let mut last = "";
            table.print(columns.iter().map(|(group, _)| {
                let repeated = std::mem::replace(&mut last, group) == *group;
                if repeated { String::new() } else { (*group).to_owned() }
            }));
            table.print(columns.iter().map(|(_, name)| (*name).to_owned()));
        }
        table
    }

    /// Prints a row.
    pub(super) fn row(&self, cells: &[String]) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column: {cells:?}");
        self.print(cells.iter().cloned());
    }

    fn print(&self, cells: impl Iterator<Item = String>) {
        if self.markdown {
            println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
            return;
        }
        let aligned = cells.zip(self.columns).map(|(cell, (group, name))| {
            let width = group.chars().count().max(name.chars().count()).max(NARROWEST);
            format!("{cell:>width$}")
        });
        println!("{}", aligned.collect::<Vec<_>>().join("  "));
    }
}

/// A note under a table.
pub(super) fn note(text: &str) {
    println!("\n{text}\n");
}

/// What is being done, for who waits.
pub(super) fn progress(text: &str) {
    eprintln!("… {text}");
}
