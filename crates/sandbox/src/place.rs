//! A run up to the moment in which its program is executed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{FileType, Gid, Uid, fchown, fstat};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::cgroup::Leaf;
use crate::child::{ConfinedChild, Started};
#[cfg(weaken)]
use crate::class::Layer;
use crate::command::{ConfinedCommand, Stdin};
use crate::compile::Compiled;
use crate::drain::Drain;
use crate::encode::{Head, Writer};
use crate::error::SandboxError;
use crate::identity::Identity;
use crate::launch::{ANSWER, Heard, Launched, Received, unexpected};
use crate::message::{Message, Stage};
use crate::plan::NEW_NETWORK;
use crate::plans::{Attached, rules, write_landlock, write_root};
use crate::root::{Extent, Owner, SCRATCH};
use crate::shape::{Network, Shape};

/// The namespaces of a run that is under way to them, in which nothing is executed yet.
#[derive(Debug)]
pub(crate) struct Place {
    launched: Launched,
    leaf: Leaf,
    identity: Identity,
    extent: Extent,
}

impl Place {
    /// Starts a launcher with all that a run of the policy needs before it is known what it is
    /// called with.
    ///
    /// A template is used only where what it binds is still in place.
    pub(crate) fn make(compiled: &Compiled, in_place: bool) -> Result<Self, SandboxError> {
        let identity = Identity::choose(compiled)?;
        let leaf = compiled.host.cgroups.leaf(&compiled.limits)?;
        let template = if in_place {
            identity.template(compiled)
        } else {
            None
        };
        let extent = match &template {
            Some(_) => Extent::Rest,
            None => Extent::Whole,
        };
        let network = match compiled.shape.network {
            Network::Shared => {
                let inside = compiled.shape.user.then(|| identity.ids());
                compiled.host.launcher.shared_network(inside)
            }
            Network::Host | Network::Own | Network::Loopback | Network::Proxy => None,
        };
        let namespaces = match (compiled.shape.network, network) {
            (Network::Shared, None) => compiled.shape.namespaces() | NEW_NETWORK,
            _ => compiled.shape.namespaces(),
        };
        let maps = match extent {
            Extent::Rest => Vec::new(),
            Extent::Whole | Extent::Template => identity.maps(compiled)?,
        };
        let mut attached = Attached::default();
        attached.add_all(leaf.members());
        let cgroups = attached.next();
        let owner = network.and_then(|shared| shared.user.as_ref());
        let owner = owner.map(|owner| attached.add(owner.as_fd()));
        let network = network.map(|shared| attached.add(shared.network.as_fd()));
        let joined = template.as_ref().map(|template| {
            let first = attached.next();
            attached.add_all(template.descriptors());
            first
        });
        let sources = attached.next();
        if extent == Extent::Whole {
            attached.add_sources(compiled, &maps);
        }
        // The rulesets, if it has some, follow the namespace.
        let brings_rules = template
            .as_ref()
            .is_some_and(|template| template.has_rules());
        let rulesets = joined.filter(|_| brings_rules);
        let mut writer = Writer::run(&Head {
            namespaces,
            flags: identity.flags(compiled),
            ids: identity.ids(),
            descriptors: attached.next(),
            cgroups,
            user: owner,
            network,
            template: joined,
            rulesets: rulesets.map(|namespace| namespace + 1),
        });
        writer.limits(compiled.resources());
        write_root(
            compiled,
            &mut writer,
            extent,
            sources,
            identity.user(),
            &maps,
        );
        writer.text(format!("{SCRATCH}/out").as_bytes());
        write_landlock(compiled, &mut writer, extent);
        writer.blob(&compiled.filter);
        #[cfg(weaken)]
        writer.word(compiled.host.skipped());
        let plan = writer.finish();
        let launched = compiled.host.launcher.start(&plan, &attached.descriptors)?;
        Ok(Self {
            launched,
            leaf,
            identity,
            extent,
        })
    }

