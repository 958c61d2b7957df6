//! Turns how a guest ended into an outcome: codes by what the host observed, words by what the
//! script said.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{
    ArtifactSource, CallReport, CancelToken, Code, Content, Excerpt, NewArtifact, Outcome,
    Response, SkillError, Tier,
};
use bailiwick_isolate::{Completion, Ending, Observed};
use bailiwick_js_syntax::Form;
use serde_json::{Value, json};

use crate::answer::{self, Answer, Returned, Threw, Unfit};
use crate::tool::Inner;

/// A call that has ended.
pub(crate) struct Ended {
    pub(crate) tool: Arc<Inner>,
    pub(crate) form: Form,
    pub(crate) allowed: Duration,
    pub(crate) completion: Completion,
}

impl Ended {
    pub(crate) async fn outcome(mut self) -> Outcome {
        let mut report = self.report();
        let answer = answer::of(&mut self.completion, &self.tool.holdings.limits);
        let result = match answer {
            Ok(Answer::Returned(returned)) => self.returned(returned, &mut report),
            Ok(Answer::Threw(threw)) => {
                report.stack =
                    Some(self.tool.script.stack(&threw.stack)).filter(|stack| !stack.is_empty());
                Err(self.threw(&threw, &mut report))
            }
            Ok(Answer::Unfit(unfit)) => Err(self.unfit(&unfit)),
            Ok(Answer::Compiled(_)) => Err(self.violated("it answered with bytecode")),
            Err(ending) => Err(self.stopped(ending, &mut report)),
        };
        let result = match result {
            Ok(text) => Ok(self.response(text, &mut report).await),
            Err(error) => Err(self.stamped(error)),
        };
        Outcome::new(result, report)
    }

    fn report(&mut self) -> CallReport {
        let mut report = CallReport::new(Tier::Isolated);
        report.limits = self.tool.limits.clone();
        report.limits["wall"] = json!(self.allowed.as_secs_f64());
        let observed = &mut self.completion.observed;
        report.logs = std::mem::take(&mut observed.logs);
        report.logs_dropped = observed.logs_dropped;
        report.limit_hit = observed.quota_hit.map(str::to_owned);
        let denied = observed.denials.iter();
        report.denials = denied.map(|(_, error)| denial(error)).collect();
        let Observed {
            memory_peak,
            fuel_used,
            host_calls,
            ..
        } = *observed;
        report.usage = json!({
            "memory_peak": memory_peak,
            "fuel": fuel_used,
            "host_calls": host_calls,
        });
        report.confirmed_dead = self.completion.confirmed_dead;
        report
    }

    /// Takes a value by the rules of the source's form; returns the text and the value.
    fn returned(
        &self,
        returned: Returned,
        report: &mut CallReport,
    ) -> Result<Answered, SkillError> {
        for encoded in &returned.encoded {
            report.warnings.push(format!(
                "`{}` of the answer was {} and is given as text",
                encoded.path, encoded.was
            ));
        }
        match self.form {
            Form::Arrow => {
                let value = returned.value;
                let text = value.as_str().map(str::to_owned);
                Ok(Answered {
                    text: text.unwrap_or_else(|| value.to_string()),
                    structured: Some(value),
                })
            }
            Form::Module => {
                let (text, details) = content(returned.value).map_err(|what| {
                    self.bad_response(&what).with_hint(
                        "return `{ content: [{ type: \"text\", text: \"…\" }], details: … }`",
                    )
                })?;
                report.details = details;
                Ok(Answered {
                    text,
                    structured: None,
                })
            }
        }
    }

    fn threw(&self, threw: &Threw, report: &mut CallReport) -> SkillError {
        let observed = &self.completion.observed;
        if let Some(denied) = threw.call.and_then(|call| observed.denial(call)) {
            let mut error = SkillError::new(
                Code::IsolatedCapabilityDenied,
                format!("`{}` ended on a refusal: {}", self.name(), denied.message()),
            );
            if let Some(hint) = denied.hint() {
                error = error.with_hint(hint);
            }
            for (name, value) in denied.details() {
                error = error.with_detail(name, value.clone());
            }
            return error;
        }
        if threw.out_of_memory && observed.memory_refused {
            return self.out_of_memory(report);
        }
        SkillError::new(
            Code::ToolFailed,
            format!("`{}` threw {}", self.name(), threw.describe()),
        )
        .with_hint(
            "correct the arguments if it says so; its author can use the stack in the report",
        )
    }

