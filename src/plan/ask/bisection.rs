//! Bisection: the smallest or largest number that fits.

/// Returns the smallest number up to `most` that fits. Whatever is above a number that fits, fits,
/// and `most` does.
pub(in crate::plan) fn smallest(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    most - largest(most, most, |less| fits(most - less))
}

/// Returns the largest number up to `most` that fits, which is probably the guess. Whatever is below
/// a number that fits, fits.
pub fn largest(most: usize, guess: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    // `low` fits, `high` does not.
    let (mut low, mut high) = (0, most + 1);
    for tried in [guess.min(most), guess.min(most) + 1] {
        if tried <= low || tried >= high {
            continue;
        }
        if fits(tried) {
            low = tried;
        } else {
            high = tried;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
