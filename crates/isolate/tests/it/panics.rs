//! A host whose own code panics: the guest is told, and the engine serves the next call.

use bailiwick_core::Updates;
use bailiwick_isolate::{Ending, EngineSettings};

use crate::bed::{self, Host, hosted, settled, text};
use crate::script::Script;

#[tokio::test]
async fn a_member_that_panics_is_an_error_that_the_guest_may_survive() {
    let program = bed::on(EngineSettings::default().slots(1));
    for member in ["panics at once", "panics later"] {
        let script = Script::new()
            .starts(1, member, "[]")
            .starts(2, "after", "[1]")
            .awaits(2);
        let completion = program.evaluate(hosted(&script, &Host::default())).await;
        assert_eq!(text(&completion), "over");
        let answers = settled(&completion);
        let told = answers.iter().find(|answer| answer.is_object()).unwrap();
        assert_eq!(told["code"], "E_SKILL_TOOL_FAILED");
        assert_eq!(
            told["message"],
            format!("`{member}` is broken in this host")
        );
        assert_eq!(told["call"], 1);
        assert!(
            !told.to_string().contains("as asked"),
            "what it said is no guest's business"
        );
        bed::works(&program).await;
    }
}

#[tokio::test]
async fn partial_results_that_nobody_can_take_are_counted() {
    let program = bed::on(EngineSettings::default().slots(1));
    let mut job = bed::job(&Script::new().updates("1").updates("2").answers("x"));
    job.updates = Some(Updates::to(|partial| assert!(partial == 2, "as asked")));
    let completion = program.evaluate(job).await;
    assert_eq!(text(&completion), "x");
    assert_eq!(completion.observed.updates, 2);
    assert_eq!(completion.observed.logs_dropped, 1);
    bed::works(&program).await;
}

#[tokio::test]
async fn a_question_over_which_the_host_panics_ends_the_call() {
    let program = bed::on(EngineSettings::default().slots(1));
    let asking = program
        .clone()
        .pure(|operation, _| panic!("as asked: {operation}"));
    let script = Script::new().does(9, &[16, 4, 16, 4]).answers("x");
    let completion = asking.evaluate(bed::job(&script)).await;
    let what = "its host panicked over a question".to_owned();
    assert_eq!(completion.ending, Ending::Violated { what });
    bed::works(&program).await;
}
