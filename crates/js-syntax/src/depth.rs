//! How deep a source nests, measured without recursion.
//!
//! The parser descends by recursion and so do all walks over its tree, and a stack that overflows
//! ends the process. So the depth of what may be parsed is bounded beforehand, by counting tokens.
//!
//! Every level of a syntax tree needs a token of its own that is neither a name nor a literal: a
//! bracket, an operator, a keyword. What is counted is such tokens that may still be open: those
//! since the last token that surely ends a statement (or, inside brackets, an element), summed
//! over the brackets around. The count is never below the depth of the tree; where the text alone
//! does not tell (is this `/` a division?), everything that follows counts as open.

use crate::scan::{Scanner, Token, TokenKind};

/// A source that nests deeper, or costs more to parse, than is allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooDeep {
    /// The byte at which the bound was passed.
    pub(crate) offset: usize,
    /// The `/` after which nothing could be told any more, when that is the cause.
    pub(crate) lost_at: Option<usize>,
}

/// Checks that a text nests at most [`MAX_DEPTH`] deep.
pub(crate) fn check(text: &str) -> Result<(), TooDeep> {
    measure(text, MAX_DEPTH, MAX_WORK).map(drop)
}

/// Returns the greatest count of tokens that may be open at once.
pub(crate) fn measure(text: &str, max_depth: usize, max_work: usize) -> Result<usize, TooDeep> {
    let mut scanner = Scanner::new(text);
    let mut meter = Meter::default();
    let mut deepest = 0;
    let mut work = 0;
    while let Some(token) = scanner.next_token() {
        meter.add(&token);
        let depth = meter.depth() + token.inner;
        deepest = deepest.max(depth);
        work += depth;
        if depth > max_depth || work > max_work {
            return Err(TooDeep {
                offset: token.start,
                lost_at: scanner.lost_at(),
            });
        }
    }
    Ok(deepest)
}

/// The brackets that are open, each with what is open inside it.
#[derive(Default)]
struct Meter {
    frames: Vec<Frame>,
    top: Frame,
    previous_is_semicolon: bool,
}

/// What may be open inside one bracket.
#[derive(Default)]
struct Frame {
    /// What is open outside of it.
    outer: usize,
    /// Whether it is `{`, or the whole text: the only places where statements stand.
    is_statements: bool,
    /// Tokens before an `else` or another word that goes on with a statement.
    locked: usize,
    /// The most tokens between two commas.
    widest: usize,
    /// Tokens since the last comma.
    tokens: usize,
    /// `<` without its `>`.
    angles: usize,
    /// What was open before the last semicolon.
    before_semicolon: usize,
}

impl Frame {
    fn open(&self) -> usize {
        self.locked + self.widest + self.tokens + self.angles
    }

    fn depth(&self) -> usize {
        self.outer + self.open()
    }

    fn lock(&mut self) {
        self.locked += self.widest + self.tokens;
        self.widest = 0;
        self.tokens = 0;
    }

    fn end_statement(&mut self) {
        self.before_semicolon = self.open();
        self.locked = 0;
        self.widest = 0;
        self.tokens = 0;
        self.angles = 0;
    }

    /// A comma ends an element. Between braces it may also stand inside a statement, whose first
    /// tokens stay open: they are at most those before the first comma.
    fn end_element(&mut self) {
        if self.is_statements {
            self.widest = self.widest.max(self.tokens);
        } else {
            self.locked = 0;
            self.widest = 0;
        }
        self.tokens = 0;
    }
}

impl Meter {
    fn depth(&self) -> usize {
        self.top.depth()
    }

    fn add(&mut self, token: &Token) {
        // The outermost frame holds statements.
        if self.frames.is_empty() {
            self.top.is_statements = true;
        }
        if token.ends_statement_before && self.top.is_statements {
            self.top.end_statement();
        }
        match token.kind {
            TokenKind::Open { is_brace } => {
                self.top.tokens += 1;
                let inner = Frame {
                    outer: self.depth(),
                    is_statements: is_brace,
                    ..Frame::default()
                };
                self.frames.push(std::mem::replace(&mut self.top, inner));
            }
            TokenKind::Close => {
                if let Some(outer) = self.frames.pop() {
                    self.top = outer;
                }
            }
            TokenKind::Comma => self.top.end_element(),
            TokenKind::Semicolon => self.top.end_statement(),
            TokenKind::Less => {
                self.top.tokens += 1;
                self.top.angles += 1;
            }
            TokenKind::Greater => {
                self.top.tokens += 1;
                self.top.angles = self.top.angles.saturating_sub(1);
            }
            TokenKind::Continuer => {
                if self.previous_is_semicolon {
                    self.top.locked = self.top.before_semicolon;
                }
                self.top.lock();
                self.top.tokens += 1;
            }
            TokenKind::Counted(count) => self.top.tokens += count,
            TokenKind::Operand => {}
        }
        self.previous_is_semicolon = matches!(token.kind, TokenKind::Semicolon);
    }
}

