//! Starting a confined run: plan and descriptors for one launch.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{FileType, Gid, Uid, fchown, fstat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{getegid, geteuid};

use crate::cgroup::Leaf;
use crate::child::{ConfinedChild, Started};
#[cfg(weaken)]
use crate::class::Layer;
use crate::command::{ConfinedCommand, Stdin};
use crate::compile::Compiled;
use crate::drain::Drain;
use crate::encode::Writer;
use crate::error::SandboxError;
use crate::landlock;
use crate::launch::{ANSWER, Heard, Launched, Received, unexpected};
use crate::message::{Message, Stage};
use crate::plan::{NONE, flag};
use crate::root::{Owner, SCRATCH};
use crate::shape::{Network, Shape};
use crate::uid::UidLease;

/// Starts a command under a compiled policy.
///
/// Returns once the program is executed. Blocks for as long as that takes, some milliseconds.
///
/// # Errors
///
/// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` naming the stage of the launch that failed; nothing of the
/// program has run then. `E_SKILL_ARGUMENTS_REJECTED` when the command cannot be carried.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a command is a run, and is run once"
)]
pub fn spawn(compiled: &Compiled, command: ConfinedCommand) -> Result<ConfinedChild, SandboxError> {
    match attempt(compiled, &command) {
        Err(SandboxError::Launch {
            stage: Stage::IdMappedMount,
            ..
        }) if !compiled.is_unmapped() => {
            compiled.set_unmapped()?;
            attempt(compiled, &command)
        }
        result => result,
    }
}

fn attempt(compiled: &Compiled, command: &ConfinedCommand) -> Result<ConfinedChild, SandboxError> {
    let identity = Identity::choose(compiled)?;
    let leaf = compiled.host.cgroups.leaf(&compiled.limits)?;
    let maps = identity.maps(compiled)?;
    let (stdin, feed) = match &command.stdin {
        Stdin::Null => (null()?, None),
        Stdin::Bytes(bytes) => {
            let (read, write) = pipe()?;
            (read, Some((write, bytes.clone())))
        }
    };
    let (stdout, stdout_end) = pipe()?;
    let (stderr, stderr_end) = pipe()?;
    if let Identity::Run(_) | Identity::Owner(_) = &identity {
        hand_over(identity.user(), [&stdin, &stdout, &stderr])?;
    }
    let network = match compiled.shape.network {
        Network::Shared => Some(compiled.host.launcher.network_namespace()?),
        Network::Host | Network::Own | Network::Loopback => None,
    };
    let plan = plan(
        compiled,
        command,
        &identity,
        &leaf,
        &maps,
        network.is_some(),
    );
    let mut descriptors: Vec<BorrowedFd<'_>> = vec![stdin.as_fd()];
    descriptors.extend(leaf.members());
    descriptors.extend(compiled.root.sources().iter().map(AsFd::as_fd));
    descriptors.extend(maps.iter().map(|(_, map)| map.as_fd()));
    descriptors.extend(network);
    let launched = compiled.host.launcher.start(
        &plan,
        &descriptors,
        Stdio::from(stdout_end),
        Stdio::from(stderr_end),
    )?;
    let (init, out) = started(compiled, &launched)?;
    let drain = Drain::new(stdout, stderr, compiled.limits.output())?;
    ConfinedChild::new(Started {
        id: command.run.clone(),
        launched,
        init,
        out,
        leaf,
        lease: identity.lease(),
        drain,
        feed,
        at: Instant::now(),
        deadline: command.deadline,
        limits: compiled.limits.clone(),
        layers: compiled.layers().clone(),
        namespaced: compiled.shape.pid,
        #[cfg(weaken)]
        untimed: compiled.host.is_without(Layer::Deadline),
        watched: Shape::watched(&compiled.host),
    })
}

/// Whom the program runs as.
enum Identity {
    /// A uid of its own, with granted places mapped to it.
    Run(UidLease),
    /// The owner of the granted places, where a file system refuses to map them.
    Owner(Owner),
    /// The host's own user, inside a user namespace or not.
    Host(Owner),
}

