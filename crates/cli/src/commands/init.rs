//! `init`: a new skill that passes `check` and can be called at once.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bailiwick::Error;
use bailiwick::core::{NameRejected, SkillName, SkillPath};
use bailiwick::package;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use serde_json::json;

use crate::cli::Init;
use crate::error::{cannot, usage};
use crate::program::{DONE, Program};
use crate::text::shell_word;

pub(crate) fn run(program: &Program, arguments: &Init) -> Result<u8, Error> {
    let name = parse(&arguments.name)?;
    let place = Place::of(program);
    let folder = place.parent.join(name.as_str());
    let files = package::scaffold(&name);
    write(&place.parent, &name, &files).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            let message = format!("`{}` exists already", folder.display());
            return usage(message, "choose another name, or remove the folder");
        }
        cannot(
            "write a skill to",
            &folder,
            "check that you may write there",
            error,
        )
    })?;
    let call = format!(
        "bailiwick {}call {name}.greet '{{\"name\": \"Ada\"}}'",
        place.flags
    );
    let shown = folder.display();
    let quoted = shell_word(&folder.to_string_lossy()).into_owned();
    program.output.answer(
        || format!("wrote {shown}\ncheck it   bailiwick check {quoted}\ncall it    {call}"),
        || {
            let files: Vec<_> = files.iter().map(|(path, _)| path.as_str()).collect();
            json!({ "skill": name, "folder": folder, "files": files, "call": call })
        },
    )?;
    Ok(DONE)
}

/// Reads a name, or says which one is near.
fn parse(text: &str) -> Result<SkillName, Error> {
    text.parse().map_err(|error: NameRejected| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let near = words.join("-").to_ascii_lowercase();
        let hint = match near.parse::<SkillName>() {
            Ok(near) => format!("write `bailiwick init {near}`"),
            Err(_) => "use lower-case letters, digits and single hyphens, at most 64".to_owned(),
        };
        usage(error.to_string(), hint)
    })
}

/// Where a new skill goes, and the flags with which it is found there.
struct Place {
    parent: PathBuf,
    flags: String,
}

impl Place {
    /// The first folder of `--skills`, else the project's.
    fn of(program: &Program) -> Self {
        match program.global.skills.first() {
            Some(folder) => Self {
                parent: folder.clone(),
                flags: format!("--skills {} ", shell_word(&folder.to_string_lossy())),
            },
            None => Self {
                parent: PathBuf::from(".agents/skills"),
                flags: String::new(),
            },
        }
    }
}

/// Writes a skill's files into a folder that is not there yet.
fn write(parent: &Path, name: &SkillName, files: &[(SkillPath, String)]) -> std::io::Result<()> {
    Dir::create_ambient_dir_all(parent, ambient_authority())?;
    let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
    parent.create_dir(name.as_str())?;
    let folder = parent.open_dir(name.as_str())?;
    for (path, text) in files {
        if let Some((inner, _)) = path.as_str().rsplit_once('/') {
            folder.create_dir_all(inner)?;
        }
        let mut file = folder.open_with(
            path.as_str(),
            OpenOptions::new().write(true).create_new(true),
        )?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}
