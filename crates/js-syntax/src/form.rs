//! The two forms that a guest's source may have.

use std::collections::HashSet;

use oxc_ast::ast::{
    BindingIdentifier, Declaration, ExportDeclaration, ExportDefaultDeclaration,
    ExportNamedDeclaration, Expression, ModuleExportName, Program, Statement,
};
use oxc_ast_visit::Visit;
use oxc_semantic::Scoping;
use oxc_span::GetSpan as _;

use crate::error::SyntaxErrorKind;
use crate::parse::Finding;

/// The form that a source must have (contracts 4.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the contract names these two")]
pub enum Form {
    /// The whole file is one expression: `async (args, context, options) => …`.
    Arrow,
    /// A module that exports `description`, `parameters` and `execute`.
    Module,
}

/// The exports that a tool module has.
pub(crate) const REQUIRED: [&str; 3] = ["description", "parameters", "execute"];

/// An export of a module.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Exported {
    pub(crate) name: String,
    pub(crate) offset: usize,
}

/// Checks that the file is one async arrow function.
pub(crate) fn check_arrow(program: &Program<'_>) -> Vec<Finding> {
    let refuse = |offset, message: &str, hint: &str| {
        vec![Finding::new(offset, SyntaxErrorKind::Form, message, hint)]
    };
    if let Some(directive) = program.directives.first() {
        let message = "a string before the function";
        return refuse(directive.span.start, message, ARROW);
    }
    let Some(first) = program.body.first() else {
        return refuse(0, "the file has no function", ARROW);
    };
    let Statement::ExpressionStatement(statement) = first else {
        return refuse(
            first.span().start,
            "a statement, not an arrow function",
            ARROW,
        );
    };
    let expression = statement.expression.get_inner_expression();
    let Expression::ArrowFunctionExpression(arrow) = expression else {
        let message = "an expression that is not an arrow function";
        return refuse(expression.span().start, message, ARROW);
    };
    if !arrow.r#async {
        let hint = "write `async` before its parameters";
        return refuse(
            arrow.span.start,
            "an arrow function that is not async",
            hint,
        );
    }
    match program.body.get(1) {
        Some(second) => refuse(second.span().start, "code after the function", ARROW),
        None => Vec::new(),
    }
}

/// What a module exports, and what is wrong with it.
pub(crate) struct Module {
    pub(crate) exports: Vec<Exported>,
    pub(crate) findings: Vec<Finding>,
    /// What it lacks.
    pub(crate) missing: Option<Finding>,
}

/// Checks that a module has the three exports.
pub(crate) fn check_module(program: &Program<'_>, scoping: &Scoping) -> Module {
    let mut exports = Exports {
        scoping,
        found: Vec::new(),
        names: HashSet::new(),
        default: None,
        findings: Vec::new(),
    };
    for statement in &program.body {
        exports.add(statement);
    }
    exports.finish()
}

struct Exports<'s> {
    scoping: &'s Scoping,
    found: Vec<Exported>,
    names: HashSet<String>,
    default: Option<u32>,
    findings: Vec<Finding>,
}

