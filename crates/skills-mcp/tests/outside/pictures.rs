//! Pictures of the pages for the documents, taken by a real Chromium of the catalog of the example.
//!
//! `UPDATE_DOCS=1` writes them to `docs/pictures`. They are not compared: fonts differ from machine to machine. Not here: pictures of the
//! terminal (`tests/it/pictures.rs`).

use std::{fs, path::Path, process::Command};

use skills_testkit::{Home, Listening};

use crate::tools::NODE;

const PICTURES: [(&str, &str); 2] =
    [("catalog", "/skills"), ("search", "/skills/search?q=sign+in+with+a+session+cookie")];
/// A smaller file is no picture of a page.
const MIN_PICTURE_BYTES: usize = 10_000;
const MAX_PICTURE_BYTES: usize = 200_000;

#[test]
fn pictures_of_the_catalog_can_be_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let home = Home::new();
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", root.join("examples/skills-content"));
    let server = Listening::start({
        command.args(["dashboard", "--listen", "127.0.0.1:0"]);
        command
    });
    let tools = &*NODE;
    for (name, path) in PICTURES {
        let taken = tools.join(format!("{name}.png"));
        let node = Command::new("node")
            .args(["pictures.mjs", &format!("http://{}{path}", server.address())])
            .arg(&taken)
            .current_dir(tools)
            .output()
            .expect("node is installed: apt-get install nodejs");
        let said = String::from_utf8_lossy(&node.stdout).into_owned();
        assert!(node.status.success(), "{said}{}", String::from_utf8_lossy(&node.stderr));
        assert!(said.contains("\"complaints\":[]"), "{said}");
        let picture = fs::read(&taken).unwrap();
        assert!(picture.starts_with(b"\x89PNG"), "{name} is no PNG");
        let size = picture.len();
        assert!((MIN_PICTURE_BYTES..MAX_PICTURE_BYTES).contains(&size), "{name}: {size} bytes");
        let kept = root.join(format!("docs/pictures/{name}.png"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&kept, picture).unwrap();
        }
        assert!(kept.is_file(), "docs/pictures/{name}.png: run UPDATE_DOCS=1 ./scripts/test");
    }
}
