//! A root that several runs begin from: made once, in a mount namespace that each of them copies.

use crate::message::Stage;
use crate::namespace;
use crate::plan::Template;
use crate::root;
use crate::rules::Rulesets;
use crate::state::{At, Outcome};
use crate::sys::{self, nr};

/// Makes the root and the rulesets on it, and holds both until the host closes the socket.
pub fn hold(template: Template<'static>) -> Outcome<()> {
    // The modes of the root's parts are those of the plan.
    sys::numbers(nr::UMASK, 0, 0, 0, 0).at(Stage::Process)?;
    sys::numbers(nr::UNSHARE, namespace::MOUNT as usize, 0, 0, 0).at(Stage::Namespaces)?;
    root::enter(template.root, (template.uid, template.gid))?;
    let rulesets = Rulesets::build(template.landlock)?;
    namespace::stay(rulesets.descriptors());
    Ok(())
}