impl Identity {
    fn choose(compiled: &Compiled) -> Result<Self, SandboxError> {
        let Some(uids) = &compiled.host.uids else {
            return Ok(Self::Host((geteuid().as_raw(), getegid().as_raw())));
        };
        if !compiled.is_unmapped() {
            return uids.lease().map(Self::Run);
        }
        match compiled.root.owners().as_slice() {
            [(uid, gid)] if *uid != 0 => Ok(Self::Owner((*uid, *gid))),
            owners => Err(SandboxError::Root {
                path: "a granted place".to_owned(),
                why: format!(
                    "its file system refuses id-mapped mounts, and a run cannot be given the \
                     identity of its owner (uids {:?})",
                    owners.iter().map(|(uid, _)| *uid).collect::<Vec<_>>()
                ),
            }),
        }
    }

    fn user(&self) -> Owner {
        match self {
            Self::Run(lease) => (lease.uid(), lease.uid()),
            Self::Owner(owner) | Self::Host(owner) => *owner,
        }
    }

    /// A user namespace for each owner of a granted place.
    fn maps(&self, compiled: &Compiled) -> Result<Vec<(Owner, Arc<OwnedFd>)>, SandboxError> {
        match self {
            Self::Run(lease) => compiled
                .root
                .owners()
                .into_iter()
                .map(|owner| Ok((owner, lease.map(&compiled.host.launcher, owner)?)))
                .collect(),
            Self::Owner(_) | Self::Host(_) => Ok(Vec::new()),
        }
    }

    fn lease(self) -> Option<UidLease> {
        match self {
            Self::Run(lease) => Some(lease),
            Self::Owner(_) | Self::Host(_) => None,
        }
    }

    fn flags(&self, compiled: &Compiled) -> u32 {
        let mut flags = match self {
            Self::Run(_) | Self::Owner(_) => flag::OWN_UID,
            Self::Host(_) if compiled.shape.user => flag::MAP_IDS,
            Self::Host(_) => 0,
        };
        if compiled.shape.network == Network::Loopback {
            flags |= flag::LOOPBACK;
        }
        flags
    }
}

/// Writes the plan, in the order of its layout.
fn plan(
    compiled: &Compiled,
    command: &ConfinedCommand,
    identity: &Identity,
    leaf: &Leaf,
    maps: &[(Owner, Arc<OwnedFd>)],
    joins_network: bool,
) -> Vec<u8> {
    let number = |count: usize| u32::try_from(count).unwrap_or(NONE);
    let user = identity.user();
    let cgroups = number(leaf.members().count());
    let first_source = 1 + cgroups;
    let first_map = first_source + number(compiled.root.sources().len());
    let network = first_map + number(maps.len());
    let mut writer = Writer::run();
    writer.long(compiled.shape.namespaces());
    writer.word(identity.flags(compiled));
    writer.word(user.0);
    writer.word(user.1);
    writer.word(network + u32::from(joins_network));
    writer.word(cgroups);
    writer.word(if joins_network { network } else { NONE });
    writer.limits(compiled.resources());
    compiled
        .root
        .write(&mut writer, first_source, user, |owner| {
            let place = maps.iter().position(|(mapped, _)| *mapped == owner)?;
            Some(first_map + number(place))
        });
    writer.text(format!("{SCRATCH}/out").as_bytes());
    write_rules(compiled, &mut writer);
    writer.blob(&compiled.filter);
    writer.text(command.cwd.as_bytes());
    writer.text(compiled.program.as_str().as_bytes());
    writer.list(&command.arguments, |writer, text| {
        writer.text(text.as_bytes());
    });
    writer.list(&environment(compiled, command), |writer, text| {
        writer.text(text.as_bytes());
    });
    #[cfg(weaken)]
    writer.word(compiled.host.skipped());
    writer.finish()
}

/// The variables of a run: those of its command, and no other.
#[cfg(not(weaken))]
fn environment<'a>(_: &Compiled, command: &'a ConfinedCommand) -> Vec<&'a str> {
    command.environment.iter().map(String::as_str).collect()
}

#[cfg(weaken)]
fn environment<'a>(compiled: &Compiled, command: &'a ConfinedCommand) -> Vec<&'a str> {
    let foreign = compiled.host.is_without(Layer::Environment);
    let own = command.environment.iter().map(String::as_str);
    own.chain(foreign.then_some(crate::weaken::FOREIGN_VARIABLE))
        .collect()
}

