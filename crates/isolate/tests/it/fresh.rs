//! Nothing of a call is there in the next.

use std::time::{Duration, Instant};

use bailiwick_isolate::{Completion, Ending, EngineSettings, Program};

use crate::bed::{self, job, numbers};
use crate::script::{SCRATCH, Script};

/// Reads all memory that a guest has at its start, and its other state.
async fn seen(program: &Program) -> (Vec<u32>, Vec<u32>) {
    let memory = Script::new().answers_from(0, 65536);
    let state = Script::new().does(19, &[SCRATCH]).answers_from(SCRATCH, 12);
    let memory = program.evaluate(job(&memory)).await;
    (
        numbers(&memory),
        numbers(&program.evaluate(job(&state)).await),
    )
}

/// Changes all that there is to change, and ends in a way of its own.
async fn pollute(program: &Program, ends: impl Fn(Script) -> Script) -> Completion {
    let polluting = Script::new()
        .does(19, &[SCRATCH])
        .does(11, &[100, SCRATCH])
        .does(12, &[1000, SCRATCH])
        .does(17, &[4096])
        .starts(1, "never", "[]")
        .sleeps(2, 1000.0)
        .logs("info", "left behind")
        // The steps themselves lie in the second page.
        .does(16, &[0, 65536, 0xAB])
        .does(16, &[40 * 65536, 65536, 0xCD]);
    let mut job = job(&ends(polluting));
    job.deadline = Instant::now() + Duration::from_millis(40);
    program.evaluate(job).await
}

#[tokio::test]
async fn memory_globals_tables_and_pending_work_are_those_of_the_module() {
    // With one slot each call gets what the one before it had.
    let program = bed::on(EngineSettings::default().slots(1));
    let pristine = seen(&program).await;
    assert_eq!(pristine.1, [0, 1, 2]);
    assert!(
        pristine.0.iter().filter(|word| **word != 0).count() == 1,
        "`info` and nothing else"
    );
    for _ in 0..20 {
        let answered = pollute(&program, |script| script.answers_from(0, 4)).await;
        assert_eq!(numbers(&answered), [0xABAB_ABAB]);
        assert_eq!(seen(&program).await, pristine);
        let trapped = pollute(&program, |script| script.does(14, &[])).await;
        assert!(
            matches!(trapped.ending, Ending::Trapped { .. }),
            "{:?}",
            trapped.ending
        );
        assert_eq!(seen(&program).await, pristine);
    }
    let expired = pollute(&program, Script::spins).await;
    assert_eq!(expired.ending, Ending::Expired);
    let exhausted = pollute(&program, |script| script.does(99, &[])).await;
    assert_eq!(exhausted.ending, Ending::StackExhausted);
    let waiting = pollute(&program, |script| script).await;
    assert_eq!(waiting.ending, Ending::Expired);
    assert_eq!(seen(&program).await, pristine);
    let completion = program.evaluate(job(&Script::new().answers("x"))).await;
    assert!(completion.observed.logs.is_empty() && completion.observed.host_calls == 0);
}