    fn unfit(&self, unfit: &Unfit) -> SkillError {
        let place = if unfit.path.is_empty() {
            "its answer".to_owned()
        } else {
            format!("`{}` of its answer", unfit.path)
        };
        self.bad_response(&format!("{place} has no JSON form: {}", unfit.reason))
            .with_hint(
                "return what `JSON.stringify` keeps whole, within the limits of depth and size",
            )
    }

    fn bad_response(&self, what: &str) -> SkillError {
        SkillError::new(
            Code::ToolBadResponse,
            format!("`{}` answered wrongly: {what}", self.name()),
        )
    }

    /// Says how a call ended that came to no answer of its script's.
    fn stopped(&self, ending: Ending, report: &mut CallReport) -> SkillError {
        let name = self.name();
        let mut limit = |axis: &str| report.limit_hit = Some(axis.to_owned());
        match ending {
            Ending::Expired => {
                limit("wall");
                SkillError::new(
                    Code::IsolatedTimeout,
                    format!("`{name}` ran past its deadline of {:?}", self.allowed),
                )
                .with_hint("ask for more with `timeout_seconds`, up to the maximum of the policy")
                .with_detail("axis", "wall")
            }
            Ending::OutOfFuel => {
                limit("fuel");
                SkillError::new(
                    Code::IsolatedOutOfFuel,
                    format!("`{name}` used up its fuel"),
                )
                .with_hint("raise `limits.isolate.fuel`, or have the tool do less in one call")
                .with_detail("axis", "fuel")
            }
            Ending::OutOfMemory => self.out_of_memory(report),
            Ending::Cancelled => CancelToken::error(),
            Ending::ResultTooLarge { bytes } => {
                limit("result");
                let most = self.tool.holdings.limits.result;
                self.bad_response(&format!("the answer has {bytes} bytes and may have {most}"))
                    .with_hint("return less, or raise `limits.isolate.result`")
            }
            // Where memory is gone the prelude cannot even say so.
            Ending::Stalled if self.completion.observed.memory_refused => {
                self.out_of_memory(report)
            }
            Ending::Stalled => SkillError::new(
                Code::ToolFailed,
                format!("`{name}` waits for a promise that nothing will settle"),
            )
            .with_hint("its author must settle every promise that `execute` awaits"),
            Ending::StackExhausted => SkillError::new(
                Code::ToolFailed,
                format!("`{name}` recursed beyond its native stack"),
            )
            .with_hint("its author must bound the recursion"),
            Ending::Misconfigured { what } => SkillError::new(
                Code::InvalidSkillsConfig,
                format!("`{name}` cannot be held to its limits: {what}"),
            )
            .with_hint(
                "lower the tool's limits, or start the engine with settings that cover them",
            ),
            Ending::Violated { what } => self.violated(&what),
            Ending::Trapped { what } => self.violated(&what),
            Ending::Answered { .. } | _ => self.violated("it ended in no known way"),
        }
    }

    fn out_of_memory(&self, report: &mut CallReport) -> SkillError {
        let (limits, observed) = (self.tool.holdings.limits, &self.completion.observed);
        let (axis, bound) = if observed.table_refused && !observed.memory_refused {
            ("table", format!("{} table entries", limits.table))
        } else {
            ("memory", format!("{} MiB of memory", limits.memory >> 20))
        };
        report.limit_hit = Some(axis.to_owned());
        SkillError::new(
            Code::IsolatedMemoryExceeded,
            format!("`{}` needs more than its {bound}", self.name()),
        )
        .with_hint(format!(
            "give it less to do, or raise `limits.isolate.{axis}`"
        ))
        .with_detail("axis", axis)
    }