impl Exports<'_> {
    fn add(&mut self, statement: &Statement<'_>) {
        if let Statement::ExportDeclaration(export) = statement {
            self.add_declaration(export);
        } else if let Statement::ExportNamedDeclaration(export) = statement {
            self.add_specifiers(export);
        } else if let Statement::ExportDefaultDeclaration(export) = statement {
            self.add_default(export);
        }
    }

    fn add_declaration(&mut self, export: &ExportDeclaration<'_>) {
        match &export.declaration {
            Declaration::FunctionDeclaration(function) => {
                let Some(name) = &function.id else { return };
                if function.generator && name.name == "execute" {
                    self.refuse(name.span.start, "`execute` is a generator", hint("execute"));
                }
                self.push(name.name.as_str(), name.span.start);
            }
            Declaration::ClassDeclaration(class) => {
                let Some(name) = &class.id else { return };
                if REQUIRED.contains(&name.name.as_str()) {
                    let message = format!("`{}` is a class", name.name);
                    self.refuse(name.span.start, message, hint(&name.name));
                }
                self.push(name.name.as_str(), name.span.start);
            }
            Declaration::VariableDeclaration(variables) => {
                let mut names = Names(Vec::new());
                for variable in &variables.declarations {
                    names.visit_binding_pattern(&variable.id);
                }
                for (name, offset) in names.0 {
                    self.push(&name, offset);
                }
            }
            Declaration::TSTypeAliasDeclaration(_)
            | Declaration::TSInterfaceDeclaration(_)
            | Declaration::TSEnumDeclaration(_)
            | Declaration::TSExternalModuleDeclaration(_)
            | Declaration::TSNamespaceDeclaration(_)
            | Declaration::TSGlobalDeclaration(_)
            | Declaration::TSImportEqualsDeclaration(_) => {}
        }
    }

    fn add_specifiers(&mut self, export: &ExportNamedDeclaration<'_>) {
        for specifier in &export.specifiers {
            let local = match &specifier.local {
                ModuleExportName::IdentifierName(name) => name.name,
                ModuleExportName::IdentifierReference(name) => name.name,
                ModuleExportName::StringLiteral(_) => continue,
            };
            if self.scoping.get_root_binding(local).is_none() {
                self.findings.push(Finding::new(
                    specifier.local.span().start,
                    SyntaxErrorKind::Export,
                    format!("`{local}` is exported and not declared"),
                    "declare it in this file; a type needs `export type`",
                ));
            }
            let exported = &specifier.exported;
            if exported.name() == "default" {
                self.default.get_or_insert(export.span.start);
            } else {
                self.push(exported.name().as_str(), exported.span().start);
            }
        }
    }

    fn add_default(&mut self, export: &ExportDefaultDeclaration<'_>) {
        self.default.get_or_insert(export.span.start);
    }

    fn push(&mut self, name: &str, offset: u32) {
        if !self.names.insert(name.to_owned()) {
            self.refuse(
                offset,
                format!("`{name}` is exported twice"),
                "keep one of them",
            );
            return;
        }
        self.found.push(Exported {
            name: name.to_owned(),
            offset: offset as usize,
        });
    }

    fn refuse(&mut self, offset: u32, message: impl Into<String>, hint: &str) {
        self.findings
            .push(Finding::new(offset, SyntaxErrorKind::Export, message, hint));
    }

    fn finish(mut self) -> Module {
        let missing: Vec<&str> = REQUIRED
            .into_iter()
            .filter(|name| self.found.iter().all(|export| export.name != *name))
            .collect();
        let mut finding = None;
        if let Some(first) = missing.first() {
            if let Some(offset) = self.default {
                let message = format!("`export default` in place of an export named `{first}`");
                self.refuse(offset, message, hint(first));
            } else {
                let names = missing.join("`, `");
                let message = format!("no export is named `{names}`");
                let kind = SyntaxErrorKind::Export;
                finding = Some(Finding::new(0, kind, message, hint(first)));
            }
        }
        Module {
            exports: self.found,
            findings: self.findings,
            missing: finding,
        }
    }
}

/// The names that a pattern binds.
struct Names(Vec<(String, u32)>);

impl<'a> Visit<'a> for Names {
    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.0.push((it.name.as_str().to_owned(), it.span.start));
    }

    fn visit_expression(&mut self, _: &Expression<'a>) {
        // A default value binds nothing out here.
    }
}

fn hint(name: &str) -> &'static str {
    match name {
        "description" => "write `export const description = \"what the tool does\"`",
        "parameters" => "write `export const parameters = { type: \"object\", properties: { … } }`",
        _ => "write `export async function execute(args, context, options) { … }`",
    }
}

const ARROW: &str =
    "write the whole file as one expression: `async (args, context, options) => { … }`";
