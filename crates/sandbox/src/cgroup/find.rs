//! Which groups a host may make its runs' leaves in.
//!
//! Nothing is taken for granted here: what is found is only a candidate, which [a trial](super::trial)
//! has to confirm.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, getxattr, statfs};
use rustix::process::geteuid;

use super::{Place, Service, Version, put, read};

/// Finds the places beneath the groups that this process is in.
pub(super) fn own() -> Vec<Place> {
    let (Ok(membership), Ok(mounts)) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"))
    else {
        return Vec::new();
    };
    let find = |controller: &str| own_group(&membership, &mounts, controller);
    let unified = find("").and_then(|group| unified(&group.directory, &group.mount));
    let counts_time = unified.is_some();
    let version1 = [
        ("pids", Service::Processes),
        ("memory", Service::Memory),
        ("cpuacct", Service::Time),
    ];
    let version1 = version1
        .into_iter()
        // The unified hierarchy counts time for each of its groups.
        .filter(|(_, service)| !(counts_time && *service == Service::Time))
        .filter_map(|(controller, service)| {
            Some(Place {
                directory: find(controller)?.directory,
                version: Version::One,
                services: vec![service],
            })
        });
    version1.chain(unified).collect()
}

/// Takes a group of version 2 that the operator gives, which holds no process.
pub(super) fn given(directory: &Path) -> Vec<Place> {
    const CGROUP2_SUPER_MAGIC: i64 = 0x6367_7270;
    if !statfs(directory).is_ok_and(|system| system.f_type == CGROUP2_SUPER_MAGIC) {
        return Vec::new();
    }
    pass_on(directory);
    place(directory).into_iter().collect()
}

/// The place in the unified hierarchy: the host's own group where its controllers are passed on
/// already, since a group with processes of its own cannot be told to; else the group above it,
/// where that is the host's to divide. That is how `Delegate=` with `DelegateSubgroup=` of
/// `systemd.resource-control(5)` sets a service up.
fn unified(own: &Path, mount: &Path) -> Option<Place> {
    if let Some(place) = place(own) {
        return Some(place);
    }
    let above = own.parent().filter(|above| above.starts_with(mount))?;
    if !is_ours_to_divide(above) {
        return None;
    }
    pass_on(above);
    place(above)
}

/// Says whether a group without processes was delegated to us. Its files must be ours to write: a
/// process may be moved only by who may write to the group that holds both where it was and where
/// it goes. A slice is divided by its manager alone.
fn is_ours_to_divide(group: &Path) -> bool {
    let is_slice = group
        .extension()
        .is_some_and(|extension| extension == "slice");
    let writable = ["", "cgroup.procs", "cgroup.subtree_control"]
        .into_iter()
        .all(|file| access(group.join(file), Access::WRITE_OK).is_ok());
    let empty = read(group.join("cgroup.procs")).is_ok_and(|processes| processes.trim().is_empty());
    !is_slice && writable && empty && is_delegated(group)
}

/// An ordinary user has been given what it owns; root owns everything, and goes by the mark.
fn is_delegated(group: &Path) -> bool {
    let user = geteuid();
    if !user.is_root() {
        return fs::metadata(group).is_ok_and(|metadata| metadata.uid() == user.as_raw());
    }
    ["trusted.delegate", "user.delegate"]
        .into_iter()
        .any(|mark| getxattr(group, mark, &mut [0_u8; 8]).is_ok())
}

/// Passes on what counts and is not passed on. A controller that is not delegated is missing
/// afterwards.
fn pass_on(group: &Path) {
    let file = group.join("cgroup.subtree_control");
    let passed_on = read(&file).unwrap_or_default();
    for controller in ["pids", "memory"] {
        if !passed_on
            .split_whitespace()
            .any(|passed| passed == controller)
        {
            let _ = put(&file, &format!("+{controller}"));
        }
    }
}

/// What a group of version 2 offers its leaves. One that would limit nothing is no place.
fn place(directory: &Path) -> Option<Place> {
    let passed_on = read(directory.join("cgroup.subtree_control")).ok()?;
    let controllers = [("pids", Service::Processes), ("memory", Service::Memory)];
    let counted = controllers.into_iter().filter_map(|(name, service)| {
        let mut passed_on = passed_on.split_whitespace();
        passed_on.any(|passed| passed == name).then_some(service)
    });
    // Every group of version 2 counts its time and, from Linux 5.14 on, can be killed.
    let services: Vec<_> = counted.chain([Service::Time, Service::Kill]).collect();
    let place = Place {
        directory: directory.to_owned(),
        version: Version::Two,
        services,
    };
    Some(place).filter(Place::limits)
}

