//! Places that an interpreter has beyond the base: they are the host's, and checked as grants are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use bailiwick_core::Code;
use bailiwick_policy::{HostPath, derive};
use bailiwick_sandbox::{Compiled, Completion, End, Host, Program, SandboxError, Session, spawn};

use crate::bed::{Bed, command, has, host, open_folder, shown, stdout};

fn compile(bed: &Bed, program: &str, places: &[&Path]) -> Result<Compiled, SandboxError> {
    let real = fs::canonicalize(program).expect("a program");
    let path = |path: &Path| -> HostPath { path.to_str().expect("text").parse().expect("a path") };
    let read = places.iter().map(|place| path(place)).collect();
    let policy = derive(&bed.policy, &bed.policy).expect("a policy");
    let session = Session::open(policy.session_roots()).expect("its roots");
    Compiled::new(
        &bed.host,
        &session,
        &policy,
        &Program::new(path(&real), read, Vec::new()),
        bed.skill.path(),
        bed.base,
    )
}

fn python(program: &str, places: &[&Path]) -> Completion {
    let bed = Bed::new();
    let compiled = compile(&bed, "/usr/bin/python3", places).expect("a compiled policy");
    let run = command(&["/usr/bin/python3", "-B", "-c", program]);
    spawn(&compiled, run).expect("a run").wait()
}

#[test]
fn a_socket_in_a_folder_that_the_interpreter_reads_is_not_reached() {
    if !has("/usr/bin/python3") {
        return;
    }
    let folder = open_folder();
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("its mode");
    // Whoever may make a socket reaches it.
    UnixStream::connect(&socket).expect("the control connects");
    listener.accept().expect("the control");
    listener.set_nonblocking(true).expect("a listener");
    let program = format!(
        "import os, socket\n\
         print(os.path.exists('{0}'))\n\
         try: socket.socket(socket.AF_UNIX).connect('{0}'); print('connected')\n\
         except OSError as error: print(error.errno)\n",
        socket.display()
    );
    let completion = python(&program, &[folder.path()]);
    assert_eq!(stdout(&completion), "True\n1\n", "{}", shown(&completion));
    assert!(listener.accept().is_err(), "nobody came");
}

#[test]
fn a_folder_of_the_system_closes_no_socket_that_honest_programs_make() {
    if !has("/usr/bin/python3") || !cfg!(target_arch = "x86_64") {
        return;
    }
    let program = "import socket\n\
                   s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen()\n\
                   socket.socket(socket.AF_UNIX).connect('/tmp/s'); print('connected')\n";
    // Where no layer keeps abstract names apart, no run makes any socket.
    let alone = python(program, &[]);
    let beside = python(program, &[Path::new("/usr/lib")]);
    assert_eq!(stdout(&beside), stdout(&alone), "{}", shown(&beside));
    assert_eq!(beside.end, alone.end);
}

#[test]
fn a_place_of_an_interpreter_is_refused_for_what_it_is_as_a_grant_would_be() {
    let folder = open_folder();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let pipe = folder.path().join("pipe");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o666));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe");
    for place in [
        socket.as_path(),
        &pipe,
        Path::new("/proc/self"),
        Path::new("/sys"),
        Path::new("/dev/null"),
        Path::new("/run"),
        Path::new("/"),
    ] {
        let refused = compile(&Bed::new(), "/bin/sh", &[place]).expect_err("refused");
        assert_eq!(
            refused.code(),
            Code::InvalidSkillsConfig,
            "{}",
            place.display()
        );
    }
}

#[test]
fn a_place_of_an_interpreter_that_holds_what_is_the_hosts_own_is_refused() {
    let own = open_folder();
    let beneath = own.path().join("beneath");
    fs::create_dir(&beneath).expect("a folder");
    let apart: Host = host().clone().apart_from(own.path());
    for place in [own.path(), &beneath] {
        let refused = compile(&Bed::on(apart.clone()), "/bin/sh", &[place]).expect_err("refused");
        assert_eq!(
            refused.code(),
            Code::InvalidSkillsConfig,
            "{}",
            place.display()
        );
        compile(&Bed::new(), "/bin/sh", &[place]).expect("the control");
    }
    let bed = Bed::new();
    let skill = bed.skill.path().to_owned();
    compile(&bed, "/bin/sh", &[&skill]).expect_err("the skill's own files are no library");
}

#[test]
fn a_folder_of_an_interpreter_is_read_and_no_more() {
    let folder = open_folder();
    fs::write(folder.path().join("f"), "read").expect("a file");
    let bed = Bed::new();
    let compiled = compile(&bed, "/bin/sh", &[folder.path()]).expect("a compiled policy");
    let script = format!(
        "cat {0}/f; (echo x > {0}/g) 2>/dev/null || echo kept",
        folder.path().display()
    );
    let run = command(&["/bin/sh", "-c", &script]);
    let completion = spawn(&compiled, run).expect("a run").wait();
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(stdout(&completion), "readkept\n");
}
