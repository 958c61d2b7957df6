//! Splits a source into the tokens that the measure of depth needs.
//!
//! It follows the grammar's rules for strings, comments, templates and regular expressions. The
//! one thing that they leave to the parser is whether `/` divides or begins a regular expression;
//! where the token before does not decide it, the scanner is *lost*: from there on it skips
//! nothing, and counts every mark and every word.

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Its first byte.
    pub(crate) start: usize,
    /// Whether the statement before it ended for sure, without a semicolon.
    pub(crate) ends_statement_before: bool,
    /// How deep a regular expression nests inside.
    pub(crate) inner: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TokenKind {
    /// `(`, `[`, `{` or `${`.
    Open {
        is_brace: bool,
    },
    Close,
    Comma,
    Semicolon,
    /// `<`, which may be a bracket of types.
    Less,
    /// `>`, alone or as the first of several marks.
    Greater,
    /// A word that goes on with the statement before it, such as `else`.
    Continuer,
    /// Marks and words that may open so many levels.
    Counted(usize),
    /// A name or a literal, which opens none.
    Operand,
}

/// What stands before a token.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Before {
    /// Something after which a value begins: an operator, an opening bracket, the start.
    Operator,
    /// A value.
    Operand,
    /// The `}` of a block, a class or an object.
    Brace,
    /// A word, or the `)` of `if (…)`, after which a value begins, on a new line too.
    ValueWord,
    /// Something after which either may follow.
    Either,
    /// `.`, `?.` or `#`, after which a word is a name.
    Dot,
}

/// An open bracket.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Bracket {
    /// After `await`, which may belong to a `for`.
    Await,
    Brace,
    /// After `if` and the like.
    Head,
    Round,
    Square,
    Template,
}

pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    before: Before,
    is_new_line: bool,
    /// What an opening round bracket is, by the word before it.
    round: Bracket,
    brackets: Vec<Bracket>,
    lost_at: Option<usize>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            before: Before::Operator,
            is_new_line: true,
            round: Bracket::Round,
            brackets: Vec::new(),
            lost_at: None,
        }
    }

    /// Returns where the scanner lost its way, if it did.
    pub(crate) fn lost_at(&self) -> Option<usize> {
        self.lost_at
    }

    pub(crate) fn next_token(&mut self) -> Option<Token> {
        if self.lost_at.is_some() {
            return self.next_when_lost();
        }
        self.skip_blanks();
        if self.lost_at.is_some() {
            return self.next_when_lost();
        }
        let start = self.at;
        let c = self.peek()?;
        let mut token = Token {
            kind: TokenKind::Operand,
            start,
            ends_statement_before: false,
            inner: 0,
        };
        match c {
            'a'..='z' | 'A'..='Z' | '_' | '$' => self.word(&mut token),
            '0'..='9' => token.kind = self.number(),
            '\'' | '"' => self.string(c),
            '`' => {
                self.at += 1;
                token.kind = TokenKind::Counted(1);
                self.template_text(&mut token);
            }
            '/' => self.slash(&mut token),
            c if !c.is_ascii() => self.word(&mut token),
            _ => self.mark(c, &mut token),
        }
        if self.lost_at.is_some() && self.at == start {
            return self.next_when_lost();
        }
        if !is_word(c) && c.is_ascii() {
            self.round = Bracket::Round;
        }
        self.is_new_line = false;
        Some(token)
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek() {
            let rest = &self.text[self.at..];
            if is_line_terminator(c) {
                self.is_new_line = true;
                self.at += c.len_utf8();
                // The parser passes over what git leaves behind in its own way.
                if CONFLICTS
                    .iter()
                    .any(|mark| self.text[self.at..].starts_with(mark))
                {
                    self.lose_way();
                    return;
                }
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else if rest.starts_with("//") {
                self.at += rest.find(is_line_terminator).unwrap_or(rest.len());
            } else if let Some(inside) = rest.strip_prefix("/*") {
                let Some(length) = inside.find("*/") else {
                    self.lose_way();
                    return;
                };
                let comment = &rest[..length + 4];
                self.is_new_line |= comment.contains(is_line_terminator);
                self.at += comment.len();
            } else {
                return;
            }
        }
    }

    fn word(&mut self, token: &mut Token) {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !is_word(c) && (c.is_ascii() || c.is_whitespace() || c == '\u{feff}'))
            .unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        let is_property = self.before == Before::Dot;
        let others = word.chars().filter(|c| !c.is_ascii()).count();
        let is_keyword = KEYWORDS.binary_search(&word).is_ok();
        let is_continuer = CONTINUERS.contains(&word);
        token.ends_statement_before = !is_continuer
            && (self.before == Before::Brace || self.is_new_line && self.before == Before::Operand);
        token.kind = if is_continuer {
            TokenKind::Continuer
        } else if is_keyword {
            TokenKind::Counted(1)
        } else if others > 0 {
            // Not every character here need be one of a name.
            TokenKind::Counted(others + 1)
        } else {
            TokenKind::Operand
        };
        self.round = match word {
            _ if is_property => Bracket::Round,
            "for" | "if" | "while" | "with" => Bracket::Head,
            "await" => Bracket::Await,
            _ => Bracket::Round,
        };
        self.before = if is_property || (!is_keyword && others == 0) {
            Before::Operand
        } else if VALUE_WORDS.contains(&word) {
            Before::ValueWord
        } else {
            Before::Either
        };
    }

    fn number(&mut self) -> TokenKind {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += length;
        self.before = Before::Operand;
        if rest[..length].bytes().all(|byte| byte.is_ascii_digit()) {
            TokenKind::Operand
        } else {
            // `0x1f` is one number, and what `3in3` is, is for the parser to say.
            TokenKind::Counted(length)
        }
    }

    fn string(&mut self, quote: char) {
        let mut characters = self.text[self.at + 1..].char_indices();
        while let Some((offset, c)) = characters.next() {
            match c {
                '\\' => {
                    if let Some((_, '\r')) = characters.next()
                        && characters.as_str().starts_with('\n')
                    {
                        characters.next();
                    }
                }
                '\n' | '\r' => break,
                c if c == quote => {
                    self.at += offset + 2;
                    self.before = Before::Operand;
                    return;
                }
                _ => {}
            }
        }
        self.lose_way();
    }

    /// Passes over the text of a template, to its end or into `${`.
    fn template_text(&mut self, token: &mut Token) {
        let mut characters = self.text[self.at..].char_indices();
        while let Some((offset, c)) = characters.next() {
            match c {
                '\\' => {
                    characters.next();
                }
                '`' => {
                    self.at += offset + 1;
                    self.before = Before::Operand;
                    return;
                }
                '$' if characters.as_str().starts_with('{') => {
                    self.at += offset + 2;
                    self.before = Before::Operator;
                    self.brackets.push(Bracket::Template);
                    token.kind = TokenKind::Open { is_brace: false };
                    return;
                }
                _ => {}
            }
        }
        self.lose_way();
    }

    fn slash(&mut self, token: &mut Token) {
        let is_value = match self.before {
            // At the start of a line TypeScript may have ended a statement that was only a type.
            Before::Operand | Before::Dot if !self.is_new_line => false,
            Before::Operator | Before::ValueWord => true,
            Before::Operand | Before::Brace | Before::Either | Before::Dot => {
                self.lose_way();
                return;
            }
        };
        if is_value {
            self.regular_expression(token);
        } else {
            self.at += 1;
            token.kind = TokenKind::Counted(1);
            self.before = Before::Operator;
        }
    }

    fn regular_expression(&mut self, token: &mut Token) {
        let mut in_class = false;
        let mut characters = self.text[self.at + 1..].char_indices();
        while let Some((offset, c)) = characters.next() {
            match c {
                c if is_line_terminator(c) => break,
                '\\' => {
                    let escaped = characters.next();
                    if escaped.is_none_or(|(_, c)| is_line_terminator(c)) {
                        break;
                    }
                }
                '[' => {
                    in_class = true;
                    token.inner += 1;
                }
                '(' if !in_class => token.inner += 1,
                ']' => in_class = false,
                '/' if !in_class => {
                    self.at += offset + 2;
                    let rest = &self.text[self.at..];
                    self.at += rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    self.before = Before::Operand;
                    return;
                }
                _ => {}
            }
        }
        token.inner = 0;
        self.lose_way();
    }

    fn mark(&mut self, c: char, token: &mut Token) {
        let rest = &self.text[self.at..];
        let was_operand = self.before == Before::Operand && !self.is_new_line;
        token.kind = TokenKind::Counted(1);
        self.before = match c {
            '(' | '[' | '{' => {
                token.kind = TokenKind::Open { is_brace: c == '{' };
                self.brackets.push(match c {
                    '{' => Bracket::Brace,
                    '[' => Bracket::Square,
                    _ => self.round,
                });
                Before::Operator
            }
            ')' | ']' | '}' => {
                token.kind = TokenKind::Close;
                match (c, self.brackets.pop()) {
                    (')', Some(Bracket::Head)) => Before::ValueWord,
                    (')', Some(Bracket::Await)) => Before::Either,
                    (')', Some(Bracket::Round)) | (']', Some(Bracket::Square)) => Before::Operand,
                    ('}', Some(Bracket::Brace)) => Before::Brace,
                    ('}', Some(Bracket::Template)) => {
                        self.at += 1;
                        let was = token.kind;
                        self.template_text(token);
                        if token.kind != was {
                            // `}…${` closes one level and opens it again.
                            token.kind = TokenKind::Comma;
                        }
                        return;
                    }
                    _ => {
                        self.lose_way();
                        return;
                    }
                }
            }
            ',' => {
                token.kind = TokenKind::Comma;
                Before::Operator
            }
            ';' => {
                token.kind = TokenKind::Semicolon;
                Before::Operator
            }
            '<' if rest.starts_with("<!--") => {
                self.lose_way();
                return;
            }
            '<' => {
                token.kind = TokenKind::Less;
                Before::Operator
            }
            '=' if rest.starts_with("=>") => {
                self.at += 1;
                Before::Operator
            }
            '>' => {
                token.kind = TokenKind::Greater;
                Before::Either
            }
            '?' if rest.starts_with("?.") => {
                self.at += 1;
                Before::Dot
            }
            '.' if rest.starts_with("...") => {
                self.at += 2;
                Before::Operator
            }
            '.' => Before::Dot,
            '!' if rest.starts_with("!=") => {
                self.at += 1;
                Before::Operator
            }
            // `x!` is a value, `!` elsewhere wants one.
            '!' if was_operand => Before::Operand,
            '!' if self.before == Before::Operator || self.before == Before::ValueWord => {
                Before::Operator
            }
            '+' | '-' if rest[1..].starts_with(c) => {
                self.at += 1;
                if was_operand {
                    Before::Operand
                } else {
                    Before::Either
                }
            }
            '#' => Before::Dot,
            '!' | '@' | '\\' => Before::Either,
            _ => Before::Operator,
        };
        self.at += 1;
    }

    fn next_when_lost(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            let c = self.peek()?;
            self.at += c.len_utf8();
            if c.is_whitespace() {
                continue;
            }
            if is_word(c) {
                let rest = &self.text[self.at..];
                self.at += rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            }
            return Some(Token {
                kind: TokenKind::Counted(1),
                start,
                ends_statement_before: false,
                inner: 0,
            });
        }
    }

    fn lose_way(&mut self) {
        self.lost_at = Some(self.at);
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
}

