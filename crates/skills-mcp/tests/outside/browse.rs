//! The pages of the catalog in a real Chromium: looked at on every screen, walked through by keyboard, with what people write
//! and with hostile content.
//!
//! Wants `node`, `npm` and `/usr/bin/chromium`; what it fetches goes into the build's own folder.

use std::{fs, process::Command};

use serde_json::{Value, json};
use skills_testkit::{Home, Listening};

use crate::tools::NODE;

const HOSTILE: &str = "\"'><script>document.title='owned'</script><img src=//evil.example/x onerror=alert(1)>\u{202e}\u{1b}[2J";

fn home() -> Home {
    let home = Home::new();
    let front = |keywords: &str, about: &str| {
        format!("---\nkeywords: [{keywords}]\ndescription: {about}\n")
    };
    home.write("skills/_root.md", front("house", "House rules") + "---\nBe kind.\n");
    home.write(
        "skills/ui/_index.md",
        front("ui, frontend", "Rules for interfaces") + "---\n# Interfaces\n\nMind the keyboard.\n",
    );
    let files = "assets:\n  - file: assets/A.tsx\n    description: A provider\n  - file: assets/gone.ts\n    description: Never written\n";
    let body = "# Signing in\n\n### A level is left out\n\nUse `cookies`, see [the provider](assets/A.tsx), [RFC](https://www.rfc-editor.org/rfc/rfc6265) and ![flow](flow.svg).\n\n| what | | how |\n|---|---|---|\n| cookie | yes | `HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=31536000` |\n\n- [x] done\n- [ ] open\n\n> A quote\n\n```ts\nconst aVeryLongLine = \"that does not fit on a phone, however small the letters are, and so has to wrap or scroll\";\n```\n\n#\n\n[](https://x.example/)\n";
    home.write(
        "skills/ui/auth.md",
        front("login, session, cookie", "Signing in with cookies") + files + "---\n" + body,
    );
    home.write("skills/ui/auth/assets/A.tsx", "export const A = 1;\n");
    home.write(
        "skills/tools/pdf/SKILL.md",
        "---\nname: pdf-reader\ndescription: Reading PDF files\n---\nRead them.\n",
    );
    home.write("skills/tools/pdf/scripts/read.py", "print()\n");
    home.write("skills/broken.md", "---\nkeywords: [a\n");
    for number in 0..120 {
        home.write(
            &format!("skills/many/s{number:03}.md"),
            front("many", "One of many, with a description that takes some room on the page")
                + "---\nText.\n",
        );
    }
    let quoted = json!(HOSTILE).to_string();
    let columns = "|a-rather-long-heading".repeat(60);
    let hostile = format!(
        "# {HOSTILE}\n\n{HOSTILE}\n\n<svg onload=alert(1)>\n\n<meta http-equiv=refresh content='0;url=//evil.example'>\n\n<form action=//evil.example><input></form>\n\n[a](javascript:alert(1)) ![b](http://evil.example/b.png)\n\n{columns}\n{}\n{}\n\n{} deep\n",
        "|-".repeat(60),
        "|x".repeat(60),
        ">".repeat(50_000),
    );
    home.write(
        "skills/hostile.md",
        format!("---\nkeywords: [{quoted}]\ndescription: {quoted}\n---\n{hostile}"),
    );
    home
}

/// Looks at these pages; what was complained of.
fn looked_at(name: &str, views: &str, paths: &[&str]) -> Value {
    let home = home();
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.env("SKILLS_DIR", home.skills()).args(["dashboard", "--listen", "127.0.0.1:0"]);
    let server = Listening::start(command);
    let tools = &*NODE;
    let shots = tools.join(format!("shots-{name}"));
    fs::create_dir_all(&shots).unwrap();
    let node = Command::new("node")
        .arg("browse.mjs")
        .arg(format!("http://{}/", server.address()))
        .args([&*shots.to_string_lossy(), views])
        .args(paths)
        .current_dir(tools)
        .output()
        .expect("node is installed: apt-get install nodejs");
    let said = String::from_utf8_lossy(&node.stdout).into_owned();
    assert!(node.status.success(), "{said}{}", String::from_utf8_lossy(&node.stderr));
    serde_json::from_str(said.trim()).expect("one line of JSON")
}

// PAGE-1
#[test]
fn people_see_the_catalog_on_every_screen_by_day_and_by_night_and_by_keyboard() {
    let paths = [
        "/skills",
        "/skills?view=list",
        "/skills?view=findings",
        "/skills/search?q=sign+in+with+a+cookie",
        "/skills/ui/auth",
    ];
    let seen = looked_at("catalog", "all", &paths);
    assert_eq!(seen["complaints"], json!([]));
    assert_eq!(seen["views"], 30);
    assert!(seen["links"].as_u64() > Some(500), "{seen}");
}

// PAGE-2
#[test]
fn hostile_skills_are_only_text_in_a_browser() {
    let paths = [
        "/skills/hostile",
        "/skills/search?q=script+alert+owned",
        "/skills/tools/pdf",
        "/skills?under=many",
    ];
    let seen = looked_at("hostile-catalog", "few", &paths);
    assert_eq!(seen["complaints"], json!([]));
}
