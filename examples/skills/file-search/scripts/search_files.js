// Finds the files that say most about some words. Everything that it learns of files it asks its
// host for, many files at once.

export const description =
  "Rank the text files of a folder by how much they say about some words, and show the lines " +
  "where they say it. Use it to find where a subject is dealt with before reading whole files.";

export const parameters = {
  type: "object",
  properties: {
    words: {
      type: "array",
      items: { type: "string", minLength: 2, maxLength: 64 },
      minItems: 1,
      maxItems: 8,
      uniqueItems: true,
      description: "What to look for; case does not matter.",
    },
    folder: {
      type: "string",
      minLength: 1,
      default: ".",
      description: "Where to look; the folder of the call when absent.",
    },
    glob: {
      type: "string",
      minLength: 1,
      default: "**/*",
      description: "Which files, by their paths beneath the folder.",
    },
    files: {
      type: "integer",
      minimum: 1,
      maximum: 20,
      default: 5,
      description: "The most files that are shown.",
    },
    lines: {
      type: "integer",
      minimum: 0,
      maximum: 20,
      default: 3,
      description: "The most lines that are shown of each.",
    },
  },
  required: ["words"],
  additionalProperties: false,
};

export async function execute(args, context, options) {
  const { words, folder = ".", glob = "**/*", files: mostFiles = 5, lines: mostLines = 3 } = args;
  const { signal, onUpdate } = options;
  const say = (text) => onUpdate({ content: [{ type: "text", text }] });

  const found = await context.fs.glob(glob, { cwd: folder, limit: MAX_FILES });
  const paths = found.paths.map((path) => (folder === "." ? path : `${folder}/${path}`));
  say(`found ${paths.length} files`);

  const terms = words.map((word) => word.toLowerCase());
  let done = 0;
  const read = await each(paths, signal, async (path) => {
    const file = await readOne(context.fs, path, terms);
    done += 1;
    if (done % STEP === 0 || done === paths.length) {
      say(`read ${done} of ${paths.length} files`);
    }
    return file;
  });
  const unread = read.filter((file) => file.error !== undefined);
  if (unread.length > 0 && unread.length === read.length) {
    // Where nothing can be read, the reason is the answer.
    throw unread[0].error;
  }
  for (const { path, error } of unread) {
    console.warn(`${path}: ${error.message}`);
  }

  const ranked = rank(read.filter((file) => file.error === undefined), terms);
  const best = ranked.slice(0, mostFiles);
  const shown = await each(best, signal, async (file) => ({
    ...file,
    lines: mostLines > 0 ? await linesOf(context.fs, file.path, terms, mostLines) : [],
  }));

  const details = {
    searched: read.length - unread.length,
    matching: ranked.length,
    unread: unread.map(({ path, error }) => ({ path, code: error.code, reason: error.message })),
    incomplete: found.truncated,
    files: shown,
  };
  return { content: [{ type: "text", text: report(words, details) }], details };
}

// Runs some work for each item, a few at a time, and stops when the call is cancelled.
async function each(items, signal, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      signal.throwIfAborted();
      const index = next;
      next += 1;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
}

// Counts the terms of one file. One that cannot be read is no reason to give up the others.
async function readOne(fs, path, terms) {
  try {
    const file = await fs.read(path);
    const text = file.text.toLowerCase();
    const length = (text.match(/\S+/g) ?? []).length;
    return { path, length, counts: terms.map((term) => count(text, term)), cut: file.truncated };
  } catch (error) {
    if (error.code === undefined) {
      throw error;
    }
    return { path, error };
  }
}

function count(text, term) {
  let times = 0;
  for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
    times += 1;
  }
  return times;
}

// Orders by BM25: a rare word counts more, a longer file less, and repetition less and less.
function rank(files, terms) {
  const words = files.reduce((sum, file) => sum + file.length, 0);
  const average = Math.max(words / Math.max(files.length, 1), 1);
  const weights = terms.map((_, term) => {
    const having = files.filter((file) => file.counts[term] > 0).length;
    return Math.log(1 + (files.length - having + 0.5) / (having + 0.5));
  });
  const score = (file) =>
    file.counts.reduce((sum, times, term) => {
      const damped = times + 1.2 * (0.25 + (0.75 * file.length) / average);
      return sum + (weights[term] * times * 2.2) / damped;
    }, 0);
  return files
    .map((file) => ({ ...file, score: score(file) }))
    .filter((file) => file.score > 0)
    .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1));
}

// Lets the host find the lines, which it does without handing over the whole file again.
async function linesOf(fs, path, terms, limit) {
  const escaped = terms.map((term) => term.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&"));
  const { matches } = await fs.grep({
    pattern: escaped.join("|"),
    path,
    ignoreCase: true,
    limit,
  });
  return matches.map(({ line, text }) => ({ line, text: text.trim() }));
}

function report(words, { searched, matching, unread, incomplete, files }) {
  const about = words.map((word) => `"${word}"`).join(", ");
  const out = [`${matching} of ${searched} files say something about ${about}`];
  for (const { path, score, counts, cut, lines } of files) {
    const times = counts.map((number, term) => `${words[term]} ${number}`).join(", ");
    out.push("", `${path} (${times}; score ${score.toFixed(2)})`);
    out.push(...lines.map(({ line, text }) => `  ${line}: ${text}`));
    if (cut) {
      out.push("  only the beginning of this file was read");
    }
  }
  if (matching > files.length) {
    out.push("", `${matching - files.length} more files match`);
  }
  if (unread.length > 0) {
    out.push("", "Not read:", ...unread.map(({ path, reason }) => `  ${path}: ${reason}`));
  }
  if (incomplete) {
    out.push("", "There are more files than were looked at; narrow `folder` or `glob`.");
  }
  return out.join("\n");
}

// A call may ask its host 1,000 times; each file costs one, each that is shown one more.
const MAX_FILES = 900;

const AT_ONCE = 16;

// How many files are read between two partial results.
const STEP = 25;