    /// Ends a call whose guest did what no guest may do.
    fn violated(&self, what: &str) -> SkillError {
        SkillError::new(
            Code::ToolFailed,
            format!("`{}` was ended by its host: {what}", self.name()),
        )
        .with_hint("nothing of it survives; the tool cannot be used for these arguments")
    }

    async fn response(&self, answered: Answered, report: &mut CallReport) -> Response {
        report.bytes = answered.text.len() as u64;
        // What does not fit into a reply as text does not come back in another form.
        let fits = answered.text.len() <= self.tool.holdings.reply;
        let text = self.fit(answered.text, report).await;
        let mut response = Response::new(Content::Text(text), self.tool.spec.provenance.clone());
        response.structured = answered.structured.filter(|_| fits);
        response.artifact.clone_from(&report.artifact);
        response
    }

    /// Fits a text into a reply; what is longer is kept whole, where it can be.
    async fn fit(&self, text: String, report: &mut CallReport) -> String {
        let limit = self.tool.holdings.reply;
        if text.len() <= limit {
            return text;
        }
        let provenance = &self.tool.spec.provenance;
        let source = ArtifactSource::new(provenance.skill.clone(), self.tool.spec.name.clone());
        let kept = self.tool.holdings.artifacts.clone().map(|store| {
            let bytes = text.clone().into_bytes();
            tokio::task::spawn_blocking(move || store.put(NewArtifact::new(&bytes, KIND, source)))
        });
        let place = match kept {
            None => "this host keeps no artifacts".to_owned(),
            Some(kept) => match kept.await {
                Ok(Ok(artifact)) => {
                    let place = format!("the whole answer is artifact `{}`", artifact.id);
                    report.artifact = Some(artifact.id);
                    place
                }
                Ok(Err(error)) => format!("the whole answer was not kept: {}", error.message()),
                Err(_) => "the whole answer was not kept: the store panicked".to_owned(),
            },
        };
        let excerpt = Excerpt::of(&text, limit, &place);
        if report.artifact.is_none() {
            report.truncated = true;
            report.dropped = excerpt.left_out as u64;
            report.warnings.push(place);
        }
        excerpt.text
    }

    fn stamped(&self, error: SkillError) -> SkillError {
        error
            .with_detail("tool", self.name())
            .with_detail("skill", self.tool.spec.provenance.skill.as_str())
    }

    fn name(&self) -> &str {
        self.tool.spec.name.as_str()
    }
}

/// Writes a refusal as the report has those of every tier: by which layer, of what, and the next
/// step.
fn denial(error: &SkillError) -> Value {
    let detail = |name| error.details().get(name).and_then(Value::as_str);
    let capability = detail("capability").unwrap_or("a member of `context`");
    json!({
        "layer": "capability",
        "access": format!("use {capability}"),
        "object": detail("path").unwrap_or(capability),
        "hint": error.hint(),
    })
}

/// What a call answers.
struct Answered {
    text: String,
    structured: Option<Value>,
}

/// Reads the answer of a tool module: its text, and what only the host is told (contracts 7.6).
fn content(value: Value) -> Result<(String, Option<Value>), String> {
    let Value::Object(mut answer) = value else {
        return Err("it is not an object".to_owned());
    };
    let (content, details) = (answer.remove("content"), answer.remove("details"));
    if let Some(key) = answer.keys().next() {
        return Err(format!("it has a key `{key}`"));
    }
    let Some(Value::Array(parts)) = content else {
        return Err("its `content` is no array".to_owned());
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let Value::Object(mut part) = part else {
            return Err(format!("`/content/{index}` is no object"));
        };
        let (kind, text) = (part.remove("type"), part.remove("text"));
        match (kind, text) {
            (Some(Value::String(kind)), Some(Value::String(text))) if kind == "text" => {
                texts.push(text);
            }
            _ => {
                return Err(format!(
                    "`/content/{index}` is no `{{ type: \"text\", text }}`"
                ));
            }
        }
        if let Some(key) = part.keys().next() {
            return Err(format!("`/content/{index}` has a key `{key}`"));
        }
    }
    Ok((texts.join("\n"), details))
}

/// The kind of artifact that keeps an answer.
const KIND: &str = "tool-response";
