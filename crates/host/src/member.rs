//! One member of `context`: its name, how it is called, and who answers.

use std::fmt;
use std::sync::Arc;

use bailiwick_core::{Arguments, BoxFuture, CancelToken, Capability, Code, Schema, SkillError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::HostError;
use crate::roots::Roots;
use crate::scope::CallScope;

/// A member of `context` that can be granted.
///
/// # Examples
///
/// ```
/// use bailiwick_host::{Member, Parameter};
/// use serde_json::json;
///
/// let shout = Member::builder("text.shout", "Returns a text in capitals.")
///     .parameter(Parameter::required("text", "string", json!({ "type": "string" })))
///     .returns("string")
///     .quota(100)
///     .build(|call| async move {
///         let text = call.arguments().value("text").and_then(|text| text.as_str());
///         Ok(json!(text.unwrap_or_default().to_uppercase()))
///     })?;
/// assert_eq!(shout.signature(), "text.shout(text: string): Promise<string>");
/// # Ok::<_, bailiwick_core::SkillError>(())
/// ```
pub struct Member {
    name: Capability,
    summary: String,
    parameters: Vec<Parameter>,
    schema: Schema,
    returns: String,
    needs: Needs,
    quota: Option<u32>,
    handler: Handler,
}

type Handler = Arc<dyn Fn(MemberCall) -> BoxFuture<'static, Answer> + Send + Sync>;
type Answer = Result<Value, SkillError>;

impl Member {
    /// Begins to describe a member by its name, such as `fs.read`, and one line of documentation.
    pub fn builder(name: impl Into<String>, summary: impl Into<String>) -> MemberBuilder {
        MemberBuilder {
            name: name.into(),
            summary: summary.into(),
            parameters: Vec::new(),
            returns: "unknown".to_owned(),
            needs: Needs::Nothing,
            quota: None,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &Capability {
        &self.name
    }

    /// Returns what the member does, in one line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the parameters in the order of a call.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the shape of the result, as a type of TypeScript.
    pub fn returns(&self) -> &str {
        &self.returns
    }

    /// Returns what a grant of the name alone does not give.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns how often one guest call may call the member; none when only the guest's own bound
    /// on host calls holds.
    pub fn quota(&self) -> Option<u32> {
        self.quota
    }

    /// Renders how the member is called, in the notation of TypeScript.
    pub fn signature(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| {
                let mark = if parameter.required { "" } else { "?" };
                format!("{}{mark}: {}", parameter.name, parameter.shape)
            })
            .collect();
        let parameters = parameters.join(", ");
        format!("{}({parameters}): Promise<{}>", self.name, self.returns)
    }

    /// Gives positional arguments their names and checks them.
    pub(crate) fn check(&self, positional: Vec<Value>) -> Result<Arguments, SkillError> {
        let (given, known) = (positional.len(), self.parameters.len());
        if given > known {
            return Err(self.mismatch(&SkillError::new(
                Code::ArgumentsRejected,
                format!("{given} arguments were given, and there are {known} parameters"),
            )));
        }
        let mut named = Map::new();
        for (parameter, value) in self.parameters.iter().zip(positional) {
            // What a guest leaves out before a later argument, or passes as `undefined`, is null.
            if parameter.required || !value.is_null() {
                named.insert(parameter.name.to_owned(), value);
            }
        }
        self.schema
            .check(Value::Object(named))
            .map_err(|error| self.mismatch(&error))
    }

    pub(crate) fn answer(&self, call: MemberCall) -> BoxFuture<'static, Answer> {
        (self.handler)(call)
    }

    /// Says which member an error about arguments belongs to.
    fn mismatch(&self, error: &SkillError) -> SkillError {
        let text = format!("`{}`: {}", self.name, error.message());
        let mut about = SkillError::new(error.code(), text)
            .with_hint(format!(
                "correct the named values; call `{}`",
                self.signature()
            ))
            .with_detail("member", self.name.as_str());
        for (name, value) in error.details() {
            about = about.with_detail(name, value.clone());
        }
        about
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.name)
            .field("needs", &self.needs)
            .field("quota", &self.quota)
            .finish_non_exhaustive()
    }
}

/// A member that nobody answers for yet.
#[derive(Debug)]
#[must_use]
pub struct MemberBuilder {
    name: String,
    summary: String,
    parameters: Vec<Parameter>,
    returns: String,
    needs: Needs,
    quota: Option<u32>,
}

impl MemberBuilder {
    /// Adds the next positional parameter. None by default.
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Documents the result, as a type of TypeScript. `unknown` by default.
    pub fn returns(mut self, shape: impl Into<String>) -> Self {
        self.returns = shape.into();
        self
    }

    /// Says what a grant of the name alone does not give. [`Needs::Nothing`] by default.
    pub fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// Bounds how often one guest call may call the member. No bound of its own by default.
    pub fn quota(mut self, calls: u32) -> Self {
        self.quota = Some(calls);
        self
    }

