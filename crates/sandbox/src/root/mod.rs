//! The root that a run finds: what is in it, in which order it is built, and what Landlock allows
//! on each part.
//!
//! `/usr` and the interpreter's own places are read-only binds of the host's. Devices, `/proc`,
//! `/tmp` and a small `/etc` are there because honest programs fail without them. `/skill` is the
//! skill, read-only. Everything that a run writes lies in one tmpfs of fixed size beneath
//! `/run/rw`, which `/tmp` and `/dev/shm` lead to. A granted place stands at its own path.
//!
//! Landlock adds rights up along a path, so beneath a folder that a run may write nothing can have
//! fewer rights. Therefore no place ever stands inside the scratch: where one lies beneath `/tmp`,
//! `/tmp` is a sealed folder that leads to that place and to nothing else. `/run/rw/tmp` can be
//! written in every run, which makes it the path for `TMPDIR`.

mod part;
#[cfg(weaken)]
mod weakened;

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use bailiwick_policy::{EffectivePolicy, HostPath, Rights};
use rustix::fs::{FileType, fstat, lstat};

pub(crate) use self::part::Owner;
use self::part::{Content, Part};
use crate::encode::Writer;
use crate::error::SandboxError;
use crate::limits::scratch_ceilings;
use crate::session::{Opened, Session, check_trusted, open_trusted};
use crate::shape::Shape;

/// What a run's root holds beside the skill and the grants.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the policy file knows exactly these two"
)]
pub enum Base {
    /// All of `/usr`, read and execute. The default: what honest programs need.
    #[default]
    Usr,
    /// Only what the interpreter names.
    Minimal,
}

/// The interpreter of a script, resolved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// The file to execute.
    pub path: HostPath,
    /// Places that it reads beyond the base.
    pub read: Vec<HostPath>,
    /// Places that it may execute beyond the base.
    pub exec: Vec<HostPath>,
}

impl Program {
    /// Names the interpreter and what it needs beyond the base; both lists may be empty.
    pub fn new(path: HostPath, read: Vec<HostPath>, exec: Vec<HostPath>) -> Self {
        Self { path, read, exec }
    }
}

/// The parts of a root, in the order in which they are built.
#[derive(Debug, Default)]
pub(crate) struct Root {
    parts: Vec<Part>,
    sources: Vec<OwnedFd>,
    /// The numbers of those that are often replaced.
    replaceable: Vec<usize>,
    rules: Vec<Rule>,
    /// Whether runs can begin from a template.
    has_template: bool,
    /// The rules on it, where they are the same in every run.
    template_rules: Option<Vec<Rule>>,
    /// Inside paths beneath which the host's own tree stands.
    bound: Vec<String>,
    /// Links of the root that stand for folders of `/usr`.
    links: Vec<String>,
    /// Whether a folder of the host is granted, or one outside the system is the interpreter's.
    grants_folder: bool,
}

/// Which parts of a root are made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    /// All, for one run.
    Whole,
    /// What is the same in every run.
    Template,
    /// What is added to a copy of that.
    Rest,
}

/// One Landlock rule, with what each layer holds.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) path: String,
    pub(crate) directory: bool,
    pub(crate) session: Rights,
    pub(crate) derived: Rights,
}

impl Root {
    /// Lists the parts for one policy.
    pub(crate) fn new(
        session: &Session,
        policy: &EffectivePolicy,
        program: &Program,
        skill: &Path,
        base: Base,
        shape: Shape,
    ) -> Result<Self, SandboxError> {
        let mut root = Self::default();
        root.base(base)?;
        let (size, inodes) = scratch_ceilings(policy.limits());
        root.scratch(size, inodes);
        root.devices(shape.devices)?;
        root.etc()?;
        if shape.proc {
            root.directory("/proc");
            root.parts.push(Part::Processes {
                path: inside("/proc"),
            });
            root.rule("/proc", true, Rights::READ_ONLY);
        }
        root.skill(skill)?;
        root.program(policy, program)?;
        root.grants(session, policy)?;
        root.aliases();
        root.layer_rules(shape);
        Ok(root)
    }

