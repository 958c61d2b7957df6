//! The check of one source, from its text to the JavaScript that runs.

use oxc_allocator::Allocator;

use crate::blank::Moved;
use crate::depth;
use crate::erase::erase;
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::form::{Exported, Form, check_arrow, check_module};
use crate::language::Language;
use crate::outline::Outline;
use crate::parse::{Finding, NoAnswer, bind, on_large_stack, parse};
use crate::rules;
use crate::source::{Position, Source};

/// A source that passed every check, as the JavaScript that is to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checked {
    javascript: String,
    form: Form,
    exports: Vec<(String, Position)>,
}

impl Checked {
    /// Returns the JavaScript to run: everything in it stands at the line and column of the
    /// source.
    ///
    /// In the form of an arrow the text is one statement, which may end with a semicolon or a
    /// comment.
    pub fn javascript(&self) -> &str {
        &self.javascript
    }

    /// Returns the JavaScript to run.
    pub fn into_javascript(self) -> String {
        self.javascript
    }

    /// Returns the form that was asked for.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns where a module declares an export, so that a later check can point at it.
    pub fn export(&self, name: &str) -> Option<Position> {
        self.exports()
            .find(|(export, _)| *export == name)
            .map(|(_, position)| position)
    }

    /// Returns every export of a module in order, with the place of its name.
    pub fn exports(&self) -> impl Iterator<Item = (&str, Position)> {
        self.exports
            .iter()
            .map(|(name, position)| (name.as_str(), *position))
    }
}

/// Checks a source and takes its types out.
///
/// The first thing that is wrong, in the order of the file, is the error.
///
/// # Errors
///
/// [`SyntaxError`], which as [`SkillError`](bailiwick_core::SkillError) is
/// `E_SKILL_ISOLATED_GUEST_INVALID`; or `E_SKILL_WORKSPACE_FAILED` when the host cannot start a
/// thread.
///
/// # Examples
///
/// ```
/// use bailiwick_js_syntax::{Form, Language, Source, SyntaxErrorKind, check};
///
/// let text = b"async (args) => import(args.name)";
/// let source = Source::new("scripts/a.js".parse()?, Language::JavaScript, text)?;
/// let error = check(&source, Form::Arrow).unwrap_err();
/// assert_eq!(error.kind(), SyntaxErrorKind::Import);
/// assert_eq!(error.position().column, 17);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn check(source: &Source, form: Form) -> Result<Checked, SyntaxError> {
    depth::check(source.text()).map_err(|deep| too_deep(source, deep))?;
    match on_large_stack(|| examine(source, form)) {
        Ok(answer) => answer,
        Err(NoAnswer::NotStarted) => Err(SyntaxError::of_whole(
            source.path().clone(),
            SyntaxErrorKind::Thread,
            "the thread that parses it could not be started",
        )
        .with_hint("the file may be in order: free some memory, then load it again")),
        // The parser's own fault; the source that shows it stays out.
        Err(NoAnswer::Panicked) => Err(SyntaxError::of_whole(
            source.path().clone(),
            SyntaxErrorKind::Syntax,
            "the parser failed on it",
        )
        .with_hint("write the code in another way")),
    }
}

fn too_deep(source: &Source, deep: depth::TooDeep) -> SyntaxError {
    let kind = SyntaxErrorKind::TooDeep;
    match deep.lost_at {
        Some(offset) => source
            .error(
                kind,
                offset,
                "what follows may nest too deeply: it does not show whether a value ends here",
            )
            .with_hint("put what stands before or after it in round brackets"),
        None => source
            .error(
                kind,
                deep.offset,
                "the code nests too deeply, or is one too long expression",
            )
            .with_hint("split it into functions or variables"),
    }
}

fn examine(source: &Source, form: Form) -> Result<Checked, SyntaxError> {
    match source.language() {
        Language::JavaScript => {
            let seen = Seen::new(source.text(), form);
            match seen.first() {
                Some(finding) => Err(refuse(source, finding)),
                None => Ok(checked(source.text().to_owned(), form, &seen.exports)),
            }
        }
        Language::TypeScript => examine_types(source, form),
    }
}

