//! The real binary, from outside: what agents and people see, and what happens when things go wrong.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that meets the unexpected has failed, and tests make and look at real files"
)]

mod agents;
mod answers;
mod authoring;
mod backpressure;
#[cfg(feature = "browse")]
mod browse;
mod budget;
mod bundles_by_request;
mod cache;
mod check;
mod checklist;
mod cli;
mod clients;
mod collector;
mod connect;
mod dashboard;
mod delivery;
mod docs;
mod edge_cases;
mod editors;
mod events;
mod fallback;
mod fits;
mod flat_tools;
mod fresh;
mod git;
mod git_hostile;
mod git_many;
mod hook;
mod hostile;
mod house;
#[cfg(feature = "http")]
mod http;
mod integrations;
mod journal;
mod layout;
mod learning;
mod link_targets;
mod links;
mod names;
mod notify;
#[cfg(feature = "otel")]
mod otel;
mod own_skills;
mod packages;
mod pictures;
mod planted;
mod plugins_live;
mod processes;
mod published;
mod recount;
mod removal;
mod routing;
mod sandbox;
mod scan_events;
mod scripts;
mod siblings;
mod skill_lifecycle;
mod skill_tool;
mod sources;
mod stats;
mod support;
mod surface;
mod terminal;
mod traversal;
mod trust;
mod tunnel;
mod usage;
mod user_started;
mod wire;
mod workshop;