    /// Says whether a folder of the host is granted, and with it whatever sockets it may hold.
    pub(crate) fn grants_folder(&self) -> bool {
        self.grants_folder
    }

    /// Returns the Landlock rules on a root that is made to an extent.
    pub(crate) fn rules(&self, extent: Extent) -> &[Rule] {
        match (extent, &self.template_rules) {
            (Extent::Whole, _) | (Extent::Rest, None) => &self.rules,
            (Extent::Template, Some(rules)) => rules,
            (Extent::Template, None) | (Extent::Rest, Some(_)) => &[],
        }
    }

    /// Says whether runs can begin from a template.
    pub(crate) fn has_template(&self) -> bool {
        self.has_template
    }

    /// Returns the descriptors that the binds need, in the order of their numbers.
    pub(crate) fn sources(&self) -> &[OwnedFd] {
        &self.sources
    }

    /// Returns the owners of granted places, each once.
    pub(crate) fn owners(&self) -> Vec<Owner> {
        let mut owners: Vec<_> = self.parts.iter().filter_map(Part::owner).collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// Says whether what is often replaced is still where it was opened: granted places, and single
    /// files. Where one is not, the launch that binds it says so.
    pub(crate) fn is_in_place(&self) -> bool {
        let replaced = self.replaceable.iter();
        let mut sources = replaced.filter_map(|source| self.sources.get(*source));
        sources.all(is_at_its_name)
    }

    /// Names the part with a number, for an error at its step.
    pub(crate) fn subject(&self, extent: Extent, item: u32) -> Option<String> {
        let part = self.parts(extent).nth(usize::try_from(item).ok()?)?;
        Some(format!("/{}", part.path()))
    }

    /// Writes parts into a plan. `first` is the number of the first source; `map` gives the number
    /// of an owner's user namespace, if the run maps owners.
    pub(crate) fn write(
        &self,
        extent: Extent,
        writer: &mut Writer,
        first: u32,
        user: Owner,
        map: impl Fn(Owner) -> Option<u32>,
    ) {
        let parts: Vec<_> = self.parts(extent).collect();
        writer.list(&parts, |writer, part| {
            part.write(writer, first, user, &map);
        });
    }

    fn parts(&self, extent: Extent) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| match extent {
            Extent::Whole => true,
            Extent::Template => !part.is_of_one_run(),
            Extent::Rest => part.is_of_one_run(),
        })
    }

    fn base(&mut self, base: Base) -> Result<(), SandboxError> {
        match base {
            Base::Usr => self.bind_trusted("/usr", Rights::READ_ONLY | Rights::EXEC)?,
            Base::Minimal => self.directory("/usr"),
        }
        for path in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
            match (fs::read_link(path), base) {
                (Ok(target), _) => {
                    let target = target.to_string_lossy().into_owned();
                    self.parts.push(Part::Link {
                        path: inside(path),
                        target,
                    });
                    self.links.push(path.to_owned());
                }
                (Err(_), Base::Usr) if Path::new(path).is_dir() => {
                    self.bind_trusted(path, Rights::READ_ONLY | Rights::EXEC)?;
                }
                (Err(_), Base::Usr | Base::Minimal) => {}
            }
        }
        Ok(())
    }

    /// The one place that a run writes. Its folders are the run's, and stay where they are.
    fn scratch(&mut self, size: u64, inodes: u64) {
        self.directory(SCRATCH);
        // The folders that are there from the start are not counted against the run.
        let inodes = inodes.saturating_add(5);
        self.parts.push(Part::Scratch {
            path: inside(SCRATCH),
            size,
            inodes,
        });
        self.rule(SCRATCH, true, Rights::READ_ONLY);
        for (name, mode) in [
            ("out", 0o700),
            ("home", 0o700),
            ("tmp", 0o1777),
            ("shm", 0o1777),
        ] {
            let path = format!("{SCRATCH}/{name}");
            self.parts.push(Part::Directory {
                path: inside(&path),
                mode,
                own: true,
            });
            self.rule(&path, true, scratch_rights());
        }
    }

    /// The names that lead to the scratch, each unless something of the host's stands there: it
    /// would have the rights of the scratch. The rules are on the folders that they lead to.
    fn aliases(&mut self) {
        for (alias, name) in [("/tmp", "tmp"), ("/dev/shm", "shm")] {
            let taken = self.is_shown(alias)
                || (self.bound.iter()).any(|place| is_beneath(place, &[alias.to_owned()]));
            if taken {
                self.directory(alias);
            } else {
                self.parts.push(Part::Link {
                    path: inside(alias),
                    target: format!("{SCRATCH}/{name}"),
                });
            }
        }
    }

    /// The few devices that programs need: made, or where this host may not, the host's bound.
    fn devices(&mut self, made: bool) -> Result<(), SandboxError> {
        self.directory("/dev");
        for (name, minor) in DEVICES {
            let path = format!("/dev/{name}");
            if made {
                let number = MEMORY_DEVICES << 8 | minor;
                self.parts.push(Part::Device {
                    path: inside(&path),
                    number,
                });
                continue;
            }
            let source = open_trusted(&path)
                .map_err(|errno| SandboxError::host(format!("open `{path}`"), errno))?;
            let stat = fstat(&source)
                .map_err(|errno| SandboxError::host(format!("identify `{path}`"), errno))?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
                return Err(SandboxError::Host {
                    doing: format!("use `{path}`, which is not a device here"),
                    source: std::io::ErrorKind::InvalidInput.into(),
                });
            }
            self.mount_point(&path, false);
            self.bind_opened(&path, source, READ_ONLY | NO_SUID | NO_EXEC, None);
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            let path = format!("dev/{name}");
            self.parts.push(Part::Link {
                path,
                target: target.to_owned(),
            });
        }
        // Nothing else is in the folder, and the root beneath it is sealed.
        self.rule("/dev", true, Rights::READ_ONLY | Rights::WRITE);
        Ok(())
    }

    fn etc(&mut self) -> Result<(), SandboxError> {
        self.directory("/etc");
        for (name, content) in [
            ("passwd", Content::Passwd),
            ("group", Content::Group),
            (
                "nsswitch.conf",
                Content::Fixed("passwd: files\ngroup: files\nhosts: files\n"),
            ),
            (
                "hosts",
                Content::Fixed("127.0.0.1 localhost\n::1 localhost\n"),
            ),
            ("gitconfig", Content::Fixed(GITCONFIG)),
        ] {
            self.parts.push(Part::File {
                path: format!("etc/{name}"),
                content,
            });
        }
        for path in [
            "/etc/ld.so.cache",
            "/etc/alternatives",
            "/etc/ssl/certs",
            "/etc/localtime",
            "/etc/mime.types",
        ] {
            match fs::read_link(path) {
                // A link into `/usr` stays one.
                Ok(target) if target.starts_with("/usr") => {
                    let target = target.to_string_lossy().into_owned();
                    self.parts.push(Part::Link {
                        path: inside(path),
                        target,
                    });
                }
                Ok(_) | Err(_) if Path::new(path).exists() => {
                    self.bind_trusted(path, Rights::READ_ONLY)?;
                }
                Ok(_) | Err(_) => {}
            }
        }
        self.rule("/etc", true, Rights::READ_ONLY);
        Ok(())
    }

    fn skill(&mut self, skill: &Path) -> Result<(), SandboxError> {
        let text = skill.to_string_lossy();
        let source = open_trusted(&text)
            .map_err(|errno| SandboxError::host(format!("open the skill at `{text}`"), errno))?;
        self.directory(SKILL);
        self.bind_opened(
            SKILL,
            source,
            READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC,
            None,
        );
        self.rule(SKILL, true, Rights::READ_ONLY);
        Ok(())
    }

    /// The interpreter, what it reads, and the programs that the policy lets it start.
    fn program(&mut self, policy: &EffectivePolicy, program: &Program) -> Result<(), SandboxError> {
        let run = Rights::READ_ONLY | Rights::EXEC;
        let places = program.read.iter().map(|path| (path, Rights::READ_ONLY));
        let programs = program
            .exec
            .iter()
            .chain(policy.exec().keys())
            .chain([&program.path]);
        let mut places: Vec<_> = places.chain(programs.map(|path| (path, run))).collect();
        places.sort_by(|left, right| left.0.cmp(right.0));
        for (path, rights) in places {
            self.grants_folder |= check_trusted(path)?;
            self.bind_trusted(path.as_str(), rights)?;
        }
        Ok(())
    }

    fn grants(&mut self, session: &Session, policy: &EffectivePolicy) -> Result<(), SandboxError> {
        for granted in policy.roots() {
            let path = granted.host_path();
            let rights = granted.rights();
            let Opened {
                descriptor,
                directory,
                owner,
            } = session.open_beneath(granted)?;
            let mut attributes = NO_SUID | NO_DEVICES;
            if !rights.is_writing() {
                attributes |= READ_ONLY;
            }
            if !rights.contains(Rights::EXEC) {
                attributes |= NO_EXEC;
            }
            self.mount_point(path.as_str(), directory);
            self.replaceable.push(self.sources.len());
            self.bind_opened(path.as_str(), descriptor, attributes, Some(owner));
            self.bound.push(path.as_str().to_owned());
            self.rules.push(Rule {
                path: path.as_str().to_owned(),
                directory,
                session: policy.session().effective_rights(path),
                derived: rights,
            });
            self.grants_folder |= directory;
        }
        Ok(())
    }

    /// Binds a place of the host's base where it really is and, unless links of the root lead there,
    /// at the path by which it is known.
    fn bind_trusted(&mut self, path: &str, rights: Rights) -> Result<(), SandboxError> {
        let real = fs::canonicalize(path)
            .map_err(|source| SandboxError::host(format!("find `{path}`"), source))?;
        let real = real.to_string_lossy();
        self.bind_at(&real, &real, rights)?;
        if real != path && !self.is_shown(path) && !is_beneath(path, &self.links) {
            self.bind_at(path, &real, rights)?;
        }
        Ok(())
    }

    /// Binds a place of the host at a path, unless a bind shows it already.
    fn bind_at(&mut self, path: &str, real: &str, rights: Rights) -> Result<(), SandboxError> {
        let source = open_trusted(real)
            .map_err(|errno| SandboxError::host(format!("open `{real}`"), errno))?;
        let stat = fstat(&source)
            .map_err(|errno| SandboxError::host(format!("identify `{real}`"), errno))?;
        let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let mut attributes = READ_ONLY | NO_SUID | NO_DEVICES;
        if !rights.contains(Rights::EXEC) {
            attributes |= NO_EXEC;
        }
        if !self.is_shown(path) {
            self.mount_point(path, directory);
            if !directory {
                self.replaceable.push(self.sources.len());
            }
            self.bind_opened(path, source, attributes, None);
            self.bound.push(path.to_owned());
        }
        self.rule(path, directory, rights);
        Ok(())
    }

    fn bind_opened(&mut self, path: &str, source: OwnedFd, attributes: u64, owner: Option<Owner>) {
        let number = self.sources.len();
        self.sources.push(source);
        self.parts.push(Part::Bind {
            path: inside(path),
            source: number,
            attributes,
            owner,
        });
    }

    /// Makes a place to mount on. Beneath a bind of the host's tree it is there already.
    fn mount_point(&mut self, path: &str, directory: bool) {
        if self.is_shown(path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
        if directory {
            self.directory(path);
        } else {
            self.parts.push(Part::File {
                path: inside(path),
                content: Content::Empty,
            });
        }
    }

    /// Makes a folder with every folder above it.
    fn directory(&mut self, path: &str) {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            let Some(path) = path.get(..end) else {
                continue;
            };
            let path = inside(path);
            let known = self.parts.iter().any(|part| part.is_directory(&path));
            if !known {
                self.parts.push(Part::Directory {
                    path,
                    mode: 0o755,
                    own: false,
                });
            }
        }
    }

    /// Adds a rule that both layers hold: the base is not the policy's to narrow.
    fn rule(&mut self, path: &str, directory: bool, rights: Rights) {
        let path = path.to_owned();
        self.rules.push(Rule {
            path,
            directory,
            session: rights,
            derived: rights,
        });
    }

    /// Says in rules what all parts allow.
    ///
    /// A root that hides the host's and holds no grant is nothing but what a run may read, and one
    /// rule says so. Then nothing that a run makes anew needs a rule on itself: `/proc` is read, and
    /// the scratch is written by a rule on the folder above it, whose own mode keeps the run, which
    /// is not its owner, from the scratch's first level. Such rules are a template's; with grants,
    /// whose folders above may not be listed, each run makes its own.
    fn layer_rules(&mut self, shape: Shape) {
        // Beneath these nothing but the run's own may stand.
        let of_run = [SCRATCH_PARENT.to_owned(), "/proc".to_owned()];
        let is_hidden = self.bound.iter().any(|place| is_beneath(place, &of_run));
        self.has_template = shape.run_uid && shape.prepared_root && !is_hidden;
        let grants_nothing = self.parts.iter().all(|part| part.owner().is_none());
        if shape.prepared_root && grants_nothing {
            self.rule("/", true, Rights::READ_ONLY);
            if self.has_template {
                let rules = self.rules.iter();
                let mut rules: Vec<_> = rules
                    .filter(|rule| !is_beneath(&rule.path, &of_run))
                    .cloned()
                    .collect();
                rules.push(Rule {
                    path: SCRATCH_PARENT.to_owned(),
                    directory: true,
                    session: scratch_rights(),
                    derived: scratch_rights(),
                });
                self.template_rules = Some(without_covered(rules));
            }
        }
        self.rules = without_covered(std::mem::take(&mut self.rules));
    }

    fn is_shown(&self, path: &str) -> bool {
        is_beneath(path, &self.bound)
    }
}

