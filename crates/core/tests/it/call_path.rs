//! Validate, prepare, gate, run: in that order, and each stops the rest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick_core::{
    Arguments, BoxFuture, CallContext, CallReport, CancelToken, Code, Content, Decision, Effects,
    GateUnavailable, Gatekeeper, Outcome, Permit, Prepared, Provenance, Response, Schema,
    SkillError, Tier, Tool, ToolSpec, call, gate_fn,
};
use serde_json::{Value, json};

type Log = Arc<Mutex<Vec<&'static str>>>;

struct Probe {
    spec: ToolSpec,
    log: Log,
    prepares: bool,
}

impl Probe {
    fn new(tier: Tier) -> Self {
        let schema =
            Schema::from_author(json!({ "properties": { "n": { "type": "integer" } } })).unwrap();
        let provenance = Provenance::new("demo".parse().unwrap(), Some("1.0.0".to_owned()), None);
        let spec = ToolSpec::new(
            "probe".parse().unwrap(),
            "Probes.",
            tier,
            schema,
            provenance,
        );
        Self {
            spec,
            log: Log::default(),
            prepares: true,
        }
    }

    fn logged(&self) -> Vec<&'static str> {
        self.log.lock().unwrap().clone()
    }
}

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        _arguments: Arguments,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Prepared>, SkillError>> {
        Box::pin(async move {
            self.log.lock().unwrap().push("prepare");
            if !self.prepares {
                return Err(SkillError::new(Code::ScriptPolicyWidened, "too wide"));
            }
            let provenance = self.spec.provenance.clone();
            let prepared = Run {
                log: self.log.clone(),
                tier: self.spec.tier,
                provenance,
                effects: Effects::Module,
            };
            Ok(Box::new(prepared) as Box<dyn Prepared>)
        })
    }
}

struct Run {
    log: Log,
    tier: Tier,
    provenance: Provenance,
    effects: Effects,
}

impl Prepared for Run {
    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn run(self: Box<Self>, permit: Permit) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            assert!(permit.granted_at().elapsed() < Duration::from_hours(1));
            self.log.lock().unwrap().push("run");
            let response = Response::new(Content::Text("ran".to_owned()), self.provenance);
            Outcome::new(Ok(response), CallReport::new(self.tier))
        })
    }
}

fn logging(
    log: &Log,
    answer: impl Fn() -> Result<Decision, GateUnavailable> + Send + Sync + 'static,
) -> Gatekeeper {
    let log = log.clone();
    Gatekeeper::new(gate_fn(move |_| {
        log.lock().unwrap().push("gate");
        let answer = answer();
        async move { answer }
    }))
}

async fn run(tool: &Probe, gate: &Gatekeeper, arguments: Value) -> Outcome {
    call(tool, gate, arguments, &CallContext::new("/")).await
}

#[tokio::test]
async fn the_stages_come_in_order() {
    let tool = Probe::new(Tier::Module);
    let gate = logging(&tool.log, || Ok(Decision::allow()));
    let outcome = run(&tool, &gate, json!({ "n": 1 })).await;
    assert_eq!(outcome.result.unwrap().text(), "ran");
    assert_eq!(tool.logged(), ["prepare", "gate", "run"]);
    assert!(outcome.report.duration >= outcome.report.gate);
}

#[tokio::test]
async fn bad_arguments_stop_before_anything_is_prepared() {
    let tool = Probe::new(Tier::Module);
    let gate = logging(&tool.log, || Ok(Decision::allow()));
    let error = run(&tool, &gate, json!({ "n": "x" }))
        .await
        .result
        .unwrap_err();
    assert_eq!(error.code(), Code::ArgumentsRejected);
    assert!(tool.logged().is_empty());
}

#[tokio::test]
async fn nobody_is_asked_about_what_would_fail_anyway() {
    let mut tool = Probe::new(Tier::Script);
    tool.prepares = false;
    let gate = logging(&tool.log, || Ok(Decision::allow()));
    let error = run(&tool, &gate, json!({})).await.result.unwrap_err();
    assert_eq!(error.code(), Code::ScriptPolicyWidened);
    assert_eq!(tool.logged(), ["prepare"]);
}

#[tokio::test]
async fn a_refusal_and_a_broken_gate_have_codes_of_their_own_in_each_tier() {
    for (tier, denied, unavailable) in [
        (Tier::Module, Code::GateDenied, Code::GateUnavailable),
        (Tier::Isolated, Code::GateDenied, Code::GateUnavailable),
        (
            Tier::Script,
            Code::ScriptDenied,
            Code::ScriptGateUnavailable,
        ),
    ] {
        let tool = Probe::new(tier);
        let gate = logging(&tool.log, || Ok(Decision::deny("not today")));
        let error = run(&tool, &gate, json!({})).await.result.unwrap_err();
        assert_eq!(
            (error.code(), error.details()["reason"].as_str()),
            (denied, Some("not today"))
        );

        let gate = logging(&tool.log, || {
            Err(GateUnavailable::new("the approver is offline").hint("start it"))
        });
        let error = run(&tool, &gate, json!({})).await.result.unwrap_err();
        assert_eq!(
            (error.code(), error.hint()),
            (unavailable, Some("start it"))
        );
        assert!(!tool.logged().contains(&"run"));
    }
}

