//! Layers of enforcement, the threat classes that they close, and what is left open.
//!
//! A run is judged by threat class and never by kernel version: a missing layer matters only when
//! no other closes its class. [`coverage`] is that judgement; it reads nothing but a
//! [`LayerReport`], so a forced report (as tests make) is judged like a real one, and what a
//! report does not claim counts as missing.

mod closers;
mod layer;
mod report;

use std::collections::BTreeMap;

use bailiwick_policy::ThreatClass;
use serde::Serialize;

use self::closers::closers;
pub use self::layer::Layer;
pub use self::report::{LayerReport, LayerState};

/// How well a class is closed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whether a class is open must be matched in full"
)]
#[serde(rename_all = "kebab-case")]
pub enum Cover {
    /// Nothing closes it.
    Open,
    /// Something closes it that is known to have gaps; allowed, and reported.
    Weak,
    /// At least one layer closes it on its own.
    Strong,
}

/// What a set of layers closes, class by class.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Coverage {
    classes: BTreeMap<ThreatClass, ClassCover>,
}

/// How one class is closed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ClassCover {
    cover: Cover,
    closers: Vec<Vec<Layer>>,
    missing: Vec<Layer>,
}

impl ClassCover {
    /// Returns how well the class is closed.
    pub const fn cover(&self) -> Cover {
        self.cover
    }

    /// Returns each set of layers that closes the class, the strong ones first.
    ///
    /// More than one means that the class survives the loss of a layer.
    pub fn closers(&self) -> &[Vec<Layer>] {
        &self.closers
    }

    /// Returns the layers that would close the class, or close it better, and are not in force.
    pub fn missing(&self) -> &[Layer] {
        &self.missing
    }
}

impl Coverage {
    /// Returns how one class is closed.
    pub fn class(&self, class: ThreatClass) -> Cover {
        self.classes
            .get(&class)
            .map_or(Cover::Open, ClassCover::cover)
    }

    /// Iterates over all classes in the order of [`ThreatClass::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (ThreatClass, &ClassCover)> {
        self.classes.iter().map(|(class, cover)| (*class, cover))
    }

    /// Returns which of the required classes nothing closes.
    pub fn open_among(&self, required: impl IntoIterator<Item = ThreatClass>) -> Vec<ThreatClass> {
        required
            .into_iter()
            .filter(|class| self.class(*class) == Cover::Open)
            .collect()
    }

    /// Returns one sentence for each layer whose presence would close `class`.
    pub fn remedies(&self, class: ThreatClass) -> Vec<&'static str> {
        let missing = self
            .classes
            .get(&class)
            .map_or(&[][..], ClassCover::missing);
        missing.iter().map(|layer| layer.remedy()).collect()
    }
}

/// Judges every class under the layers that a report claims.
pub fn coverage(report: &LayerReport) -> Coverage {
    let classes = ThreatClass::ALL
        .into_iter()
        .map(|class| (class, judge(class, report)))
        .collect();
    Coverage { classes }
}

fn judge(class: ThreatClass, report: &LayerReport) -> ClassCover {
    let mut judged = ClassCover {
        cover: Cover::Open,
        closers: Vec::new(),
        missing: Vec::new(),
    };
    for closer in closers(class) {
        if closer.holds(report) {
            judged.cover = judged.cover.max(closer.cover());
            judged.closers.push(distinct(closer.layers().collect()));
        } else {
            judged
                .missing
                .extend(closer.layers().filter(|layer| !report.is_in_force(*layer)));
        }
    }
    judged.missing = distinct(judged.missing);
    judged
}

/// Returns every layer that takes part in closing a class.
#[cfg(weaken)]
pub(crate) fn closing(class: ThreatClass) -> std::collections::BTreeSet<Layer> {
    let closers = closers(class).iter();
    closers.flat_map(closers::Closer::layers).collect()
}

/// Several needs can be of one layer, such as an ABI and an erratum.
fn distinct(mut layers: Vec<Layer>) -> Vec<Layer> {
    layers.sort_unstable();
    layers.dedup();
    layers
}

#[cfg(test)]
mod tests {
    use super::closers::Closer;
    use super::*;
    use crate::landlock::LandlockFacts;
    use crate::seccomp::{FilterFacts, Internet};

    /// Everything in force, on a kernel of Landlock ABI 7 with all errata fixed.
    fn everything() -> LayerReport {
        let mut report = LayerReport::nothing();
        for layer in Layer::ALL {
            report.in_force(layer);
        }
        report.landlock_in_force(LandlockFacts::new(7, u32::MAX));
        report.filter_in_force(FilterFacts::closed());
        report
    }

    fn hard() -> impl Iterator<Item = ThreatClass> {
        ThreatClass::ALL
            .into_iter()
            .filter(|class| class.is_hard_by_default())
    }

    #[test]
    fn nothing_in_force_closes_no_class() {
        let coverage = coverage(&LayerReport::nothing());
        assert_eq!(coverage.open_among(ThreatClass::ALL), ThreatClass::ALL);
        for (class, cover) in coverage.iter() {
            assert!(
                !cover.missing().is_empty(),
                "{class} names no layer that would close it"
            );
            assert!(!coverage.remedies(class).is_empty(), "{class}");
        }
    }

    #[test]
    fn everything_in_force_closes_every_class_on_its_own() {
        let coverage = coverage(&everything());
        for class in ThreatClass::ALL {
            assert_eq!(coverage.class(class), Cover::Strong, "{class}");
        }
    }

