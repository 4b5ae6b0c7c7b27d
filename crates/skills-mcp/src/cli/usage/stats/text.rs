//! A report on a terminal. Texts of events were written by others, and are made harmless.

use skills_usage::{
    archive::Story,
    event::Event,
    report::{ServerUse, SkillUse, Unused, UsageReport},
    settings::Analytics,
};

use super::table::{table, wrapped};
use crate::{
    cli::output::{bold, dim, fitted, safe},
    surface::grouped,
};

/// So many clients are named.
const MAX_CLIENTS: usize = 5;
/// So much of a server's clients is shown.
const MAX_CLIENTS_CHARS: usize = 40;
/// So much of a commit is shown.
const SHORT_COMMIT_CHARS: usize = 12;

/// What is shown.
pub(super) struct StatsText<'a> {
    pub(super) report: &'a UsageReport,
    pub(super) story: Option<&'a Story>,
    /// So many rows of each list.
    pub(super) top: usize,
}

/// What to say where there are no events.
pub(super) fn nothing(report: &UsageReport, place: &str, settings: Option<&Analytics>) -> String {
    let days = format!("No events from {} to {}.", report.period.from, report.period.to);
    match settings {
        Some(settings) if !settings.enabled => format!(
            "{days}\nAnalytics are off. `skills-mcp config set analytics.enabled true` turns them on; events are then kept in {}.",
            safe(place)
        ),
        Some(_) => format!(
            "{days}\nAnalytics are on, and events are kept in {}. `--days N` looks further back.",
            safe(place)
        ),
        None => format!("{days} `--days N` looks further back."),
    }
}

/// The lines so far.
struct StatsSheet {
    lines: Vec<String>,
    width: usize,
    top: usize,
}

impl StatsSheet {
    fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        self.lines.push(bold(text));
    }

    fn table(&mut self, heading: &str, heads: &[&str], rows: &[Vec<String>]) {
        if rows.is_empty() {
            return;
        }
        self.heading(heading);
        let shown: Vec<Vec<String>> = rows.iter().take(self.top).cloned().collect();
        self.lines.extend(table(heads, &shown, self.width));
        self.more(rows.len());
    }

    fn more(&mut self, all: usize) {
        if let Some(more) = all.checked_sub(self.top).filter(|more| *more > 0) {
            self.lines.push(dim(&format!("  and {} more", grouped(more as u64))));
        }
    }

    fn text(&mut self, indent: usize, text: &str) {
        self.lines.extend(wrapped(text, indent, self.width));
    }
}

