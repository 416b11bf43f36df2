//! How many columns fit, and what stands in which.

/// How many columns at least `least` wide, `gap` apart, fit into `width`, all in points: one at least, and at most `most`.
pub(super) fn fitting(width: f32, least: f32, gap: f32, most: usize) -> usize {
    (((width + gap) / (least + gap)) as usize).clamp(1, most)
}

/// In which of `columns` each of these heights stands, in their order, so that the highest column is as low as can be.
pub(super) fn even(heights: &[usize], columns: usize) -> Vec<usize> {
    let fill = |most: usize| {
        let (mut column, mut height) = (0, 0);
        let place = |&next: &usize| {
            if height > 0 && height + next > most {
                (column, height) = (column + 1, 0);
            }
            height += next;
            column
        };
        heights.iter().map(place).collect::<Vec<usize>>()
    };
    let least = heights.iter().copied().max().unwrap_or(0);
    let all = heights.iter().sum();
    (least..all)
        .map(fill)
        .find(|places| places.last().is_none_or(|&last| last < columns))
        .unwrap_or_else(|| vec![0; heights.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_columns_as_fit_and_one_at_least() {
        for (width, columns) in [
            (10.0, 1),
            (100.0, 1),
            (219.0, 1),
            (220.0, 2),
            (340.0, 3),
            (9_000.0, 3),
        ] {
            assert_eq!(fitting(width, 100.0, 20.0, 3), columns, "{width}");
        }
    }

    #[test]
    fn the_highest_column_is_as_low_as_can_be() {
        let heights = [11, 10, 7, 11, 11];
        assert_eq!(even(&heights, 3), [0, 0, 1, 1, 2]);
        assert_eq!(even(&heights, 2), [0, 0, 0, 1, 1]);
        assert_eq!(even(&heights, 1), [0; 5]);
        assert_eq!(even(&[5, 1, 1, 1], 3), [0, 1, 1, 1]);
        assert_eq!(even(&[5], 3), [0]);
        assert_eq!(even(&[], 3), [0; 0]);
    }
}
