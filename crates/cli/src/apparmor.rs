//! The `AppArmor` profile that lets this program make user namespaces with their capabilities.
//!
//! Some distributions let every program make a user namespace and take its capabilities away unless
//! the program has a profile that says `userns`. The launcher is started from memory and keeps the
//! profile of the program that starts it, so that one profile for this program is enough.

use std::path::Path;

/// Where the profile goes.
pub(crate) const FILE: &str = "/etc/apparmor.d/bailiwick";

/// Writes the profile for a program; nothing where its path cannot stand in one.
pub(crate) fn profile(program: &Path) -> Option<String> {
    let path = program.to_str().filter(|path| path.starts_with('/'))?;
    let path = quoted(path)?;
    Some(format!(
        "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile bailiwick {path} flags=(unconfined) {{\n  userns,\n\n  include if exists <local/bailiwick>\n}}\n"
    ))
}

/// Says what to do with it.
pub(crate) fn steps(program: &Path) -> Option<String> {
    let profile = profile(program)?;
    Some(format!(
        "User namespaces come without capabilities here, as they do where AppArmor restricts them. As\nroot, write this to {FILE} and run `apparmor_parser -r {FILE}`:\n\n{profile}"
    ))
}

/// A path as a profile takes it, where every character stands for itself.
fn quoted(path: &str) -> Option<String> {
    if path.chars().any(char::is_control) {
        return None;
    }
    let mut quoted = String::from("\"");
    for character in path.chars() {
        if matches!(
            character,
            '"' | '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '^'
        ) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    Some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_the_program_and_grants_user_namespaces_alone() {
        insta::assert_snapshot!(profile(Path::new("/usr/local/bin/bailiwick")).unwrap(), @r#"
        abi <abi/4.0>,
        include <tunables/global>

        profile bailiwick "/usr/local/bin/bailiwick" flags=(unconfined) {
          userns,

          include if exists <local/bailiwick>
        }
        "#);
    }

    #[test]
    fn no_character_of_a_path_means_another_path_or_ends_it() {
        let shown = profile(Path::new("/home/a b/{x}*/\"q\"/bailiwick")).unwrap();
        assert!(
            shown.contains("profile bailiwick \"/home/a b/\\{x\\}\\*/\\\"q\\\"/bailiwick\" flags"),
            "{shown}"
        );
        assert_eq!(profile(Path::new("/a\nb")), None);
        assert_eq!(profile(Path::new("bailiwick")), None);
    }
}
