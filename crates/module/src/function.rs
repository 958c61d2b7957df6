//! Live tools from functions.

use std::marker::PhantomData;
use std::sync::Arc;

use bailiwick_core::{Arguments, BoxError, BoxFuture, LiveContext, LiveTool, RawOutput};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Makes a live tool of an async function whose arguments are a Rust type.
///
/// The type's schema is what a model is shown and what arguments are checked against; doc comments
/// of its fields become their descriptions. It must be a struct (a JSON object); one without
/// fields takes no arguments. The handler returns whatever converts into a
/// [`RawOutput`], and any error.
///
/// The result is not yet a tool that a host registers: a manager, or [`rewrap`](crate::rewrap),
/// makes it one.
///
/// # Examples
///
/// ```
/// use bailiwick_module::{schemars, tool_fn};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet {
///     /// Who is greeted.
///     name: String,
/// }
///
/// let tool = tool_fn::<Greet>("greet", "Greets somebody.", |greet| async move {
///     if greet.name.is_empty() {
///         return Err("nobody to greet");
///     }
///     Ok(format!("Hello, {}!", greet.name))
/// });
/// assert_eq!(tool.name(), "greet");
/// assert_eq!(tool.parameters()["properties"]["name"]["description"], "Who is greeted.");
/// ```
pub fn tool_fn<Args>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: impl Handler<Args>,
) -> Arc<dyn LiveTool>
where
    Args: DeserializeOwned + JsonSchema + Send + 'static,
{
    let mut parameters = schemars::schema_for!(Args);
    // Neither the Rust type's name nor the dialect, which is fixed, means anything to a model.
    parameters.remove("title");
    parameters.remove("$schema");
    Arc::new(FunctionTool {
        name: name.into(),
        description: description.into(),
        parameters: parameters.to_value(),
        handler: Arc::new(handler),
        arguments: PhantomData,
    })
}

/// An async function that [`tool_fn`] takes: from its arguments to a `Result`.
///
/// Implemented for every `Fn(Args) -> impl Future<Output = Result<_, _>>` whose answer converts
/// into a [`RawOutput`] and whose error converts into a [`BoxError`].
pub trait Handler<Args>: Fn(Args) -> Self::Future + Send + Sync + 'static {
    /// The future that the function returns.
    type Future: Future<Output = Result<Self::Answer, Self::Failure>> + Send + 'static;
    /// What the function answers.
    type Answer: Into<RawOutput> + 'static;
    /// What the function fails with.
    type Failure: Into<BoxError> + 'static;
}

impl<Args, F, Fut, Answer, Failure> Handler<Args> for F
where
    F: Fn(Args) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, Failure>> + Send + 'static,
    Answer: Into<RawOutput> + 'static,
    Failure: Into<BoxError> + 'static,
{
    type Future = Fut;
    type Answer = Answer;
    type Failure = Failure;
}

struct FunctionTool<Args, H> {
    name: String,
    description: String,
    parameters: Value,
    handler: Arc<H>,
    arguments: PhantomData<fn(Args)>,
}

impl<Args, H> LiveTool for FunctionTool<Args, H>
where
    Args: DeserializeOwned + Send + 'static,
    H: Handler<Args>,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn call(
        &self,
        arguments: Arguments,
        _context: LiveContext,
    ) -> BoxFuture<'static, Result<RawOutput, BoxError>> {
        let handler = Arc::clone(&self.handler);
        Box::pin(async move {
            let arguments: Args = serde_json::from_value(arguments.to_value())?;
            handler(arguments).await.map(Into::into).map_err(Into::into)
        })
    }
}
