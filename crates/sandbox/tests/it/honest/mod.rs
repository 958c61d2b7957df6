//! What honest programs do, and must be able to.

use bailiwick_sandbox::{End, Stdin, spawn};

use crate::bed::{Bed, command, has, shown, stdout};

mod node;
mod probe;
mod python;
mod shell;
mod tools;

/// A file that is not listed as a module would be tests that nobody runs.
#[test]
fn every_file_of_the_folder_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/honest");
    let listed = include_str!("mod.rs");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return; // An archive of the tests runs where the sources are not.
    };
    for entry in entries {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name");
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "mod" || listed.contains(&format!("mod {module};")),
            "{name}"
        );
    }
}

#[test]
fn a_shell_script_runs() {
    let bed = Bed::new();
    bed.file("hello.sh", "echo hello \"$1\"\n");
    let completion = bed.run(&["/bin/sh", "hello.sh", "world"]);
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(stdout(&completion), "hello world\n");
    assert!(completion.confirmed_dead.confirmed);
}

#[test]
fn pipelines_here_documents_and_the_standard_devices_work() {
    let bed = Bed::new();
    assert_eq!(
        bed.prints("printf 'b\\na\\n' | sort | tr a-z A-Z"),
        "A\nB\n"
    );
    assert_eq!(bed.prints("cat <<X\nhere\nX"), "here\n");
    assert_eq!(
        bed.prints("echo lost >/dev/null; echo e >/dev/stderr; echo o >/dev/stdout"),
        "o\n"
    );
    assert_eq!(
        bed.prints("head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c"),
        "4\n4\n"
    );
    assert_eq!(
        bed.prints("awk 'BEGIN { print 6 * 7 > \"/dev/stdout\" }'"),
        "42\n"
    );
}

#[test]
fn a_run_knows_who_and_where_it_is() {
    let bed = Bed::new();
    assert_eq!(
        bed.prints("whoami; pwd; hostname; cd ~; pwd; echo $$"),
        "skill\n/skill\nskill\n/run/rw/home\n2\n"
    );
}

#[test]
fn scratch_can_be_written_everywhere_it_leads_to() {
    let bed = Bed::new();
    let script = "for d in /tmp /dev/shm /run/rw/tmp /run/rw/home /run/rw/out tmp out ~; do \
                  echo x > $d/f && cat $d/f && mv $d/f $d/g && rm $d/g || exit 1; done | wc -l; \
                  d=$(mktemp -d) && mkdir $d/a && mv $d/a $d/b && rmdir $d/b $d";
    assert_eq!(bed.prints(script), "8\n");
}

#[test]
fn the_folders_of_the_scratch_stay_where_they_are() {
    let bed = Bed::new();
    assert_eq!(bed.prints("ls /run/rw"), "home\nout\nshm\ntmp\n");
    for attempt in [
        "rmdir out",
        "mv home house",
        "rmdir shm && ln -s /skill shm",
        "mkdir new",
        "echo x > new",
        "chmod 777 . && echo x > new",
    ] {
        let completion = bed.script(&format!("cd /run/rw && {attempt}"));
        assert_ne!(completion.end, End::Exited(0), "{attempt}");
    }
    let moved =
        "echo x > out/a && mv out/a tmp/b && mv /tmp/b ~/c && mv ~/c /run/rw/out/d && cat out/d";
    assert_eq!(bed.prints(moved), "x\n");
}

#[test]
fn the_skill_is_read_only() {
    let bed = Bed::new();
    bed.file("data.txt", "data");
    assert_eq!(
        bed.prints("cat data.txt; echo x 2>/dev/null > data.txt || echo no"),
        "datano\n"
    );
    assert_eq!(
        bed.prints("touch new 2>/dev/null || echo no; rm -f data.txt 2>/dev/null || echo no"),
        "no\nno\n"
    );
}

#[test]
fn standard_input_is_given_and_closed() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    let run = |stdin| {
        let command = command(&["/bin/sh", "-c", "wc -c"]).with_stdin(stdin);
        spawn(&compiled, command).expect("a run").wait()
    };
    assert_eq!(stdout(&run(Stdin::Null)), "0\n");
    assert_eq!(stdout(&run(Stdin::Bytes(b"four".to_vec()))), "4\n");
    assert_eq!(stdout(&run(Stdin::Bytes(vec![b'x'; 1 << 20]))), "1048576\n");
}

#[test]
fn a_program_that_never_reads_its_input_ends_all_the_same() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    let command = command(&["/bin/sh", "-c", "exec <&-; echo done"])
        .with_stdin(Stdin::Bytes(vec![b'x'; 1 << 20]));
    let completion = spawn(&compiled, command).expect("a run").wait();
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
}

#[test]
fn certificates_time_zone_and_mime_types_are_there() {
    let bed = Bed::new();
    for (path, on_host) in [
        ("/etc/ssl/certs", has("/etc/ssl/certs")),
        ("/etc/localtime", has("/etc/localtime")),
        ("/etc/mime.types", has("/etc/mime.types")),
        ("/etc/alternatives", has("/etc/alternatives")),
        ("/etc/ld.so.cache", has("/etc/ld.so.cache")),
    ] {
        let found = bed.script(&format!("ls -d {path}")).end == End::Exited(0);
        assert_eq!(found, on_host, "{path}");
    }
}
