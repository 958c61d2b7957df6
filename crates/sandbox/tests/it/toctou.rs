//! Things that change between a check and a use, and names that mislead the host.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use bailiwick_core::Code;
use bailiwick_policy::Rights;
use bailiwick_sandbox::{ConfinedCommand, End, spawn};

use crate::bed::{Bed, alive, alone, command, is_alone, needs, open_folder, shown, stdout};

/// A granted folder with a secret beside it.
struct Granted {
    parent: tempfile::TempDir,
}

impl Granted {
    fn new() -> Self {
        let parent = open_folder();
        fs::create_dir(parent.path().join("granted")).expect("a folder");
        fs::write(parent.path().join("secret"), "secret").expect("a file");
        Self { parent }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.parent.path().join(name)
    }
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

/// T02 and T03: the grant is the folder that was there when the policy was compiled.
#[test]
fn a_granted_folder_that_becomes_a_link_does_not_lead_to_its_target() {
    let granted = Granted::new();
    let bed = Bed::new().granted(&granted.at("granted"), Rights::READ_WRITE);
    let compiled = bed.compile().expect("a policy");
    fs::rename(granted.at("granted"), granted.at("moved")).expect("it moves");
    symlink(granted.parent.path(), granted.at("granted")).expect("a link");
    let script = format!("cat {}/secret", show(&granted.at("granted")));
    if let Ok(child) = spawn(&compiled, command(&["/bin/sh", "-c", &script])) {
        let completion = child.wait();
        assert_ne!(completion.end, End::Exited(0), "{}", shown(&completion));
        assert_eq!(stdout(&completion), "");
    }
}

/// A folder inside a granted one is opened beneath its session's root without following links.
#[test]
fn a_grant_inside_a_session_root_that_is_a_link_is_refused() {
    let granted = Granted::new();
    symlink(granted.parent.path(), granted.at("granted/way")).expect("a link");
    let session = Bed::new()
        .granted(&granted.at("granted"), Rights::READ_ONLY)
        .policy;
    let bed = Bed::new().granted(&granted.at("granted/way"), Rights::READ_ONLY);
    let policy = bailiwick_policy::derive(&session, &bed.policy).expect("it lies within");
    let session = bailiwick_sandbox::Session::open(policy.session_roots()).expect("a session");
    let shell = bailiwick_sandbox::Program::new("/bin/sh".parse().expect("a path"), vec![], vec![]);
    let compiled = bailiwick_sandbox::Compiled::new(
        &bed.host,
        &session,
        &policy,
        &shell,
        bed.skill.path(),
        bed.base,
    );
    let error = compiled.expect_err("refused");
    assert_eq!(error.code(), Code::InvalidSkillsConfig, "{error}");
}

/// T04: what an earlier run plants in a granted folder leads the next one nowhere.
#[test]
fn a_link_that_an_earlier_run_planted_leads_the_next_one_nowhere() {
    let granted = Granted::new();
    let bed = Bed::new().granted(&granted.at("granted"), Rights::READ_WRITE);
    let compiled = bed.compile().expect("a policy");
    let run = |script: &str| {
        let run = spawn(&compiled, command(&["/bin/sh", "-c", script])).expect("a run");
        run.wait()
    };
    let (folder, secret) = (show(&granted.at("granted")), show(&granted.at("secret")));
    let planted = run(&format!(
        "cd {folder}; ln {secret} hard; ln -s {secret} soft; ln -s .. up; ln -s / root; \
         ln /etc/passwd passwd; ln /usr/bin/env env; ls"
    ));
    assert_eq!(stdout(&planted), "root\nsoft\nup\n", "{}", shown(&planted));
    let next = run(&format!(
        "cd {folder}; cat hard soft up/secret root{secret}; echo x > soft; echo x > up/new; \
         ls up root/home; true"
    ));
    assert_eq!(next.end, End::Exited(0), "{}", shown(&next));
    assert!(!stdout(&next).contains("secret"), "{}", shown(&next));
    let secret = fs::metadata(granted.at("secret")).expect("it is there");
    assert_eq!((secret.nlink(), secret.len()), (1, 6));
    assert!(!granted.at("new").exists());
}

/// A name that changes between a folder and a link all the time is judged at each use.
#[test]
fn no_race_of_names_opens_what_is_not_granted() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let granted = Granted::new();
    let bed = Bed::new().granted(&granted.at("granted"), Rights::READ_WRITE);
    let program = format!(
        "import os, sys, time\n\
         os.chdir({folder:?})\n\
         os.mkdir('a'); open('a/secret', 'w').write('own'); os.symlink({parent:?}, 'b')\n\
         if os.fork() == 0:\n\
         \x20   while True:\n\
         \x20       os.rename('a', 'c'); os.rename('b', 'a'); os.rename('a', 'b'); os.rename('c', 'a')\n\
         end, reads = time.monotonic() + 1, 0\n\
         while time.monotonic() < end or reads < 100:\n\
         \x20   for name in 'ab':\n\
         \x20       try:\n\
         \x20           if open(name + '/secret').read() == 'secret': print('open'); sys.exit(1)\n\
         \x20           reads += 1\n\
         \x20       except OSError: pass\n\
         print('closed')",
        folder = show(&granted.at("granted")),
        parent = show(granted.parent.path()),
    );
    let completion = bed.python(&program);
    assert_eq!(stdout(&completion), "closed\n", "{}", shown(&completion));
}

