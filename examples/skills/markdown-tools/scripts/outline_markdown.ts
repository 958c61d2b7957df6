// Reads Markdown by the rules of CommonMark that decide what is a heading, a link and code, and
// renders what it found. Types are erased before this runs; nothing else is translated.

export const description =
  "Outline a Markdown text: headings, a table of contents with anchors, links, code blocks and " +
  "counts. Use it to get an overview of a long document, or to write its table of contents.";

const FORMATS = ["outline", "toc", "links", "code", "stats"] as const;
type Format = (typeof FORMATS)[number];

const STYLES = ["bullets", "numbers"] as const;
type Style = (typeof STYLES)[number];

type Level = 1 | 2 | 3 | 4 | 5 | 6;

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

const level = (description: string, value: Level) =>
  ({ type: "integer", minimum: 1, maximum: 6, default: value, description }) satisfies Schema;

export const parameters = {
  type: "object",
  properties: {
    text: { type: "string", minLength: 1, description: "The Markdown itself." },
    formats: {
      type: "array",
      items: { enum: FORMATS },
      minItems: 1,
      uniqueItems: true,
      default: ["outline"],
      description: "What to show, in this order.",
    },
    levels: {
      type: "object",
      description: "Which headings are shown; all of them count when anchors are made unique.",
      properties: {
        from: level("The highest level that is shown.", 1),
        to: level("The lowest level that is shown.", 6),
      },
      additionalProperties: false,
    },
    toc: {
      type: "object",
      properties: {
        style: { enum: STYLES, default: "bullets", description: "How entries are marked." },
        indent: { type: "integer", minimum: 2, maximum: 8, default: 2 },
      },
      additionalProperties: false,
    },
    anchors: {
      description: "How anchors are made of titles.",
      default: "github",
      oneOf: [
        { const: "github", description: "As GitHub makes them." },
        {
          type: "object",
          description: "The words of the title with something between them.",
          properties: {
            separator: { enum: ["-", "_", "."] },
            prefix: { type: "string", pattern: "^[a-z][a-z0-9_-]{0,31}$" },
          },
          required: ["separator"],
          additionalProperties: false,
        },
      ],
    },
  },
  required: ["text"],
  additionalProperties: false,
} as const satisfies Schema;

interface Arguments {
  text: string;
  formats?: readonly Format[];
  levels?: { from?: Level; to?: Level };
  toc?: { style?: Style; indent?: number };
  anchors?: "github" | { separator: "-" | "_" | "."; prefix?: string };
}

interface Heading {
  readonly level: Level;
  readonly title: string;
  readonly anchor: string;
  readonly line: number;
}

interface Link {
  readonly kind: "link" | "image" | "autolink";
  readonly text: string;
  readonly target: string;
  readonly line: number;
}

interface CodeBlock {
  readonly language: string;
  readonly line: number;
  readonly lines: number;
  readonly closed: boolean;
}

type Counts = Record<
  "lines" | "words" | "paragraphs" | "headings" | "links" | "images" | "codeBlocks" | "codeLines",
  number
>;

interface Document {
  readonly headings: readonly Heading[];
  readonly links: readonly Link[];
  readonly code: readonly CodeBlock[];
  readonly counts: Counts;
}

interface Answer<Details> {
  content: { type: "text"; text: string }[];
  details: Details;
}

export async function execute(args: Arguments): Promise<Answer<Document>> {
  const { text, formats = ["outline"], levels = {}, toc = {}, anchors = "github" } = args;
  const { from = 1, to = 6 } = levels;
  if (from > to) {
    throw new RangeError(`levels.from is ${from} and must not be greater than levels.to, ${to}`);
  }
  const document = read(text, anchorMaker(anchors));
  const shown = document.headings.filter((heading) => heading.level >= from && heading.level <= to);
  const render = {
    outline: () => shown.map(outlineLine),
    toc: () => {
      const titled = shown.filter((heading) => heading.title !== "");
      return tableOfContents(titled, toc.style ?? "bullets", toc.indent ?? 2);
    },
    links: () => document.links.map(linkLine),
    code: () => document.code.map(codeLine),
    stats: () => Object.entries(document.counts).map(([name, count]) => `${name}: ${count}`),
  } satisfies Record<Format, () => string[]>;
  const sections = formats.map((format) => {
    const lines = render[format]();
    const absent = format === "links" || format === "code" ? format : "headings";
    const body = lines.length > 0 ? lines.join("\n") : `no ${absent}`;
    return formats.length > 1 ? `== ${format}\n${body}` : body;
  });
  const details: Document = {
    headings: document.headings.slice(0, MAX_DETAILS),
    links: document.links.slice(0, MAX_DETAILS),
    code: document.code.slice(0, MAX_DETAILS),
    counts: document.counts,
  };
  return { content: [{ type: "text", text: sections.join("\n\n") }], details };
}

