//! Writes plans: the counterpart of [`Plan::decode`](crate::plan::Plan::decode).

use crate::plan::{self, Ids, Limit, NONE, Trial, mode, step};

/// A plan being written. Every method appends one field of the layout, in its order.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

/// What the plan of a run begins with: its numbers, and the numbers of the descriptors that it joins,
/// as in [`Run`](plan::Run).
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) namespaces: u64,
    pub(crate) flags: u32,
    pub(crate) ids: Ids,
    pub(crate) descriptors: u32,
    pub(crate) cgroups: u32,
    pub(crate) user: Option<u32>,
    pub(crate) network: Option<u32>,
    pub(crate) template: Option<u32>,
    pub(crate) rulesets: Option<u32>,
}

impl Default for Head {
    /// Makes nothing and joins nothing.
    fn default() -> Self {
        Self {
            namespaces: 0,
            flags: 0,
            ids: Ids { uid: 0, gid: 0 },
            descriptors: 0,
            cgroups: 0,
            user: None,
            network: None,
            template: None,
            rulesets: None,
        }
    }
}

impl Writer {
    /// Starts a plan of one mode.
    fn new(mode: u32) -> Self {
        let mut writer = Self {
            bytes: Vec::with_capacity(16 << 10),
        };
        writer.word(plan::MAGIC);
        writer.word(plan::VERSION);
        writer.word(mode);
        writer
    }

    /// Starts the plan of a run.
    pub(crate) fn run(head: &Head) -> Self {
        let mut writer = Self::new(mode::RUN);
        writer.long(head.namespaces);
        for word in [
            head.flags,
            head.ids.uid,
            head.ids.gid,
            head.descriptors,
            head.cgroups,
        ] {
            writer.word(word);
        }
        for index in [head.user, head.network, head.template, head.rulesets] {
            writer.word(index.unwrap_or(NONE));
        }
        writer
    }

    /// Starts the plan of what a run executes.
    pub(crate) fn execute() -> Self {
        Self::new(mode::EXECUTE)
    }

    /// Starts the plan of a template.
    pub(crate) fn template() -> Self {
        Self::new(mode::HOLD_TEMPLATE)
    }

    /// Writes the whole plan that holds a user namespace.
    pub(crate) fn hold_user_namespace() -> Vec<u8> {
        Self::new(mode::HOLD_USER_NAMESPACE).bytes
    }

    /// Writes the whole plan that holds a network namespace, inside a user namespace for a host that
    /// may not make it outside of one.
    pub(crate) fn hold_network_namespace(inside: Option<Ids>) -> Vec<u8> {
        let mut writer = Self::new(mode::HOLD_NETWORK_NAMESPACE);
        let Ids { uid, gid } = inside.unwrap_or(Ids { uid: 0, gid: 0 });
        for word in [inside.is_some().into(), uid, gid] {
            writer.word(word);
        }
        writer.bytes
    }

    /// Writes the whole plan of a probe.
    pub(crate) fn probe(trials: &[Trial]) -> Vec<u8> {
        let mut writer = Self::new(mode::PROBE);
        writer.list(trials, |writer, trial| {
            writer.long(trial.namespaces);
            writer.word(trial.uid);
            writer.word(trial.gid);
        });
        writer.bytes
    }

    /// Writes the whole plan of a run that joins control groups and then fails, since the last of
    /// its descriptors, which it is to join as a network namespace, is none.
    pub(crate) fn join_groups(count: u32) -> Vec<u8> {
        let mut writer = Self::run(&Head {
            descriptors: count + 1,
            cgroups: count,
            network: Some(count),
            ..Head::default()
        });
        writer.limits(&[]);
        writer.list::<()>(&[], |_, ()| ());
        writer.text(b"");
        writer.no_landlock();
        writer.blob(&[]);
        #[cfg(weaken)]
        writer.word(0);
        writer.finish()
    }

    /// Returns the finished bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends a number of 32 bits.
    pub(crate) fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// Appends a number of 64 bits.
    pub(crate) fn long(&mut self, long: u64) {
        self.bytes.extend_from_slice(&long.to_le_bytes());
    }

    /// Appends bytes with their length.
    pub(crate) fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a string, which holds no NUL.
    pub(crate) fn text(&mut self, text: &[u8]) {
        self.count(text.len() + 1);
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
    }