/// A folder that is moved while a process stands in it does not become a way up.
#[test]
fn a_folder_that_is_moved_from_beneath_a_process_is_no_way_up() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let granted = Granted::new();
    let bed = Bed::new().granted(&granted.at("granted"), Rights::READ_WRITE);
    let program = format!(
        "import os\n\
         moved = 0\n\
         tops = ['/tmp', '/dev/shm', '/run/rw/tmp', '/run/rw/shm', '/skill/out', '/skill/tmp', {folder:?}]\n\
         for start in tops:\n\
         \x20   for target in tops:\n\
         \x20       try:\n\
         \x20           os.makedirs(start + '/x/y/z', exist_ok=True); os.chdir(start + '/x/y/z')\n\
         \x20           os.rename(start + '/x/y', target + '/y'); moved += 1\n\
         \x20       except OSError: pass\n\
         \x20       for up in range(12):\n\
         \x20           for name in ('secret', 'new'):\n\
         \x20               try: print('read', start, target, up, open('../' * up + name).read())\n\
         \x20               except OSError: pass\n\
         \x20           try:\n\
         \x20               there = os.path.realpath('../' * up)\n\
         \x20               os.mkdir('../' * up + 'made')\n\
         \x20               print('made', there) if there in ('/', '/run', '/run/rw', '/skill') else None\n\
         \x20               os.rmdir('../' * up + 'made')\n\
         \x20           except OSError: pass\n\
         print('end' if moved > 0 else 'nothing moved')",
        folder = show(&granted.at("granted")),
    );
    let completion = bed.python(&program);
    assert_eq!(stdout(&completion), "end\n", "{}", shown(&completion));
    assert!(!granted.at("made").exists());
}

/// T10: no variable of the host's makes an interpreter run or load something.
#[test]
fn no_variable_of_the_hosts_reaches_an_interpreter() {
    const TEST: &str = "toctou::no_variable_of_the_hosts_reaches_an_interpreter";
    const NAMES: [&str; 8] = [
        "ENV",
        "BASH_ENV",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PYTHONHOME",
        "NODE_OPTIONS",
        "GIT_CONFIG_GLOBAL",
        "PERL5OPT",
    ];
    if !is_alone() {
        let folder = open_folder();
        let planted = folder.path().join("planted");
        fs::write(&planted, "echo planted").expect("a file");
        let mut test = alone(&[], TEST);
        for name in NAMES {
            test.env(name, &planted);
        }
        let output = test.output().expect("a test run");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let bed = Bed::new();
    assert!(std::env::vars().any(|(name, _)| name == "BASH_ENV"));
    let names = bed.prints("env; bash -c true; sh -ic true 2>/dev/null; true");
    assert!(!names.contains("planted"), "{names}");
    for name in NAMES {
        assert!(!names.contains(&format!("{name}=")), "{names}");
    }
}

/// T10: what lies beside a script in its own folder is the skill's; the working directory is it too.
#[test]
fn what_a_run_may_write_is_not_where_an_interpreter_looks() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = Bed::new();
    bed.file(
        "show.py",
        "import sys; print([p for p in sys.path if p.startswith(('/run', '/tmp'))])",
    );
    let completion = bed.run(&["/usr/bin/python3", "-B", "/skill/show.py"]);
    assert_eq!(stdout(&completion), "[]\n", "{}", shown(&completion));
}

/// T11.
#[test]
fn an_argument_that_looks_like_an_option_is_the_scripts() {
    let bed = Bed::new();
    bed.file("show.sh", "printf '%s;' \"$@\"");
    let arguments = ["-c", "echo planted", "-i", "--rcfile", "-", "--", "-s"];
    let words = [&["/bin/sh", "/skill/show.sh"], arguments.as_slice()].concat();
    let completion = bed.run(&words);
    assert_eq!(stdout(&completion), "-c;echo planted;-i;--rcfile;-;--;-s;");
    if !needs("/usr/bin/python3") {
        return;
    }
    bed.file("show.py", "import sys; print(*sys.argv[1:], sep=';')");
    let words = [
        &["/usr/bin/python3", "-B", "/skill/show.py"],
        arguments.as_slice(),
    ]
    .concat();
    let completion = bed.run(&words);
    assert_eq!(stdout(&completion), "-c;echo planted;-i;--rcfile;-;--;-s\n");
}

/// T12.
#[test]
fn arguments_that_the_kernel_could_not_carry_are_refused_before_a_run() {
    let long = "x".repeat(200_000);
    for words in [["/bin/sh", "a\0b"], ["/bin/sh", &long], ["sh", "x"]] {
        let error = ConfinedCommand::new("run", words).expect_err("refused");
        assert_eq!(error.code(), Code::ArgumentsRejected);
    }
}

/// T13: who disposes of the results meets nobody who still writes them.
#[test]
fn what_a_run_left_behind_does_not_write_while_its_results_are_removed() {
    let granted = Granted::new();
    let bed = Bed::new().granted(&granted.at("granted"), Rights::READ_WRITE);
    let folder = show(&granted.at("granted"));
    let completion = bed.script(&format!(
        "cd {folder}; for i in 1 2 3 4; do \
         setsid sh -c 'trap \"\" TERM HUP INT; n=0; while :; do n=$((n+1)); mkdir -p d$0/e$0; \
         : > d$0/e$0/f$n; done' $i 77.875 & done; \
         while [ ! -e d1/e1/f9 ]; do :; done; exit 0"
    ));
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive("77.875"), 0);
    fs::remove_dir_all(granted.at("granted")).expect("nobody writes there any more");
    assert!(!granted.at("granted").exists());
}
