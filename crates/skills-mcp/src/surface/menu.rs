//! [`Menu`]: the tools one client is offered over one snapshot, and what they cost.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use skills_core::estimate;

use super::{
    Budget, Call, Door, Face, Match, Refusal, Reply, TOOLS, Tool, arguments, listing, skill,
};
use crate::store::Snapshot;

/// A tool as it is offered.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The tool.
    pub tool: &'static Tool,
    /// What it is called here.
    pub name: Cow<'static, str>,
    /// What it says here.
    pub description: Cow<'static, str>,
    /// The schema of its arguments here.
    pub input: Map<String, Value>,
}

/// The tools a client is offered, in their order.
#[derive(Debug, Clone)]
pub struct Menu(pub Vec<Offered>);

impl Menu {
    /// The menu of this face over this snapshot. It changes only when the catalog does.
    pub fn of(face: &Face, snapshot: &Snapshot) -> Self {
        let open = |door| face.doors.open(door, snapshot, face.named);
        let mut menu = Self(
            TOOLS
                .iter()
                .filter(|tool| open(tool.door))
                .map(|tool| Offered::new(tool, face))
                .collect(),
        );
        if !open(Door::Skill) {
            return menu;
        }
        let entries = listing::entries(&snapshot.catalog);
        menu.set_listing(skill::frame(face, &entries), Budget::Unlimited);
        let fits = match face.budget {
            Budget::Unlimited => true,
            Budget::Tokens(budget) => {
                listing::fits(&entries, face.listing, budget.saturating_sub(menu.tokens()))
            }
        };
        if fits && menu.set_listing(skill::description(face, &entries), face.budget) {
            return menu;
        }
        // What is not listed must be found some other way.
        if !open(Door::Flat) {
            menu.0.extend(
                TOOLS
                    .iter()
                    .filter(|tool| tool.name == "skills_search")
                    .map(|tool| Offered::new(tool, face)),
            );
        }
        let bare = skill::frame(face, &entries);
        menu.set_listing(bare, Budget::Unlimited);
        let Budget::Tokens(budget) = face.budget else { return menu };
        if menu.tokens() > budget {
            // Not even the words around a list fit: say it in one sentence.
            menu.set_listing(skill::without_listing(), Budget::Unlimited);
            return menu;
        }
        let mut room = budget.saturating_sub(menu.tokens());
        // Lines are estimated one by one, and together they may cost a little more.
        while !menu.set_listing(skill::shortened(face, &entries, room), face.budget) && room > 0 {
            room = room.saturating_sub(menu.tokens().saturating_sub(budget));
        }
        menu
    }

    /// Gives the `skill` tool this description, if the whole menu then stays within the budget.
    fn set_listing(&mut self, description: String, budget: Budget) -> bool {
        let Some(skill) = self.0.iter_mut().find(|offered| offered.tool.door == Door::Skill) else {
            return true;
        };
        skill.description = description.into();
        match budget {
            Budget::Unlimited => true,
            Budget::Tokens(tokens) => self.tokens() <= tokens,
        }
    }

    /// Estimated tokens of the whole list, schemas included.
    pub fn tokens(&self) -> usize {
        estimate::tokens(
            &json!({"tools": self.0.iter().map(Offered::json).collect::<Vec<_>>()}).to_string(),
        )
    }

    /// The tool a client means by a name.
    pub fn offered(&self, name: &str) -> Option<&Offered> {
        self.0.iter().find(|offered| offered.tool.answers_to(name))
    }
}

impl Offered {
    fn new(tool: &'static Tool, face: &Face) -> Self {
        let dotted = tool.dotted().filter(|_| face.dotted);
        let name = dotted.map_or(Cow::Borrowed(tool.name), Cow::Owned);
        let seed_002 = face.matching == Match::All && tool.name == "skills_search";
        let description = if seed_002 {
            "Keyword search across install name, metadata, and SKILL.md body."
        } else {
            tool.description
        };
        let mut input = (tool.input)();
        let query = input
            .get_mut("properties")
            .and_then(|all| all.get_mut("query"))
            .and_then(Value::as_object_mut);
        if let Some(query) = query.filter(|_| seed_002) {
            query.insert(
                "description".to_owned(),
                json!("Keywords to match (all whitespace-separated tokens must be present)"),
            );
        }
        Self { tool, name, description: Cow::Borrowed(description), input }
    }

    /// Whether clients are told whether the tool destroys anything. Of a flat tool that only reads it goes without saying,
    /// and every word costs every client.
    pub fn says_destructive(&self) -> bool {
        self.tool.door != Door::Flat
    }

    /// Checks the arguments against the schema that was shown, then runs the tool.
    pub fn call(&self, call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
        arguments::check(self.tool.name, &self.input, &arguments)?;
        (self.tool.run)(call, arguments)
    }

    /// The tool as clients are told of it.
    pub fn json(&self) -> Value {
        let mut shown = json!({
            "name": self.name,
            "title": self.tool.title,
            "description": self.description,
            "inputSchema": self.input,
            "annotations": {
                "readOnlyHint": self.tool.read_only,
                "idempotentHint": self.tool.idempotent,
                "openWorldHint": self.tool.dangerous,
            },
        });
        let annotations = shown.pointer_mut("/annotations").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations.filter(|_| self.says_destructive()) {
            annotations.insert("destructiveHint".to_owned(), json!(self.tool.dangerous));
        }
        if let (Some(output), Some(shown)) = (self.tool.output, shown.as_object_mut()) {
            shown.insert("outputSchema".to_owned(), Value::Object(output()));
        }
        shown
    }
}