    /// Executes a command in it.
    pub(crate) fn execute(
        self,
        compiled: &Compiled,
        command: &ConfinedCommand,
    ) -> Result<ConfinedChild, SandboxError> {
        let (stdin, feed) = match &command.stdin {
            Stdin::Null => (null()?, None),
            Stdin::Bytes(bytes) => {
                let (read, write) = pipe()?;
                (read, Some((write, bytes.clone())))
            }
        };
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        if let Identity::Run(_) | Identity::Owner(_) = &self.identity {
            hand_over(self.identity.user(), [&stdin, &stdout, &stderr])?;
        }
        let mut writer = Writer::execute();
        writer.text(command.cwd.as_bytes());
        writer.text(compiled.program.as_str().as_bytes());
        writer.list(&command.arguments, |writer, text| {
            writer.text(text.as_bytes());
        });
        writer.list(&environment(compiled, command), |writer, text| {
            writer.text(text.as_bytes());
        });
        let plan = writer.finish();
        let drain = Drain::new(stdout, stderr, compiled.limits.output())?;
        let streams = [stdin.as_fd(), stdout_end.as_fd(), stderr_end.as_fd()];
        self.launched.send(&plan, &streams)?;
        // What is left of the ends is the program's: else its output never ends.
        drop((stdin, stdout_end, stderr_end));
        let Handles {
            init,
            out,
            listener,
        } = match self.started(compiled) {
            Ok(handles) => handles,
            Err(error) => {
                // Only a launcher that says why says that nothing runs.
                if !matches!(error, SandboxError::Launch { .. })
                    && let Some(lease) = self.identity.lease()
                {
                    lease.quarantine();
                }
                return Err(error);
            }
        };
        ConfinedChild::new(Started {
            id: command.run.clone(),
            launched: self.launched,
            init,
            out,
            listener,
            leaf: self.leaf,
            lease: self.identity.lease(),
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

    /// Says whether its launcher still waits.
    pub(crate) fn is_waiting(&mut self) -> bool {
        self.launched.is_waiting()
    }

    /// Waits until the program is executed, or says why it is not.
    fn started(&self, compiled: &Compiled) -> Result<Handles, SandboxError> {
        match self.launched.hear(Instant::now() + ANSWER)? {
            Heard::Message(Received {
                message: Message::Started { descriptors: sent },
                mut descriptors,
            }) => {
                if descriptors.len() != usize::try_from(sent).unwrap_or(usize::MAX) {
                    return Err(SandboxError::LauncherLost);
                }
                let listener = match compiled.shape.network {
                    Network::Proxy => Some(descriptors.pop().ok_or(SandboxError::LauncherLost)?),
                    Network::Host | Network::Shared | Network::Own | Network::Loopback => None,
                };
                let mut descriptors = descriptors.into_iter();
                Ok(Handles {
                    init: descriptors.next().ok_or(SandboxError::LauncherLost)?,
                    out: descriptors.next(),
                    listener,
                })
            }
            Heard::Message(Received {
                message: Message::Failed { stage, errno, item },
                ..
            }) => {
                match (stage, &compiled.templates) {
                    (Stage::Template, Some(templates)) => templates.refuse(self.identity.user()),
                    (Stage::Network, _) => compiled.host.launcher.part_networks(),
                    _ => {}
                }
                Err(SandboxError::Launch {
                    stage,
                    subject: subject(compiled, self.extent, stage, item),
                    source: io::Error::from_raw_os_error(errno),
                })
            }
            Heard::Message(Received { message, .. }) => Err(unexpected(message)),
            Heard::Closed => Err(SandboxError::LauncherLost),
            Heard::Silence => Err(SandboxError::LauncherSlow {
                seconds: ANSWER.as_secs(),
            }),
        }
    }
}

/// What the host holds of a run that has begun.
struct Handles {
    init: OwnedFd,
    out: Option<OwnedFd>,
    listener: Option<OwnedFd>,
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

/// What a stage that walks a list was working on.
fn subject(compiled: &Compiled, extent: Extent, stage: Stage, item: u32) -> Option<String> {
    match stage {
        Stage::Source
        | Stage::MountAttributes
        | Stage::IdMappedMount
        | Stage::Tmpfs
        | Stage::Proc
        | Stage::Root => compiled.root.subject(extent, item),
        Stage::Ruleset => {
            let (abi, _) = compiled.handled.as_ref()?;
            let rules = rules(compiled, extent, *abi);
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
        | Stage::Listen
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
        | Stage::Panic
        | Stage::Template
        | Stage::Network => None,
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