// The host bounds how many values an answer has; the counts say how many there were.
const MAX_DETAILS = 1000;

const outlineLine = ({ level, title, line }: Heading): string =>
  `${"  ".repeat(level - 1)}${"#".repeat(level)} ${title} (line ${line})`;

const linkLine = ({ kind, text, target, line }: Link): string =>
  `${line}: ${kind} ${target} (${text || "no text"})`;

const codeLine = ({ language, line, lines, closed }: CodeBlock): string => {
  const size = `${lines} ${lines === 1 ? "line" : "lines"}`;
  return `${line}: ${language || "plain"}, ${size}${closed ? "" : ", not closed"}`;
};

// Headings may skip levels; an entry is one step below the nearest entry of a higher level.
function tableOfContents(headings: readonly Heading[], style: Style, indent: number): string[] {
  const open: { level: Level; count: number }[] = [];
  let top = 0;
  return headings.map(({ level, title, anchor }) => {
    while (open.length > 0 && open[open.length - 1]!.level >= level) {
      open.pop();
    }
    const parent = open[open.length - 1];
    const number = parent === undefined ? (top += 1) : (parent.count += 1);
    // Below `10.` an entry needs four blanks; what the caller wants is the least.
    const width = style === "numbers" ? Math.max(indent, 4) : indent;
    const margin = " ".repeat(open.length * width);
    open.push({ level, count: 0 });
    const mark = style === "numbers" ? `${number}.` : "-";
    return `${margin}${mark} [${title.replace(/[\\[\]`*_<]/g, "\\$&")}](#${anchor})`;
  });
}

// Returns a function that makes anchors which differ from all it made before.
function anchorMaker(anchors: NonNullable<Arguments["anchors"]>): (title: string) => string {
  const used = new Map<string, number>();
  const separator = anchors === "github" ? "-" : anchors.separator;
  const prefix = anchors === "github" ? "" : (anchors.prefix ?? "");
  const plain = (title: string) => {
    const kept = title.toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "");
    return anchors === "github"
      ? kept.replace(/ /g, "-")
      : prefix + (kept.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(separator);
  };
  return (title) => {
    const base = plain(title);
    let anchor = base;
    while (used.has(anchor)) {
      const count = used.get(base)! + 1;
      used.set(base, count);
      anchor = `${base}${separator}${count}`;
    }
    used.set(anchor, 0);
    return anchor;
  };
}

// The blocks of a text, as far as they decide what is prose.
type Block =
  | { kind: "heading"; level: Level; text: string; line: number; nested: boolean }
  | { kind: "paragraph"; text: string; line: number }
  | ({ kind: "code" } & CodeBlock);

function read(text: string, anchor: (title: string) => string): Document {
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
  const { blocks, references } = blocksOf(lines);
  const headings: Heading[] = [];
  const links: Link[] = [];
  const code: CodeBlock[] = [];
  let words = 0;
  let paragraphs = 0;
  for (const block of blocks) {
    if (block.kind === "code") {
      const { kind: _, ...found } = block;
      code.push(found);
      continue;
    }
    const inline = inlineOf(block.text, block.line, references);
    links.push(...inline.links);
    words += (inline.plain.match(WORD) ?? []).length;
    if (block.kind === "paragraph") {
      paragraphs += 1;
    } else if (!block.nested) {
      const title = inline.plain.replace(/\s+/g, " ").trim();
      headings.push({ level: block.level, title, anchor: anchor(title), line: block.line });
    }
  }
  const images = links.filter((link) => link.kind === "image").length;
  const codeLines = code.reduce((sum, block) => sum + block.lines, 0);
  return {
    headings,
    links,
    code,
    counts: {
      lines: lines.length, words, paragraphs, headings: headings.length,
      links: links.length - images, images, codeBlocks: code.length, codeLines,
    },
  };
}

const WORD = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}'’_-]*[\p{L}\p{M}\p{N}])?/gu;

