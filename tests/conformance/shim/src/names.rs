//! Names of tools and skills (contracts 1.1, 1.2, 1.4).

use bailiwick_core::{NameRejected, Reserved, SkillName, ToolName};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, finish, read};

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Question {
    Tool { tool: String },
    Script { script: String, skill: String },
    Skill { skill: String },
    Publisher { publisher: String },
}

pub(crate) fn answer(input: Value) -> Answer {
    finish(
        read(input)
            .and_then(|question| decide(question).map_err(|error| Answer::refused(error, None))),
    )
}

fn decide(question: Question) -> Result<Value, NameRejected> {
    Ok(match question {
        Question::Tool { tool } => describe(&tool.parse()?),
        Question::Script { script, skill } => {
            describe(&ToolName::for_script(&skill.parse()?, &script)?)
        }
        Question::Skill { skill } => json!({"name": skill.parse::<SkillName>()?}),
        Question::Publisher { publisher } => {
            json!(match publisher.parse::<ToolName>()?.reserved() {
                Some(Reserved::Absolutely) => "nobody",
                Some(Reserved::ForBundled) => "bundled",
                None => "anyone",
            })
        }
    })
}

fn describe(name: &ToolName) -> Value {
    json!({"name": name, "long": name.is_long()})
}
