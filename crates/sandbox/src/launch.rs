//! Starting the launcher: where its program lives, and the socket over which a plan goes to it.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};

use crate::embedded::LAUNCHER;
use crate::encode::Writer;
use crate::error::SandboxError;
use crate::maker;
use crate::message::{self, Message, Stage};
use crate::plan::{Ids, MAX_BYTES, MAX_DESCRIPTORS, Trial};
use crate::template::Template;

/// The launcher's program, ready to be started.
#[derive(Debug)]
pub(crate) struct Launcher {
    place: Place,
    /// The empty network namespace that runs share, once one was needed; none where it cannot be
    /// made.
    network: OnceLock<Option<SharedNetwork>>,
    /// Set once a run could not join it.
    apart: AtomicBool,
}

/// An empty network namespace that runs join.
#[derive(Debug)]
pub(crate) struct SharedNetwork {
    /// The user namespace that owns it, where it is not the host's.
    pub(crate) user: Option<OwnedFd>,
    pub(crate) network: OwnedFd,
}

#[derive(Debug)]
enum Place {
    /// A sealed file in memory: nobody can change it, not even the host.
    Memory(OwnedFd),
    /// A file in the state folder, where the machine refuses to execute from memory.
    File(PathBuf),
}

/// A launcher that runs, and the host's end of its socket.
#[derive(Debug)]
pub(crate) struct Launched {
    child: Child,
    socket: OwnedFd,
}

/// A message and the descriptors that came with it.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) message: Message,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// What a wait for a message can give.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A message.
    Message(Received),
    /// The other end is closed.
    Closed,
    /// Nothing within the time.
    Silence,
}