interface Fence {
  mark: string;
  size: number;
  language: string;
  line: number;
  depth: number;
  quoted: number;
}

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^ \t]*)/;
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const BREAK = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^ {0,3}(?:[-+*]|\d{1,9}[.)])(?: {1,4}(?! )|(?= {5})|[ \t]|$)/;
const TITLE = /(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))/.source;
const REFERENCE = new RegExp(
  "^ {0,3}\\[((?:[^\\[\\]\\\\]|\\\\.)+)\\]:[ \\t]*(?:<([^<>]*)>|(\\S+))" +
    `(?:[ \\t]+${TITLE})?[ \\t]*$`,
);
const INLINE_TARGET = new RegExp(
  "^\\(\\s*(?:<([^<>\\n]*)>|((?:[^\\s()\\\\]|\\\\.|\\((?:[^\\s()\\\\]|\\\\.)*\\))*))" +
    `(?:\\s+${TITLE})?\\s*\\)`,
);
const RAW = [
  { open: /^ {0,3}<!--/, close: /-->/ },
  {
    open: /^ {0,3}<(?:pre|script|style|textarea)(?=[\s>]|$)/i,
    close: /<\/(?:pre|script|style|textarea)>/i,
  },
  { open: /^ {0,3}<\?/, close: /\?>/ },
] as const;

