//! What was in force around a run, what was not, and why.

use std::collections::BTreeMap;

use nix::errno::Errno;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::Layer;
use crate::landlock::LandlockFacts;
use crate::seccomp::FilterFacts;

/// The state of one layer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a fourth state would have to be judged everywhere"
)]
pub enum LayerState {
    /// Enforced.
    InForce,
    /// Available, and left out because the run does not need it.
    Unused {
        /// Why it is not needed.
        why: &'static str,
    },
    /// Not to be had here.
    Missing {
        /// The errno that an attempt got, where one was made.
        errno: Option<i32>,
        /// What was tried, or what rules it out.
        why: String,
    },
}

/// The layers of one run, or of a host.
///
/// Starts with every layer missing, so that what nobody reports counts as absent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LayerReport {
    layers: BTreeMap<Layer, LayerState>,
    landlock: Option<LandlockFacts>,
    filter: Option<FilterFacts>,
}

impl LayerReport {
    /// Returns a report in which nothing is in force.
    pub fn nothing() -> Self {
        let missing = |layer| {
            (
                layer,
                LayerState::Missing {
                    errno: None,
                    why: "not set up for this run".to_owned(),
                },
            )
        };
        Self {
            layers: Layer::ALL.into_iter().map(missing).collect(),
            landlock: None,
            filter: None,
        }
    }

    /// Reports a layer as enforced.
    ///
    /// Landlock and the filter count only with their facts: see
    /// [`landlock_in_force`](Self::landlock_in_force) and
    /// [`filter_in_force`](Self::filter_in_force).
    pub fn in_force(&mut self, layer: Layer) {
        self.layers.insert(layer, LayerState::InForce);
    }

    /// Reports Landlock as enforced at the ABI of `facts`.
    pub fn landlock_in_force(&mut self, facts: LandlockFacts) {
        self.in_force(Layer::Landlock);
        self.landlock = Some(facts);
    }

    /// Reports the system-call filter as enforced with `facts`.
    pub fn filter_in_force(&mut self, facts: FilterFacts) {
        self.in_force(Layer::Seccomp);
        self.filter = Some(facts);
    }

    /// Reports a layer as available and left out.
    pub fn unused(&mut self, layer: Layer, why: &'static str) {
        self.withdraw(layer, LayerState::Unused { why });
    }

    /// Reports a layer as missing, with the errno of the attempt where there was one.
    pub fn missing(&mut self, layer: Layer, errno: Option<i32>, why: impl Into<String>) {
        self.withdraw(
            layer,
            LayerState::Missing {
                errno,
                why: why.into(),
            },
        );
    }

    fn withdraw(&mut self, layer: Layer, state: LayerState) {
        if layer == Layer::Landlock {
            self.landlock = None;
        }
        if layer == Layer::Seccomp {
            self.filter = None;
        }
        self.layers.insert(layer, state);
    }

    /// Says whether a layer is enforced.
    pub fn is_in_force(&self, layer: Layer) -> bool {
        self.layers.get(&layer) == Some(&LayerState::InForce)
    }

    /// Says whether a layer is not to be had.
    pub fn is_missing(&self, layer: Layer) -> bool {
        matches!(self.layers.get(&layer), Some(LayerState::Missing { .. }))
    }

    /// Returns the Landlock in force.
    pub const fn landlock(&self) -> Option<LandlockFacts> {
        self.landlock
    }

    /// Returns the facts of the filter in force.
    pub const fn filter(&self) -> Option<FilterFacts> {
        self.filter
    }

    /// Iterates over all layers in the order of [`Layer::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Layer, &LayerState)> {
        self.layers.iter().map(|(layer, state)| (*layer, state))
    }
}

impl Serialize for LayerReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.layers.len()))?;
        for (layer, state) in &self.layers {
            rows.serialize_element(&Row {
                report: self,
                layer: *layer,
                state,
            })?;
        }
        rows.end()
    }
}

/// One layer as reports show it.
struct Row<'a> {
    report: &'a LayerReport,
    layer: Layer,
    state: &'a LayerState,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("layer", &self.layer)?;
        match self.state {
            LayerState::InForce => {
                row.serialize_entry("state", "in-force")?;
                if let (Layer::Landlock, Some(facts)) = (self.layer, self.report.landlock) {
                    row.serialize_entry("abi", &facts.abi())?;
                }
            }
            LayerState::Unused { why } => {
                row.serialize_entry("state", "unused")?;
                row.serialize_entry("why", why)?;
            }
            LayerState::Missing { errno, why } => {
                row.serialize_entry("state", "missing")?;
                if let Some(errno) = errno {
                    row.serialize_entry("errno", errno)?;
                    row.serialize_entry("error", &format_args!("{:?}", Errno::from_raw(*errno)))?;
                }
                row.serialize_entry("why", why)?;
                row.serialize_entry("remedy", self.layer.remedy())?;
            }
        }
        row.end()
    }
}
