//! Usual and hostile texts: rendered, and measured.

use std::time::{Duration, Instant};

use super::*;

fn html(text: &str) -> String {
    let file =
        |name: &str| (name == "assets/a.ts").then(|| "/skills/x?file=assets/a.ts".to_owned());
    rendered(text, &file).html
}

#[test]
fn a_text_as_people_write_them() {
    let cases = [
        (
            "# One\n\nTwo *three* **four** ~~five~~",
            "<h3>One</h3>\n<p>Two <em>three</em> <strong>four</strong> <del>five</del></p>\n",
        ),
        ("### Three\n# One\n###### Six\n", "<h3>Three</h3>\n<h3>One</h3>\n<h4>Six</h4>\n"),
        ("- [x] done\n- [ ] open\n", "<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>\n"),
        ("3. a\n4. b\n", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"),
        ("```sh\nrm <x>\n```\n", "<pre><code>rm &lt;x&gt;\n</code></pre>\n"),
        (
            "|a||\n|-|-|\n|1|2|\n",
            "<table><thead><tr><th>a</th><th>–</th></tr></thead><tbody>\n<tr><td>1</td><td>2</td></tr>\n</tbody></table>\n",
        ),
        (
            "[a](https://x.example/?q=1&r=2)",
            "<p><a href=\"https://x.example/?q=1&amp;r=2\" rel=\"noopener noreferrer nofollow\">a</a></p>\n",
        ),
        (
            "[a](./assets/a.ts)",
            "<p><a href=\"/skills/x?file=assets/a.ts\" rel=\"noopener noreferrer nofollow\">a</a></p>\n",
        ),
        (
            "[](https://x.example/)",
            "<p><a href=\"https://x.example/\" rel=\"noopener noreferrer nofollow\">https://x.example/</a></p>\n",
        ),
        ("[other](../other.md)", "<p>other <code>../other.md</code></p>\n"),
        ("#\n", "<h3>–</h3>\n"),
    ];
    for (text, wanted) in cases {
        assert_eq!(html(text), wanted, "{text}");
    }
}

/// Hostile texts, and what is shown of each.
const HOSTILE: &[(&str, &str)] = &[
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("a <script>alert(1)</script>", "<code>&lt;script&gt;</code>"),
    ("<img src=http://evil.example/x onerror=alert(1)>", "&lt;img src=http://evil.example/x"),
    ("a <img src=x onerror=alert(1)>", "<code>&lt;img src=x onerror=alert(1)&gt;</code>"),
    ("<svg onload=alert(1)>", "&lt;svg onload=alert(1)&gt;"),
    ("<meta http-equiv=refresh content='0;url=//evil.example'>", "&lt;meta http-equiv=refresh"),
    ("<iframe src=//evil.example></iframe>", "&lt;iframe src=//evil.example&gt;"),
    ("<form action=//evil.example><input name=token></form>", "&lt;form action=//evil.example&gt;"),
    ("<style>*{display:none}</style>", "&lt;style&gt;*{display:none}&lt;/style&gt;"),
    ("<base href=//evil.example>", "&lt;base href=//evil.example&gt;"),
    ("<a href=javascript:alert(1) style=x onclick=y>b</a>", "<code>&lt;a href=javascript:alert(1)"),
    ("<!-- hidden from people -->", "&lt;!-- hidden from people --&gt;"),
    ("a <!-- hidden --> b", "<code>&lt;!-- hidden --&gt;</code>"),
    ("<math><mtext></mtext><mglyph><style></math><img src onerror=alert(1)>", "&lt;math&gt;"),
    ("</main></body></html><h1>mine</h1>", "&lt;/main&gt;"),
    ("[a](javascript:alert(1))", "a <code>javascript:alert(1)</code>"),
    ("[a](JaVaScRiPt:alert(1))", "<code>JaVaScRiPt:alert(1)</code>"),
    ("[a](&#x6a;avascript:alert(1))", "<code>javascript:alert(1)</code>"),
    ("[a](\tjavascript:alert(1))", "<code>javascript:alert(1)</code>"),
    ("[a](data:text/html;base64,PHNjcmlwdD4=)", "<code>data:text/html;base64,PHNjcmlwdD4=</code>"),
    ("[a](vbscript:x) [b](file:///etc/passwd)", "<code>file:///etc/passwd</code>"),
    ("[a](//evil.example/x)", "<code>//evil.example/x</code>"),
    ("[a](/login)", "<code>/login</code>"),
    ("[a][1]\n\n[1]: javascript:alert(1) 'x'", "<code>javascript:alert(1)</code>"),
    ("<javascript:alert(1)>", "<code>javascript:alert(1)</code>"),
    ("[a](https://x.example/\" onmouseover=\"alert(1))", "[a]"),
    (
        "[a](<https://x.example/\" onmouseover=\"alert(1)>)",
        "href=\"https://x.example/%22%20onmouseover=%22alert(1)\"",
    ),
    (
        "![a](http://evil.example/track.png)",
        "picture: a <code>http://evil.example/track.png</code>",
    ),
    ("![a](assets/a.svg)", "picture: a <code>assets/a.svg</code>"),
    (
        "[![a](http://evil.example/t.png)](https://x.example)",
        "picture: a <code>http://evil.example/t.png</code></a>",
    ),
    ("# a {onclick=alert(1) #content .skip}", "<h3>a {onclick=alert(1) #content .skip}</h3>"),
    ("```\" onclick=\"alert(1)\nx\n```", "<pre><code>x\n</code></pre>"),
    ("a\u{202e}b\u{200b}c\u{e0041}", "a\\u{202e}b\\u{200b}c\\u{e0041}"),
    ("a&#x202e;b&#8203;c&#0;", "a\\u{202e}b\\u{200b}c"),
    ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
    ("{{ 7*7 }} {% x %}", "{{ 7*7 }} {% x %}"),
];

/// The tags of a page, with the names of their attributes.
fn tags(html: &str) -> Vec<(String, Vec<String>)> {
    let tag = |text: &str| {
        let text = text.split_once('>').expect("a tag ends").0;
        let mut words: Vec<String> =
            text.split('"').step_by(2).flat_map(str::split_whitespace).map(str::to_owned).collect();
        let name = words.remove(0).trim_start_matches('/').to_owned();
        (name, words.into_iter().map(|word| word.trim_end_matches('=').to_owned()).collect())
    };
    html.split('<').skip(1).map(tag).collect()
}

#[test]
fn page_2_hostile_texts_are_shown_and_do_nothing() {
    let allowed = [
        "p",
        "br",
        "hr",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "pre",
        "code",
        "em",
        "strong",
        "del",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "a",
    ];
    for (text, wanted) in HOSTILE {
        let html = html(text);
        assert!(html.contains(wanted), "{text}\n{html}");
        for (tag, attributes) in tags(&html) {
            assert!(allowed.contains(&tag.as_str()), "{text}: {tag}\n{html}");
            let usual: &[&str] = match tag.as_str() {
                "a" => &["href", "rel"],
                "ol" => &["start"],
                _ => &[],
            };
            assert!(
                attributes.iter().all(|name| usual.contains(&name.as_str())),
                "{text}: {attributes:?}"
            );
        }
        for (_, address) in html.match_indices("href=\"").map(|(at, _)| html.split_at(at + 6)) {
            assert!(
                ["https://", "http://", "mailto:", "/skills/x?file="]
                    .iter()
                    .any(|start| address.starts_with(start)),
                "{text}: {address:.40}"
            );
        }
        assert!(
            !html
                .chars()
                .any(|c| c == '\u{202e}' || c == '\u{200b}' || (c.is_control() && c != '\n')),
            "{text}"
        );
    }
}

#[test]
fn page_2_the_sanitizer_stands_alone_too() {
    // As if the first pass had let everything through.
    for (text, _) in HOSTILE {
        let clean = SANITIZER.clean(text).to_string();
        for (tag, attributes) in tags(&clean) {
            assert!(
                ![
                    "script", "img", "svg", "style", "iframe", "form", "input", "meta", "base",
                    "math"
                ]
                .contains(&tag.as_str()),
                "{clean}"
            );
            assert!(
                !attributes.iter().any(|name| name.starts_with("on") || name == "style"),
                "{clean}"
            );
        }
        assert!(
            !clean.contains("href=\"javascript:") && !clean.contains("href=\"data:"),
            "{clean}"
        );
    }
}

#[test]
fn page_2_a_text_of_any_shape_takes_a_bounded_time_and_size() {
    let row = format!("{}\n", "|a".repeat(2_000));
    let table = format!("{row}{}\n{}", "|-".repeat(2_000), "|x\n".repeat(100_000));
    let nested_list: String = (0..2_000)
        .flat_map(|depth| {
            [
                " ".repeat(depth * 2),
                "- a
"
                .to_owned(),
            ]
        })
        .collect();
    let shapes = [
        ("quotes", ">".repeat(100_000) + " deep"),
        ("lists", "- ".repeat(100_000) + "deep"),
        ("indented lists", nested_list),
        ("emphasis", "*a ".repeat(100_000)),
        ("emphasis both", "*a _b ".repeat(100_000)),
        ("brackets", "[".repeat(200_000)),
        ("links", "[a](".repeat(100_000)),
        ("pictures", "![".repeat(100_000)),
        ("short links", "<http:a>".repeat(30_000)),
        ("odd addresses", format!("[a](https://x.example/{})", "é".repeat(90_000))),
        ("backticks", (1..700).map(|n| "`".repeat(n) + " ").collect()),
        ("tags", "<b>".repeat(100_000)),
        ("open tag", "<a ".repeat(100_000)),
        ("entities", "&amp;".repeat(100_000)),
        ("table", table),
        ("references", "[r]: https://x.example/\n".repeat(20_000)),
        ("headings", "# a\n".repeat(100_000)),
        ("one line", "a".repeat(1024 * 1024)),
        ("lines", "\n".repeat(1024 * 1024)),
        ("invisible", "\u{202e}".repeat(300_000)),
        ("marks", "< & > ".repeat(100_000)),
    ];
    for (name, text) in shapes {
        let start = Instant::now();
        let shown = rendered(&text, &|_| None);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(20), "{name} took {took:?}");
        assert!(shown.html.len() < 2 * MAX_RENDERED_BYTES, "{name}: {}", shown.html.len());
        let mut depth: usize = 0;
        let mut deepest: usize = 0;
        for (tag, _) in tags(&shown.html.replace("</", "<end-")) {
            match tag.strip_prefix("end-") {
                Some(_) => depth = depth.saturating_sub(1),
                None if ["br", "hr"].contains(&tag.as_str()) => {}
                None => depth += 1,
            }
            deepest = deepest.max(depth);
        }
        assert!(deepest <= MAX_NESTED_TAGS * 2, "{name} is {deepest} deep");
        println!(
            "{name}: {} bytes → {} in {took:?}, cut {}",
            text.len(),
            shown.html.len(),
            shown.is_cut
        );
    }
}

#[test]
fn a_long_text_is_cut_at_the_end_of_a_line() {
    let text = "one line\n".repeat(100_000);
    let shown = rendered(&text, &|_| None);
    assert!(shown.is_cut && shown.html.ends_with("one line</p>\n"), "{}", shown.html.len());
    assert!(!rendered("short", &|_| None).is_cut);
    assert_eq!(shortened("añb", 2), ("a", true));
}
