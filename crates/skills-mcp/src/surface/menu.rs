//! [`Menu`]: the tools one kind of client is offered; over a snapshot, what they say and what that costs.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use skills_core::estimate;

use super::{
    Blocking, Budget, Call, Door, Face, Match, Refusal, Reply, TOOLS, Tool, arguments,
    listing::Entries, skill,
};
use crate::store::Snapshot;

/// The tool that finds what the `skill` tool's listing has no room for.
const FINDER: &str = "skills_search";

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

/// The tools of a face, and what it says of them over a snapshot.
///
/// A call needs only its tool, whatever the number of skills. What the tools say looks at every skill, and only whoever
/// asks for that pays for it, once for each snapshot.
#[derive(Debug)]
pub struct Menu {
    face: Arc<Face>,
    /// Every tool in this face's words, before any listing of skills.
    tools: Vec<Arc<Offered>>,
    /// What was said last, and over which snapshot.
    said: Mutex<Option<(Weak<Snapshot>, Arc<Listed>)>>,
}

impl Menu {
    /// The menu of this face.
    pub fn new(face: Arc<Face>) -> Self {
        let tools = TOOLS.iter().map(|tool| Arc::new(Offered::new(tool, &face))).collect();
        Self { face, tools, said: Mutex::default() }
    }

    /// The tool a client means by a name, where its door is open.
    pub fn offered(&self, name: &str, snapshot: &Snapshot) -> Option<&Arc<Offered>> {
        let open = |door| self.face.opens(door, snapshot);
        // Whether a listing fits is not worth finding out for a call: the search that may stand beside it is served.
        let reachable = |tool: &Tool| open(tool.door) || (tool.name == FINDER && open(Door::Skill));
        let meant = self.tools.iter().find(|offered| offered.tool.answers_to(name));
        meant.filter(|offered| reachable(offered.tool))
    }

    /// What a client that asks for the tools is told. It changes only when the catalog does.
    pub fn listed(&self, snapshot: &Arc<Snapshot>) -> Arc<Listed> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match &*said {
            Some((over, listed)) if std::ptr::eq(over.as_ptr(), Arc::as_ptr(snapshot)) => {
                Arc::clone(listed)
            }
            _ => {
                let listed = Arc::new(Listed::of(self, snapshot));
                *said = Some((Arc::downgrade(snapshot), Arc::clone(&listed)));
                listed
            }
        }
    }
}

/// The tools a client is offered over one snapshot, in their order, each with all it says.
#[derive(Debug, Clone)]
pub struct Listed(pub Vec<Offered>);

impl Listed {
    fn of(menu: &Menu, snapshot: &Snapshot) -> Self {
        let face = &*menu.face;
        let open = |door| face.opens(door, snapshot);
        let offered = |wanted: &dyn Fn(&Tool) -> bool| -> Vec<Offered> {
            let wanted = menu.tools.iter().filter(|offered| wanted(offered.tool));
            wanted.map(|offered| Offered::clone(offered)).collect()
        };
        let mut listed = Self(offered(&|tool| open(tool.door)));
        if !open(Door::Skill) {
            return listed;
        }
        let room = match face.budget {
            Budget::Tokens(budget) => Some(budget),
            Budget::Unlimited => None,
        };
        let entries = Entries::of(&snapshot.catalog, room);
        listed.describe(skill::frame(face, &entries), Budget::Unlimited);
        let fits = match face.budget {
            Budget::Unlimited => true,
            Budget::Tokens(budget) => {
                entries.fits(face.listing, budget.saturating_sub(listed.tokens()))
            }
        };
        if fits && listed.describe(skill::description(face, &entries), face.budget) {
            return listed;
        }
        // What is not listed must be found some other way.
        if !open(Door::Flat) {
            listed.0.extend(offered(&|tool| tool.name == FINDER));
        }
        let bare = skill::frame(face, &entries);
        listed.describe(bare, Budget::Unlimited);
        let Budget::Tokens(budget) = face.budget else { return listed };
        if listed.tokens() > budget {
            // Not even the words around a list fit: say it in one sentence.
            listed.describe(skill::without_listing(face), Budget::Unlimited);
            return listed;
        }
        let mut room = budget.saturating_sub(listed.tokens());
        // Lines are estimated one by one, and together they may cost a little more.
        while !listed.describe(skill::shortened(face, &entries, room), face.budget) && room > 0 {
            room = room.saturating_sub(listed.tokens().saturating_sub(budget));
        }
        listed
    }

    /// Gives the `skill` tool this description, if everything then stays within the budget.
    fn describe(&mut self, description: String, budget: Budget) -> bool {
        let Some(skill) = self.0.iter_mut().find(|offered| offered.tool.door == Door::Skill) else {
            return true;
        };
        skill.description = description.into();
        match budget {
            Budget::Unlimited => true,
            Budget::Tokens(tokens) => self.tokens() <= tokens,
        }
    }

    fn json(&self) -> Value {
        json!({"tools": self.0.iter().map(Offered::json).collect::<Vec<_>>()})
    }

    /// Estimated tokens of the whole list, schemas included.
    pub fn tokens(&self) -> usize {
        estimate::tokens(&self.json().to_string())
    }

    /// The same for two lists only where clients read the same in both.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.json().to_string()).into()
    }

    /// What the tools are called.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|offered| &*offered.name).collect()
    }
}

impl Offered {
    fn new(tool: &'static Tool, face: &Face) -> Self {
        let name = face.called(tool);
        let is_word_search = face.matching == Match::All && tool.name == FINDER;
        let description = if is_word_search {
            "Keyword search across install name, metadata, and SKILL.md body."
        } else {
            tool.description
        };
        let mut input = (tool.input)();
        let query = input
            .get_mut("properties")
            .and_then(|all| all.get_mut("query"))
            .and_then(Value::as_object_mut);
        if let Some(query) = query.filter(|_| is_word_search) {
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

    /// How long this call keeps its thread, as things are: a short read from a remote disk, or from an index that is not
    /// ready, is a long one.
    pub fn blocking(&self, call: &Call, arguments: &Map<String, Value>) -> Blocking {
        let blocking = (self.tool.blocking)(call, arguments);
        let slow = || call.snapshot.is_slow() || !call.snapshot.is_indexed();
        if blocking == Blocking::ShortRead && slow() { Blocking::LongRead } else { blocking }
    }

    /// Checks the arguments against the schema that was shown, then runs the tool.
    pub fn call(&self, call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
        arguments::check(&self.name, &self.input, &arguments)?;
        self.tool.answer(call, arguments)
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
