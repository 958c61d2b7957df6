//! Takes the types out of a TypeScript program.
//!
//! Each type becomes blanks. Where blanks alone would change how the rest reads, one character is
//! written into them: a semicolon that keeps two statements apart, or a bracket of an arrow
//! function that must stand on the line of its `=>`.

use oxc_ast::AstKind;
use oxc_ast::ast::{
    ArrowFunctionExpression, Class, ClassBody, ClassElement, Declaration,
    ExportDefaultDeclarationKind, ExportNamedDeclaration, FormalParameter, Function,
    ImportOrExportKind, MethodDefinitionType, Program, PropertyDefinition, PropertyDefinitionType,
    Statement, TSAsExpression, TSClassImplements, TSNamespaceDeclaration,
    TSNamespaceDeclarationBody, TSNonNullExpression, TSSatisfiesExpression, TSThisParameter,
    TSType, TSTypeAnnotation, TSTypeParameterDeclaration, TSTypeParameterInstantiation,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan as _, Span};
use oxc_syntax::scope::ScopeFlags;

use crate::blank::Blanks;
use crate::outline::Outline;
use crate::scan::is_line_terminator;
use crate::trivia::Trivia;

/// Returns the JavaScript of a TypeScript program, and the outline that its tree must have.
pub(crate) fn erase(program: &Program<'_>) -> (String, Outline) {
    let mut eraser = Eraser {
        trivia: Trivia::new(program),
        blanks: Blanks::new(program.source_text),
        outline: Outline::default(),
    };
    eraser.visit_program(program);
    (eraser.blanks.apply(), eraser.outline)
}

/// Returns whether a namespace declares nothing that exists when the program runs.
pub(crate) fn is_type_only(namespace: &TSNamespaceDeclaration<'_>) -> bool {
    match &namespace.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => is_type_only(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            block.directives.is_empty() && block.body.iter().all(is_erased)
        }
    }
}

/// Returns whether nothing of a statement remains.
fn is_erased(statement: &Statement<'_>) -> bool {
    if let Some(declaration) = statement.as_declaration() {
        return is_erased_declaration(declaration);
    }
    if let Statement::ExportDeclaration(export) = statement {
        is_erased_declaration(&export.declaration)
    } else if let Statement::ExportNamedDeclaration(export) = statement {
        export.export_kind == ImportOrExportKind::Type
    } else if let Statement::ExportDefaultDeclaration(export) = statement {
        let declaration = &export.declaration;
        if let ExportDefaultDeclarationKind::FunctionDeclaration(function) = declaration {
            function.body.is_none()
        } else {
            matches!(
                declaration,
                ExportDefaultDeclarationKind::TSInterfaceDeclaration(_)
            )
        }
    } else {
        false
    }
}

fn is_erased_declaration(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::VariableDeclaration(variables) => variables.declare,
        Declaration::FunctionDeclaration(function) => function.declare || function.body.is_none(),
        Declaration::ClassDeclaration(class) => class.declare,
        Declaration::TSEnumDeclaration(item) => item.declare,
        Declaration::TSNamespaceDeclaration(item) => item.declare || is_type_only(item),
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::TSImportEqualsDeclaration(_) => false,
    }
}

fn is_erased_element(element: &ClassElement<'_>) -> bool {
    match element {
        ClassElement::MethodDefinition(method) => {
            method.value.body.is_none()
                || method.r#type == MethodDefinitionType::TSAbstractMethodDefinition
        }
        ClassElement::PropertyDefinition(property) => {
            property.declare
                || property.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
        }
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::StaticBlock(_) | ClassElement::AccessorProperty(_) => false,
    }
}

struct Eraser<'s> {
    trivia: Trivia<'s>,
    blanks: Blanks<'s>,
    outline: Outline,
}

