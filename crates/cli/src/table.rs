//! Tables as people read them.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};

use crate::text::printable;

/// Lays rows out in columns, without lines, so that they can be read and cut alike.
pub(crate) fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    filled(table, header, rows)
}

/// Lays rows out in columns whose texts are broken to fit a page.
pub(crate) fn wrapped<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut table = Table::new();
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(PAGE);
    filled(table, header, rows)
}

fn filled<const COLUMNS: usize>(
    mut table: Table,
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    table
        .load_style(NOTHING)
        .set_header(header.map(str::to_uppercase));
    for row in rows {
        table.add_row(row.map(|cell| printable(&cell.replace('\n', " ")).into_owned()));
    }
    let lines: Vec<_> = table
        .lines()
        .map(|line| {
            line.strip_prefix(' ')
                .unwrap_or(&line)
                .trim_end()
                .to_owned()
        })
        .collect();
    lines.join("\n")
}

/// The width of a page, in columns.
const PAGE: u16 = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_cells_stay_on_their_line() {
        let rows = [
            ["a".to_owned(), "one\ntwo".to_owned()],
            ["long".to_owned(), "\x1b".to_owned()],
        ];
        insta::assert_snapshot!(table(["name", "what"], rows), @"
        NAME  WHAT
        a     one two
        long  ␛
        ");
    }
}
