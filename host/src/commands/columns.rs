//! Tables with aligned columns, as kubectl prints them.

/// The widths of the columns: each is that of its longest cell so far, so that rows which are
/// printed later are below the earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<usize>);

impl Columns {
    /// Returns a line for each row; the first row that is ever given is the header.
    pub(crate) fn lines<'a>(&mut self, rows: impl IntoIterator<Item = &'a Vec<String>> + Clone) -> String {
        for row in rows.clone() {
            self.0.resize(self.0.len().max(row.len()), 0);
            for (width, cell) in self.0.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        rows.into_iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &[String]) -> String {
        let cells: String = self.0.iter().zip(row).map(|(width, cell)| format!("{cell:<width$}   ")).collect();
        format!("{}\n", cells.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell_and_never_become_narrower() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut columns = Columns::default();
        let first = columns.lines(&[row(&["NAME", "SIZE"]), row(&["a", "12"]), row(&["longer", ""])]);
        assert_eq!(first, "NAME     SIZE\na        12\nlonger\n");
        assert_eq!(columns.lines(&[row(&["b", "3"])]), "b        3\n");
        assert_eq!(columns.lines(&[row(&["the longest", "3"])]), "the longest   3\n");
    }
}
