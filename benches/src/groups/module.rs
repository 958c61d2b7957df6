//! What the wrapper of tier 1 adds to a handler.

use std::convert::Infallible;
use std::sync::Arc;

use bailiwick::core::{CancelToken, LiveContext, Schema};
use bailiwick::{Decision, HostSource, LiveTool, SkillManager, gate_fn, tool_fn};
use serde_json::json;

use crate::measure::{BoxError, interleaved, timed};
use crate::report::Report;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

pub(crate) fn measure(report: &mut Report, rounds: usize) -> Result<(), BoxError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let tool: Arc<dyn LiveTool> = tool_fn::<Text>("count", "Counts words.", |text| async move {
        Ok::<_, Infallible>(text.text.split_whitespace().count().to_string())
    });
    let manager = runtime.block_on(async {
        let manager = SkillManager::builder()
            .gate(gate_fn(|_| async { Decision::allow() }))
            .source(HostSource::new("bench").skill("bench", "Measures.", [tool.clone()])?)
            .build()
            .await?;
        manager.load("bench").await?;
        Ok::<_, bailiwick::Error>(manager)
    })?;
    let schema = Schema::from_author(tool.parameters())?;
    let arguments = json!({ "text": "one two three" });
    let samples = interleaved(
        vec![
            (
                "module.bare",
                Box::new(|| {
                    let checked = schema.check(arguments.clone())?;
                    timed(|| {
                        let context = LiveContext::new(CancelToken::new());
                        runtime
                            .block_on(tool.call(checked, context))
                            .map_err(|error| error.to_string())?;
                        Ok(())
                    })
                }),
            ),
            (
                "module.wrapped",
                Box::new(|| {
                    timed(|| {
                        Ok(runtime
                            .block_on(manager.call("count", arguments.clone()))
                            .result?)
                    })
                }),
            ),
        ],
        rounds * 10,
    )?;
    report.add(samples);
    report.compare("module.wrapped", "module.bare", None);
    Ok(())
}
