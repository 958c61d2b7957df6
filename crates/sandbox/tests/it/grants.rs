//! Granted places: what is granted works, and nothing else is there.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use bailiwick_core::Code;
use bailiwick_policy::Rights;
use bailiwick_sandbox::{End, Session};

use crate::bed::{Bed, needs, open_folder, shown, stdout};

fn secret() -> tempfile::TempDir {
    let folder = open_folder();
    fs::write(folder.path().join("secret"), "secret").expect("a file");
    folder
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_file_that_is_not_granted_does_not_exist() {
    let secret = secret();
    let script = format!("cat {0}/secret; ls -d {0}", show(secret.path()));
    let completion = Bed::new().script(&script);
    assert_ne!(completion.end, End::Exited(0));
    assert_eq!(stdout(&completion), "");
}

#[test]
fn a_granted_folder_is_read_at_its_own_path_and_not_written() {
    let secret = secret();
    // Its owner alone may enter it: the run still can, because the owner is mapped to it.
    fs::set_permissions(secret.path(), fs::Permissions::from_mode(0o700)).expect("its mode");
    let bed = Bed::new().granted(secret.path(), Rights::READ_ONLY);
    let path = show(secret.path());
    assert_eq!(
        bed.prints(&format!("cat {path}/secret; ls {path}; cd {path}; pwd -P")),
        format!("secretsecret\n{path}\n")
    );
    for attempt in [
        "echo x > n",
        "rm -f secret",
        "mv secret n",
        "chmod 777 secret",
        "touch secret",
        "mkdir d",
        "ln secret n",
        ": >> secret",
    ] {
        let completion = bed.script(&format!("cd {path} && {attempt}"));
        assert_ne!(completion.end, End::Exited(0), "{attempt}");
    }
    assert_eq!(
        fs::read(secret.path().join("secret")).expect("it is whole"),
        b"secret"
    );
}

#[test]
fn what_is_written_in_a_granted_folder_belongs_to_its_owner() {
    let folder = open_folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("its mode");
    fs::write(folder.path().join("old"), "old").expect("a file");
    let bed = Bed::new().granted(folder.path(), Rights::READ_WRITE);
    let path = show(folder.path());
    let script = format!(
        "cd {path} && echo new > new && mkdir d && mv old d/moved && echo more >> d/moved && ls -l new | awk '{{print $3}}'"
    );
    assert_eq!(bed.prints(&script), "skill\n");
    let owner = fs::metadata(folder.path()).expect("metadata").uid();
    for name in ["new", "d", "d/moved"] {
        let metadata = fs::metadata(folder.path().join(name)).expect(name);
        assert_eq!(metadata.uid(), owner, "{name}");
    }
    assert_eq!(
        fs::read(folder.path().join("d/moved")).expect("a file"),
        b"oldmore\n"
    );
}

#[test]
fn nothing_granted_can_be_executed() {
    let folder = open_folder();
    fs::copy("/bin/true", folder.path().join("true")).expect("a program");
    let bed = Bed::new().granted(folder.path(), Rights::READ_WRITE);
    let path = show(folder.path());
    for attempt in [
        format!("{path}/true"),
        format!("/lib64/ld-linux-x86-64.so.2 {path}/true"),
        "cp /bin/true tmp/t && chmod +x tmp/t && tmp/t".to_owned(),
        "cp /bin/true out/t && chmod +x out/t && /lib64/ld-linux-x86-64.so.2 out/t".to_owned(),
    ] {
        let completion = bed.script(&attempt);
        assert_ne!(
            completion.end,
            End::Exited(0),
            "{attempt}: {}",
            shown(&completion)
        );
    }
    assert_eq!(bed.script("/bin/true").end, End::Exited(0));
}

#[test]
fn a_link_in_a_granted_folder_leads_nowhere_else() {
    let (folder, secret) = (open_folder(), secret());
    let target = secret.path().join("secret");
    symlink(&target, folder.path().join("link")).expect("a link");
    let bed = Bed::new().granted(folder.path(), Rights::READ_WRITE);
    let path = show(folder.path());
    for attempt in [
        format!("cat {path}/link"),
        format!("ln -s {} {path}/l && cat {path}/l", show(&target)),
        format!(
            "cat {path}/../{}/secret",
            secret.path().file_name().expect("a name").to_string_lossy()
        ),
        format!("cat /proc/self/root{}", show(&target)),
        format!("ln {} {path}/hard", show(&target)),
    ] {
        let completion = bed.script(&attempt);
        assert_ne!(completion.end, End::Exited(0), "{attempt}");
        assert_eq!(stdout(&completion), "", "{attempt}");
    }
}

#[test]
fn a_root_whose_name_is_swapped_for_a_link_is_not_followed() {
    let (parent, secret) = (open_folder(), secret());
    let granted = parent.path().join("granted");
    fs::create_dir(&granted).expect("a folder");
    let bed = Bed::new().granted(&granted, Rights::READ_ONLY);
    let compiled = bed.compile().expect("a policy");
    fs::rename(&granted, parent.path().join("elsewhere")).expect("a rename");
    symlink(secret.path(), &granted).expect("a link");
    let script = format!("cat {}/secret", show(&granted));
    let run = bailiwick_sandbox::spawn(&compiled, crate::bed::command(&["/bin/sh", "-c", &script]));
    let completion = run
        .expect("the folder is still there, by another name")
        .wait();
    assert_ne!(completion.end, End::Exited(0), "{}", shown(&completion));
}

#[test]
fn a_link_that_an_earlier_run_left_leads_no_later_grant_away() {
    let (folder, secret) = (open_folder(), secret());
    let bed = Bed::new().granted(folder.path(), Rights::READ_WRITE);
    let (inside, outside) = (show(folder.path()), show(secret.path()));
    bed.prints(&format!("ln -s {outside} {inside}/out && echo planted"));
    let planted = folder.path().join("out");
    for granted in [planted.clone(), planted.join("secret")] {
        let bed = Bed::new().granted(&granted, Rights::READ_ONLY);
        let refused = bed.compile().expect_err("the link is not followed");
        assert_eq!(refused.code(), Code::InvalidSkillsConfig);
        assert!(
            refused
                .to_string()
                .contains(&format!("symbolic link to `{outside}`")),
            "{refused}"
        );
    }
}

#[test]
fn a_link_leads_to_no_place_that_cannot_be_granted() {
    let folder = open_folder();
    for target in ["/dev", "/usr", "/", "link"] {
        let link = folder.path().join("link");
        symlink(target, &link).expect("a link");
        let bed = Bed::new().granted(&link, Rights::READ_ONLY);
        assert!(bed.compile().is_err(), "{target}");
        fs::remove_file(&link).expect("it was there");
    }
}

#[test]
fn the_links_of_the_system_itself_are_followed() {
    let link = Path::new("/bin");
    assert!(link.is_symlink(), "a machine whose /usr is merged");
    let roots = ["/bin/sh", "/bin"].map(|path| path.parse().expect("a path"));
    Session::open(&roots).expect("a session");
}

#[test]
fn a_grant_reaches_nothing_of_the_hosts_own() {
    let (own, other) = (open_folder(), open_folder());
    let inside = own.path().join("skills");
    fs::create_dir(&inside).expect("a folder");
    let refuses = |granted: &Path| {
        let mut bed = Bed::new().granted(granted, Rights::READ_ONLY);
        bed.host = bed.host.apart_from(&inside);
        bed.compile().is_err()
    };
    assert!(refuses(own.path()) && refuses(&inside));
    assert!(!refuses(other.path()));
    let bed = Bed::new();
    let skill = bed.skill.path().to_owned();
    assert!(bed.granted(&skill, Rights::READ_ONLY).compile().is_err());
}

#[test]
fn one_file_can_be_granted() {
    let secret = secret();
    let other = secret.path().join("other");
    fs::write(&other, "other").expect("a file");
    let bed = Bed::new().granted(&secret.path().join("secret"), Rights::READ_ONLY);
    let path = show(secret.path());
    assert_eq!(bed.prints(&format!("cat {path}/secret")), "secret");
    assert_ne!(bed.script(&format!("cat {path}/other")).end, End::Exited(0));
    let bed = Bed::new().granted(&secret.path().join("secret"), Rights::READ_WRITE);
    assert_eq!(
        bed.prints(&format!("echo new > {path}/secret; cat {path}/secret")),
        "new\n"
    );
}

#[test]
fn a_granted_folder_inside_another_keeps_the_wider_rights() {
    let outer = open_folder();
    let inner = outer.path().join("inner");
    fs::create_dir(&inner).expect("a folder");
    let bed = Bed::new()
        .granted(outer.path(), Rights::READ_ONLY)
        .granted(&inner, Rights::READ_WRITE);
    let path = show(outer.path());
    assert_eq!(
        bed.prints(&format!("echo x > {path}/inner/f; cat {path}/inner/f")),
        "x\n"
    );
    assert_ne!(
        bed.script(&format!("echo x > {path}/f")).end,
        End::Exited(0)
    );
}

/// What a place may be reached through is not what it may be used for: `/tmp` leads to the scratch,
/// and beneath a folder that a run writes Landlock would let it write everything.
#[test]
fn a_granted_folder_beneath_tmp_has_its_own_rights_and_not_those_of_the_scratch() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
    fs::write(folder.path().join("f"), "old").expect("a file");
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o666),
        0,
    )
    .expect("a pipe");
    let attempts = |allowed: &str| {
        format!(
            "import os, socket, errno\n\
             os.chdir('{}')\n\
             def bind(): socket.socket(socket.AF_UNIX).bind('socket')\n\
             attempts = dict(\n\
             \x20   create=lambda: os.open('n', os.O_CREAT | os.O_WRONLY),\n\
             \x20   mkdir=lambda: os.mkdir('d'),\n\
             \x20   link=lambda: os.symlink('f', 'l'),\n\
             \x20   delete=lambda: os.unlink('f'),\n\
             \x20   rename=lambda: os.rename('f', 'g'),\n\
             \x20   write=lambda: os.write(os.open('f', os.O_WRONLY), b'new'),\n\
             \x20   pipe=lambda: os.open('pipe', os.O_RDWR | os.O_NONBLOCK))\n\
             for name, attempt in attempts.items():\n\
             \x20   try: attempt(); print(name)\n\
             \x20   except OSError as error: print(name, errno.errorcode[error.errno])\n\
             import tempfile\n\
             with tempfile.NamedTemporaryFile() as file: print(os.path.dirname(file.name))\n\
             print(os.listdir('.') == os.listdir('{0}'), {allowed})\n",
            show(folder.path())
        )
    };
    // Where the mount is read-only too it speaks first, but for pipes, which it lets pass.
    let bed = Bed::new().granted(folder.path(), Rights::READ_ONLY);
    let completion = bed.python(&attempts("open('f').read()"));
    assert_eq!(
        stdout(&completion),
        "create EROFS\nmkdir EROFS\nlink EROFS\ndelete EROFS\nrename EROFS\nwrite EROFS\n\
         pipe EACCES\n/run/rw/tmp\nTrue old\n",
        "{}",
        shown(&completion)
    );
    let writes = Rights::READ | Rights::LIST | Rights::WRITE;
    let bed = Bed::new().granted(folder.path(), writes);
    let completion = bed.python(&attempts("open('f').read()"));
    assert_eq!(
        stdout(&completion),
        "create EACCES\nmkdir EACCES\nlink EACCES\ndelete EACCES\nrename EACCES\nwrite\n\
         pipe\n/run/rw/tmp\nTrue new\n",
        "{}",
        shown(&completion)
    );
    let path = show(folder.path());
    let script = format!("echo x > /tmp/f || rmdir {path} || mv {path} /tmp/other");
    let completion = bed.script(&script);
    assert_ne!(completion.end, End::Exited(0), "{}", shown(&completion));
}