impl Launcher {
    /// Puts the program where it can be executed.
    pub(crate) fn new(state: &Path) -> Result<Self, SandboxError> {
        if LAUNCHER.is_empty() {
            return Err(SandboxError::Host {
                doing: "confine a program on this kind of machine".to_owned(),
                source: io::ErrorKind::Unsupported.into(),
            });
        }
        sweep(state);
        let place = match in_memory() {
            Ok(descriptor) => Place::Memory(descriptor),
            Err(_) => Place::File(in_file(state)?),
        };
        let launcher = Self::at(place);
        if matches!(launcher.place, Place::Memory(_)) && launcher.try_namespaces(&[]).is_err() {
            return Ok(Self::at(Place::File(in_file(state)?)));
        }
        Ok(launcher)
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            network: OnceLock::new(),
            apart: AtomicBool::new(false),
        }
    }

    /// Starts the program and sends it a plan with descriptors.
    pub(crate) fn start(
        &self,
        plan: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Launched, SandboxError> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|errno| SandboxError::host("make the launcher's socket", errno))?;
        let child = self
            .command()
            .env_clear()
            .stdin(theirs)
            // It lets go of these before anything else, and writes to neither.
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|source| SandboxError::host("start the launcher", source))?;
        let launched = Launched {
            child,
            socket: ours,
        };
        launched.send(plan, descriptors)?;
        Ok(launched)
    }

    /// Tries sets of namespaces in throw-away processes: for each, the step that failed and its
    /// errno, or [`Stage::Execute`] and zero.
    pub(crate) fn try_namespaces(
        &self,
        trials: &[Trial],
    ) -> Result<Vec<(Stage, i32)>, SandboxError> {
        let plan = Writer::probe(trials);
        let launched = self.start(&plan, &[])?;
        let mut results = vec![(Stage::Process, 0); trials.len()];
        let deadline = Instant::now() + ANSWER;
        loop {
            match launched.hear(deadline)? {
                Heard::Message(Received {
                    message:
                        Message::Tried {
                            trial,
                            stage,
                            errno,
                        },
                    ..
                }) => {
                    let index = usize::try_from(trial).unwrap_or(usize::MAX);
                    if let Some(result) = results.get_mut(index) {
                        *result = (stage, errno);
                    }
                }
                Heard::Message(Received { message, .. }) => return Err(unexpected(message)),
                Heard::Closed => return Ok(results),
                Heard::Silence => {
                    return Err(SandboxError::LauncherSlow {
                        seconds: ANSWER.as_secs(),
                    });
                }
            }
        }
    }

    /// Makes a user namespace with a map of one user and one group, and returns a descriptor of it.
    ///
    /// Only a privileged host can map a user that is not its own.
    pub(crate) fn user_namespace(
        &self,
        users: (u32, u32),
        groups: (u32, u32),
    ) -> Result<OwnedFd, SandboxError> {
        let (holder, _) = self.hold(&Writer::hold_user_namespace(), &[])?;
        let process = format!("/proc/{}", holder.child.id());
        for (file, (inside, outside)) in [("uid_map", users), ("gid_map", groups)] {
            let line = format!("{inside} {outside} 1");
            File::options()
                .write(true)
                .open(format!("{process}/{file}"))
                .and_then(|mut map| map.write_all(line.as_bytes()))
                .map_err(|source| SandboxError::host("map users for a granted folder", source))?;
        }
        holder.namespace("user")
    }

    /// Returns the network namespace that runs share, in which there is no device that is up; the
    /// first call makes it. None where this machine does not let a run join one.
    pub(crate) fn shared_network(&self, inside: Option<Ids>) -> Option<&SharedNetwork> {
        let shared = self
            .network
            .get_or_init(|| self.make_shared_network(inside).ok());
        let is_joined = !self.apart.load(Ordering::Relaxed);
        shared.as_ref().filter(|_| is_joined)
    }

    fn make_shared_network(&self, inside: Option<Ids>) -> Result<SharedNetwork, SandboxError> {
        let (holder, _) = self.hold(&Writer::hold_network_namespace(inside), &[])?;
        Ok(SharedNetwork {
            user: inside.map(|_| holder.namespace("user")).transpose()?,
            network: holder.namespace("net")?,
        })
    }

    /// Has every run make a network namespace of its own from now on.
    pub(crate) fn part_networks(&self) {
        self.apart.store(true, Ordering::Relaxed);
    }

    /// Makes a template by its plan.
    pub(crate) fn template(
        &self,
        plan: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Template, SandboxError> {
        let (holder, rulesets) = self.hold(plan, descriptors)?;
        Ok(Template {
            namespace: holder.namespace("mnt")?,
            rulesets,
        })
    }

    /// Starts a process that holds a namespace for as long as the value lives, and returns it with
    /// the descriptors that it sends.
    fn hold(
        &self,
        plan: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(Launched, Vec<OwnedFd>), SandboxError> {
        let holder = self.start(plan, descriptors)?;
        match holder.hear(Instant::now() + ANSWER)? {
            Heard::Message(Received {
                message: Message::Holding,
                descriptors,
            }) => Ok((holder, descriptors)),
            Heard::Message(Received { message, .. }) => Err(unexpected(message)),
            Heard::Closed => Err(SandboxError::LauncherLost),
            Heard::Silence => Err(SandboxError::LauncherSlow {
                seconds: ANSWER.as_secs(),
            }),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts processes"
    )]
    fn command(&self) -> Command {
        match &self.place {
            Place::Memory(file) => Command::new(format!("/proc/self/fd/{}", file.as_raw_fd())),
            Place::File(path) => Command::new(path),
        }
    }
}

impl Launched {
    /// Says whether it waits for a plan: one that said something, or is gone, has failed.
    pub(crate) fn is_waiting(&mut self) -> bool {
        // Where it is gone its init is about to be, and the socket still open.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return false;
        }
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        matches!(poll(&mut polled, Some(&timespec(Duration::ZERO))), Ok(0))
    }

    /// Waits for the next message.
    pub(crate) fn hear(&self, deadline: Instant) -> Result<Heard, SandboxError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(0) => Ok(Heard::Silence),
            Ok(_) => self.receive(),
            Err(Errno::INTR) => self.hear(deadline),
            Err(errno) => Err(SandboxError::host("wait for the launcher", errno)),
        }
    }

    /// Reads one message that is there, or the end.
    pub(crate) fn receive(&self) -> Result<Heard, SandboxError> {
        let mut bytes = [0; message::BYTES];
        let mut space = [MaybeUninit::uninit(); CONTROL];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut receive = || {
            recvmsg(
                &self.socket,
                &mut [IoSliceMut::new(&mut bytes)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
            )
        };
        let received = match receive() {
            // It ended with a plan unread, which the kernel says once and before its last words.
            Err(Errno::CONNRESET) => receive(),
            received => received,
        };
        let length = match received {
            Ok(received) if received.flags.contains(ReturnFlags::CTRUNC) => {
                return Err(SandboxError::LauncherLost);
            }
            Ok(received) => received.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Heard::Silence),
            Err(Errno::CONNRESET) => 0,
            Err(errno) => return Err(SandboxError::host("hear the launcher", errno)),
        };
        if length == 0 {
            return Ok(Heard::Closed);
        }
        let descriptors = control
            .drain()
            .filter_map(|item| match item {
                RecvAncillaryMessage::ScmRights(rights) => Some(rights),
                // Credentials are never asked for.
                RecvAncillaryMessage::ScmCredentials(_) | _ => None,
            })
            .flatten()
            .collect();
        match bytes.get(..length).and_then(Message::decode) {
            Some(message) => Ok(Heard::Message(Received {
                message,
                descriptors,
            })),
            None => Err(SandboxError::LauncherLost),
        }
    }

    /// Opens a namespace that the launcher is in; the descriptor keeps it.
    fn namespace(&self, kind: &str) -> Result<OwnedFd, SandboxError> {
        File::open(format!("/proc/{}/ns/{kind}", self.child.id()))
            .map(OwnedFd::from)
            .map_err(|source| SandboxError::host(format!("keep a {kind} namespace"), source))
    }

    /// Sends one order. A launcher that is gone has nothing left to obey.
    pub(crate) fn order(&self, order: u8) {
        let _ = rustix::net::send(
            &self.socket,
            &[order],
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        );
    }

    /// Returns the socket, for polling.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a plan. A launcher that is gone already says why, or is noticed by who waits for its
    /// answer.
    pub(crate) fn send(
        &self,
        plan: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), SandboxError> {
        let most = usize::try_from(MAX_DESCRIPTORS).unwrap_or(usize::MAX);
        if plan.len() > MAX_BYTES || descriptors.len() > most {
            return Err(SandboxError::Command {
                why: "the run needs more grants or longer arguments than one launch can carry"
                    .to_owned(),
            });
        }
        match self.send_packets(plan, descriptors) {
            Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(errno) => Err(SandboxError::host("send the plan to the launcher", errno)),
        }
    }

    fn send_packets(&self, plan: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let room = rustix::cmsg_space!(ScmRights(1)) + 4 * descriptors.len();
        let mut space = vec![MaybeUninit::uninit(); room];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let length = (plan.len() as u64).to_le_bytes();
        sendmsg(
            &self.socket,
            &[IoSlice::new(&length)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        for part in plan.chunks(PACKET) {
            rustix::net::send(&self.socket, part, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }
}

impl Drop for Launched {
    /// The launcher dies, and init with it: its death signal is set to that.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Turns a wait into what the kernel takes.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    }
}

/// The error that a message is when something else was due.
pub(crate) fn unexpected(message: Message) -> SandboxError {
    match message {
        Message::Failed { stage, errno, .. } => SandboxError::Launch {
            stage,
            subject: None,
            source: io::Error::from_raw_os_error(errno),
        },
        Message::Started { .. }
        | Message::Exited { .. }
        | Message::Holding
        | Message::Tried { .. } => SandboxError::LauncherLost,
    }
}

fn in_memory() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag, and execute from memory without it.
    let file = memfd_create("bailiwick-launcher", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("bailiwick-launcher", flags))?;
    let mut file = File::from(file);
    file.write_all(LAUNCHER)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Removes the programs of hosts that died.
fn sweep(state: &Path) {
    let entries = std::fs::read_dir(state).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        if name
            .to_str()
            .is_some_and(|name| maker::is_orphan(PREFIX, name))
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Writes the program into the state folder, which no script can write.
fn in_file(state: &Path) -> Result<PathBuf, SandboxError> {
    let path = state.join(maker::fresh_name(PREFIX));
    let write = || {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::XUSR;
        let mut file = File::from(rustix::fs::open(&path, flags, mode)?);
        file.write_all(LAUNCHER)
    };
    write()
        .map_err(|source| SandboxError::host("keep the launcher in the state folder", source))?;
    Ok(path)
}

impl Drop for Launcher {
    fn drop(&mut self) {
        if let Place::File(path) = &self.place {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Room for the descriptors of one message.
const CONTROL: usize = rustix::cmsg_space!(ScmRights(message::MOST_DESCRIPTORS));
/// How long a launcher has to answer. A launch takes milliseconds; a machine under heavy load may
/// take seconds.
pub(crate) const ANSWER: Duration = Duration::from_secs(20);
/// How the program is named where it is kept in a file.
const PREFIX: &str = "launcher";
/// The largest packet of a plan: well below the smallest send buffer in use.
const PACKET: usize = 32 << 10;