/// A group and the top of its hierarchy, as far as it is shown.
#[derive(Debug, Eq, PartialEq)]
struct Found {
    directory: PathBuf,
    mount: PathBuf,
}

/// Finds the directory of the group that this process is in; the unified hierarchy for "".
fn own_group(membership: &str, mounts: &str, controller: &str) -> Option<Found> {
    let group = membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        controllers
            .split(',')
            .any(|name| name == controller)
            .then_some(group)
    })?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, _, options) = (after.next()?, after.next()?, after.next()?);
        let is_it = match controller {
            "" => kind == "cgroup2",
            name => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        is_it.then_some((root, point))
    });
    let (root, point) = mount?;
    // In a container the mount shows a part of the hierarchy, and the group is named from its top.
    let inside = if root == "/" {
        group
    } else {
        group.strip_prefix(root).unwrap_or(group)
    };
    let mount = PathBuf::from(point);
    let directory = mount.join(inside.trim_start_matches('/'));
    directory.is_dir().then_some(Found { directory, mount })
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files of their own in a folder of their own"
)]
mod tests {
    use rustix::fs::{XattrFlags, setxattr};

    use super::*;

    const MOUNTS: &str = "\
30 22 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro
31 30 0:27 / / rw - cgroup2 cgroup2 rw
32 30 0:28 / /usr rw - cgroup cgroup rw,cpu,memory
33 30 0:29 /box / rw - cgroup cgroup rw,pids";

    #[test]
    fn finds_the_own_group_in_either_version() {
        let membership = "3:cpu,memory:/share\n2:pids:/box/usr\n0::/usr/share";
        let find =
            |controller| own_group(membership, MOUNTS, controller).map(|found| found.directory);
        assert_eq!(find("").as_deref(), Some(Path::new("/usr/share")));
        assert_eq!(find("memory").as_deref(), Some(Path::new("/usr/share")));
        assert_eq!(find("pids").as_deref(), Some(Path::new("/usr")));
        assert_eq!(find("hugetlb"), None);
    }

    /// A hierarchy of ordinary files, in which nothing that is written has an effect.
    struct Hierarchy(tempfile::TempDir);

    impl Hierarchy {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a folder"))
        }

        fn group(&self, path: &str, processes: &str, passed_on: &str) -> PathBuf {
            let directory = self.0.path().join(path);
            fs::create_dir_all(&directory).expect("a group");
            fs::write(directory.join("cgroup.procs"), processes).expect("a file");
            fs::write(directory.join("cgroup.subtree_control"), passed_on).expect("a file");
            directory
        }

        fn place(&self, own: &Path) -> Option<Place> {
            unified(own, self.0.path())
        }
    }

    #[test]
    fn the_own_group_is_used_where_it_passes_controllers_on() {
        let hierarchy = Hierarchy::new();
        let own = hierarchy.group("host", "7\n", "memory cpu\n");
        let place = hierarchy.place(&own).expect("a place");
        assert_eq!(place.directory, own);
        let services = [Service::Memory, Service::Time, Service::Kill];
        assert_eq!(place.services, services);
    }

    /// As the service of an ordinary user is set up. What root owns says nothing: it needs the mark.
    #[test]
    fn the_group_above_is_used_where_it_is_empty_and_ours() {
        let hierarchy = Hierarchy::new();
        let above = hierarchy.group("agent.service", "", "pids memory\n");
        let own = hierarchy.group("agent.service/host", "7\n", "");
        if geteuid().is_root() {
            assert_eq!(hierarchy.place(&own), None);
            let marked = setxattr(&above, "trusted.delegate", b"1", XattrFlags::empty());
            if marked.is_err() {
                return; // The file system of temporary files keeps no marks.
            }
        }
        let place = hierarchy.place(&own);
        assert_eq!(place.map(|place| place.directory), Some(above));
    }

    #[test]
    fn a_group_of_somebody_else_is_left_alone() {
        let hierarchy = Hierarchy::new();
        for (above, processes) in [("user.slice", ""), ("busy.service", "8\n")] {
            hierarchy.group(above, processes, "pids memory\n");
            let own = hierarchy.group(&format!("{above}/host.scope"), "7\n", "");
            assert_eq!(hierarchy.place(&own), None, "{above}");
        }
        // Above the top of what is shown is nothing of ours.
        let top = hierarchy.group("top", "7\n", "");
        assert_eq!(unified(&top, &top), None);
        // Without its files it is no group, and none that may be written.
        let bare = hierarchy.0.path().join("bare.service");
        let own = hierarchy.group("bare.service/host", "7\n", "");
        assert!(bare.is_dir());
        assert_eq!(hierarchy.place(&own), None);
    }
}
