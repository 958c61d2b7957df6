//! Trying places: a leaf is made, limited and joined, and what does not work there is not claimed.
//!
//! That a directory can be made says nothing about joining: an ordinary user may own a group and
//! still not be let into it, since the kernel asks for the group above both.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bailiwick_policy::RunLimits;
use rustix::io::Errno;

use super::leaf::Group;
use super::{PREFIX, Place, Service};
use crate::encode::Writer;
use crate::error::SandboxError;
use crate::launch::{ANSWER, Heard, Launcher, Received};
use crate::maker;
use crate::message::{Message, Stage};

/// What failed, and the kernel's answer.
pub(super) type Failed = BTreeMap<Service, i32>;

/// Tries every place, and returns those that work with the services that work there.
pub(super) fn keep_working(places: Vec<Place>, launcher: &Launcher) -> (Vec<Place>, Failed) {
    let name = maker::fresh_name(PREFIX);
    let mut failed = Failed::new();
    let mut fail = |services: &[Service], error: &io::Error| {
        let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        failed.extend(services.iter().map(|service| (*service, errno)));
    };
    let mut made: Vec<(Place, Group)> = Vec::new();
    for place in places {
        match make(&place, &name, &mut fail) {
            Ok((place, group)) => made.push((place, group)),
            Err(error) => fail(&place.services, &error),
        }
    }
    // The one that refuses is left out, and the others are tried again.
    while let Err((refused, error)) = join(&made, launcher) {
        let Some(refused) = refused.filter(|refused| *refused < made.len()) else {
            for (place, _) in made.drain(..) {
                fail(&place.services, &error);
            }
            break;
        };
        let (place, _) = made.remove(refused);
        fail(&place.services, &error);
    }
    let working = made.into_iter().map(|(place, _)| place);
    (working.filter(Place::limits).collect(), failed)
}

/// Makes a leaf in a place, with each service on its own.
fn make(
    place: &Place,
    name: &str,
    fail: &mut impl FnMut(&[Service], &io::Error),
) -> io::Result<(Place, Group)> {
    let mut group = Group::default();
    let directory = group.add(place.directory.join(name), place.version)?;
    let mut place = place.clone();
    place.services.retain(|service| {
        let served = group
            .serve(&directory, place.version, *service)
            .and_then(|()| group.limit(&RunLimits::default()))
            .and_then(|()| group.try_service(*service));
        if let Err(error) = &served {
            group.without(*service);
            fail(&[*service], error);
        }
        served.is_ok()
    });
    Ok((place, group))
}

/// Has a process that is thrown away join all of them: the number of the one that refused, where
/// one did, and why.
fn join(made: &[(Place, Group)], launcher: &Launcher) -> Result<(), (Option<usize>, io::Error)> {
    let members: Vec<_> = made.iter().flat_map(|(_, group)| group.members()).collect();
    if members.is_empty() {
        return Ok(());
    }
    let unknown = |error: SandboxError| (None, io::Error::other(error));
    match attempt(&members, launcher).map_err(unknown)? {
        // It came as far as the namespace that is none.
        Some((Stage::Network, _, _)) => Ok(()),
        Some((Stage::Cgroup, item, errno)) => {
            let refused = usize::try_from(item).ok();
            Err((refused, io::Error::from_raw_os_error(errno)))
        }
        Some((_, _, errno)) => Err((None, io::Error::from_raw_os_error(errno))),
        None => Err((None, Errno::PERM.into())),
    }
}

/// Starts the process, and returns where it failed.
fn attempt(
    members: &[BorrowedFd<'_>],
    launcher: &Launcher,
) -> Result<Option<(Stage, u32, i32)>, SandboxError> {
    let null =
        File::open("/dev/null").map_err(|source| SandboxError::host("open `/dev/null`", source))?;
    let mut descriptors = members.to_vec();
    descriptors.push(null.as_fd());
    let plan = Writer::join_groups(u32::try_from(members.len()).unwrap_or(u32::MAX));
    let launched = launcher.start(&plan, &descriptors)?;
    match launched.hear(Instant::now() + ANSWER)? {
        Heard::Message(Received {
            message: Message::Failed { stage, errno, item },
            ..
        }) => Ok(Some((stage, item, errno))),
        Heard::Message(_) | Heard::Closed | Heard::Silence => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Version, find};
    use super::*;

    fn launcher() -> Launcher {
        let state = tempfile::tempdir().expect("a folder");
        Launcher::new(state.path()).expect("a launcher")
    }

    fn place(directory: impl AsRef<Path>, services: &[Service]) -> Place {
        Place {
            directory: directory.as_ref().to_owned(),
            version: Version::One,
            services: services.to_vec(),
        }
    }

    #[test]
    fn a_group_that_lets_nobody_in_is_named_with_the_errno() {
        let open = |path: &str| File::options().write(true).open(path).expect("a device");
        let through = |path| (place("/", &[]), Group::joined_through(open(path)));
        let launcher = launcher();
        let open = [through("/dev/null"), through("/dev/null")];
        assert!(join(&open, &launcher).is_ok());
        let closed = [through("/dev/null"), through("/dev/full")];
        let (refused, error) = join(&closed, &launcher).expect_err("refused");
        assert_eq!(refused, Some(1));
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NOSPC));
    }

    #[test]
    fn a_place_that_is_no_group_is_not_claimed() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = vec![place(folder.path(), &[Service::Memory, Service::Kill])];
        let (working, failed) = keep_working(places, &launcher());
        assert_eq!(working, []);
        let errno = Errno::NOENT.raw_os_error();
        let both = Failed::from([(Service::Memory, errno), (Service::Kill, errno)]);
        assert_eq!(failed, both);
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "the leaf of the trial is removed");
    }

    /// Where this process has groups at all: each is asked for the services of the others too.
    #[test]
    fn a_service_that_is_not_there_costs_no_other() {
        let launcher = launcher();
        let (working, _) = keep_working(find::own(), &launcher);
        for place in working {
            let asked = Place {
                services: vec![
                    Service::Kill,
                    Service::Memory,
                    Service::Processes,
                    Service::Time,
                ],
                ..place.clone()
            };
            let (kept, failed) = keep_working(vec![asked], &launcher);
            let [kept] = kept.as_slice() else {
                panic!("{place:?} is lost");
            };
            for service in &place.services {
                assert!(kept.services.contains(service), "{service:?} {failed:?}");
            }
            let both = (kept.services.iter()).any(|service| failed.contains_key(service));
            assert!(!both && kept.services.len() + failed.len() == 4);
        }
    }
}