/// The most tokens that may be open at once. Real sources stay below 300; the parser's stack
/// (`STACK_BYTES` of the `parse` module) has room for ten times as many.
pub(crate) const MAX_DEPTH: usize = 1024;

/// The most that depths may sum up to, over all tokens. Parsing takes time in proportion to the
/// square of a nesting's depth in places (where an arrow function may or may not begin), so a
/// large file of many deep nestings is refused although each of them is allowed.
pub(crate) const MAX_WORK: usize = 32_000_000;

#[cfg(test)]
mod tests {
    use oxc_allocator::Allocator;
    use oxc_ast::AstKind;
    use oxc_ast_visit::Visit;
    use proptest::prelude::*;

    use super::*;
    use crate::language::Language;
    use crate::parse::{on_large_stack, parse};

    /// Measures the tree itself.
    #[derive(Default)]
    struct Tree {
        depth: usize,
        deepest: usize,
    }

    impl<'a> Visit<'a> for Tree {
        fn enter_node(&mut self, _: AstKind<'a>) {
            self.depth += 1;
            self.deepest = self.deepest.max(self.depth);
        }

        fn leave_node(&mut self, _: AstKind<'a>) {
            self.depth -= 1;
        }
    }

    fn tree_depth(text: &str, language: Language) -> usize {
        let deepest = || {
            let allocator = Allocator::default();
            let mut tree = Tree::default();
            tree.visit_program(&parse(&allocator, text, language).program);
            tree.deepest
        };
        on_large_stack(deepest).unwrap()
    }

    /// What opens a level, and what closes it.
    const LEVELS: &[(&str, &str)] = &[
        ("(", ")"),
        ("[", "]"),
        ("x = {a: ", "}"),
        ("{ ", "}"),
        ("`${", "}`"),
        ("!", ""),
        ("- ", ""),
        ("await ", ""),
        ("a + ", ""),
        ("a = ", ""),
        ("a ? b : ", ""),
        ("a => ", ""),
        ("a => {", "}"),
        ("function f() {", "}"),
        ("class A { b() {", "}}"),
        ("class A { b = ", "}"),
        ("if (a) ", ""),
        ("if (a) b; else ", ""),
        ("if (a) b\nelse ", ""),
        ("if (a) {} else ", ""),
        ("if (a) b, c; else ", ""),
        ("for (;;) ", ""),
        ("do ", "\nwhile (a)"),
        ("a: ", ""),
        ("switch (a) { case b: ", "}"),
        ("let a: [", "]"),
        ("type A = B<", ">"),
        ("type A = B<c, ", ">"),
        ("B<c, d extends e, ", ">"),
        ("keyof ", ""),
        ("a as ", ""),
        ("f<(a: ", ") => b>(c)"),
        ("x /'/, ", ""),
        ("if (a) /'/, ", ""),
        ("x++ / ", ""),
        ("a.if(b) / ", ""),
    ];