impl Eraser<'_> {
    fn erase(&mut self, span: Span) {
        self.blanks.erase(span.start as usize..span.end as usize);
    }

    /// Erases a statement or a member of a class, and keeps what stands around it apart.
    fn erase_whole(&mut self, span: Span, in_class: bool) {
        self.erase(span);
        if self.outline.has_code() && self.continues_at(span.end, in_class) {
            self.blanks.write(span.start as usize, ';');
        }
    }

    /// Ends a statement or a field that had no semicolon and whose last part was erased.
    fn keep_end(&mut self, end: u32, in_class: bool) {
        if let Some(start) = self.blanks.start_of_part_before(end as usize)
            && self.continues_at(end, in_class)
        {
            self.blanks.write(start, ';');
        }
    }

    /// Returns whether what follows would be read as going on with what stands before it.
    fn continues_at(&self, end: u32, in_class: bool) -> bool {
        let next = self.trivia.skip(end as usize);
        let rest = &self.trivia.text()[next..];
        rest.starts_with(['(', '[', '`', '+', '-', '/', '<'])
            || in_class && (rest.starts_with('*') || self.is_operator_at(next))
    }

    /// Returns whether a word stands here that is an operator when a value stands before it.
    fn is_operator_at(&self, at: usize) -> bool {
        matches!(self.trivia.word_at(at), Some("in" | "instanceof"))
    }

    /// Erases each of `words` between two offsets; returns where the first one was.
    fn erase_words(&mut self, from: u32, to: u32, words: &[&str]) -> Option<usize> {
        let mut at = from as usize;
        let mut first = None;
        loop {
            at = self.trivia.skip(at);
            if at >= to as usize {
                return first;
            }
            match self.trivia.word_at(at) {
                Some(word) => {
                    if words.contains(&word) {
                        self.blanks.erase(at..at + word.len());
                        first.get_or_insert(at);
                    }
                    at += word.len();
                }
                None => at += self.trivia.width_at(at),
            }
        }
    }

    /// Erases the first of a mark between two offsets, comments aside.
    fn erase_mark(&mut self, from: u32, to: usize, mark: char) {
        let mut at = from as usize;
        loop {
            at = self.trivia.skip(at);
            if at >= to {
                return;
            }
            if self.trivia.text()[at..].starts_with(mark) {
                self.blanks.erase(at..at + mark.len_utf8());
                return;
            }
            at += self.trivia.width_at(at);
        }
    }

    /// Returns whether a part of the text has a line end that the grammar sees.
    fn has_line_end(&self, from: u32, to: u32) -> bool {
        self.trivia.text()[from as usize..to as usize].contains(is_line_terminator)
    }

    fn class_element(&mut self, element: &ClassElement<'_>) {
        if is_erased_element(element) {
            self.erase_whole(element.span(), true);
            return;
        }
        if let ClassElement::MethodDefinition(method) = element {
            self.erase_modifiers(method.span.start, method.key.span());
            if method.optional {
                let to = method.value.span.start as usize;
                self.erase_mark(method.key.span().end, to, '?');
            }
        } else if let ClassElement::PropertyDefinition(property) = element {
            self.erase_modifiers(property.span.start, property.key.span());
        }
    }

    fn erase_modifiers(&mut self, start: u32, key: Span) {
        let Some(first) = self.erase_words(start, key.start, MODIFIERS) else {
            return;
        };
        // Without its modifier a member such as `[x]` or `*x` may go on with the field before it.
        let mut next = first;
        while let Some(word) = self.trivia.word_at(next)
            && MODIFIERS.contains(&word)
            && next < key.start as usize
        {
            next = self.trivia.skip(next + word.len());
        }
        let rest = &self.trivia.text()[next..];
        if rest.starts_with(['[', '*']) || self.is_operator_at(next) {
            self.blanks.write(first, ';');
        }
    }
}