    /// Finishes the member with the function that answers its calls.
    ///
    /// The function gets arguments that match. Dropping its future must end the work; blocking
    /// work looks at [`MemberCall::cancel`] as well.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for a name that is not `namespace.member` or belongs to what every
    /// guest has, a required parameter after an optional one, a parameter that stands twice, a
    /// quota of zero, and a schema that does not compile.
    pub fn build<F, A>(self, handler: F) -> Result<Member, SkillError>
    where
        F: Fn(MemberCall) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        let name = check_name(&self.name)?;
        let reject = |reason: String| rejected(&self.name, reason);
        for (index, parameter) in self.parameters.iter().enumerate() {
            let before = &self.parameters[..index];
            if before.iter().any(|other| other.name == parameter.name) {
                return Err(reject(format!(
                    "parameter `{}` stands twice",
                    parameter.name
                )));
            }
            if parameter.required && before.iter().any(|other| !other.required) {
                let text = format!("`{}` is required after an optional one", parameter.name);
                return Err(reject(text));
            }
        }
        if self.quota == Some(0) {
            return Err(reject("a quota of 0 calls grants nothing".to_owned()));
        }
        let schema = Schema::from_author(arguments_schema(&self.parameters))
            .map_err(|error| reject(error.message().to_owned()))?;
        let handler = Arc::new(handler);
        Ok(Member {
            name,
            summary: self.summary,
            parameters: self.parameters,
            schema,
            returns: self.returns,
            needs: self.needs,
            quota: self.quota,
            handler: Arc::new(move |call| {
                let handler = Arc::clone(&handler);
                // A handler that panics before it has a future is contained like any other.
                Box::pin(async move { handler(call).await })
            }),
        })
    }
}

/// One positional parameter of a member.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The name that documentation and errors use.
    pub name: &'static str,
    /// Its type, in the notation of TypeScript.
    pub shape: &'static str,
    /// Its JSON Schema.
    pub schema: Value,
    /// Whether a call must give it.
    pub required: bool,
}

impl Parameter {
    /// Describes a parameter that every call gives.
    pub fn required(name: &'static str, shape: &'static str, schema: Value) -> Self {
        Self {
            name,
            shape,
            schema,
            required: true,
        }
    }

    /// Describes a parameter that a call may leave out.
    pub fn optional(name: &'static str, shape: &'static str, schema: Value) -> Self {
        Self {
            required: false,
            ..Self::required(name, shape, schema)
        }
    }
}

/// What a member needs beyond the grant of its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A root to read beneath; the others are handed no root at all.
    Roots,
}

/// One call of a member, granted and checked.
#[derive(Debug)]
pub struct MemberCall {
    pub(crate) member: Capability,
    pub(crate) arguments: Arguments,
    pub(crate) scope: Arc<CallScope>,
    pub(crate) roots: Arc<Roots>,
    pub(crate) cancel: CancelToken,
}

impl MemberCall {
    /// Returns the member that is called.
    pub fn member(&self) -> &Capability {
        &self.member
    }

    /// Returns the arguments by the names of the parameters; they match the schemas.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Reads the arguments into a type.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED` when the type is narrower than the schemas.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, SkillError> {
        serde_json::from_value(self.arguments.to_value()).map_err(|error| {
            HostError::Argument {
                member: self.member.clone(),
                pointer: "",
                reason: error.to_string(),
            }
            .into()
        })
    }

    /// Returns whom the call is made for, and where.
    pub fn scope(&self) -> &CallScope {
        &self.scope
    }

    /// Returns the roots to read beneath; none for a member that does not say it needs them.
    pub fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// Returns the token that is cancelled when nobody waits for the answer any more.
    pub fn cancel(&self) -> &CancelToken {
        &self.cancel
    }
}

fn check_name(text: &str) -> Result<Capability, SkillError> {
    let name: Capability = text
        .parse()
        .map_err(|error: bailiwick_core::CapabilityRejected| rejected(text, error.to_string()))?;
    let Some((namespace, word)) = name.as_str().split_once('.') else {
        let reason = "a member stands in a namespace, as `namespace.member`";
        return Err(rejected(text, reason.to_owned()));
    };
    if ALWAYS_PRESENT.contains(&namespace) || Capability::CONTAINED.contains(&namespace) {
        let reason = format!("`{namespace}` belongs to what every guest has");
        return Err(rejected(text, reason));
    }
    if let Some(taken) = [namespace, word]
        .into_iter()
        .find(|w| OF_THE_LANGUAGE.contains(w))
    {
        return Err(rejected(
            text,
            format!("`{taken}` means something to the language itself"),
        ));
    }
    Ok(name)
}

fn rejected(name: &str, reason: String) -> SkillError {
    let name = name.chars().take(MAX_SHOWN).collect();
    HostError::MemberRejected { name, reason }.into()
}

fn arguments_schema(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|parameter| (parameter.name.to_owned(), parameter.schema.clone()))
        .collect();
    let required: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter.required)
        .map(|parameter| parameter.name)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The longest name of a member that an error repeats, in characters.
pub(crate) const MAX_SHOWN: usize = 64;

/// What every guest has in `context` without a grant.
const ALWAYS_PRESENT: [&str; 8] = [
    "chat",
    "util",
    "cwd",
    "projectId",
    "threadId",
    "conversationId",
    "messageId",
    "threadPath",
];

/// An object with `then` is taken for a promise, and so on.
const OF_THE_LANGUAGE: [&str; 6] = [
    "then",
    "constructor",
    "prototype",
    "toString",
    "toJSON",
    "valueOf",
];