#[test]
fn a_granted_place_must_exist() {
    let bed = Bed::new().granted(Path::new("/no/such/folder"), Rights::READ_ONLY);
    let error = bed.compile().expect_err("nothing to grant");
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
}

#[test]
fn the_state_folder_cannot_be_granted() {
    let state = tempfile::tempdir().expect("a folder");
    let config = bailiwick_sandbox::HostConfig::new(state.path().join("state"))
        .with_uids(0x7000_8000..0x7001_0000);
    let host = bailiwick_sandbox::Host::probe(config).expect("a host");
    for place in [state.path().to_owned(), state.path().join("state")] {
        let error = Bed::on(host.clone())
            .granted(&place, Rights::READ_WRITE)
            .compile();
        assert_eq!(
            error.expect_err("refused").code(),
            Code::InvalidSkillsConfig
        );
    }
}

#[test]
fn results_are_collected_after_the_run_is_gone() {
    use std::io::Read;
    let completion = Bed::new().script("echo result > out/r");
    let out = completion.out_dir.expect("a folder");
    let file = rustix::fs::openat(
        &out,
        "r",
        rustix::fs::OFlags::RDONLY,
        rustix::fs::Mode::empty(),
    );
    let mut text = String::new();
    fs::File::from(file.expect("a result"))
        .read_to_string(&mut text)
        .expect("text");
    assert_eq!(text, "result\n");
}