/// Returns whether a character ends a line in JavaScript.
pub(crate) fn is_line_terminator(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Words that may open a level, sorted. Many are names elsewhere; counting them is only careful.
const KEYWORDS: &[&str] = &[
    "abstract",
    "accessor",
    "as",
    "asserts",
    "async",
    "await",
    "case",
    "catch",
    "class",
    "const",
    "declare",
    "default",
    "defer",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "finally",
    "for",
    "from",
    "function",
    "get",
    "global",
    "if",
    "implements",
    "import",
    "in",
    "infer",
    "instanceof",
    "interface",
    "is",
    "keyof",
    "let",
    "module",
    "namespace",
    "new",
    "of",
    "out",
    "override",
    "private",
    "protected",
    "public",
    "readonly",
    "return",
    "satisfies",
    "set",
    "source",
    "static",
    "super",
    "switch",
    "throw",
    "try",
    "type",
    "typeof",
    "unique",
    "using",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Words that may go on with what stands before them, on a new line or after `}` too.
const CONTINUERS: &[&str] = &[
    "as",
    "catch",
    "else",
    "extends",
    "finally",
    "from",
    "implements",
    "in",
    "instanceof",
    "is",
    "of",
    "satisfies",
    "while",
    "with",
];

/// Words after which a `/` begins a regular expression.
const VALUE_WORDS: &[&str] = &[
    "case",
    "delete",
    "in",
    "instanceof",
    "return",
    "throw",
    "typeof",
];

/// What git writes at the start of a line where two versions disagree.
const CONFLICTS: &[&str] = &["<<<<<<<", "=======", ">>>>>>>", "|||||||"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        for word in CONTINUERS.iter().chain(VALUE_WORDS) {
            assert!(KEYWORDS.contains(word), "{word}");
        }
    }

    #[test]
    fn ordinary_code_is_never_lost() {
        for text in [
            "const a = b / c / d;",
            "return /a'b/g.test(x) ? /[/]/ : a[0] / (b) / 2;",
            "x = (a) => /'/.test(a); y = f(/\"/, i++ / 2);",
            "`a${b}c${`d`}` / 2; x = a! / 2; a.return / 2",
            "'a\\'b\\\r\nc'; \"\\\"\"; /* ' */ // '\n",
            "if (a) { b } else if (c) d; else { e }",
            "if (a) /'/.test(b); while (c)\n/'/.d; this.#if(a) / 2; a.if(b) / 2",
            "e.#f / 2; g = { if: (h) / 2 }",
            "a = b ? c : d; e = { f: /x/ }; case /y/: !/z/",
        ] {
            let mut scanner = Scanner::new(text);
            while scanner.next_token().is_some() {}
            assert_eq!(scanner.lost_at(), None, "{text}");
        }
    }
}
