//! Markdown that others wrote → HTML that is harmless, readable and bounded.
//!
//! The markup of the result is made here, from what the parser found: no tag of the text becomes a tag of the page. HTML in the text is shown
//! as it is written, since an agent reads it, comments too. No picture is shown; its text and address are. A link leads to another site or
//! to a file of the skill, or is no link. A second pass through a sanitizer keeps only the few tags that this module writes. Not
//! here: where the text comes from.

use std::{collections::HashSet, sync::LazyLock};

use ammonia::{Builder, UrlRelative};
use askama::filters::Safe;
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

use crate::shown::{fitting, shown_bytes, spelled_out};

/// No more of a text is shown.
const MAX_MARKDOWN_BYTES: usize = 192 * 1024;
/// No more is written, tags included: short cells make long tables.
const MAX_RENDERED_BYTES: usize = 256 * 1024;
/// What is nested deeper stands beside what it is in. The sanitizer's time grows with the square of the depth.
const MAX_NESTED_TAGS: usize = 24;
/// What a tag takes with its end, about.
const TAG_BYTES: usize = 12;
/// What a link takes beside its address.
const LINK_BYTES: usize = 64;
/// A character of an address may be written as so many.
const ADDRESS_CHAR_BYTES: usize = 3;
/// The heading above the text; those of the text are below it.
const HEADING_ABOVE: usize = 2;
/// A longer address is shown, and is no link.
const MAX_ADDRESS_BYTES: usize = 2_048;
/// What stands in a heading or at the head of a column where the text has nothing.
const NOTHING: &str = "–";

/// A text as HTML that can do no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMarkdown {
    html: String,
    /// Whether the text goes on.
    pub is_cut: bool,
}

impl RenderedMarkdown {
    /// As a template wants it. Only this module makes such a value.
    pub fn html(&self) -> Safe<&str> {
        Safe(&self.html)
    }
}

/// Renders a text. `file_address` knows the address of a file of the skill.
pub fn rendered(text: &str, file_address: &dyn Fn(&str) -> Option<String>) -> RenderedMarkdown {
    let (text, is_shortened) = shortened(text, MAX_MARKDOWN_BYTES);
    let mut filter = EventFilter::new(file_address);
    let parser = Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    );
    let is_whole = parser.into_iter().all(|event| filter.take(event));
    if !is_whole {
        filter.close_all();
    }
    let mut markup = String::with_capacity(filter.bytes);
    html::push_html(&mut markup, filter.events.into_iter());
    let html = spelled_out(SANITIZER.clean(&markup).to_string());
    RenderedMarkdown { html, is_cut: is_shortened || !is_whole }
}

/// The beginning of a text, up to the end of a line, and whether that is not all.
pub fn shortened(text: &str, max_bytes: usize) -> (&str, bool) {
    if text.len() <= max_bytes {
        return (text, false);
    }
    let start = text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default();
    let end = start.rfind('\n').filter(|end| *end > 0).unwrap_or(start.len());
    (start.get(..end).unwrap_or_default(), true)
}

/// Knows only the tags that are written here.
static SANITIZER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut sanitizer = Builder::empty();
    sanitizer
        .tags(HashSet::from([
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
        ]))
        .clean_content_tags(HashSet::from(["script", "style"]))
        .add_tag_attributes("a", ["href"])
        .add_tag_attributes("ol", ["start"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some("noopener noreferrer nofollow"));
    sanitizer
});

/// What becomes of an open tag.
enum OpenTag {
    /// It is written, and this ends it.
    Written(TagEnd),
    /// It is not, but its content is.
    Dropped,
    /// It is a picture, or a link that may not lead where it does: its content is written, and then this address.
    Followed(String),
}

/// Takes the parser's events, and keeps those that may be shown.
struct EventFilter<'a> {
    file_address: &'a dyn Fn(&str) -> Option<String>,
    events: Vec<Event<'a>>,
    open: Vec<OpenTag>,
    /// About how much HTML they make.
    bytes: usize,
    /// The level of the last heading.
    heading: usize,
    /// How many texts there were when the last link, heading or head of a column began.
    texts_before: usize,
    texts: usize,
    /// The address of the link that is open.
    link: Option<String>,
    is_table_head: bool,
}

