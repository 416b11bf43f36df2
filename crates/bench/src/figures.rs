//! Figures of several runs, and tables of them in Markdown.

use std::fmt;

/// One figure as several runs measured it, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs(Vec<f64>);

impl FromIterator<f64> for Runs {
    fn from_iter<I: IntoIterator<Item = f64>>(figures: I) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }
}

impl Runs {
    /// The median; of an even number, the greater of two. NaN without runs.
    pub(crate) fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The median, and in brackets the least and the greatest where there are several.
    pub(crate) fn show(&self, decimals: usize) -> String {
        let median = self.median();
        match self.0.as_slice() {
            [least, .., greatest] => {
                format!("{median:.decimals$} ({least:.decimals$}–{greatest:.decimals$})")
            }
            _ => format!("{median:.decimals$}"),
        }
    }
}

/// A column of a table of measurements: its heading, the decimals shown, and the figure.
pub(crate) type Column<T> = (&'static str, usize, fn(&T) -> f64);

/// A table in Markdown whose columns are also aligned in a terminal.
#[derive(Debug)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self(vec![headings.iter().map(|&heading| heading.to_owned()).collect()])
    }

    /// A row for each name with its runs, of which the medians are shown.
    pub(crate) fn of<T>(name: &str, columns: &[Column<T>], rows: &[(String, Vec<T>)]) -> Self {
        let mut table = Self::new(&[name]);
        table.0[0].extend(columns.iter().map(|(heading, ..)| (*heading).to_owned()));
        for (name, runs) in rows {
            let figures = columns.iter().map(|(_, decimals, figure)| {
                let median = runs.iter().map(figure).collect::<Runs>().median();
                format!("{median:.decimals$}")
            });
            table.row(std::iter::once(name.clone()).chain(figures).collect());
        }
        table
    }

    /// # Panics
    /// If there is not a cell for each heading.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.0[0].len(), "a row has a cell for each heading");
        self.0.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width_of = |column: usize| self.0.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..self.0[0].len()).filter_map(width_of).collect();
        for (index, row) in self.0.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {cell:width$} ")?;
            }
            writeln!(f, "|")?;
            if index == 0 {
                for width in &widths {
                    write!(f, "|-{:-<width$}-", "")?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}