/// Compares what a descriptor pins with what its name leads to now.
fn is_at_its_name(pinned: &OwnedFd) -> bool {
    let name = fs::read_link(format!("/proc/self/fd/{}", pinned.as_raw_fd()));
    let (Ok(name), Ok(held)) = (name, fstat(pinned)) else {
        return false;
    };
    lstat(&name).is_ok_and(|found| (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino))
}

/// Drops rules that give nothing beyond what a rule above gives: Landlock adds rights up along a
/// path, across mounts.
fn without_covered(mut rules: Vec<Rule>) -> Vec<Rule> {
    let mut kept: Vec<Rule> = Vec::new();
    rules.sort_by(|left, right| left.path.cmp(&right.path));
    for rule in rules {
        let covered = kept.iter().any(|above| {
            is_beneath(&rule.path, std::slice::from_ref(&above.path))
                && above.session.contains(rule.session)
                && above.derived.contains(rule.derived)
        });
        if !covered {
            kept.push(rule);
        }
    }
    kept
}

/// Says whether a path is one of `places` or lies beneath one.
fn is_beneath(path: &str, places: &[String]) -> bool {
    places.iter().any(|place| {
        path.strip_prefix(place.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The path of a part relative to the root.
fn inside(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

/// What a run may do in its scratch. Pipes with a name are not among it: a host that collects
/// results could block on one.
fn scratch_rights() -> Rights {
    Rights::READ_WRITE | Rights::MKSOCK
}

/// Where the skill is, inside.
pub(crate) const SKILL: &str = "/skill";
/// Where a run writes, inside.
pub(crate) const SCRATCH: &str = "/run/rw";
/// The folder above it, which holds nothing else.
const SCRATCH_PARENT: &str = "/run";

/// The devices of a run, with their minor numbers (`mem(4)`, `null(4)`, `random(4)`).
const DEVICES: [(&str, u32); 5] = [
    ("null", 3),
    ("zero", 5),
    ("full", 7),
    ("random", 8),
    ("urandom", 9),
];
/// The major number that they share.
const MEMORY_DEVICES: u32 = 1;

const GITCONFIG: &str = "\
[user]\n\tname = skill\n\temail = skill@localhost\n[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n";

/// `MOUNT_ATTR_RDONLY`.
const READ_ONLY: u64 = 1;
/// `MOUNT_ATTR_NOSUID`.
const NO_SUID: u64 = 2;
/// `MOUNT_ATTR_NODEV`.
const NO_DEVICES: u64 = 4;
/// `MOUNT_ATTR_NOEXEC`.
const NO_EXEC: u64 = 8;
