//! What somebody may have meant by a name that there is not.

/// The known name that is most like another one, if one is like it at all.
pub(super) fn alike<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.8;
    let likeness = |known: &str| strsim::jaro_winkler(&name.to_ascii_lowercase(), &known.to_ascii_lowercase());
    let nearest = known.map(|known| (likeness(known), known)).max_by(|one, two| one.0.total_cmp(&two.0));
    nearest.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, name)| name)
}
