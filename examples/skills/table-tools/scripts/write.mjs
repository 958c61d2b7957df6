// Writes tables: each function turns `{ header, rows }` into text that ends with a line break.

export function writeDelimited({ header, rows }, separator) {
  const needsQuotes = new RegExp(`["\\r\\n${separator}]|^\\s|\\s$`);
  const field = (text) => (needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [header, ...rows].map((row) => `${row.map(field).join(separator)}\n`).join('');
}

/** Numbers are aligned to the right, which a rule of `---:` says to whoever renders it. */
export function writeMarkdown({ header, rows }) {
  const escape = (text) => text.replaceAll('|', '\\|').replace(/\s*\r?\n\s*/g, '<br>');
  const lines = [header, ...rows].map((row) => row.map(escape));
  const width = (text) => [...text].length;
  const columns = header.map((_, at) => {
    const values = rows.map((row) => row[at]).filter((value) => value !== '');
    return {
      width: Math.max(3, ...lines.map((line) => width(line[at]))),
      isNumber: values.length > 0 && values.every((value) => /^-?\d+([.,]\d+)?$/.test(value)),
    };
  });
  const pad = (text, column) => {
    const blanks = ' '.repeat(column.width - width(text));
    return column.isNumber ? blanks + text : text + blanks;
  };
  const written = lines.map((line) => `| ${line.map((text, at) => pad(text, columns[at])).join(' | ')} |\n`);
  const rule = columns.map((column) => '-'.repeat(column.width - 1) + (column.isNumber ? ':' : '-'));
  return [written[0], `| ${rule.join(' | ')} |\n`, ...written.slice(1)].join('');
}

export function writeJson({ header, rows }) {
  const records = rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]])));
  return `${JSON.stringify(records)}\n`;
}