/// Writes what Landlock handles and the rules of both layers, the session's first.
fn write_rules(compiled: &Compiled, writer: &mut Writer) {
    let Some((abi, handled)) = &compiled.handled else {
        for _ in 0..3 {
            writer.long(0);
        }
        writer.word(0);
        writer.word(0);
        return;
    };
    writer.long(handled.fs);
    // Behind a loopback device of the run's own is nothing else, so the rules have nothing to add.
    writer.long(if compiled.shape.network == Network::Loopback {
        0
    } else {
        handled.net
    });
    writer.long(handled.scoped);
    writer.word(2);
    writer.list(&rules(compiled, *abi), |writer, (layer, access, path)| {
        writer.word(*layer);
        writer.long(*access);
        writer.word(NONE);
        writer.text(path.as_bytes());
    });
}

/// The rules of both layers, in the order of the plan: layer, access, path.
fn rules(compiled: &Compiled, abi: u32) -> Vec<(u32, u64, &str)> {
    let layers = compiled
        .root
        .rules()
        .iter()
        .flat_map(|rule| [(0, rule, rule.session), (1, rule, rule.derived)]);
    layers
        .map(|(layer, rule, rights)| {
            let access = landlock::access_bits(abi, rights, rule.directory);
            (layer, access, rule.path.as_str())
        })
        .filter(|(_, access, _)| *access != 0)
        .collect()
}

/// Waits until the program is executed, or says why it is not.
fn started(
    compiled: &Compiled,
    launched: &Launched,
) -> Result<(OwnedFd, Option<OwnedFd>), SandboxError> {
    match launched.hear(Instant::now() + ANSWER)? {
        Heard::Message(Received {
            message: Message::Started { .. },
            descriptors,
        }) => {
            let mut descriptors = descriptors.into_iter();
            let init = descriptors.next().ok_or(SandboxError::LauncherLost)?;
            Ok((init, descriptors.next()))
        }
        Heard::Message(Received {
            message: Message::Failed { stage, errno, item },
            ..
        }) => Err(SandboxError::Launch {
            stage,
            subject: subject(compiled, stage, item),
            source: io::Error::from_raw_os_error(errno),
        }),
        Heard::Message(Received { message, .. }) => Err(unexpected(message)),
        Heard::Closed => Err(SandboxError::LauncherLost),
        Heard::Silence => Err(SandboxError::LauncherSlow {
            seconds: ANSWER.as_secs(),
        }),
    }
}

/// What a stage that walks a list was working on.
fn subject(compiled: &Compiled, stage: Stage, item: u32) -> Option<String> {
    match stage {
        Stage::Source
        | Stage::MountAttributes
        | Stage::IdMappedMount
        | Stage::Tmpfs
        | Stage::Proc
        | Stage::Root => compiled.root.subject(item),
        Stage::Ruleset => {
            let (abi, _) = compiled.handled.as_ref()?;
            let rules = rules(compiled, *abi);
            rules
                .get(usize::try_from(item).ok()?)
                .map(|(_, _, path)| (*path).to_owned())
        }
        Stage::Receive
        | Stage::Plan
        | Stage::Stdio
        | Stage::Session
        | Stage::Cgroup
        | Stage::Namespaces
        | Stage::IdMap
        | Stage::Private
        | Stage::Pivot
        | Stage::Loopback
        | Stage::Limits
        | Stage::Identity
        | Stage::Capabilities
        | Stage::NoNewPrivileges
        | Stage::WorkingDirectory
        | Stage::Landlock
        | Stage::CloseDescriptors
        | Stage::Seccomp
        | Stage::Execute
        | Stage::Process
        | Stage::Panic => None,
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|errno| SandboxError::host("make the run's pipes", errno))
}

/// Gives the run its streams, or it could not open them by name as `/dev/stderr`. What is not a
/// pipe belongs to nobody and can be opened by everyone.
fn hand_over(user: Owner, streams: [&OwnedFd; 3]) -> Result<(), SandboxError> {
    let failed = |errno| SandboxError::host("hand the run its streams", errno);
    let owner = (Uid::from_raw(user.0), Gid::from_raw(user.1));
    for stream in streams {
        let kind = FileType::from_raw_mode(fstat(stream).map_err(failed)?.st_mode);
        if kind == FileType::Fifo {
            fchown(stream, Some(owner.0), Some(owner.1)).map_err(failed)?;
        }
    }
    Ok(())
}

fn null() -> Result<OwnedFd, SandboxError> {
    File::open("/dev/null")
        .map(OwnedFd::from)
        .map_err(|source| SandboxError::host("open `/dev/null`", source))
}