impl StatsText<'_> {
    /// The whole report, or what it says of one skill.
    pub(super) fn lines(&self, width: usize, skill: Option<&str>) -> Vec<String> {
        let mut sheet = StatsSheet { lines: Vec::new(), width, top: self.top };
        let days = &self.report.period;
        let unfinished = if days.unfinished { ", today is not over" } else { "" };
        let title = format!("{} to {}", days.from, days.to);
        let length = format!("{} days{unfinished}", grouped(days.days));
        if title.chars().count() + length.chars().count() + 2 <= width {
            sheet.lines.push(format!("{}  {}", bold(&title), dim(&length)));
        } else {
            sheet.lines.extend([bold(&title), dim(&format!("  {length}"))]);
        }
        if let Some(client) = &self.report.client {
            sheet.text(2, &format!("only calls of {client}"));
        }
        if let Some(skill) = skill {
            sheet.lines.push(bold(&fitted(skill, width)));
            if self.report.skills.is_empty() {
                sheet.text(2, "There are no events about it in these days.");
            }
        } else {
            self.totals(&mut sheet);
        }
        self.advice(&mut sheet);
        self.skills(&mut sheet);
        self.unused(&mut sheet);
        self.misses(&mut sheet);
        self.patterns(&mut sheet);
        self.files(&mut sheet);
        if skill.is_none() {
            self.tools(&mut sheet);
            self.servers(&mut sheet);
            self.health(&mut sheet);
        }
        self.story(&mut sheet);
        sheet.lines
    }

    fn totals(&self, sheet: &mut StatsSheet) {
        let totals = &self.report.totals;
        let mut line = |name: &str, value: String| {
            sheet.lines.extend(wrapped(&value, 17, sheet.width).into_iter().enumerate().map(
                |(at, line)| {
                    if at == 0 { format!("  {name:<15}{}", line.trim_start()) } else { line }
                },
            ));
        };
        line(
            "events",
            format!("{} from {}", grouped(totals.events), plural(totals.servers, "server")),
        );
        line(
            "served",
            format!(
                "{} times, {}, {} tokens",
                grouped(totals.served),
                plural(totals.skills_used, "skill"),
                grouped(totals.tokens)
            ),
        );
        let requests = totals.loaded.of;
        let (searches, misnamed) = (totals.searches, totals.misnamed);
        let misnamed = match misnamed {
            0 => String::new(),
            names => format!(", names no skill has {}", grouped(names)),
        };
        let of_searches = format!("{} of them searches", grouped(searches));
        line("requests", format!("{}, {of_searches}{misnamed}", grouped(requests)));
        line("loaded", totals.loaded.to_string());
        let [chosen, left, none] = [totals.chosen, totals.left, totals.none].map(grouped);
        line("offered", format!("{chosen} chosen, {left} left, {none} none"));
        line("useful", totals.useful.to_string());
        let execution = &self.report.execution;
        line(
            "scripts",
            format!(
                "{} run here, {} by agents",
                grouped(execution.server),
                grouped(execution.claude)
            ),
        );
        if self.report.client.is_some() {
            return;
        }
        let clients = self.report.clients.iter().take(MAX_CLIENTS).map(|client| {
            let name = if client.name.is_empty() { "unnamed" } else { &client.name };
            format!("{} {}", fitted(name, 30), grouped(client.n))
        });
        line("clients", clients.collect::<Vec<_>>().join(", "));
    }

    fn advice(&self, sheet: &mut StatsSheet) {
        if self.report.advice.is_empty() {
            return;
        }
        sheet.heading("Fix first");
        for (number, advice) in self.report.advice.iter().enumerate().take(self.top) {
            let subject = format!("{:>2}. {}", number + 1, safe(&advice.subject));
            sheet.lines.push(format!("  {}", bold(&fitted(&subject, sheet.width - 2))));
            sheet.text(6, &advice.seen);
            sheet.text(6, &advice.action);
        }
        sheet.more(self.report.advice.len());
    }

    fn skills(&self, sheet: &mut StatsSheet) {
        let row = |skill: &SkillUse| {
            let mark = if skill.known == Some(false) { " (gone)" } else { "" };
            vec![
                format!("{}{mark}", skill.skill),
                grouped(skill.served),
                usefulness(skill),
                grouped(skill.tokens),
                grouped(skill.loaded),
                if skill.shown > 0 { skill.taken.to_string() } else { String::new() },
                grouped(skill.tied),
                grouped(skill.chosen),
                grouped(skill.nearly),
            ]
        };
        let rows: Vec<Vec<String>> = self.report.skills.iter().map(row).collect();
        let heads = [
            "skill",
            "served",
            "useful",
            "tokens",
            "at once",
            "taken when shown",
            "tied",
            "chosen",
            "nearly",
        ];
        sheet.table("Skills", &heads, &rows);
    }

    fn unused(&self, sheet: &mut StatsSheet) {
        let lists = [
            ("Never served", &self.report.never_served),
            ("Never fetched", &self.report.never_fetched),
        ];
        for (heading, list) in lists {
            let Some(list) = list.as_ref().filter(|list| !list.is_empty()) else { continue };
            sheet.heading(&format!("{heading} ({})", grouped(list.len() as u64)));
            for unused in list.iter().take(self.top) {
                sheet.lines.push(unused_line(unused, sheet.width));
            }
            sheet.more(list.len());
        }
    }

    fn misses(&self, sheet: &mut StatsSheet) {
        if self.report.misses.is_empty() {
            return;
        }
        sheet.heading("Requests that found nothing");
        let looked = self.report.misses_looked_at;
        if looked.is_part() {
            sheet
                .text(2, &format!("of the latest {} of {}", grouped(looked.n), grouped(looked.of)));
        }
        for group in self.report.misses.iter().take(self.top) {
            let words = fitted(&group.terms.join(", "), sheet.width.saturating_sub(12));
            sheet.lines.push(format!("  {:>6}  {}", grouped(group.requests), bold(&words)));
            if let Some(example) = group.examples.first() {
                let room = sheet.width.saturating_sub(12);
                sheet.lines.push(dim(&format!("          “{}”", fitted(example, room))));
            }
            if let Some(nearest) = &group.nearest {
                let keywords = if group.keywords.is_empty() {
                    String::new()
                } else {
                    format!("; keywords to add: {}", group.keywords.join(", "))
                };
                sheet.text(10, &format!("nearest: {nearest}{keywords}"));
            }
        }
        sheet.more(self.report.misses.len());
    }

    fn patterns(&self, sheet: &mut StatsSheet) {
        let patterns: Vec<_> =
            self.report.patterns.iter().filter(|pattern| !pattern.terms.is_empty()).collect();
        if patterns.is_empty() {
            return;
        }
        sheet.heading("Words that lead to a skill");
        for pattern in patterns.iter().take(self.top) {
            let words =
                pattern.terms.iter().map(|term| format!("{} {}", term.name, grouped(term.n)));
            let words = words.collect::<Vec<_>>().join(", ");
            sheet.text(2, &format!("{} ({}): {words}", pattern.skill, grouped(pattern.requests)));
        }
        sheet.more(patterns.len());
    }

    fn files(&self, sheet: &mut StatsSheet) {
        let millis =
            |took: Option<f64>| took.map(|took| format!("{took:.0} ms")).unwrap_or_default();
        let scripts = self.report.scripts.iter().map(|script| {
            vec![
                format!("{}: {}", script.skill, script.file),
                grouped(script.runs),
                if script.runs > 0 { script.failed.to_string() } else { String::new() },
                millis(script.p50_ms),
                millis(script.p95_ms),
                grouped(script.refused),
                grouped(script.fetched),
            ]
        });
        let heads = ["script", "runs", "failed", "p50", "p95", "refused", "fetched"];
        sheet.table("Scripts", &heads, &scripts.collect::<Vec<_>>());
        let assets = self.report.assets.iter().map(|asset| {
            let name = format!("{}: {}", asset.skill, asset.file);
            vec![name, grouped(asset.fetched), format!("{} KB", grouped(asset.bytes / 1_000))]
        });
        sheet.table("Files", &["file", "fetched", "in all"], &assets.collect::<Vec<_>>());
    }

    fn tools(&self, sheet: &mut StatsSheet) {
        let took = |took: Option<f64>| match took {
            None => String::new(),
            Some(micros) if micros < 10_000.0 => format!("{micros:.0} µs"),
            Some(micros) => format!("{:.0} ms", micros / 1_000.0),
        };
        let rows = self.report.latency.iter().map(|tool| {
            let times = [tool.p50_us, tool.p95_us, tool.p99_us].map(took);
            [tool.tool.clone(), grouped(tool.calls)].into_iter().chain(times).collect()
        });
        let heads = ["tool", "calls", "p50", "p95", "p99"];
        sheet.table("How fast tools answer", &heads, &rows.collect::<Vec<Vec<_>>>());
    }

    fn servers(&self, sheet: &mut StatsSheet) {
        let row = |server: &ServerUse| {
            let behind = server.behind().map(|behind| format!(" ({behind})")).unwrap_or_default();
            let name = if server.server.is_empty() { "unnamed" } else { &server.server };
            let commit = server.commit.iter().flat_map(|commit| commit.chars());
            vec![
                format!("{name}{behind}"),
                server.last_seen.chars().take(10).collect(),
                server.version.as_deref().map(safe).unwrap_or_default(),
                safe(&commit.take(SHORT_COMMIT_CHARS).collect::<String>()),
                grouped(server.calls),
                fitted(&server.clients.join(", "), MAX_CLIENTS_CHARS),
            ]
        };
        let rows: Vec<Vec<String>> = self.report.servers.iter().map(row).collect();
        let heads = ["server", "last seen", "version", "commit", "calls", "clients"];
        sheet.table("Servers", &heads, &rows);
        let left_out = self.report.servers_left_out();
        if left_out > 0 && !rows.is_empty() {
            sheet.text(2, &format!("{} more servers are not listed", grouped(left_out)));
        }
    }

    fn health(&self, sheet: &mut StatsSheet) {
        let Some(health) = &self.report.health else { return };
        sheet.heading("Catalog");
        let problems = health.errors + health.warnings;
        let hint = if problems > 0 { "; `skills-mcp doctor` explains" } else { "" };
        let text = format!(
            "{}, {}, {}{hint}",
            plural(health.skills, "skill"),
            plural(health.errors, "error"),
            plural(health.warnings, "warning")
        );
        sheet.text(2, &text);
    }

    fn story(&self, sheet: &mut StatsSheet) {
        let Some(story) = self.story.filter(|story| !story.recent.is_empty()) else { return };
        sheet.heading("Latest");
        for recorded in &story.recent {
            let what = match &recorded.event {
                Event::SkillServed(served) => served.context.as_ref().map_or_else(
                    || "served by its name".to_owned(),
                    |context| format!("served for “{context}”"),
                ),
                Event::SkillFeedback(feedback) => {
                    let said = if feedback.useful { "useful" } else { "not useful" };
                    let comment = feedback.comment.as_ref();
                    comment.map_or(said.to_owned(), |comment| format!("{said}: “{comment}”"))
                }
                Event::AssetServed(asset) => format!("fetched {}", asset.file),
                Event::ScriptExecuted(script) => {
                    let how = match (script.exit_code, script.success) {
                        (None, _) => "refused",
                        (Some(_), true) => "ran",
                        (Some(_), false) => "failed",
                    };
                    format!("{how} {}", script.file)
                }
                Event::NoMatch(_)
                | Event::Ambiguous(_)
                | Event::SkillSearched(_)
                | Event::Refresh(_) => continue,
            };
            let day: String = recorded.timestamp.chars().take(10).collect();
            let line = format!("  {day}  {what}");
            sheet.lines.push(format!("  {}", fitted(&line, sheet.width.saturating_sub(2))));
        }
    }
}

