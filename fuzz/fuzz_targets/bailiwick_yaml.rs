//! `bailiwick.yaml`: what is accepted obeys every rule of declared scripts, and is accepted again.
#![no_main]

use bailiwick_core::ScriptDeclaration;
use bailiwick_package::Sidecar;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (sidecar, diagnostics) = Sidecar::parse(bytes);
    let Some(sidecar) = sidecar else {
        assert!(!diagnostics.is_empty(), "refused without a word");
        return;
    };
    for script in sidecar.scripts {
        let again = ScriptDeclaration::new(
            script.name.clone(),
            script.path.clone(),
            script.description.clone(),
            script.interpreter.clone(),
            script.params.clone(),
        );
        assert_eq!(again.as_ref(), Ok(&script));
    }
});
