//! What a manager answers about scripts, and calls of those that a skill does not declare.

use bailiwick_core::{
    CallReport, Code, Outcome, Provenance, SkillError, SkillName, Tier, Tool as _, Violation,
};
use bailiwick_script::{Interpreters, ungranted};
use serde_json::{Value, json};

use crate::manager::SkillManager;
use crate::request::CallRequest;
use crate::tools::Published;

impl SkillManager {
    /// Returns who may run scripts here, and which presets are absent.
    pub fn interpreters(&self) -> &Interpreters {
        &self.inner().scripts.interpreters
    }

    /// Calls a script that a loaded skill ships and does not declare (contracts 5.1).
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), and `E_SKILL_SCRIPT_POLICY_WIDENED` without the grant
    /// `undeclared_scripts`.
    pub async fn call_script(
        &self,
        skill: &str,
        script: &str,
        args: &[String],
        request: CallRequest,
    ) -> Outcome {
        let mut request = request;
        let mut arguments = match std::mem::take(&mut request.arguments) {
            Value::Object(arguments) => arguments,
            Value::Null => serde_json::Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let violation = Violation::new("", "the arguments are not an object");
                return refused(Violation::reject(&[violation]));
            }
        };
        arguments.insert("script".to_owned(), json!(script));
        arguments.insert("args".to_owned(), json!(args));
        request.arguments = Value::Object(arguments);
        match self.undeclared(skill) {
            Ok(published) => self.call_published(&published, request).await,
            Err(error) => refused(error),
        }
    }

    fn undeclared(&self, skill: &str) -> Result<Published, SkillError> {
        let name: SkillName = skill.parse().map_err(|_| {
            SkillError::new(Code::NotFound, format!("no skill is named `{skill}`"))
                .with_detail("skill", skill)
        })?;
        let (record, tool) = self.inner().with_loaded(&name, |loaded| {
            let tool = loaded
                .scripts
                .as_ref()
                .and_then(|scripts| scripts.undeclared.clone());
            (loaded.record.clone(), tool)
        })?;
        let Some(tool) = tool else {
            let provenance = Provenance::new(name, None, None);
            return Err(ungranted(&provenance));
        };
        let short = tool.spec().name.to_string();
        Ok(Published {
            tool,
            record,
            short,
        })
    }
}

/// A call that did not come as far as a script.
fn refused(error: SkillError) -> Outcome {
    Outcome::new(Err(error), CallReport::new(Tier::Script))
}