    #[test]
    fn a_class_whose_every_closer_is_gone_is_open() {
        for class in ThreatClass::ALL {
            let mut report = everything();
            for layer in closers(class).iter().flat_map(Closer::layers) {
                report.missing(layer, Some(1), "taken away");
            }
            assert_eq!(coverage(&report).class(class), Cover::Open, "{class}");
        }
    }

    #[test]
    fn taking_a_layer_away_never_closes_anything() {
        for layer in Layer::ALL {
            let mut report = everything();
            report.missing(layer, None, "taken away");
            let (before, after) = (coverage(&everything()), coverage(&report));
            for class in ThreatClass::ALL {
                assert!(after.class(class) <= before.class(class), "{layer} {class}");
            }
        }
    }

    #[test]
    fn the_sets_of_the_attack_tests_stay_inside_what_is_hard() {
        for gone in [
            &[Layer::PreparedRoot, Layer::SizedScratch][..],
            &[Layer::UserNamespace],
            &[
                Layer::CgroupKill,
                Layer::CgroupMemory,
                Layer::CgroupPids,
                Layer::CgroupCpu,
            ],
        ] {
            let mut report = everything();
            for layer in gone {
                report.missing(*layer, None, "taken away");
            }
            assert_eq!(coverage(&report).open_among(hard()), [], "{gone:?}");
        }
    }

    #[test]
    fn landlock_alone_is_no_network_control_and_no_kernel_surface() {
        let mut report = LayerReport::nothing();
        report.landlock_in_force(LandlockFacts::new(9, u32::MAX));
        let coverage = coverage(&report);
        assert_eq!(coverage.class(ThreatClass::FsData), Cover::Strong);
        assert_eq!(coverage.class(ThreatClass::UnixIpc), Cover::Strong);
        for class in [
            ThreatClass::IpNetwork,
            ThreatClass::KernelSurface,
            ThreatClass::FsMetadataWrite,
            ThreatClass::Tuning,
        ] {
            assert_eq!(coverage.class(class), Cover::Open, "{class}");
        }
    }

    #[test]
    fn an_old_landlock_closes_data_only_beneath_a_prepared_root() {
        let mut report = LayerReport::nothing();
        for (abi, errata) in [(2, u32::MAX), (7, 0b011)] {
            report.landlock_in_force(LandlockFacts::new(abi, errata));
            assert_eq!(
                coverage(&report).class(ThreatClass::FsData),
                Cover::Open,
                "{abi} {errata}"
            );
        }
        report.landlock_in_force(LandlockFacts::new(1, 0));
        report.in_force(Layer::PreparedRoot);
        assert_eq!(coverage(&report).class(ThreatClass::FsData), Cover::Strong);
    }

    #[test]
    fn a_filter_that_lets_sockets_through_closes_no_network() {
        let mut report = LayerReport::nothing();
        report.filter_in_force(
            FilterFacts::closed()
                .with_internet(Internet::Streams)
                .with_unix_streams()
                .with_metadata_by_path(),
        );
        let judged = coverage(&report);
        assert_eq!(judged.class(ThreatClass::IpNetwork), Cover::Open);
        assert_eq!(judged.class(ThreatClass::UnixIpc), Cover::Open);
        assert_eq!(judged.class(ThreatClass::FsMetadataWrite), Cover::Open);
        report.in_force(Layer::NetworkNamespace);
        assert_eq!(
            coverage(&report).class(ThreatClass::IpNetwork),
            Cover::Strong
        );
    }

    #[test]
    fn a_filter_or_landlock_without_facts_closes_only_what_needs_none() {
        let mut report = LayerReport::nothing();
        report.in_force(Layer::Landlock);
        report.in_force(Layer::Seccomp);
        let judged = coverage(&report);
        assert_eq!(judged.class(ThreatClass::FsData), Cover::Open);
        assert_eq!(judged.class(ThreatClass::IpNetwork), Cover::Open);
    }

    #[test]
    fn a_report_tells_what_is_missing_and_how_to_get_it() -> Result<(), serde_json::Error> {
        let mut report = everything();
        report.missing(Layer::Seccomp, Some(22), "the filter was refused");
        report.unused(Layer::NetworkNamespace, "no socket can be made");
        let rows = serde_json::to_value(&report)?;
        insta::assert_json_snapshot!([&rows[0], &rows[1], &rows[4], &rows[5]], @r#"
        [
          {
            "layer": "landlock",
            "state": "in-force",
            "abi": 7
          },
          {
            "layer": "seccomp",
            "state": "missing",
            "errno": 22,
            "error": "EINVAL",
            "why": "the filter was refused",
            "remedy": "use a kernel built with CONFIG_SECCOMP_FILTER"
          },
          {
            "layer": "network-namespace",
            "state": "unused",
            "why": "no socket can be made"
          },
          {
            "layer": "ipc-namespace",
            "state": "in-force"
          }
        ]
        "#);
        let judged = serde_json::to_value(coverage(&report))?;
        insta::assert_json_snapshot!([&judged["kernel-surface"], &judged["kill-all"]], @r#"
        [
          {
            "cover": "open",
            "closers": [],
            "missing": [
              "seccomp"
            ]
          },
          {
            "cover": "strong",
            "closers": [
              [
                "cgroup-kill"
              ],
              [
                "pid-namespace"
              ],
              [
                "subreaper"
              ]
            ],
            "missing": []
          }
        ]
        "#);
        Ok(())
    }
}
