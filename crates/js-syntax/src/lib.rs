//! What can be said of JavaScript and TypeScript without running it: form, imports, type stripping
//! with source positions.
//!
//! A skill's isolated tool is one file of source. [`check`] reads it on the host, when the skill is
//! loaded: it parses, has the form that was asked for, reaches for no module, and, if it is
//! TypeScript, has its types blanked. What comes out is the JavaScript that the engine runs.
//!
//! # Examples
//!
//! ```
//! use bailiwick_js_syntax::{Form, Language, Source, check};
//!
//! let text = "\
//! interface Arguments { text: string }
//! export const description = 'Counts words.';
//! export const parameters = { type: 'object', properties: { text: { type: 'string' } } };
//! export async function execute(args: Arguments) {
//!     return { content: [{ type: 'text', text: `${args.text.split(/\\s+/).length}` }] };
//! }
//! ";
//! let source = Source::new("scripts/count.ts".parse()?, Language::TypeScript, text.as_bytes())?;
//! let tool = check(&source, Form::Module)?;
//! let run: Vec<_> = tool.javascript().lines().collect();
//! assert!(run[0].trim().is_empty());
//! assert_eq!(run[3], "export async function execute(args           ) {");
//! assert_eq!(tool.export("execute").map(|at| (at.line, at.column)), Some((4, 23)));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - By parsing, never by search: the words `import` and `require` in comments, strings, templates,
//!   regular expressions and names of properties mean nothing. `require` is refused where no
//!   declaration of the file binds it.
//! - JavaScript comes out byte for byte, but for a byte order mark and a `#!` line.
//! - TypeScript keeps the line and column of everything that remains: each erased character becomes
//!   one space and line ends stay. Where a blank would join two statements, one character is
//!   written into it. What comes out is parsed again, checked with the same rules, and its tree
//!   compared with the source's; a difference is an error, never another program.
//! - TypeScript that is more than types (`enum`, namespaces with values, parameter properties,
//!   `import =`) is refused with its place and what to write instead.
//! - An error is the first one in the file, with line, column and a hint.
//! - A source of any content ends in an answer. It is read on a thread with a stack of its own,
//!   after its nesting was measured without recursion.
//!
//! # What it does not enforce
//!
//! A guest's authority: `eval`, `Function` and computed names can spell what this check looks for,
//! and it is the engine that has no modules to give. Types are not checked. An export's value is
//! not looked at, only that it is there. The time for a hostile source is bounded by its size, at
//! some seconds for the worst 1 MiB that is accepted.
//!
//! # Features
//!
//! None.

#![forbid(unsafe_code)]

mod blank;
mod check;
mod depth;
mod erase;
mod error;
mod form;
mod language;
mod outline;
mod parse;
mod rules;
mod scan;
mod source;
mod trivia;

pub use crate::check::{Checked, check};
pub use crate::error::{SyntaxError, SyntaxErrorKind};
pub use crate::form::Form;
pub use crate::language::Language;
pub use crate::source::{MAX_SOURCE_BYTES, Position, Source};