// Takes lines apart into blocks. Headings in quotes and list items belong to these and not to the
// outline.
function blocksOf(lines: readonly string[]): { blocks: Block[]; references: Map<string, string> } {
  const blocks: Block[] = [];
  const references = new Map<string, string>();
  let fence: Fence | null = null;
  let raw: RegExp | null = null;
  let paragraph: { lines: string[]; line: number; depth: number } | null = null;
  let items: number[] = [];
  const end = () => {
    if (paragraph !== null) {
      blocks.push({ kind: "paragraph", text: paragraph.lines.join("\n"), line: paragraph.line });
      paragraph = null;
    }
  };
  const close = (last: number, closed: boolean) => {
    const { language, line } = fence!;
    blocks.push({ kind: "code", language, line, lines: last - line, closed });
    fence = null;
  };
  for (let index = frontMatter(lines); index < lines.length; index += 1) {
    const number = index + 1;
    let { rest, quoted } = unquoted(expanded(lines[index]!));
    const isBlank = rest.trim() === "";
    // A line belongs to the items whose text it is indented like; a blank one to all of them.
    let depth = 0;
    while (!isBlank && depth < items.length && rest.startsWith(" ".repeat(items[depth]!))) {
      rest = rest.slice(items[depth]!);
      depth += 1;
    }
    if (fence !== null) {
      if (fence.quoted > quoted || (!isBlank && fence.depth > depth)) {
        close(number - 1, false);
      } else {
        const closing = /^ {0,3}(`+|~+) *$/.exec(rest)?.[1] ?? "";
        if (closing[0] === fence.mark && closing.length >= fence.size) {
          close(number - 1, true);
        }
        continue;
      }
    }
    if (raw !== null) {
      raw = raw.test(rest) ? null : raw;
      continue;
    }
    if (isBlank) {
      end();
      continue;
    }
    const nested = quoted > 0 || depth > 0;
    if (paragraph !== null && paragraph.depth === depth + quoted && UNDERLINE.test(rest)) {
      const { lines: title, line } = paragraph;
      paragraph = null;
      const level = rest.trim()[0] === "=" ? 1 : 2;
      blocks.push({ kind: "heading", level, text: title.join("\n"), line, nested });
      continue;
    }
    const item = () => (BREAK.test(rest) ? null : ITEM.exec(rest)?.[0] ?? null);
    for (let mark = item(); mark !== null; mark = item()) {
      const first = Number(/\d+/.exec(mark)?.[0] ?? 1);
      // A number other than 1, or nothing after the mark, interrupts no paragraph.
      if (paragraph !== null && (first !== 1 || mark.length >= rest.length)) {
        break;
      }
      end();
      items = items.slice(0, depth);
      items.push(mark.endsWith(" ") ? mark.length : mark.length + 1);
      depth += 1;
      rest = rest.slice(mark.length);
    }
    if (paragraph === null && depth < items.length) {
      items = items.slice(0, depth);
    }
    const opened = FENCE.exec(rest);
    const atx = ATX.exec(rest);
    const start = RAW.find(({ open }) => open.test(rest));
    const reference = paragraph === null ? REFERENCE.exec(rest) : null;
    if (opened !== null) {
      end();
      items = items.slice(0, depth);
      const mark = opened[1]!;
      const language = unescaped(opened[2]!);
      fence = { mark: mark[0]!, size: mark.length, language, line: number, depth, quoted };
    } else if (atx !== null) {
      end();
      items = items.slice(0, depth);
      const title = (atx[2] ?? "").replace(/(?:^|[ \t]+)#+$/, "");
      const level = atx[1]!.length as Level;
      const isNested = quoted > 0 || depth > 0;
      blocks.push({ kind: "heading", level, text: title, line: number, nested: isNested });
    } else if (BREAK.test(rest)) {
      end();
    } else if (start !== undefined) {
      end();
      raw = start.close.test(rest) ? null : start.close;
    } else if (reference !== null) {
      const label = labelOf(reference[1]!);
      if (!references.has(label)) {
        references.set(label, unescaped(reference[2] ?? reference[3]!));
      }
    } else if (paragraph !== null) {
      paragraph.lines.push(rest.trim());
    } else if (!rest.startsWith("    ") && rest.trim() !== "") {
      paragraph = { lines: [rest.trim()], line: number, depth: depth + quoted };
    }
  }
  if (fence !== null) {
    close(lines.length, false);
  }
  end();
  return { blocks, references };
}

// Returns how many lines the front matter has, with its two fences.
function frontMatter(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== "---") {
    return 0;
  }
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  return end < 0 ? 0 : end + 1;
}

// Writes the tabs that begin a line as blanks.
function expanded(line: string): string {
  const margin = /^[ \t]*/.exec(line)![0];
  let width = 0;
  for (const blank of margin) {
    width += blank === "\t" ? 4 - (width % 4) : 1;
  }
  return " ".repeat(width) + line.slice(margin.length);
}

function unquoted(line: string): { rest: string; quoted: number } {
  let rest = line;
  let quoted = 0;
  for (let mark = /^ {0,3}> ?/.exec(rest); mark !== null; mark = /^ {0,3}> ?/.exec(rest)) {
    rest = rest.slice(mark[0].length);
    quoted += 1;
  }
  return { rest, quoted };
}

const PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

const unescaped = (text: string): string =>
  text.replace(/\\([!-/:-@[-`{-~])/g, "$1");

const labelOf = (text: string): string => text.trim().replace(/\s+/g, " ").toLowerCase();

interface Inline { plain: string; links: Link[] }

interface Piece {
  text: string;
  mark?: { char: string; count: number; opens: boolean; closes: boolean };
}

// Reads the inside of a paragraph or heading: its plain text, and the links in it.
function inlineOf(text: string, line: number, references: ReadonlyMap<string, string>): Inline {
  const pieces: Piece[] = [];
  const links: Link[] = [];
  const say = (said: string) => void pieces.push({ text: said });
  // Runs of backticks that nothing closes, by length, so that none is searched twice.
  const unclosed = new Set<number>();
  let lines = 0;
  let bracket = text.indexOf("]");
  for (let at = 0; at < text.length;) {
    const char = text[at]!;
    const rest = text.slice(at, at + MAX_INLINE);
    if (char === "\n") {
      lines += 1;
      say(" ");
      at += 1;
    } else if (char === "\\" && at + 1 < text.length && PUNCTUATION.includes(text[at + 1]!)) {
      say(text[at + 1]!);
      at += 2;
    } else if (char === "`") {
      const run = /^`+/.exec(rest)![0];
      const end = unclosed.has(run.length) ? -1 : closingRun(text, at + run.length, run.length);
      if (end < 0) {
        unclosed.add(run.length);
        say(run);
        at += run.length;
      } else {
        say(codeText(text.slice(at + run.length, end)));
        at = end + run.length;
      }
    } else if (char === "[" || (char === "!" && text[at + 1] === "[")) {
      const open = char === "!" ? at + 1 : at;
      if (bracket >= 0 && bracket < open) {
        bracket = text.indexOf("]", open);
      }
      const link = bracket < 0 ? null : linkAt(text, open, references);
      const inner = link === null ? null : inlineOf(link.label, line + lines, references);
      // A link holds images and no other link.
      const holds = char === "[" && inner?.links.some((own) => own.kind !== "image");
      if (link === null || inner === null || holds) {
        say(text.slice(at, open + 1));
        at = open + 1;
      } else {
        const kind = char === "!" ? "image" : "link";
        links.push({ kind, text: inner.plain, target: link.target, line: line + lines });
        links.push(...inner.links.filter((own) => own.kind === "image"));
        say(inner.plain);
        at = link.end;
      }
    } else if (char === "<") {
      const auto = AUTOLINK.exec(rest);
      const tag = TAG.exec(rest);
      if (auto !== null) {
        const target = auto[1]!.includes(":") ? auto[1]! : `mailto:${auto[1]}`;
        links.push({ kind: "autolink", text: auto[1]!, target, line: line + lines });
        say(auto[1]!);
      } else if (tag === null) {
        say(char);
      }
      at += (auto ?? tag)?.[0].length ?? 1;
    } else if (char === "*" || char === "_" || char === "~") {
      const run = rest.match(/^(.)\1*/)![0];
      pieces.push(emphasis(run, text[at - 1] ?? " ", text[at + run.length] ?? " "));
      at += run.length;
    } else {
      const plain = /^[^\n\\`[!<*_~]+/.exec(rest)?.[0] ?? char;
      say(plain);
      at += plain.length;
    }
  }
  pair(pieces);
  return { plain: pieces.map((piece) => piece.text).join(""), links };
}

const AUTOLINK = /^<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9.-]+)>/i;
const TAG = /^<(?:\/?[a-z][^<>]*|!--[^]*?--)>/i;

// Far more than a tag or a run of text between two marks; it bounds what each step looks at.
const MAX_INLINE = 4096;

function closingRun(text: string, from: number, size: number): number {
  const runs = /`+/g;
  runs.lastIndex = from;
  for (let run = runs.exec(text); run !== null; run = runs.exec(text)) {
    if (run[0].length === size) {
      return run.index;
    }
  }
  return -1;
}

function codeText(inside: string): string {
  const text = inside.replace(/\n/g, " ");
  const padded = text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "";
  return padded ? text.slice(1, -1) : text;
}

// Finds the link whose `[` is at a place: inline, by reference, or by its own text.
function linkAt(text: string, open: number, references: ReadonlyMap<string, string>) {
  const close = closingBracket(text, open);
  if (close < 0) {
    return null;
  }
  const label = text.slice(open + 1, close);
  const found = INLINE_TARGET.exec(text.slice(close + 1, close + 1 + MAX_INLINE));
  if (found !== null) {
    const target = unescaped(found[1] ?? found[2] ?? "");
    return { label, target, end: close + 1 + found[0].length };
  }
  const named = /^\[((?:[^\[\]\\]|\\.)*)\]/.exec(text.slice(close + 1, close + 1 + MAX_INLINE));
  const target = references.get(labelOf(named?.[1] || label));
  return target === undefined ? null : { label, target, end: close + 1 + (named?.[0].length ?? 0) };
}

// Brackets pair up; those that are escaped or in code do not count.
function closingBracket(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length && at < open + MAX_INLINE; at += 1) {
    const char = text[at];
    if (char === "\\") {
      at += 1;
    } else if (char === "`") {
      const size = /^`+/.exec(text.slice(at, at + MAX_INLINE))![0].length;
      const end = closingRun(text.slice(0, open + MAX_INLINE), at + size, size);
      at = end < 0 ? at + size - 1 : end + size - 1;
    } else if (char === "[") {
      depth += 1;
    } else if (char === "]") {
      depth -= 1;
      if (depth === 0) {
        return at;
      }
    }
  }
  return -1;
}

// Says whether a run of marks may begin or end an emphasis, by what is beside it.
function emphasis(run: string, before: string, after: string): Piece {
  const isSpace = (char: string) => /\s/.test(char);
  const isMark = (char: string) => /[\p{P}\p{S}]/u.test(char);
  const left = !isSpace(after) && (!isMark(after) || isSpace(before) || isMark(before));
  const right = !isSpace(before) && (!isMark(before) || isSpace(after) || isMark(after));
  const char = run[0]!;
  const strict = char === "_";
  return {
    text: run,
    mark: {
      char,
      count: run.length,
      opens: left && (!strict || !right || isMark(before)),
      closes: right && (!strict || !left || isMark(after)),
    },
  };
}

// Takes out the marks of every emphasis that begins and ends; the others are text.
function pair(pieces: Piece[]): void {
  const open = new Map<string, Piece[]>();
  for (const piece of pieces) {
    const { mark } = piece;
    if (mark === undefined) {
      continue;
    }
    const stack = open.get(mark.char) ?? [];
    open.set(mark.char, stack);
    while (mark.closes && mark.count > 0 && stack.length > 0) {
      const opener = stack[stack.length - 1]!;
      const taken = Math.min(opener.mark!.count, mark.count);
      for (const side of [opener, piece]) {
        side.mark!.count -= taken;
        side.text = side.text.slice(taken);
      }
      if (opener.mark!.count === 0) {
        stack.pop();
      }
    }
    if (mark.opens && mark.count > 0) {
      stack.push(piece);
    }
  }
}
