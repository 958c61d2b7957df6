//! What the self-test attacks: files, listeners and a process of the host's own, all temporary.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::fs::{FlockOperation, OFlags, flock, openat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::SCRATCH_LINKS;
use crate::embedded::ATTACK;
use crate::maker;

/// A folder of targets and the things that listen, until it is dropped.
#[derive(Debug)]
pub(super) struct Targets {
    folder: PathBuf,
    program: PathBuf,
    skill: PathBuf,
    victim: Victim,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
    _abstract: UnixListener,
    abstract_name: String,
}

impl Targets {
    /// Makes everything in a fresh folder that the run's own uid can reach, where the machine lets
    /// a program be executed.
    pub(super) fn new() -> io::Result<Self> {
        let mut failed = io::ErrorKind::NotFound.into();
        PUBLIC.map(Path::new).into_iter().for_each(sweep);
        for place in PUBLIC {
            let made = fresh_folder(Path::new(place))
                .and_then(|folder| Self::make(folder.clone()).inspect_err(|_| remove(&folder)));
            match made {
                Ok(targets) => return Ok(targets),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn make(folder: PathBuf) -> io::Result<Self> {
        let program = folder.join(PROGRAM);
        put(&program, 0o555, ATTACK)?;
        let skill = folder.join("skill");
        directory(&skill)?;
        for (name, target) in SCRATCH_LINKS {
            symlink(target, skill.join(name))?;
        }
        for place in [CONTROL, CONFINED] {
            let place = folder.join(place);
            directory(&place)?;
            directory(&place.join("out"))?;
            for name in ["secret", "writable", "movable"] {
                put(&place.join(name), 0o644, b"nobody's business")?;
            }
        }
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let address = SocketAddr::from_abstract_name(&name)?;
        Ok(Self {
            victim: Victim::start(&program)?,
            tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            udp: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            _unix: UnixListener::bind(folder.join("socket"))?,
            _abstract: UnixListener::bind_addr(&address)?,
            abstract_name: name,
            folder,
            program,
            skill,
        })
    }

    /// Returns the attack program.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the empty skill of the confined runs.
    pub(super) fn skill(&self) -> &Path {
        &self.skill
    }

    /// Returns the words that name the targets in one of the two places.
    pub(super) fn words(&self, place: &str) -> io::Result<Vec<String>> {
        let at = |name: &str| self.folder.join(place).join(name).display().to_string();
        let victim = self.victim.0.id();
        Ok(vec![
            format!("secret={}", at("secret")),
            format!("alias=/proc/self/root{}", at("secret")),
            format!("writable={}", at("writable")),
            format!("movable={}", at("movable")),
            format!("tcp={}", self.tcp.local_addr()?.port()),
            format!("udp={}", self.udp.local_addr()?.port()),
            format!("unix={}", self.folder.join("socket").display()),
            format!("abstract={}", self.abstract_name),
            format!("pid={victim}"),
            format!("environ=/proc/{victim}/environ"),
        ])
    }

    /// Runs the attack program without confinement, as this process's own user.
    ///
    /// Its environment holds one variable, which stands for the host's.
    pub(super) fn control(&self, words: &[&str]) -> io::Result<Output> {
        let out = self.folder.join("output");
        // A file and no pipe: what the attack leaves behind holds it open.
        let capture = File::options()
            .create(true)
            .write(true)
            .truncate(true)
            .open(&out)?;
        let status = command(&self.program)
            .args(words)
            .current_dir(self.folder.join(CONTROL))
            .env_clear()
            .env("BAILIWICK_CONTROL", "1")
            .stdin(Stdio::null())
            .stdout(capture)
            .stderr(Stdio::null())
            .status()?;
        let stdout = read(&out)?;
        Ok(Output {
            status,
            stdout,
            stderr: Vec::new(),
        })
    }

    /// Starts the attack program without confinement and leaves it running.
    pub(super) fn control_endless(&self) -> io::Result<Victim> {
        start(&self.program, "loop").map(Victim)
    }

    /// Says whether what the control left behind lives, and ends it.
    pub(super) fn end_control_daemon(&self, pid: i32) -> io::Result<bool> {
        let folder = File::open(self.folder.join(CONTROL).join("out"))?;
        let alive = is_locked(folder.as_fd())?;
        if let Some(pid) = Pid::from_raw(pid)
            && alive
        {
            kill_process(pid, Signal::KILL)?;
        }
        Ok(alive)
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        end_all(&self.program);
        remove(&self.folder);
    }
}

/// Ends every process of a program that only we have: what outlived its run, and the victim.
fn end_all(program: &Path) {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let (Some(ours), Ok(processes)) = (identity(program), std::fs::read_dir("/proc")) else {
        return;
    };
    for process in processes.flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw)
            && identity(&process.path().join("exe")) == Some(ours)
        {
            // One that has ended meanwhile needs no end.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A process that waits to be attacked, and ends with this value.
#[derive(Debug)]
pub(super) struct Victim(Child);

impl Victim {
    /// Starts one whose number no process of a fresh namespace has.
    fn start(program: &Path) -> io::Result<Self> {
        let mut victim = Self(start(program, "pause")?);
        while victim.0.id() <= FIRST_IN_NAMESPACE {
            victim = Self(start(program, "pause")?);
        }
        Ok(victim)
    }

    /// Says whether the process still runs.
    pub(super) fn is_running(&mut self) -> io::Result<bool> {
        Ok(self.0.try_wait()?.is_none())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says whether a process holds the lock that the daemon took in an `out` folder.
///
/// A lock of the kernel's ends with its holder, in whatever namespace that lives.
pub(super) fn is_locked(out: impl AsFd) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = openat(out, "alive", flags, rustix::fs::Mode::empty())?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// What the folders' names begin with.
const PREFIX: &str = "bailiwick-selftest";
/// The attack program's name in one.
const PROGRAM: &str = "attack";
/// Folders in which every user may make one, the usual one first.
const PUBLIC: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Where the control's files are.
pub(super) const CONTROL: &str = "control";
/// Where the confined run's targets are.
pub(super) const CONFINED: &str = "confined";
/// Init, the script and what it forks before it looks for the victim have lower numbers.
const FIRST_IN_NAMESPACE: u32 = 16;

fn start(program: &Path, verb: &str) -> io::Result<Child> {
    command(program)
        .arg(verb)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the control runs our own program, unconfined"
)]
fn command(program: &Path) -> Command {
    Command::new(program)
}

/// Removes what hosts that were killed in their self-test have left, and ends what runs of it.
///
/// Everyone may make folders here, so only those of this user count.
fn sweep(place: &Path) {
    let me = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let is_left = entry
            .file_name()
            .to_str()
            .is_some_and(|name| maker::is_orphan(PREFIX, name));
        // This looks at the entry itself and not at what it may lead to.
        let is_ours = || {
            let metadata = entry.metadata();
            metadata.is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == me)
        };
        if is_left && is_ours() {
            end_all(&entry.path().join(PROGRAM));
            remove(&entry.path());
        }
    }
}

fn fresh_folder(place: &Path) -> io::Result<PathBuf> {
    let name = maker::fresh_name(PREFIX);
    let folder = place.canonicalize()?.join(name);
    directory(&folder).map(|()| folder)
}

/// The run's own uid passes through, so that what denies is confinement and not the mode.
fn directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)
}

fn put(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options()
        .create_new(true)
        .write(true)
        .mode(mode)
        .open(path)?;
    file.write_all(bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a fresh folder of our own, which no run can reach"
)]
fn remove(folder: &Path) {
    // A folder that stays is in the way of nobody and holds nothing.
    let _ = std::fs::remove_dir_all(folder);
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(path)?, 1 << 16), &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_host_left_is_removed_and_what_a_living_one_has_is_not() {
        let place = tempfile::tempdir().expect("a folder");
        let living = fresh_folder(place.path()).expect("a folder");
        let name = living.file_name().and_then(|name| name.to_str());
        let name = name.expect("a name").to_owned();
        let pid = format!("-{}-", std::process::id());
        // No machine counts processes that far.
        let dead = place.path().join(name.replacen(&pid, "-4194999-", 1));
        directory(&dead).expect("a folder");
        put(&dead.join(PROGRAM), 0o555, b"").expect("a file");
        let elsewhere = place.path().join("elsewhere");
        directory(&elsewhere).expect("a folder");
        put(&elsewhere.join("kept"), 0o644, b"").expect("a file");
        let link = place.path().join(name.replacen(&pid, "-4194998-", 1));
        symlink(&elsewhere, &link).expect("a link");

        sweep(place.path());
        assert!(living.is_dir() && !dead.exists());
        assert!(link.is_symlink() && elsewhere.join("kept").exists());
    }
}
