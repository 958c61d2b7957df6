//! What a guest's source may not contain, whatever its form.

use oxc_ast::ast::{
    AccessorProperty, BinaryExpression, BinaryOperator, Class, Decorator, ExportAllDeclaration,
    ExportFromDeclaration, FormalParameter, IdentifierReference, ImportDeclaration,
    ImportExpression, ImportMeta, ImportOrExportKind, Program, TSEnumDeclaration,
    TSExportAssignment, TSExternalModuleDeclaration, TSGlobalDeclaration,
    TSImportEqualsDeclaration, TSImportType, TSNamespaceDeclaration, TSNamespaceExportDeclaration,
    TSTypeAssertion, VariableDeclaration, VariableDeclarationKind,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Scoping;
use oxc_span::GetSpan as _;

use crate::erase::is_type_only;
use crate::error::SyntaxErrorKind;
use crate::parse::Finding;
use crate::trivia::Trivia;

/// Returns everything in a tree that no guest may contain.
pub(crate) fn find(program: &Program<'_>, scoping: &Scoping) -> Vec<Finding> {
    let mut rules = Rules {
        scoping,
        trivia: Trivia::new(program),
        ambient: 0,
        findings: Vec::new(),
    };
    rules.visit_program(program);
    rules.findings
}

struct Rules<'s> {
    scoping: &'s Scoping,
    trivia: Trivia<'s>,
    /// How many `declare` blocks are open, whose content is only types.
    ambient: usize,
    findings: Vec<Finding>,
}

impl Rules<'_> {
    fn import(&mut self, offset: u32, message: &str, hint: &str) {
        self.findings
            .push(Finding::new(offset, SyntaxErrorKind::Import, message, hint));
    }

    fn unsupported(&mut self, offset: u32, message: &str, hint: &str) {
        let kind = SyntaxErrorKind::Unsupported;
        self.findings
            .push(Finding::new(offset, kind, message, hint));
    }

    fn in_ambient(&mut self, walk: impl FnOnce(&mut Self)) {
        self.ambient += 1;
        walk(self);
        self.ambient -= 1;
    }
}

impl<'a> Visit<'a> for Rules<'_> {
    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        match it.import_kind {
            ImportOrExportKind::Value => self.import(it.span.start, "a static import", NO_MODULES),
            ImportOrExportKind::Type => {
                self.import(it.span.start, "an import of types", DECLARE_HERE);
            }
        }
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        self.import(it.span.start, "an export from another module", NO_MODULES);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        self.import(it.span.start, "an export from another module", NO_MODULES);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.import(it.span.start, "a dynamic `import()`", NO_MODULES);
        walk::walk_import_expression(self, it);
    }

    fn visit_import_meta(&mut self, it: &ImportMeta) {
        self.import(
            it.span.start,
            "`import.meta`",
            "a tool has no address; leave it out",
        );
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if it.name.as_str() != "require" {
            return;
        }
        let reference = it
            .reference_id
            .get()
            .map(|id| self.scoping.get_reference(id));
        // Without a reference the name was not bound, and nothing declares it.
        if reference.is_none_or(|found| found.symbol_id().is_none() && found.is_value()) {
            self.import(
                it.span.start,
                "`require`, which no declaration binds",
                NO_MODULES,
            );
        }
    }

    fn visit_ts_import_type(&mut self, it: &TSImportType<'a>) {
        self.import(it.span.start, "a type of another module", DECLARE_HERE);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.import(
            it.span.start,
            "`import … =`",
            "write `const name = …` for what this file declares; a tool imports nothing",
        );
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.unsupported(
            it.span.start,
            "`export =`",
            "export by name: `export const name = …`",
        );
    }

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.unsupported(it.span.start, "`export as namespace`", "leave it out");
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.unsupported(
            it.span.start,
            "a decorator",
            "call the function on the class instead",
        );
        walk::walk_decorator(self, it);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        let word = match it.kind {
            VariableDeclarationKind::Var
            | VariableDeclarationKind::Let
            | VariableDeclarationKind::Const => None,
            VariableDeclarationKind::Using => Some("a `using` declaration"),
            VariableDeclarationKind::AwaitUsing => Some("an `await using` declaration"),
        };
        if let Some(message) = word {
            self.unsupported(
                it.span.start,
                message,
                "write `const`, and clean up in `finally`",
            );
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        // The engine reads an arrow function as a script, where this begins a comment.
        if it.operator == BinaryOperator::LessThan {
            let operator = self.trivia.skip(it.left.span().end as usize);
            if self.trivia.text()[operator..].starts_with("<!--") {
                let offset = u32::try_from(operator).unwrap_or(it.span.start);
                self.unsupported(offset, "`<!--`", "put a space after `<`");
            }
        }
        walk::walk_binary_expression(self, it);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.unsupported(
            it.span.start,
            "an `accessor` field",
            "write a getter and a setter",
        );
        walk::walk_accessor_property(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.declare {
            self.in_ambient(|rules| walk::walk_class(rules, it));
        } else {
            walk::walk_class(self, it);
        }
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        let is_property = it.accessibility.is_some() || it.readonly || it.r#override;
        if is_property && self.ambient == 0 {
            self.unsupported(
                it.span.start,
                "a parameter property",
                "declare the field in the class and assign it in the constructor",
            );
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.unsupported(
            it.span.start,
            "a type assertion in `<…>`",
            "write `value as Type`",
        );
        walk::walk_ts_type_assertion(self, it);
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        if self.ambient == 0 && (!it.declare || it.r#const) {
            self.unsupported(
                it.span.start,
                if it.r#const {
                    "a `const enum`"
                } else {
                    "an `enum`"
                },
                "write `const Name = { A: 0, B: 1 } as const`, and a type for its values if needed",
            );
        }
        walk::walk_ts_enum_declaration(self, it);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        if it.declare {
            self.in_ambient(|rules| walk::walk_ts_namespace_declaration(rules, it));
            return;
        }
        if self.ambient == 0 && !is_type_only(it) {
            self.unsupported(
                it.span.start,
                "a namespace with values",
                "write the declarations at the top of the file, or as an object",
            );
        }
        walk::walk_ts_namespace_declaration(self, it);
    }

    fn visit_ts_external_module_declaration(&mut self, it: &TSExternalModuleDeclaration<'a>) {
        self.in_ambient(|rules| walk::walk_ts_external_module_declaration(rules, it));
    }

    fn visit_ts_global_declaration(&mut self, it: &TSGlobalDeclaration<'a>) {
        self.in_ambient(|rules| walk::walk_ts_global_declaration(rules, it));
    }
}

const NO_MODULES: &str =
    "a tool is one file: put the code into it, and use `context` for what the host provides";
const DECLARE_HERE: &str = "a tool is one file: declare the type in it";
