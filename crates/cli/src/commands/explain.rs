//! `explain`: what a call would run with, or the answer to one question.

use std::path::{Path, PathBuf};

use bailiwick::sandbox_policy::{Answer, Rights};
use bailiwick::{Decision, Error, Explanation, gate_fn};
use serde_json::{Value, json};

use crate::cli::{Explain, PathAccess};
use crate::error::{not_json, usage};
use crate::policy::{Chosen, host_path};
use crate::program::{DONE, Program, block_on};
use crate::session::{self, Skills};
use crate::target::Target;

pub(crate) fn run(program: &Program, arguments: &Explain) -> Result<u8, Error> {
    let call = arguments
        .arguments
        .as_deref()
        .map(serde_json::from_str::<Value>);
    let call = call.transpose().map_err(|error| not_json(&error))?;
    let chosen = Chosen::new(&program.config, &program.global, &arguments.grants.flags)?;
    chosen.announce(program.output);
    let skills = Skills::find(program)?;
    let Target::Tool { skill, tool } = Target::find(&arguments.target, &skills)? else {
        return Err(usage(
            "a script that its skill does not declare is not explained",
            "declare it in `bailiwick.yaml`, or ask about a tool as `SKILL.TOOL`: what the skill holds is the same",
        ));
    };
    let explanation = block_on(async {
        let nobody = gate_fn(|_| async { Decision::deny("nothing is called here") });
        let manager = session::manager(program, &skills, &chosen, nobody).await?;
        manager.explain(&format!("{skill}.{tool}"), call).await
    })?;
    if arguments.proof {
        let proof = explanation.proof().ok_or_else(unconfined)??;
        program
            .output
            .answer(|| proof.to_string(), || json!({ "proof": proof.to_json() }))?;
        return Ok(DONE);
    }
    match answer(program, arguments, &explanation)? {
        Some(answer) => program.output.answer(
            || answer.to_string(),
            || json!({ "answer": answer.to_json() }),
        )?,
        None => program.output.answer(
            || format!("policy file  {}\n{explanation}", chosen.describe()),
            || json!({ "policy_file": chosen.to_json(), "explanation": explanation.to_json() }),
        )?,
    }
    Ok(DONE)
}

/// Answers the one question that was asked, if one was.
fn answer(
    program: &Program,
    arguments: &Explain,
    explanation: &Explanation,
) -> Result<Option<Answer>, Error> {
    if let Some(path) = &arguments.path {
        let rights = match arguments.access {
            PathAccess::Read => Rights::READ,
            PathAccess::Write => Rights::WRITE,
        };
        let path = host_path(&real(&program.config.cwd, path))?;
        return explanation
            .path(&path, rights)
            .map(Some)
            .ok_or_else(unconfined);
    }
    if let Some(text) = &arguments.host {
        let (host, port) = host_and_port(text)?;
        return explanation
            .host(host, port)
            .map(Some)
            .ok_or_else(unconfined);
    }
    Ok(None)
}

fn unconfined() -> Error {
    usage(
        "a module tool is not confined: it may do what this program may",
        "ask about a script",
    )
}

/// Follows links as far as the path exists, since grants are judged where they lead.
fn real(cwd: &Path, path: &Path) -> PathBuf {
    let path = cwd.join(path);
    let missing = |existing: &Path| {
        path.strip_prefix(existing)
            .map(Path::to_owned)
            .unwrap_or_default()
    };
    path.ancestors()
        .find_map(|existing| {
            let real = existing.canonicalize().ok()?;
            let rest = missing(existing);
            Some(if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            })
        })
        .unwrap_or_else(|| path.clone())
}

fn host_and_port(text: &str) -> Result<(&str, u16), Error> {
    let wrong = || {
        usage(
            format!("`{text}` is no address"),
            "write `HOST` or `HOST:PORT`",
        )
    };
    match text.rsplit_once(':') {
        None if text.is_empty() => Err(wrong()),
        None => Ok((text, HTTPS)),
        Some((host, port)) => Ok((host, port.parse().map_err(|_| wrong())?)),
    }
}

const HTTPS: u16 = 443;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_port_is_asked_about_for_https() {
        assert_eq!(host_and_port("a.example").unwrap(), ("a.example", 443));
        assert_eq!(host_and_port("127.0.0.1:80").unwrap(), ("127.0.0.1", 80));
        assert!(host_and_port("a:b").is_err());
    }

    #[test]
    fn a_path_is_judged_where_its_links_lead() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        assert_eq!(
            real(&base, Path::new("link/new/file")),
            base.join("real/new/file")
        );
        assert_eq!(real(&base, Path::new("link")), base.join("real"));
    }
}
