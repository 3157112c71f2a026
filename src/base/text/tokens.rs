//! Finds access tokens in texts by their form.

use std::ops::Range;

use super::static_regex;

/// Returns the places of access tokens in a text, without their prefixes.
pub(super) fn token_ranges(text: &str) -> Vec<Range<usize>> {
    // A known prefix at the start of a word, and a group with the rest.
    let token = static_regex!(
        r"(?x) (?: ^ | [^0-9A-Za-z] ) (?:
            # GitHub.
            (?: gh[pousr]_ | github_pat_ ) ( [-.0-9A-Z_a-z]{16,} )
            # GitLab.
            | (?: glpat | gldt | glrt | glcbt | glptt | glagent ) - ( [-.0-9A-Z_a-z]{12,} )
            # Slack.
            | (?: xox[abeprs] | xapp ) - ( [-.0-9A-Z_a-z]{8,} )
            # Docker Hub, Google and Stripe.
            | (?: dckr_pat_ | ya29\. | [rs]k_live_ ) ( [-.0-9A-Z_a-z]{16,} )
            # npm, PyPI, DigitalOcean and Google.
            | (?: npm_ | pypi- | dop_v1_ | AIza ) ( [-.0-9A-Z_a-z]{30,} )
            # HashiCorp Vault, and age, which SOPS uses.
            | (?: hvs\. | AGE-SECRET-KEY-1 ) ( [-.0-9A-Z_a-z]{20,} )
            # Key ids of AWS, which have a fixed length and no lower case.
            | A[KS]IA ( [0-9A-Z]{16} ) (?: $ | [^-.0-9A-Z_a-z] )
            # JSON Web Tokens: two base64 objects, which start with `{`, and a signature.
            | eyJ ( [-0-9A-Z_a-z]* \.eyJ [-0-9A-Z_a-z]* \. [-.0-9A-Z_a-z]+ )
        )",
    );
    let mut ranges = Vec::new();
    let mut from = 0;
    // The character behind a token may precede the next one. Groups are slow to find, so they are only
    // looked for where there is a match.
    while let Some(place) = token.find_at(text, from)
        && let Some(found) = token.captures_at(text, place.start())
        && let Some(rest) = found.iter().skip(1).flatten().next()
    {
        from = rest.end();
        ranges.push(rest.range());
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_looked_for_where_they_may_begin() {
        let text = "ghp_0123456789abcdef,AKIA0123456789ABCDEF AKIA0123456789ABCDEF \
                    xghp_0123456789abcdef eyJa.eyJb.c.";
        let found: Vec<&str> = token_ranges(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(
            found,
            ["0123456789abcdef", "0123456789ABCDEF", "0123456789ABCDEF", "a.eyJb.c."]
        );
        let long = format!("eyJ{}.eyJb.c", "a".repeat(2000));
        assert_eq!(token_ranges(&long).pop(), Some(3..long.len()));
    }
}
