//! The shape of a program without its types, by which two programs are compared.
//!
//! Blanking types must not change what a program does, and a blank in the wrong place can: it may
//! join two statements into a call, or part one in two. So the tree of the TypeScript source,
//! types left out, is compared with the tree of the JavaScript that came of it: the kind of every
//! node in order, how deep it stands, and where its names and literals are.

use oxc_ast::ast::{
    ArrowFunctionExpression, BinaryExpression, Class, Function, LogicalExpression,
    MethodDefinition, Program, PropertyDefinition,
};
use oxc_ast::{AstKind, AstType};
use oxc_ast_visit::Visit;
use oxc_span::GetSpan as _;

/// The nodes of a program in order.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    nodes: Vec<Node>,
    depth: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Node {
    kind: u8,
    depth: u32,
    /// What the kind alone does not say: the operator, or whether a function is async.
    variant: u8,
    /// Where a name or a literal begins; the start of other nodes may be a type's.
    start: Option<u32>,
}

impl Outline {
    /// Returns the outline of a program that has no types.
    pub(crate) fn of(program: &Program<'_>) -> Self {
        struct Plain(Outline);
        impl<'a> Visit<'a> for Plain {
            fn enter_node(&mut self, kind: AstKind<'a>) {
                self.0.enter(&kind);
            }
            fn leave_node(&mut self, kind: AstKind<'a>) {
                self.0.leave(&kind);
            }
        }
        let mut plain = Plain(Self::default());
        plain.visit_program(program);
        plain.0
    }

    /// Returns whether anything but the program itself was entered so far.
    pub(crate) fn has_code(&self) -> bool {
        self.nodes.len() > 1
    }

    pub(crate) fn enter(&mut self, kind: &AstKind<'_>) {
        if !is_recorded(kind.ty()) {
            return;
        }
        self.nodes.push(Node {
            kind: kind.ty() as u8,
            depth: self.depth,
            variant: variant(kind),
            start: is_leaf(kind.ty()).then(|| kind.span().start),
        });
        self.depth += 1;
    }

    pub(crate) fn leave(&mut self, kind: &AstKind<'_>) {
        if is_recorded(kind.ty()) {
            self.depth -= 1;
        }
    }

    /// Returns where this program, as source, first differs from what came of it, if it does.
    ///
    /// `moved` tells where a byte of this program's text is in the other's.
    pub(crate) fn differs_at(&self, other: &Self, moved: impl Fn(u32) -> u32) -> Option<usize> {
        let same = |(ours, theirs): (&Node, &Node)| {
            let ours = Node {
                start: ours.start.map(&moved),
                ..*ours
            };
            ours == *theirs
        };
        let length = self.nodes.len().max(other.nodes.len());
        let equal = self
            .nodes
            .iter()
            .zip(&other.nodes)
            .take_while(|pair| same(*pair));
        let equal = equal.count();
        if equal == length {
            return None;
        }
        let from = equal.min(self.nodes.len());
        let near = self.nodes[from..]
            .iter()
            .chain(self.nodes[..from].iter().rev())
            .find_map(|node| node.start);
        Some(near.unwrap_or_default() as usize)
    }
}

/// Returns what distinguishes nodes of one kind whose text may have changed around them.
fn variant(kind: &AstKind<'_>) -> u8 {
    if let AstKind::BinaryExpression(BinaryExpression { operator, .. }) = kind {
        *operator as u8
    } else if let AstKind::LogicalExpression(LogicalExpression { operator, .. }) = kind {
        *operator as u8
    } else if let AstKind::MethodDefinition(MethodDefinition { kind, r#static, .. }) = kind {
        *kind as u8 * 2 + u8::from(*r#static)
    } else if let AstKind::PropertyDefinition(PropertyDefinition { r#static, .. }) = kind {
        u8::from(*r#static)
    } else if let AstKind::Function(Function {
        r#async, generator, ..
    }) = kind
    {
        u8::from(*r#async) * 2 + u8::from(*generator)
    } else if let AstKind::ArrowFunctionExpression(ArrowFunctionExpression { r#async, .. }) = kind {
        u8::from(*r#async)
    } else if let AstKind::Class(Class { heritage, .. }) = kind {
        u8::from(heritage.is_some())
    } else {
        0
    }
}

fn is_leaf(kind: AstType) -> bool {
    matches!(
        kind,
        AstType::IdentifierName
            | AstType::IdentifierReference
            | AstType::BindingIdentifier
            | AstType::LabelIdentifier
            | AstType::PrivateIdentifier
            | AstType::ThisExpression
            | AstType::Super
            | AstType::TemplateElement
            | AstType::BooleanLiteral
            | AstType::NullLiteral
            | AstType::NumericLiteral
            | AstType::StringLiteral
            | AstType::BigIntLiteral
            | AstType::RegExpLiteral
    )
}

fn is_recorded(kind: AstType) -> bool {
    // Nodes of TypeScript stand in one block, from the first of them to the end.
    let is_typescript = kind as u8 >= AstType::TSThisParameter as u8;
    // A semicolon may stand for an erased statement, and `a?.b!` is one chain or two.
    !is_typescript && !matches!(kind, AstType::EmptyStatement | AstType::ChainExpression)
}

#[cfg(test)]
mod tests {
    use oxc_allocator::Allocator;

    use super::*;
    use crate::language::Language;
    use crate::parse::parse;

    fn outline(text: &str) -> Outline {
        let allocator = Allocator::default();
        let parsed = parse(&allocator, text, Language::JavaScript);
        assert_eq!(parsed.findings, []);
        Outline::of(&parsed.program)
    }

    #[test]
    fn programs_that_read_in_another_way_differ() {
        for (one, other, at) in [
            ("a;\n(b)", "a \n(b)", 0),
            ("a;\n[b]", "a \n[b]", 0),
            ("let a = b;\n/c/d", "let a = b \n/c/d", 8),
            ("if (a); b", "if (a)  b", 8),
            ("class A { get;\nb() {} }", "class A { get \nb() {} }", 10),
            ("class A { static;b = 1 }", "class A { static b = 1 }", 10),
            ("async () => 1", "      () => 1", 12),
            ("a + b", "a - b", 0),
            ("f(a, b)", "f(a   )", 5),
        ] {
            let (one_outline, other_outline) = (outline(one), outline(other));
            let differs = one_outline.differs_at(&other_outline, |offset| offset);
            assert_eq!(differs, Some(at), "{one}");
            assert_eq!(one_outline.differs_at(&one_outline, |offset| offset), None);
        }
    }

    #[test]
    fn a_semicolon_that_keeps_statements_apart_is_no_difference() {
        let differs =
            outline("a \n       ;\n(b)").differs_at(&outline("a;\n        \n(b)"), |at| at);
        assert_eq!(differs, None);
    }
}
