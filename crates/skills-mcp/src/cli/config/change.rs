//! `config get`, `config set` and `config unset`: one setting, read or written in the user's file.

use std::process::ExitCode;

use serde_json::json;

use super::{
    super::{
        Context, Failure, Output,
        output::{dim, safe},
        sources_file::ConfigFile,
    },
    plain,
};
use crate::config::{ConfigKey, ConfigValue, SettingOrigin, without_userinfo};

#[derive(clap::Subcommand)]
pub(in crate::cli) enum ConfigAction {
    /// Print the value of a setting
    Get {
        /// The key, such as `matching.min_score`
        key: String,
    },
    /// Write a setting into your configuration file
    Set {
        /// The key, such as `matching.min_score`
        key: String,
        /// The value; a list as `[a, b]`
        value: String,
    },
    /// Take a setting out of your configuration file
    Unset {
        /// The key, such as `matching.min_score`
        key: String,
    },
}

pub(super) fn run(
    context: &Context,
    action: &ConfigAction,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    match action {
        ConfigAction::Get { key } => get(context, known(key)?, as_json),
        ConfigAction::Set { key, value } => set(context, known(key)?, value),
        ConfigAction::Unset { key } => unset(context, known(key)?),
    }
}

fn known(name: &str) -> Result<&'static ConfigKey, Failure> {
    let elsewhere = match name {
        "sources" => Some(
            "`skills-mcp list --sources` shows it, `skills-mcp add` and `skills-mcp remove` change it",
        ),
        "tools" => Some(
            "`skills-mcp tools` shows what it results in; --tools and SKILLS_TOOLS win over it, and you write it into the file yourself",
        ),
        _ => None,
    };
    if let Some(hint) = elsewhere {
        let message = format!("`{name}` is no setting that `config` reads or writes");
        return Err(Failure::usage(message, hint));
    }
    ConfigKey::named(name).ok_or_else(|| {
        let hint = match (name, ConfigKey::near(name)) {
            (_, Some(near)) => format!("did you mean {near}? `skills-mcp config` lists every key"),
            (_, None) => "`skills-mcp config` lists every key".to_owned(),
        };
        Failure::usage(format!("there is no key `{name}`"), hint)
    })
}

/// The value as the first source's settings and the operator's own result in, and where it comes from.
fn current(
    context: &Context,
    key: &'static ConfigKey,
) -> Result<(ConfigValue, SettingOrigin), Failure> {
    let opened = context.opened()?;
    let values = &opened.snapshot.config.values;
    let found = values.iter().find(|(known, ..)| known.name == key.name);
    let (_, value, origin) =
        found.ok_or_else(|| Failure::bug(format!("{} has no value", key.name)))?;
    Ok((value.clone(), origin.clone()))
}

fn get(context: &Context, key: &'static ConfigKey, as_json: bool) -> Result<ExitCode, Failure> {
    let (value, origin) = current(context, key)?;
    let mut out = Output::new();
    if as_json {
        let origin = origin.to_string();
        out.json(&json!({"key": key.name, "value": plain(&value), "origin": origin}));
    } else {
        let shown = if let ConfigValue::Text(text) = &value {
            without_userinfo(text)
        } else {
            value.to_string()
        };
        out.line(safe(&shown));
    }
    Ok(ExitCode::SUCCESS)
}

fn set(context: &Context, key: &'static ConfigKey, text: &str) -> Result<ExitCode, Failure> {
    let value = key.read_text(text).map_err(|expected| {
        Failure::usage(
            format!("`{}` is `{text}`, but must be {expected}", key.name),
            format!("`skills-mcp config get {}` prints its value now", key.name),
        )
    })?;
    let lock = ConfigFile::lock(&context.environment)?;
    let file = ConfigFile::of_user(&context.environment)?;
    let changed =
        file.text.with_value(key.name, &value.yaml()).map_err(|error| file.refused(&error))?;
    file.write(context, &changed)?;
    drop(lock);
    let mut out = Output::new();
    file.print_change(&mut out, &changed);
    report(context, key, &mut out)
}

fn unset(context: &Context, key: &'static ConfigKey) -> Result<ExitCode, Failure> {
    let mut out = Output::new();
    let mut was_there = false;
    let lock = ConfigFile::lock(&context.environment)?;
    for file in ConfigFile::all_of_user(&context.environment)? {
        let changed = file.text.without_value(key.name).map_err(|error| file.refused(&error))?;
        let Some(changed) = changed else { continue };
        file.write(context, &changed)?;
        file.print_change(&mut out, &changed);
        was_there = true;
    }
    drop(lock);
    if !was_there {
        out.line(format!("{} is in no file of yours", key.name));
    }
    report(context, key, &mut out)
}

/// Says what holds now, and why.
fn report(
    context: &Context,
    key: &'static ConfigKey,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let (value, origin) = current(context, key)?;
    let line = format!("{} is {}", key.name, safe(&value.to_string()));
    out.line(format!("{line}  {}", dim(&safe(&origin.to_string()))));
    Ok(ExitCode::SUCCESS)
}