fn examine_types(source: &Source, form: Form) -> Result<Checked, SyntaxError> {
    let allocator = Allocator::default();
    let parsed = parse(&allocator, source.text(), Language::TypeScript);
    let (scoping, _) = bind(&parsed.program, false);
    let rules = rules::find(&parsed.program, &scoping);
    if let Some(finding) = first(parsed.findings.iter().chain(&rules)) {
        return Err(refuse(source, finding));
    }
    let (javascript, outline) = erase(&parsed.program);
    let seen = Seen::new(&javascript, form);
    // Every character of the source has one in the JavaScript; only their bytes may differ.
    let moved = Moved::between(source.text(), &javascript);
    if let Some(finding) = first(&seen.syntax) {
        let offset = moved.back(finding.offset);
        return Err(erasure(source, offset, &finding.message));
    }
    if let Some(finding) = seen.first() {
        let offset = moved.back(finding.offset);
        return Err(refuse(
            source,
            &Finding {
                offset,
                ..finding.clone()
            },
        ));
    }
    if let Some(offset) = outline.differs_at(&seen.outline, |offset| moved.to(offset)) {
        return Err(erasure(
            source,
            offset,
            "without them the code reads in another way",
        ));
    }
    Ok(checked(javascript, form, &seen.exports))
}

/// What a text is, read as JavaScript.
struct Seen {
    /// What the parser holds against it.
    syntax: Vec<Finding>,
    /// What else is held against it.
    rules: Vec<Finding>,
    /// What it lacks, which has no place in it.
    missing: Option<Finding>,
    exports: Vec<Exported>,
    outline: Outline,
}

impl Seen {
    fn new(text: &str, form: Form) -> Self {
        let allocator = Allocator::default();
        let parsed = parse(&allocator, text, Language::JavaScript);
        let program = &parsed.program;
        let is_whole = parsed.findings.is_empty();
        let (scoping, early_errors) = bind(program, is_whole);
        let mut rules = rules::find(program, &scoping);
        let mut exports = Vec::new();
        let mut missing = None;
        if is_whole {
            match form {
                Form::Arrow => rules.extend(check_arrow(program)),
                Form::Module => {
                    let module = check_module(program, &scoping);
                    exports = module.exports;
                    missing = module.missing;
                    rules.extend(module.findings);
                }
            }
        }
        // Last, because of several findings at one place the first one counts.
        rules.extend(early_errors);
        Self {
            syntax: parsed.findings,
            rules,
            missing,
            exports,
            outline: Outline::of(program),
        }
    }

    fn first(&self) -> Option<&Finding> {
        first(self.syntax.iter().chain(&self.rules)).or(self.missing.as_ref())
    }
}

fn checked(javascript: String, form: Form, exports: &[Exported]) -> Checked {
    let offsets: Vec<usize> = exports.iter().map(|export| export.offset).collect();
    let positions = Position::of_all(&javascript, &offsets);
    let names = exports.iter().map(|export| export.name.clone());
    let exports = names.zip(positions).collect();
    Checked {
        javascript,
        form,
        exports,
    }
}

/// Returns the first finding in the order of the file; of several at one place, the first found.
fn first<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Option<&'f Finding> {
    findings.into_iter().min_by_key(|finding| finding.offset)
}

fn refuse(source: &Source, finding: &Finding) -> SyntaxError {
    let error = source.error(finding.kind, finding.offset, &*finding.message);
    if finding.is_of_grammar
        && let Some((message, hint)) = explain(source, finding.offset)
    {
        return source
            .error(SyntaxErrorKind::Unsupported, finding.offset, message)
            .with_hint(hint);
    }
    match &finding.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Explains a syntax error that is no slip: another language stands here.
fn explain(source: &Source, offset: usize) -> Option<(&'static str, &'static str)> {
    let before = source.text().get(..offset)?.trim_end();
    let rest = source.text().get(offset..)?;
    let tag = rest
        .strip_prefix('<')
        .or_else(|| before.ends_with('<').then_some(rest));
    let is_tag = |c: char| c.is_ascii_alphabetic() || c == '>' || c == '/';
    if tag.is_some_and(|tag| tag.starts_with(is_tag)) {
        return Some((
            "JSX, which is not JavaScript",
            "write the calls that it stands for",
        ));
    }
    if source.language() == Language::JavaScript {
        let allocator = Allocator::default();
        let parsed = parse(&allocator, source.text(), Language::TypeScript);
        if parsed.findings.is_empty() && erase(&parsed.program).0 != source.text() {
            return Some((
                "TypeScript in a JavaScript file",
                "give the file the extension `.ts` or `.mts`, or leave the types out",
            ));
        }
    }
    None
}

fn erasure(source: &Source, offset: usize, message: &str) -> SyntaxError {
    source
        .error(
            SyntaxErrorKind::Erasure,
            offset,
            format!("the types near here cannot be blanked: {message}"),
        )
        .with_hint("end the statement before with `;`, or move the types to a line of their own")
}
