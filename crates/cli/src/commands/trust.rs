//! `trust`: a person looks at a project's policy file and binds its digest.

use std::path::{Path, PathBuf};

use bailiwick::{Error, Policy};
use serde_json::json;

use crate::cli::Trust;
use crate::error::{cannot, usage};
use crate::policy::{FILE_NAME, ProjectFile, TrustBook};
use crate::program::{DONE, Program};
use crate::text::shell_word;

pub(crate) fn run(program: &Program, arguments: &Trust) -> Result<u8, Error> {
    let mut book = TrustBook::open(&program.config.data_folder()?)?;
    if arguments.revoke {
        return revoke(program, &mut book, arguments.path.as_deref());
    }
    let file = find(program, arguments.path.as_deref())?;
    // A file that says nothing valid cannot be agreed to, nor one that a skill could rewrite.
    Policy::from_bytes(&file.bytes, &file.path)?;
    book.trust(&file)?;
    let (path, digest) = (file.path.display(), file.digest());
    program.output.answer(
        || {
            let text = String::from_utf8_lossy(&file.bytes);
            format!(
                "{}\n\ntrusted {path}\ndigest  {digest}\nundo    bailiwick trust --revoke {}",
                text.trim_end(),
                shell_word(&file.path.to_string_lossy())
            )
        },
        || json!({ "path": file.path, "digest": digest.to_string(), "trusted": true }),
    )?;
    Ok(DONE)
}

fn revoke(program: &Program, book: &mut TrustBook, path: Option<&Path>) -> Result<u8, Error> {
    let path = match path {
        Some(path) => place_of(path)?,
        None => find(program, None)?.path,
    };
    if !book.revoke(&path)? {
        return Err(usage(
            format!("`{}` is not trusted", path.display()),
            "there is nothing to revoke",
        ));
    }
    program.output.answer(
        || format!("revoked {}", path.display()),
        || json!({ "path": path, "trusted": false }),
    )?;
    Ok(DONE)
}

fn find(program: &Program, path: Option<&Path>) -> Result<ProjectFile, Error> {
    match path {
        Some(path) => ProjectFile::read(path),
        None => ProjectFile::find(&program.config.cwd)?.ok_or_else(|| {
            usage(
                format!("this project has no `{FILE_NAME}`"),
                "name a policy file, or the folder that holds it",
            )
        }),
    }
}

/// Returns the canonical path of a policy file that may be gone.
fn place_of(path: &Path) -> Result<PathBuf, Error> {
    let file = if path.is_dir() {
        path.join(FILE_NAME)
    } else {
        path.to_owned()
    };
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    let found = file.canonicalize().or_else(|_| {
        Ok(folder
            .canonicalize()?
            .join(file.file_name().unwrap_or_default()))
    });
    found.map_err(|error: std::io::Error| {
        cannot(
            "find",
            path,
            "name it as `bailiwick trust` printed it",
            error,
        )
    })
}
