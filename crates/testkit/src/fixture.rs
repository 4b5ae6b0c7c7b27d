//! One string → many files, so that a test shows its whole content on one screen.

/// Splits a fixture at lines of the form `//- path/of/file.md`; what follows is that file's text.
pub fn files(fixture: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        if let Some(path) = line.strip_prefix("//- ") {
            files.push((path.trim_end().to_owned(), String::new()));
        } else if let Some((_, text)) = files.last_mut() {
            text.push_str(line);
        }
    }
    files
}
