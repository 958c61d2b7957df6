//! Reads `[limits.isolate]` and a skill's own, lower `limits.isolate`.

use toml::de::DeTable;

use super::reader::{Located, Reader};
use super::skill::inner;
use crate::isolate::{IsolateAxis, IsolateForm, IsolateLimits, OFF, OFF_WORD, OwnIsolateLimits};
use crate::order::{Axis, Widening};
use crate::units::ByteSize;

/// Reads the ceilings at the top of the file.
pub(crate) fn ceilings(reader: &mut Reader<'_>, root: &DeTable<'_>) -> IsolateLimits {
    let written = written(reader, root);
    let set = |limits: IsolateLimits, (axis, amount): &(IsolateAxis, Located<u64>)| {
        limits.with_amount(*axis, amount.value)
    };
    let limits = written.iter().fold(IsolateLimits::default(), set);
    check_concurrent(reader, &written, &limits);
    limits.settled()
}

/// Reads what a skill's table says, and notes what is above `ceiling`.
pub(crate) fn own(
    reader: &mut Reader<'_>,
    skill: &DeTable<'_>,
    ceiling: &IsolateLimits,
) -> OwnIsolateLimits {
    let is_within =
        |(axis, amount): &(IsolateAxis, Located<u64>)| amount.value <= ceiling.amount(*axis);
    let (lower, wider): (Vec<_>, Vec<_>) = written(reader, skill).into_iter().partition(is_within);
    for (axis, amount) in wider {
        let (wanted, held) = (axis.show(amount.value), axis.show(ceiling.amount(axis)));
        let widening = Widening::plain(Axis::IsolateLimit(axis), wanted, held);
        let hint = "raise it in [limits.isolate], or ask for less";
        reader.widened(&amount.span, widening, hint);
    }
    let set = |own: OwnIsolateLimits, (axis, amount): &(IsolateAxis, Located<u64>)| {
        own.with_amount(*axis, amount.value)
    };
    let own = lower.iter().fold(OwnIsolateLimits::default(), set);
    check_concurrent(reader, &lower, &ceiling.lowered_by(&own));
    own
}

/// Reads every limit of `limits.isolate` in a table, except what can be no bound.
fn written(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Vec<(IsolateAxis, Located<u64>)> {
    let Some(table) = inner(table, "limits").and_then(|limits| inner(limits, "isolate")) else {
        return Vec::new();
    };
    let axes = IsolateAxis::ALL.into_iter();
    axes.filter_map(|axis| Some((axis, amount(reader, table, axis)?)))
        .collect()
}

fn amount(reader: &mut Reader<'_>, table: &DeTable<'_>, axis: IsolateAxis) -> Option<Located<u64>> {
    let key = axis.as_str();
    let amount = match axis.form() {
        IsolateForm::Count => reader.count(table, key)?,
        // A number that is written is never the one that stands for none.
        IsolateForm::CountOrOff => reader
            .count_or(table, key, OFF_WORD)?
            .map(|count| count.map_or(OFF, |count| count.min(OFF - 1))),
        IsolateForm::Size => reader.parsed::<ByteSize>(table, key)?.map(ByteSize::bytes),
    };
    match axis.refusal(amount.value) {
        Some(refusal) => {
            reader.reject_with(&amount.span, refusal, axis.range());
            None
        }
        None => Some(amount),
    }
}

/// Notes a bound on concurrent calls that the bound on all of them keeps from ever being met.
fn check_concurrent(
    reader: &mut Reader<'_>,
    written: &[(IsolateAxis, Located<u64>)],
    limits: &IsolateLimits,
) {
    let concurrent = written
        .iter()
        .find(|(axis, _)| *axis == IsolateAxis::HostCallsConcurrent);
    let Some((axis, amount)) = concurrent else {
        return;
    };
    let calls = limits.amount(IsolateAxis::HostCalls);
    if amount.value > calls {
        let message = format!(
            "`{axis}` of {} can never be reached: `host_calls` allows {calls}",
            amount.value
        );
        reader.reject_with(&amount.span, message, "raise `host_calls`, or remove this");
    }
}