impl<'a> Visit<'a> for Eraser<'_> {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        self.outline.enter(&kind);
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        self.outline.leave(&kind);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if is_erased(it) {
            self.erase_whole(it.span(), false);
        } else {
            walk::walk_statement(self, it);
            self.keep_end(it.span().end, false);
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        let mut specifiers = it.specifiers.iter().peekable();
        while let Some(specifier) = specifiers.next() {
            if specifier.export_kind == ImportOrExportKind::Type {
                self.erase(specifier.span);
                let to = specifiers
                    .peek()
                    .map_or(it.span.end, |next| next.span.start);
                self.erase_mark(specifier.span.end, to as usize, ',');
            }
        }
        self.enter_node(AstKind::ExportNamedDeclaration(self.alloc(it)));
        for specifier in &it.specifiers {
            if specifier.export_kind == ImportOrExportKind::Value {
                self.visit_export_specifier(specifier);
            }
        }
        self.leave_node(AstKind::ExportNamedDeclaration(self.alloc(it)));
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            self.erase_words(it.span.start, it.body.span.start, &["abstract"]);
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let before = it
                .heritage
                .as_ref()
                .map(|heritage| {
                    let arguments = heritage.type_arguments.as_ref();
                    arguments.map_or_else(|| heritage.expression.span().end, |list| list.span.end)
                })
                .or_else(|| it.type_parameters.as_ref().map(|list| list.span.end))
                .or_else(|| it.id.as_ref().map(|name| name.span.end))
                .unwrap_or(it.span.start);
            self.erase_words(before, first.span.start, &["implements"]);
            self.erase(Span::new(first.span.start, last.span.end));
        }
        walk::walk_class(self, it);
    }

    fn visit_class_body(&mut self, it: &ClassBody<'a>) {
        self.enter_node(AstKind::ClassBody(self.alloc(it)));
        for element in &it.body {
            self.class_element(element);
            if !is_erased_element(element) {
                self.visit_class_element(element);
            }
        }
        self.leave_node(AstKind::ClassBody(self.alloc(it)));
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let end = it
            .type_annotation
            .as_ref()
            .map(|annotation| annotation.span.start)
            .or_else(|| it.value.as_ref().map(|value| value.span().start))
            .unwrap_or(it.span.end) as usize;
        if it.optional {
            self.erase_mark(it.key.span().end, end, '?');
        }
        if it.definite {
            self.erase_mark(it.key.span().end, end, '!');
        }
        walk::walk_property_definition(self, it);
        self.keep_end(it.span.end, true);
        if it.value.is_none()
            && it
                .key
                .static_name()
                .is_some_and(|name| PREFIXES.contains(&&*name))
            && let Some(start) = self.blanks.start_of_part_before(it.span.end as usize)
        {
            // `get: T⏎f() {}` must not become a getter.
            self.blanks.write(start, ';');
        }
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if let Some(this) = &it.this_param {
            // The comma goes with it, and there may be one although nothing follows.
            let first = it.params.items.first().map(|item| item.span.start);
            let rest = it.params.rest.as_ref().map(|rest| rest.span.start);
            let to = first.or(rest).unwrap_or(it.params.span.end) as usize;
            self.erase(this.span);
            self.erase_mark(this.span.end, to, ',');
        }
        walk::walk_function(self, it, flags);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        let params = it.params.span;
        if let Some(types) = &it.type_parameters
            && self.has_line_end(types.span.start, params.start)
        {
            // `return <T⏎>(x) => …` must not become `return ⏎ (x) => …`.
            self.blanks
                .erase(params.start as usize..params.start as usize + 1);
            self.blanks.write(types.span.start as usize, '(');
        }
        if let Some(result) = &it.return_type
            && self.has_line_end(params.end, result.span.end)
        {
            // `(x): A⏎ => …` must not become `(x) ⏎ => …`.
            self.blanks
                .erase(params.end as usize - 1..params.end as usize);
            let last = self.trivia.text()[..result.span.end as usize]
                .char_indices()
                .next_back();
            if let Some((offset, _)) = last {
                self.blanks.write(offset, ')');
            }
        }
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.optional {
            let end = it
                .type_annotation
                .as_ref()
                .map_or(it.span.end, |annotation| annotation.span.start);
            self.erase_mark(it.pattern.span().end, end as usize, '?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            let end = it
                .type_annotation
                .as_ref()
                .map_or(it.span.end, |annotation| annotation.span.start);
            self.erase_mark(it.id.span().end, end as usize, '!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase(Span::new(it.expression.span().end, it.span.end));
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase(Span::new(it.expression.span().end, it.span.end));
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase(Span::new(it.span.end - 1, it.span.end));
    }

    // Types themselves: erased, and not looked into.

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_this_parameter(&mut self, _: &TSThisParameter<'a>) {}

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
}

/// Names of fields that say something about the member after them when nothing stands between.
const PREFIXES: &[&str] = &["accessor", "async", "get", "set", "static"];

/// The words before a member of a class that say nothing when the program runs.
const MODIFIERS: &[&str] = &[
    "abstract",
    "declare",
    "override",
    "private",
    "protected",
    "public",
    "readonly",
];
