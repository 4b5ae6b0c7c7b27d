//! `mcp-server`: bundles of a project, through `skills.list` and `skills.search` (SK-1 to SK-6).

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use super::{Context, Failure, serve};
use crate::{paths::is_folder, source::Directory, store::Store, surface::ServerProfile};

#[derive(clap::Args)]
pub(super) struct McpServerOptions {
    /// The folder of bundles [default: ./skills]
    #[arg(long, value_name = "PATH")]
    root: Option<PathBuf>,
    /// How the tools' names are spelled
    #[arg(long, value_enum, default_value_t = Spelling::Dotted)]
    tool_names: Spelling,
}

#[derive(Clone, Copy, clap::ValueEnum, PartialEq)]
enum Spelling {
    /// `skills.list`
    Dotted,
    /// `skills_list`, for clients that refuse dots
    Underscore,
}

pub(super) fn run(context: &Context, options: &McpServerOptions) -> Result<ExitCode, Failure> {
    let project = context.environment.directory.clone();
    let path = project.join(options.root.as_deref().unwrap_or("skills".as_ref()));
    let there = is_folder(&path);
    if !there && options.root.is_some() {
        return Err(Failure::usage(
            format!("--root: there is no directory {}", path.display()),
            "create it, or name another one",
        ));
    }
    if !there {
        tracing::warn!("there is no {}; it is served as soon as it appears", path.display());
    }
    // The path without `./` in it, so that answers are relative to the project.
    let path = path.components().collect();
    let layers = context.layers()?;
    let skills = Directory::bundles("skills", path).with_policy(&context.link_policy(&layers));
    let store = Store::new(vec![skills], layers);
    let profile = ServerProfile {
        dotted: options.tool_names == Spelling::Dotted,
        ..ServerProfile::sk(Arc::new(context.environment.clone()))
    };
    serve::serve(context, store, profile)
}
