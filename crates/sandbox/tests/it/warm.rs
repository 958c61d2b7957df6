//! Launchers that wait for a run: they serve one each, confine it as any other, and leave nothing.

use bailiwick_policy::Rights;
use bailiwick_sandbox::message::Stage;
use bailiwick_sandbox::{ConfinedCommand, End, SandboxError, Stdin, spawn};

use crate::bed::{Bed, command, host, open_folder, shown, stdout, until};

const WHO: [&str; 3] = ["/bin/sh", "-c", "id -u; ls -A out; echo mine > out/f; cat"];

#[test]
fn a_launcher_that_waited_serves_one_run_with_all_that_the_run_was_given() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    assert_eq!(compiled.keep_warm(2).expect("launchers"), 2);
    assert_eq!(compiled.keep_warm(2).expect("launchers"), 0);
    for turn in 0..4 {
        let words = [
            "/bin/sh",
            "-c",
            "echo \"$0 $GIVEN\"; ls -A out; echo x > out/f; cat",
            "name",
        ];
        let command = ConfinedCommand::new(format!("warm-{turn}"), words.map(str::to_owned))
            .and_then(|command| command.with_env("GIVEN", &format!("value {turn}")))
            .expect("a command")
            .with_stdin(Stdin::Bytes(b"input".to_vec()));
        let completion = spawn(&compiled, command).expect("a run").wait();
        assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
        assert_eq!(stdout(&completion), format!("name value {turn}\ninput"));
        assert!(completion.confirmed_dead.confirmed);
    }
    // Both were used, and two runs began from nothing.
    assert_eq!(compiled.keep_warm(1).expect("a launcher"), 1);
}

#[test]
fn runs_of_launchers_that_waited_side_by_side_see_nothing_of_each_other() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    compiled.keep_warm(2).expect("launchers");
    let first = spawn(&compiled, command(&WHO)).expect("a run");
    let second = spawn(&compiled, command(&WHO)).expect("a run");
    let (first, second) = (first.wait(), second.wait());
    for completion in [&first, &second] {
        assert_eq!(completion.end, End::Exited(0), "{}", shown(completion));
        assert_eq!(
            stdout(completion).lines().count(),
            1,
            "{}",
            shown(completion)
        );
    }
    let own_uids = host()
        .layers()
        .is_in_force(bailiwick_sandbox::Layer::RunUid);
    assert_eq!(stdout(&first) != stdout(&second), own_uids);
}

#[test]
fn a_launcher_that_died_while_it_waited_costs_nobody_a_run() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    let before = launchers();
    compiled.keep_warm(1).expect("a launcher");
    for process in launchers() {
        if !before.contains(&process) {
            let pid = rustix::process::Pid::from_raw(process).expect("a number");
            // Its init dies with it.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            until("it is dead", || {
                let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
                stat.is_ok_and(|stat| stat.contains(") Z "))
            });
        }
    }
    let completion = spawn(&compiled, command(&["/bin/sh", "-c", "echo ran"]))
        .expect("a run")
        .wait();
    assert_eq!(stdout(&completion), "ran\n", "{}", shown(&completion));
}

/// The children of this process.
fn launchers() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("tasks");
    let children =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let children: Vec<String> = children.collect();
    let numbers = children.iter().flat_map(|text| text.split_whitespace());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[test]
fn a_launcher_that_waited_does_not_run_in_a_granted_folder_that_was_replaced() {
    let folder = open_folder();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).expect("a folder");
    let bed = Bed::new().granted(&place, Rights::READ_ONLY);
    let compiled = bed.compile().expect("a policy");
    // One run before, so that there may be a template.
    let look = format!("ls {}", place.display());
    let words = ["/bin/sh", "-c", &look];
    drop(spawn(&compiled, command(&words)).expect("a run").wait());
    compiled.keep_warm(1).expect("a launcher");
    std::fs::remove_dir(&place).expect("it is empty");
    std::fs::create_dir(&place).expect("a folder");
    let error = spawn(&compiled, command(&words)).expect_err("it is another folder");
    let is_named = matches!(
        &error,
        SandboxError::Launch {
            stage: Stage::Source,
            ..
        }
    );
    assert!(is_named, "{error:?}");
}