    /// Appends a list.
    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.count(items.len());
        for item in items {
            each(self, item);
        }
    }

    /// Appends the resource limits.
    pub(crate) fn limits(&mut self, limits: &[Limit]) {
        self.list(limits, |writer, limit| {
            writer.word(limit.resource);
            writer.long(limit.soft);
            writer.long(limit.hard);
        });
    }

    /// Appends that there is no Landlock layer.
    pub(crate) fn no_landlock(&mut self) {
        for _ in 0..3 {
            self.long(0);
        }
        self.word(0);
        self.word(0);
    }

    /// Appends a directory of the root.
    pub(crate) fn directory(&mut self, path: &str, mode: u32, own: bool) {
        self.step(step::DIRECTORY, path);
        self.word(mode);
        self.word(own.into());
    }

    /// Appends a symbolic link of the root.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.step(step::LINK, path);
        self.text(target.as_bytes());
    }

    /// Appends a file of the root.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.step(step::FILE, path);
        self.word(mode);
        self.blob(content);
    }

    /// Appends a device.
    pub(crate) fn device(&mut self, path: &str, number: u32) {
        self.step(step::DEVICE, path);
        self.word(number);
    }

    /// Appends a bind.
    pub(crate) fn bind(&mut self, path: &str, source: u32, attributes: u64, map: u32) {
        self.step(step::BIND, path);
        self.word(source);
        self.long(attributes);
        self.word(map);
    }

    /// Appends a scratch file system.
    pub(crate) fn scratch(&mut self, path: &str, options: &str) {
        self.step(step::SCRATCH, path);
        self.text(options.as_bytes());
    }

    /// Appends a private `proc`.
    pub(crate) fn processes(&mut self, path: &str) {
        self.step(step::PROCESSES, path);
    }

    fn step(&mut self, kind: u32, path: &str) {
        self.word(kind);
        self.text(path.as_bytes());
    }

    /// A length beyond 32 bits becomes the largest, which no plan can hold and decoding refuses.
    fn count(&mut self, count: usize) {
        self.word(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, PlanError, flag};

    /// The smallest plan of a run, with two descriptors.
    fn run(namespaces: u64, flags: u32, joined: [u32; 4]) -> Vec<u8> {
        let joined = joined.map(|index| (index != NONE).then_some(index));
        let [user, network, template, rulesets] = joined;
        let mut writer = Writer::run(&Head {
            namespaces,
            flags,
            descriptors: 2,
            user,
            network,
            template,
            rulesets,
            ..Head::default()
        });
        writer.word(0);
        writer.word(0);
        writer.text(b"");
        for _ in 0..3 {
            writer.long(0);
        }
        // Two layers without a rule.
        writer.word(2);
        writer.word(0);
        writer.blob(&[]);
        #[cfg(weaken)]
        writer.word(0);
        writer.finish()
    }

    fn refused(bytes: &[u8]) -> Option<PlanError> {
        Plan::decode(bytes).err()
    }

    const NEW_MOUNT: u64 = 0x0002_0000;
    const NEW_NETWORK: u64 = 0x4000_0000;

    #[test]
    fn a_network_namespace_is_joined_only_by_a_descriptor_of_its_own_and_never_changed() {
        let owned = |user, network| refused(&run(0, 0, [user, network, NONE, NONE]));
        assert_eq!(owned(0, 1), None);
        assert_eq!(owned(0, NONE), Some(PlanError::Range));
        assert_eq!(owned(2, 1), Some(PlanError::Range));
        let refused = |namespaces, flags, network| {
            refused(&run(namespaces, flags, [NONE, network, NONE, NONE]))
        };
        assert_eq!(refused(0, 0, NONE), None);
        assert_eq!(refused(0, 0, 1), None);
        assert_eq!(refused(NEW_NETWORK, flag::LOOPBACK, NONE), None);
        assert_eq!(refused(0, 0, 2), Some(PlanError::Range));
        assert_eq!(refused(NEW_NETWORK, 0, 1), Some(PlanError::Range));
        assert_eq!(refused(0, flag::LOOPBACK, 1), Some(PlanError::Range));
    }

    #[test]
    fn nothing_listens_but_on_a_loopback_device_that_the_run_has_for_itself() {
        let refused = |namespaces, flags, network| {
            refused(&run(namespaces, flags, [NONE, network, NONE, NONE]))
        };
        let both = flag::LOOPBACK | flag::LISTEN;
        assert_eq!(refused(NEW_NETWORK, both, NONE), None);
        assert_eq!(
            refused(NEW_NETWORK, flag::LISTEN, NONE),
            Some(PlanError::Range)
        );
        assert_eq!(refused(0, both, NONE), Some(PlanError::Range));
        assert_eq!(refused(0, flag::LISTEN, 1), Some(PlanError::Range));
        assert_eq!(
            refused(NEW_NETWORK, flag::ALL + 1, NONE),
            Some(PlanError::Range)
        );
    }

    #[test]
    fn a_template_is_copied_and_each_of_its_layers_comes() {
        let refused = |namespaces, [template, rulesets]: [u32; 2]| {
            refused(&run(namespaces, 0, [NONE, NONE, template, rulesets]))
        };
        assert_eq!(refused(NEW_MOUNT, [0, NONE]), None);
        assert_eq!(refused(NEW_MOUNT, [NONE, 0]), None);
        // A run would change it for all others, or it does not come, or a layer is missing.
        assert_eq!(refused(0, [0, NONE]), Some(PlanError::Range));
        assert_eq!(refused(NEW_MOUNT, [2, NONE]), Some(PlanError::Range));
        assert_eq!(refused(NEW_MOUNT, [NONE, 1]), Some(PlanError::Range));
    }

    #[test]
    fn something_is_executed_by_its_name() {
        let plan = |arguments: &[&str]| {
            let mut writer = Writer::execute();
            writer.text(b"/");
            writer.text(b"/program");
            writer.list(arguments, |writer, text| writer.text(text.as_bytes()));
            writer.word(0);
            writer.finish()
        };
        assert_eq!(refused(&plan(&["program"])), None);
        assert_eq!(refused(&plan(&[])), Some(PlanError::Range));
    }

    #[test]
    fn a_namespace_that_is_held_needs_no_more_than_its_mode() {
        for inside in [None, Some(Ids { uid: 1, gid: 2 })] {
            let network = Writer::hold_network_namespace(inside);
            let Ok(Plan::HoldNetworkNamespace(decoded)) = Plan::decode(&network) else {
                panic!("another plan");
            };
            assert_eq!(decoded, inside);
        }
        let user = Writer::hold_user_namespace();
        assert!(matches!(Plan::decode(&user), Ok(Plan::HoldUserNamespace)));
    }
}