fn unused_line(unused: &Unused, width: usize) -> String {
    let name = match &unused.file {
        Some(file) => format!("{}: {file}", unused.skill),
        None => unused.skill.clone(),
    };
    let name = fitted(&name, width.saturating_sub(2));
    let room = width.saturating_sub(name.chars().count() + 4);
    let about = if room < 12 || unused.file.is_some() {
        String::new()
    } else {
        format!("  {}", dim(&fitted(&unused.description, room)))
    };
    format!("  {name}{about}")
}

/// How often a skill helped; and where of late it did not, again and again, that instead of how sure the share is.
fn usefulness(skill: &SkillUse) -> String {
    if !skill.is_repeatedly_useless() {
        return skill.useful.to_string();
    }
    let [n, of, last] = [skill.useful.n, skill.useful.of, skill.useless_in_a_row].map(grouped);
    format!("{n} of {of}, last {last} useless")
}

/// `1 skill`, `2,000 skills`.
fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use skills_testkit::{
        Home,
        events::{Events, skill_name},
    };
    use skills_usage::{
        archive::{Period, lines::LineArchive},
        report::{CatalogSkill, CatalogSummary, Health, SampleSize},
    };

    use super::*;

    /// 2026-02-01 to 2026-02-28.
    const DAYS: Period = Period { from: 20_485, to: 20_512 };

    fn report() -> UsageReport {
        report_of(None)
    }

    fn report_of(client: Option<&str>) -> UsageReport {
        let millis = |day: i64| u64::try_from(day * 86_400_000).unwrap();
        let events = Events::new(3, 3_000, millis(DAYS.from), millis(DAYS.to + 1));
        let hostile = r#"{"type":"no_match","timestamp":"2026-02-28T23:00:00Z","server_id":"x","data":{"context":"\u001b[2J\u202e nginx\nproxy","closest_candidate":"a\u001b]0;x"}}"#;
        let hostile = (0..20).map(|at| hostile.replace("23:00:00", &format!("23:00:{at:02}")));
        let (home, lines): (Home, Vec<String>) = (Home::new(), events.chain(hostile).collect());
        home.write("history.jsonl", lines.join("\n"));
        let history = LineArchive::new(home.path().join("history.jsonl"));
        let skill = |rank: usize| CatalogSkill {
            name: skill_name(rank),
            description: "What it is for, in a sentence that is long enough to be cut somewhere"
                .to_owned(),
            files: vec!["setup.sh".to_owned(), "unused.md".to_owned()],
            ..CatalogSkill::default()
        };
        let health = Health { skills: 3, errors: 0, warnings: 2, findings: Vec::new() };
        let catalog = CatalogSummary::new([0, 1, 299].map(skill).to_vec(), health);
        UsageReport::of(&history.evidence(DAYS, client).unwrap(), Some(&catalog), DAYS, DAYS.to)
    }

    /// Without the marks of weight, which cost no room.
    fn plain(line: &str) -> String {
        line.replace("\u{1b}[1m", "").replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }

    fn drawn(width: usize, skill: Option<&str>) -> String {
        drawn_of(report(), width, skill)
    }

    fn drawn_of(mut report: UsageReport, width: usize, skill: Option<&str>) -> String {
        if let Some(skill) = skill {
            report = report.narrowed(skill);
        }
        let page = StatsText { report: &report, story: None, top: 5 };
        let lines: Vec<String> = page.lines(width, skill).iter().map(|line| plain(line)).collect();
        for line in &lines {
            assert!(line.chars().count() <= width, "{width}: {line}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        lines.join("\n")
    }

    #[test]
    fn a_report_fits_a_narrow_and_a_wide_terminal() {
        insta::assert_snapshot!("stats_60", drawn(60, None));
        insta::assert_snapshot!("stats_160", drawn(160, None));
        insta::assert_snapshot!("stats_skill_80", drawn(80, Some(&skill_name(0))));
    }

    #[test]
    fn c07_a_report_of_one_client_says_so_at_any_width() {
        insta::assert_snapshot!("stats_client_40", drawn_of(report_of(Some("codex")), 40, None));
        insta::assert_snapshot!("stats_client_80", drawn_of(report_of(Some("codex")), 80, None));
    }

    #[test]
    fn how_many_of_the_requests_were_looked_at_is_said_where_it_is_not_all() {
        let mut report = report();
        report.misses_looked_at = SampleSize { n: 5_000, of: 97_751 };
        let said = StatsText { report: &report, story: None, top: 5 }.lines(80, None).join("\n");
        assert!(said.contains("of the latest 5,000 of 97,751"), "{said}");
        report.misses_looked_at.of = 5_000;
        let said = StatsText { report: &report, story: None, top: 5 }.lines(80, None).join("\n");
        assert!(!said.contains("of the latest"), "{said}");
    }

    #[test]
    fn a_report_without_events_says_how_to_get_some() {
        let mut settings = crate::config::Settings::default().analytics;
        let report = UsageReport::default();
        let said = nothing(&report, "/h/a.jsonl", Some(&settings));
        assert!(said.contains("Analytics are off") && said.contains("enabled"), "{said}");
        settings.enabled = true;
        let said = nothing(&report, "/h/a.jsonl", Some(&settings));
        assert!(said.contains("are on") && said.contains("/h/a.jsonl"), "{said}");
    }
}