impl<'a> EventFilter<'a> {
    fn new(file_address: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            file_address,
            events: Vec::new(),
            open: Vec::new(),
            bytes: 0,
            heading: HEADING_ABOVE,
            texts_before: 0,
            texts: 0,
            link: None,
            is_table_head: false,
        }
    }

    /// Takes one event; whether there is room for another.
    fn take(&mut self, event: Event<'a>) -> bool {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::Html(text) => self.text(text, Event::Text),
            Event::Code(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => {
                self.bytes += TAG_BYTES;
                self.text(text, Event::Code);
            }
            Event::TaskListMarker(done) => {
                self.text(if done { "☑ " } else { "☐ " }.into(), Event::Text);
            }
            Event::SoftBreak => self.push(event, 1),
            Event::HardBreak | Event::Rule => self.push(event, TAG_BYTES),
        }
        self.bytes < MAX_RENDERED_BYTES
    }

    fn push(&mut self, event: Event<'a>, bytes: usize) {
        self.events.push(event);
        self.bytes += bytes;
    }

    fn text(&mut self, text: CowStr<'a>, event: fn(CowStr<'a>) -> Event<'a>) {
        if !text.trim().is_empty() {
            self.texts += 1;
        }
        let room = MAX_RENDERED_BYTES.saturating_sub(self.bytes);
        match fitting(&text, room) {
            (_, false) => {
                let bytes = text.chars().map(shown_bytes).sum();
                self.push(event(text), bytes);
            }
            (start, true) => {
                let start = CowStr::from(start.to_owned());
                self.push(event(start), room);
            }
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        let written = if self.open.len() < MAX_NESTED_TAGS { self.allowed(tag) } else { None };
        match written {
            Some(Ok(tag)) => {
                self.open.push(OpenTag::Written(tag.to_end()));
                self.push(Event::Start(tag), TAG_BYTES);
            }
            Some(Err(by)) => self.open.push(OpenTag::Followed(by)),
            None => self.open.push(OpenTag::Dropped),
        }
    }

    /// The tag that is written; else the text that follows its content, or nothing.
    fn allowed(&mut self, tag: Tag<'a>) -> Option<Result<Tag<'a>, String>> {
        Some(match tag {
            Tag::Heading { level, .. } => {
                // No level is left out, whatever the author did.
                let level = (level as usize + HEADING_ABOVE).min(self.heading + 1);
                self.heading = level;
                self.texts_before = self.texts;
                let level = HeadingLevel::try_from(level).unwrap_or(HeadingLevel::H6);
                Ok(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() })
            }
            Tag::Link { dest_url, .. } => match self.link_address(&dest_url) {
                Some(address) => {
                    self.bytes += address.len() * ADDRESS_CHAR_BYTES + LINK_BYTES;
                    self.texts_before = self.texts;
                    self.link = Some(dest_url.to_string());
                    Ok(Tag::Link {
                        link_type: LinkType::Inline,
                        dest_url: address.into(),
                        title: "".into(),
                        id: "".into(),
                    })
                }
                None => Err(dest_url.to_string()),
            },
            Tag::Image { dest_url, .. } => {
                self.text("picture: ".into(), Event::Text);
                Err(dest_url.to_string())
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock => {
                Ok(Tag::CodeBlock(CodeBlockKind::Fenced("".into())))
            }
            Tag::Table(columns) => Ok(Tag::Table(columns)),
            Tag::TableHead => {
                self.is_table_head = true;
                Ok(Tag::TableHead)
            }
            Tag::TableCell => {
                self.texts_before = self.texts;
                Ok(Tag::TableCell)
            }
            Tag::Paragraph
            | Tag::BlockQuote(_)
            | Tag::List(_)
            | Tag::Item
            | Tag::TableRow
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough => Ok(tag),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => return None,
        })
    }

    fn end(&mut self) {
        match self.open.pop() {
            None | Some(OpenTag::Dropped) => {}
            Some(OpenTag::Followed(by)) => {
                self.text(" ".into(), Event::Text);
                self.text(by.into(), Event::Code);
            }
            Some(OpenTag::Written(end)) => {
                self.fill(end);
                self.push(Event::End(end), TAG_BYTES);
            }
        }
    }

    /// Writes something into a tag that must not be empty.
    fn fill(&mut self, end: TagEnd) {
        let is_empty = self.texts == self.texts_before;
        if end == TagEnd::TableHead {
            self.is_table_head = false;
        } else if end == TagEnd::Link {
            let address = self.link.take().unwrap_or_default();
            if is_empty {
                self.text(address.into(), Event::Text);
            }
        } else if is_empty
            && (matches!(end, TagEnd::Heading(_))
                || (end == TagEnd::TableCell && self.is_table_head))
        {
            self.text(NOTHING.into(), Event::Text);
        }
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.end();
        }
    }

    /// Where a link may lead: to another site, or to a file of the skill.
    fn link_address(&self, written: &str) -> Option<String> {
        if written.len() > MAX_ADDRESS_BYTES {
            return None;
        }
        let scheme = written.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https" | "mailto") => Some(written.to_owned()),
            _ => (self.file_address)(written.strip_prefix("./").unwrap_or(written)),
        }
    }
}

#[cfg(test)]
mod tests;
