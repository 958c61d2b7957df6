// Reads tables: each function turns text into `{ header, rows }`, where every row is as long as
// the header, or throws an Error that says what is wrong.

/** Reads comma- or tab-separated values (RFC 4180); a line break is LF or CRLF. */
export function readDelimited(text, separator) {
  const records = [];
  let [record, field, quoted, wasQuoted, line] = [[], '', false, false, 1];
  let start = line;
  const endField = () => {
    record.push(field);
    [field, wasQuoted] = ['', false];
  };
  const endRecord = () => {
    endField();
    if (record.length > 1 || record[0] !== '') records.push({ cells: record, line: start });
    record = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\n') line += 1;
    if (quoted) {
      if (char !== '"') field += char;
      else if (text[at + 1] === '"') [field, at] = [`${field}"`, at + 1];
      else quoted = false;
    } else if (char === '"' && field === '' && !wasQuoted) {
      [quoted, wasQuoted] = [true, true];
    } else if (char === separator) {
      endField();
    } else if (char === '\n' || (char === '\r' && text[at + 1] === '\n')) {
      if (char === '\r') [at, line] = [at + 1, line + 1];
      endRecord();
      start = line;
    } else {
      field += char;
    }
  }
  if (quoted) throw new Error(`the quoted field that begins in the record of line ${start} has no end`);
  if (field !== '' || record.length > 0) endRecord();
  return table(records);
}

/** Reads the first pipe table of a Markdown text, passing over fenced code. */
export function readMarkdown(text) {
  const lines = text.split(/\r?\n/);
  let fence = null;
  for (let at = 0; at < lines.length; at += 1) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(lines[at]);
    if (mark && (fence === null || mark[1].startsWith(fence))) fence = fence === null ? mark[1] : null;
    const isTable = fence === null && lines[at].includes('|') && isRule(lines[at + 1] ?? '');
    if (isTable && cells(lines[at]).length === cells(lines[at + 1]).length) {
      const records = [{ cells: cells(lines[at]), line: at + 1 }];
      for (let row = at + 2; row < lines.length && lines[row].includes('|'); row += 1) {
        records.push({ cells: cells(lines[row]), line: row + 1 });
      }
      return table(records);
    }
  }
  throw new Error('the text holds no table');
}

/** Reads an array of objects; the columns stand in the order in which they first appear. */
export function readJson(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`the file is no JSON: ${error.message}`);
  }
  const isRecord = (item) => item !== null && typeof item === 'object' && !Array.isArray(item);
  if (!Array.isArray(value) || value.length === 0 || !value.every(isRecord)) {
    throw new Error('the file is not an array of objects');
  }
  const header = [...new Set(value.flatMap((item) => Object.keys(item)))];
  const rows = value.map((item) => header.map((name) => (Object.hasOwn(item, name) ? cell(item[name]) : '')));
  return { header, rows };
}

function table(records) {
  if (records.length === 0) throw new Error('the text holds no table');
  const [{ cells: header }, ...rest] = records;
  const repeated = header.find((name, at) => header.indexOf(name) !== at);
  if (repeated !== undefined) throw new Error(`the column ${JSON.stringify(repeated)} stands twice`);
  const rows = rest.map(({ cells: row, line }) => {
    if (row.length > header.length) {
      throw new Error(`line ${line} has ${row.length} cells and the header ${header.length}`);
    }
    return [...row, ...Array(header.length - row.length).fill('')];
  });
  return { header, rows };
}

/** Splits a line of a pipe table; an escaped pipe belongs to its cell. */
function cells(line) {
  const inner = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((part) => part.trim().replaceAll('\\|', '|'));
}

function isRule(line) {
  return line.includes('-') && cells(line).every((part) => /^:?-+:?$/.test(part));
}

function cell(value) {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
