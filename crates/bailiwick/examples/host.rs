//! A small agent host: one module tool of its own, one skill from a folder, and a gate that prints
//! what it is asked.
//!
//! ```console
//! $ cargo run --package bailiwick --features full --example host
//! ```
//!
//! A real host would give `manager.tools().json_schema()` to a model and the model's calls to
//! `manager.call`. Here the calls are written down.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::convert::Infallible;
use std::path::PathBuf;

use bailiwick::core::ToolName;
use bailiwick::{
    Decision, DirectorySource, Effects, GateRequest, HostSource, LoadReport, Outcome, Policy,
    SkillManager, gate_fn, tool_fn,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The arguments of the module tool; a model is shown the comments of its fields.
#[derive(Deserialize, JsonSchema)]
struct Slug {
    /// The title to make an address of.
    title: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Grants are compared by text, so the folder is named as the policy file resolves it.
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .canonicalize()?;
    let slug = tool_fn::<Slug>(
        "slug",
        "Makes an address of a title.",
        |slug: Slug| async move { Ok::<_, Infallible>(slug_of(&slug.title)) },
    );

    let manager = SkillManager::builder()
        .gate(gate_fn(|request| async move { decide(&request) }))
        .policy(Policy::from_file(examples.join("bailiwick.toml"))?)
        .source(HostSource::new("host").skill("addresses", "Makes addresses of titles.", [slug])?)
        .source(DirectorySource::open(examples.join("skills"))?)
        .cwd(&examples)
        .build()
        .await?;

    for skill in ["addresses", "text-tools"] {
        let LoadReport { tools, .. } = manager.load(skill).await?;
        let names: Vec<&str> = tools.iter().map(ToolName::as_str).collect();
        println!("loaded {skill}: {}", names.join(", "));
    }

    let calls = [
        ("slug", json!({ "title": "Who may act where?" })),
        ("text-tools.word-count", json!({ "path": "data/essay.md" })),
        ("text-tools.word-count", json!({ "path": "README.md" })),
    ];
    for (tool, arguments) in calls {
        println!("\n> {tool} {arguments}");
        show(&manager.call(tool, arguments).await);
    }
    manager.shutdown().await;
    Ok(())
}

/// Says what would happen, and lets it happen: the policy bounds it whatever the answer is.
fn decide(request: &GateRequest) -> Decision {
    println!(
        "  gate: {} of {}, tier {}",
        request.tool(),
        request.skill(),
        request.tier
    );
    match &request.effects {
        Effects::Module => println!("  gate: runs in this process"),
        Effects::Isolated { grants, .. } => {
            println!("  gate: runs in a guest of its own");
            show_grants(grants);
        }
        Effects::Script { argv, grants, .. } => {
            println!("  gate: {}", argv.join(" "));
            show_grants(grants);
        }
        // A kind of effect that this host does not know is nothing it can vouch for.
        _ => return Decision::deny("this host does not know what the call would do"),
    }
    Decision::allow()
}

fn show_grants(grants: &[String]) {
    for grant in grants {
        println!("  gate: holds {grant}");
    }
}

fn show(outcome: &Outcome) {
    match &outcome.result {
        Ok(response) => println!("{}\n  ({:?})", response.text(), outcome.report.duration),
        Err(error) => {
            println!("  {error}");
            if let Some(hint) = error.hint() {
                println!("  hint: {hint}");
            }
        }
    }
}

fn slug_of(title: &str) -> String {
    let words = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}
