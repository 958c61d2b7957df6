//! The parts of plans that a run and a template have in common.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::compile::Compiled;
use crate::encode::Writer;
use crate::landlock;
use crate::plan::NONE;
use crate::root::{Extent, Owner};

/// The descriptors that accompany a plan, which names them by their numbers here.
#[derive(Debug, Default)]
pub(crate) struct Attached<'a> {
    pub(crate) descriptors: Vec<BorrowedFd<'a>>,
}

impl<'a> Attached<'a> {
    /// Returns the number that the next one gets.
    pub(crate) fn next(&self) -> u32 {
        number(self.descriptors.len())
    }

    pub(crate) fn add(&mut self, descriptor: BorrowedFd<'a>) -> u32 {
        let number = self.next();
        self.descriptors.push(descriptor);
        number
    }

    pub(crate) fn add_all(&mut self, descriptors: impl Iterator<Item = BorrowedFd<'a>>) {
        self.descriptors.extend(descriptors);
    }

    /// Adds what the binds of a root need, the maps behind the sources.
    pub(crate) fn add_sources(&mut self, compiled: &'a Compiled, maps: &'a Maps) {
        self.add_all(compiled.root.sources().iter().map(AsFd::as_fd));
        self.add_all(maps.iter().map(|(_, map)| map.as_fd()));
    }
}

/// The user namespaces in which owners of granted places are mapped to a run's user.
pub(crate) type Maps = Vec<(Owner, Arc<OwnedFd>)>;

/// Writes the parts of a root. `first` is the number of the first of its sources, which the maps
/// follow.
pub(crate) fn write_root(
    compiled: &Compiled,
    writer: &mut Writer,
    extent: Extent,
    first: u32,
    user: Owner,
    maps: &Maps,
) {
    let first_map = first + number(compiled.root.sources().len());
    let map = |owner| {
        let place = maps.iter().position(|(mapped, _)| *mapped == owner)?;
        Some(first_map + number(place))
    };
    compiled.root.write(extent, writer, first, user, map);
}

/// Writes what Landlock handles and the rules of both layers, the session's first.
pub(crate) fn write_landlock(compiled: &Compiled, writer: &mut Writer, extent: Extent) {
    let handled = compiled.handled.as_ref();
    // A template without rules brings no layer.
    let is_written = extent != Extent::Template || !compiled.root.rules(extent).is_empty();
    let Some((abi, handled)) = handled.filter(|_| is_written) else {
        writer.no_landlock();
        return;
    };
    writer.long(handled.fs);
    // Behind a loopback device of the run's own is nothing but the host's socket, if that, so the
    // rules have nothing to add.
    writer.long(if compiled.shape.network.has_loopback() {
        0
    } else {
        handled.net
    });
    writer.long(handled.scoped);
    writer.word(LAYERS);
    let rules = rules(compiled, extent, *abi);
    writer.list(&rules, |writer, (layer, access, path)| {
        writer.word(*layer);
        writer.long(*access);
        writer.text(path.as_bytes());
    });
}

/// The rules of both layers, in the order of the plan: layer, access, path.
pub(crate) fn rules(compiled: &Compiled, extent: Extent, abi: u32) -> Vec<(u32, u64, &str)> {
    let layers = compiled
        .root
        .rules(extent)
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

/// A number of the plan. One that does not fit is larger than any plan may have, and refused.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

/// The Landlock layers of a run: the session's policy and its own.
const LAYERS: u32 = 2;
