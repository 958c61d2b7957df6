//! What each layer adds to a run: the same run with it and without it, side by side.

use std::path::Path;
use std::time::Duration;

use bailiwick::sandbox::{Host, Layer};
use bailiwick::sandbox_policy::Net;

use super::Confined;
use crate::measure::{BoxError, Sample};
use crate::report::Report;

pub(super) fn measure(
    report: &mut Report,
    host: &Host,
    target: &Path,
    rounds: usize,
) -> Result<(), BoxError> {
    let whole = Confined::new(host, target, &Net::None)?;
    for (name, layers) in LAYERS {
        if !layers.iter().any(|layer| host.layers().is_in_force(*layer)) {
            report.absent(name, "the layer is not in force here");
            continue;
        }
        let less = layers.iter().copied().fold(host.clone(), Host::without);
        let less = Confined::new(&less, target, &Net::None)?;
        let mut added = Vec::with_capacity(rounds);
        for round in 0..rounds + WARM_UP {
            let (with, without) = (whole.run()?, less.run()?);
            if round >= WARM_UP {
                added.push(with.checked_sub(without).unwrap_or(Duration::ZERO));
            }
        }
        report.add([Sample::of(name, added)]);
    }
    Ok(())
}

/// The layers without which a run can still be made, with those that go together.
const LAYERS: [(&str, &[Layer]); 7] = [
    ("script.layer.landlock", &[Layer::Landlock]),
    ("script.layer.seccomp", &[Layer::Seccomp]),
    ("script.layer.network", &[Layer::NetworkNamespace]),
    ("script.layer.ipc", &[Layer::IpcNamespace]),
    ("script.layer.uts", &[Layer::UtsNamespace]),
    ("script.layer.cgroup", &[Layer::CgroupNamespace]),
    (
        "script.layer.groups",
        &[
            Layer::CgroupKill,
            Layer::CgroupMemory,
            Layer::CgroupPids,
            Layer::CgroupCpu,
        ],
    ),
];
const WARM_UP: usize = 3;
