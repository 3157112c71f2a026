//! Bisection: the smallest or largest number that fits.

/// Returns the smallest number up to `most` that fits. Whatever is above a number that fits, fits,
/// and `most` does.
pub(in crate::plan) fn smallest(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    most - largest(most, |less| fits(most - less))
}

/// Returns the largest number up to `most` that fits. Whatever is below a number that fits, fits.
/// `most` is tried first.
pub fn largest(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    if most == 0 || fits(most) {
        return most;
    }
    // `low` fits, `high` does not.
    let (mut low, mut high) = (0, most);
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
