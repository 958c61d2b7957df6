//! The steps that `guests/interpreter.wat` takes, as bytes.

use std::sync::Arc;

/// One thing that the guest does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step([u8; 32]);

impl Step {
    /// Makes a step of its number and what it takes.
    pub(crate) fn new(number: u32, arguments: &[u32]) -> Self {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        for (place, argument) in bytes[4..].chunks_exact_mut(4).zip(arguments) {
            place.copy_from_slice(&argument.to_le_bytes());
        }
        Self(bytes)
    }
}

/// What a guest does: at once, at every settling, and at the last one that it waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    data: Vec<u8>,
    pub(crate) run: Vec<Step>,
    pub(crate) each: Vec<Step>,
    pub(crate) last: Vec<Step>,
    pub(crate) expected: u32,
}

/// A place in the guest's memory and a length.
pub(crate) type Text = (u32, u32);

/// A place that nothing else uses, for what a step writes.
pub(crate) const SCRATCH: u32 = 1024;

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds bytes to the guest's input and says where it finds them.
    pub(crate) fn text(&mut self, text: impl AsRef<[u8]>) -> Text {
        let text = text.as_ref();
        let place = INPUT + u32::try_from(self.data.len()).unwrap();
        self.data.extend_from_slice(text);
        (place, u32::try_from(text.len()).unwrap())
    }

    pub(crate) fn does(mut self, number: u32, arguments: &[u32]) -> Self {
        self.run.push(Step::new(number, arguments));
        self
    }

    /// Does the next step a number of times.
    pub(crate) fn times(self, times: u32) -> Self {
        self.does(20, &[times])
    }

    pub(crate) fn starts(mut self, id: u32, member: &str, arguments: &str) -> Self {
        let (member, member_length) = self.text(member);
        let (arguments, arguments_length) = self.text(arguments);
        self.does(0, &[id, member, member_length, arguments, arguments_length])
    }

    pub(crate) fn sleeps(self, id: u32, milliseconds: f64) -> Self {
        let step = sleep(id, milliseconds);
        self.then(step)
    }

    pub(crate) fn logs(mut self, level: &str, text: impl AsRef<[u8]>) -> Self {
        let (level, level_length) = self.text(level);
        let (text, length) = self.text(text);
        self.does(3, &[level, level_length, text, length])
    }

    pub(crate) fn updates(mut self, json: &str) -> Self {
        let (json, length) = self.text(json);
        self.does(4, &[json, length])
    }

    pub(crate) fn answers(mut self, text: &str) -> Self {
        let (text, length) = self.text(text);
        self.does(5, &[1, text, length])
    }

    pub(crate) fn answers_from(self, place: u32, length: u32) -> Self {
        self.does(5, &[1, place, length])
    }

    pub(crate) fn spins(self) -> Self {
        self.does(13, &[])
    }

    pub(crate) fn then(mut self, step: Step) -> Self {
        self.run.push(step);
        self
    }

    /// Logs the next settlings, and answers `over` after the last.
    pub(crate) fn awaits(mut self, settlings: u32) -> Self {
        self.expected = settlings;
        self.each.push(Step::new(21, &[]));
        let (text, length) = self.text("over");
        self.last.push(Step::new(5, &[1, text, length]));
        self
    }

    /// Answers with what is settled under a number.
    pub(crate) fn answers_with(mut self, id: u32) -> Self {
        self.each.push(Step::new(22, &[id]));
        self
    }

    /// Returns the input that makes the guest do all this.
    pub(crate) fn parts(&self) -> [Arc<[u8]>; 3] {
        let mut first = self.data.clone();
        first.resize(first.len().next_multiple_of(8), 0);
        let mut header = Vec::new();
        for steps in [&self.run, &self.each, &self.last] {
            header.push(u32::try_from(first.len()).unwrap());
            first.extend(steps.iter().flat_map(|step| step.0));
            header.push(u32::try_from(first.len()).unwrap());
        }
        header.push(self.expected);
        let header: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
        [first.into(), header.into(), [].into()]
    }
}

pub(crate) fn sleep(id: u32, milliseconds: f64) -> Step {
    let bits = milliseconds.to_bits();
    let (low, high) = (bits & 0xFFFF_FFFF, bits >> 32);
    Step::new(
        1,
        &[
            id,
            u32::try_from(low).unwrap(),
            u32::try_from(high).unwrap(),
        ],
    )
}

/// Where the guest puts its input.
const INPUT: u32 = 65536;