    /// What may stand between two levels.
    const BETWEEN: &[&str] = &[
        "",
        " ",
        "\n",
        ";",
        ",",
        "a;",
        "a,",
        "a\n",
        "a\n;",
        "var a\n",
        "b\nfoo()\n",
        "{}\n",
        "/*'*/",
        "//`\n",
        "'(';",
        "/[/(]/;",
        "`}`;",
        "x = {}\n",
        "return ",
        "const a = b\n",
        "a.",
        "else ",
        "while (a) ",
        "as b;",
        "<",
        ">",
        "!",
        "?",
        "\u{2028}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn a_tree_is_never_deeper_than_its_text_says(
            levels in prop::collection::vec(
                (prop::sample::select(LEVELS), prop::sample::select(BETWEEN)),
                1..12,
            ),
            times in 1_usize..12,
            typed in any::<bool>(),
        ) {
            let mut text = String::new();
            for _ in 0..times {
                for ((open, _), between) in &levels {
                    text.push_str(open);
                    text.push_str(between);
                }
            }
            text.push('a');
            for _ in 0..times {
                for ((_, close), _) in levels.iter().rev() {
                    text.push_str(close);
                }
            }
            let language = if typed { Language::TypeScript } else { Language::JavaScript };
            let tree = tree_depth(&text, language);
            // No token stands for more than a few nodes, one below the other.
            prop_assert!(tree <= 5 * depth(&text) + 8, "{tree} of {}: {text}", depth(&text));
        }
    }

    fn depth(text: &str) -> usize {
        measure(text, usize::MAX, usize::MAX).unwrap()
    }

    #[test]
    fn siblings_do_not_add_up() {
        let lines = "const a = b(c, [1, 2]);\n".repeat(500);
        assert!(depth(&lines) < 10, "{}", depth(&lines));
        let without_semicolons = "const a = b(c, [1, 2])\nfoo.bar()\nfunction f() {}\n".repeat(500);
        assert!(depth(&without_semicolons) < 12);
        let table = format!("x = {{{}}}", "a: [1, 2], ".repeat(500));
        assert!(depth(&table) < 10);
        let class = format!("class A {{{}}}", "a(b) { return 1 }\n".repeat(500));
        assert!(depth(&class) < 15);
    }

    #[test]
    fn each_kind_of_nesting_adds_up() {
        for (before, after) in [
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("`${", "}`"),
            ("!", ""),
            ("a + ", ""),
            ("a = ", ""),
            ("a ? b : ", ""),
            ("a => ", ""),
            ("await ", ""),
            ("new ", ""),
            ("if (1) ", ""),
            ("if (1); else ", ""),
            ("if (1) {} else ", ""),
            ("if (1) b, c; else ", ""),
            ("if (1) b, c\nelse ", ""),
            ("do ", "; while (1)"),
            ("a: ", ""),
            ("A<", ">"),
            ("A<b, ", ">"),
            ("keyof\n", ""),
            ("await\u{a0}", ""),
            ("await\u{24b6}", ""),
            ("if (1) b, function() {", "}"),
            ("if (1)\nreturn function() {", "}"),
            ("do x; while (function() {", "})"),
            ("<a>", ""),
        ] {
            let text = format!("{}x{}", before.repeat(500), after.repeat(500));
            assert!(depth(&text) >= 500, "{before}: {}", depth(&text));
        }
    }

    #[test]
    fn postfix_chains_add_up_too_because_their_tree_leans_left() {
        for link in [".a", "()", "[0]", "?.a", "``", "!", " as A", " + 1"] {
            assert!(depth(&format!("x{}", link.repeat(500))) >= 500, "{link}");
        }
    }

    #[test]
    fn what_is_no_code_does_not_count() {
        for text in [
            format!("'{}'", "(".repeat(500)),
            format!("/* {} */", "(".repeat(500)),
            format!("// {}", "(".repeat(500)),
            format!("`{}`", "(".repeat(500)),
            format!("x = /[{}]/", "/((".repeat(300)),
        ] {
            assert!(depth(&text) < 400, "{}", &text[..20]);
        }
    }

    #[test]
    fn where_the_text_does_not_tell_everything_counts() {
        for start in [
            "x\n/ '",
            "} / '",
            "for await (1) / '",
            "<!-- '",
            "'\n",
            ")",
            "`${}",
            "/*",
        ] {
            let text = format!("{start}{}", "(1);".repeat(300));
            assert!(depth(&text) >= 900, "{start}: {}", depth(&text));
        }
    }

    #[test]
    fn a_bound_is_reported_where_it_is_passed() {
        let error = measure("((((((", 3, 100).unwrap_err();
        assert_eq!(error.offset, 3);
        assert_eq!(error.lost_at, None);
        assert_eq!(measure("a\n/ b ((((", 3, 100).unwrap_err().lost_at, Some(2));
        assert!(
            measure("(((", 100, 5).is_err(),
            "the sum is bounded as well"
        );
    }
}