#[tokio::test]
async fn a_gate_that_panics_at_any_point_is_unavailable() {
    let tool = Probe::new(Tier::Module);
    let at_once = Gatekeeper::new(gate_fn(|request| async move {
        assert!(request.tool().is_empty(), "the gate breaks");
        Decision::allow()
    }));
    let in_the_call = Gatekeeper::new(gate_fn(|request| {
        assert!(request.tool().is_empty(), "the gate breaks");
        async { Decision::allow() }
    }));
    let after_an_await = Gatekeeper::new(gate_fn(|request| async move {
        tokio::task::yield_now().await;
        assert!(request.tool().is_empty(), "the gate breaks");
        Decision::allow()
    }));
    for gate in [at_once, in_the_call, after_an_await] {
        let error = run(&tool, &gate, json!({})).await.result.unwrap_err();
        assert_eq!(error.code(), Code::GateUnavailable);
        assert!(error.message().contains("panicked"));
    }
    assert!(!tool.logged().contains(&"run"));
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_never_answers_is_unavailable_at_its_deadline_and_not_before() {
    let tool = Probe::new(Tier::Script);
    let silent = || Gatekeeper::new(gate_fn(|_| std::future::pending::<Decision>()));
    let gate = silent().with_deadline(Some(Duration::from_secs(5)));
    let error = run(&tool, &gate, json!({})).await.result.unwrap_err();
    assert_eq!(error.code(), Code::ScriptGateUnavailable);
    let patient = silent();
    let waiting =
        tokio::time::timeout(Duration::from_hours(24), run(&tool, &patient, json!({}))).await;
    assert!(
        waiting.is_err(),
        "without a deadline a person may take a day"
    );
}

#[tokio::test]
async fn a_cancel_while_the_gate_thinks_is_a_cancel() {
    let tool = Probe::new(Tier::Module);
    let gate = Gatekeeper::new(gate_fn(|_| std::future::pending::<Decision>()));
    let context = CallContext::new("/");
    let cancel: CancelToken = context.cancel.clone();
    let (outcome, ()) = tokio::join!(call(&tool, &gate, json!({}), &context), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_does_nothing() {
    let tool = Probe::new(Tier::Module);
    let gate = logging(&tool.log, || Ok(Decision::allow()));
    let context = CallContext::new("/");
    context.cancel.cancel();
    let outcome = call(&tool, &gate, json!({}), &context).await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
    assert!(tool.logged().is_empty());
}

#[tokio::test]
async fn a_cancel_that_comes_with_the_permission_still_stops_the_call() {
    let tool = Probe::new(Tier::Module);
    let context = CallContext::new("/");
    let cancel = context.cancel.clone();
    let gate = Gatekeeper::new(gate_fn(move |_| {
        cancel.cancel();
        async { Decision::allow() }
    }));
    let outcome = call(&tool, &gate, json!({}), &context).await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
    assert!(!tool.logged().contains(&"run"));
}

#[tokio::test]
async fn the_gate_sees_the_final_request() {
    let tool = Probe::new(Tier::Module);
    let seen = Arc::new(Mutex::new(None));
    let gate = Gatekeeper::new(gate_fn({
        let seen = seen.clone();
        move |request| {
            *seen.lock().unwrap() = Some(serde_json::to_value(&request).unwrap());
            async { Decision::allow() }
        }
    }));
    run(&tool, &gate, json!({ "n": 7 })).await.result.unwrap();
    let seen = seen.lock().unwrap().take().unwrap();
    insta::assert_json_snapshot!(seen, @r#"
    {
      "provenance": {
        "skill": "demo",
        "version": "1.0.0",
        "digest": null
      },
      "tool": "probe",
      "tier": "module",
      "arguments": {
        "n": 7
      },
      "effects": {
        "kind": "module"
      }
    }
    "#);
}

#[tokio::test]
async fn an_ungated_call_skips_the_gate_alone() {
    let tool = Probe::new(Tier::Module);
    let gate = Gatekeeper::dangerously_ungated();
    assert_eq!(
        run(&tool, &gate, json!({ "n": "x" }))
            .await
            .result
            .unwrap_err()
            .code(),
        Code::ArgumentsRejected
    );
    assert!(!run(&tool, &gate, json!({})).await.result.unwrap().trusted());
}
