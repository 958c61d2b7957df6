// Converts a table of a file into another form.
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';

import { readDelimited, readJson, readMarkdown } from './read.mjs';
import { writeDelimited, writeJson, writeMarkdown } from './write.mjs';

const readers = {
  '.csv': (text) => readDelimited(text, ','),
  '.tsv': (text) => readDelimited(text, '\t'),
  '.md': readMarkdown,
  '.json': readJson,
};

const writers = {
  csv: (table) => writeDelimited(table, ','),
  tsv: (table) => writeDelimited(table, '\t'),
  markdown: writeMarkdown,
  json: writeJson,
};

function main() {
  const { file, to, columns } = parameters();
  const reader = readers[extname(file).toLowerCase()];
  if (!reader) {
    fail(2, `the extension of ${file} is none of ${Object.keys(readers).join(', ')}`);
  }
  const table = reader(text(file));
  process.stdout.write(writers[to](columns ? pick(table, columns) : table));
}

function parameters() {
  let parsed;
  try {
    parsed = parseArgs({ allowPositionals: true, options: { columns: { type: 'string' } } });
  } catch (error) {
    fail(2, error.message);
  }
  const [file, to, ...rest] = parsed.positionals;
  if (!file || !Object.hasOwn(writers, to ?? '') || rest.length > 0) {
    fail(2, `usage: convert.mjs FILE ${Object.keys(writers).join('|')} [--columns a,b]`);
  }
  return { file, to, columns: parsed.values.columns };
}

function text(file) {
  try {
    const bytes = readFileSync(file);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    fail(1, `${file} cannot be read: ${error.code ?? 'it is not UTF-8'}`);
  }
}

function pick({ header, rows }, columns) {
  const wanted = columns.split(',').map((name) => name.trim());
  const places = wanted.map((name) => {
    const place = header.indexOf(name);
    if (place < 0) {
      fail(2, `there is no column ${JSON.stringify(name)}; the columns are ${header.join(', ')}`);
    }
    return place;
  });
  return { header: wanted, rows: rows.map((row) => places.map((place) => row[place])) };
}

function fail(code, message) {
  process.stderr.write(`convert: ${message}\n`);
  process.exit(code);
}

try {
  main();
} catch (error) {
  // What the readers throw says what is wrong with the table.
  fail(1, error.message);
}
