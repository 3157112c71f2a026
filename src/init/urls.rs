//! URLs of git repos.

use crate::text::credentials;

/// Normalises a URL to `host/path`, whether it uses HTTPS, SSH, or git's short SSH form.
pub(super) fn identity(url: &str) -> Option<String> {
    let (rest, is_short) = url
        .split_once("://")
        .map_or((url, true), |(_, rest)| (rest, false));
    let (authority, path) = rest.split_once(if is_short { ':' } else { '/' })?;
    if authority.contains('/') {
        // A path with a colon.
        return None;
    }
    let host = host(authority);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("{}/{path}", host.to_ascii_lowercase()))
}

/// Returns the host of a repo's URL.
pub(super) fn host_of(url: &str) -> Option<String> {
    identity(url)?.split('/').next().map(str::to_owned)
}

/// Removes user and password from an HTTPS URL, and the password from an SSH URL. URLs with other
/// credentials are refused.
pub(super) fn without_credentials(url: &str) -> Option<String> {
    identity(url)?;
    let plain = match url.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => {
            let (authority, path) = rest.split_once('/')?;
            let (_, address) = authority.rsplit_once('@').unwrap_or(("", authority));
            Some(format!("{scheme}://{address}/{path}"))
        }
        Some(("ssh", rest)) => {
            let (authority, path) = rest.split_once('/')?;
            let (user, address) = authority.rsplit_once('@').unwrap_or(("", authority));
            let user = user.split(':').next().filter(|user| !user.is_empty());
            Some(format!(
                "ssh://{}{address}/{path}",
                user.map(|user| format!("{user}@")).unwrap_or_default()
            ))
        }
        Some(_) => None,
        None => Some(url.to_owned()),
    };
    // A token may also be in a query, or before a host without a scheme.
    plain.filter(|url| credentials::found(url, false).is_none())
}

/// Returns the host of an authority, without user and port.
fn host(authority: &str) -> &str {
    let (_, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    match address.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repo_has_one_identity_however_it_is_reached() {
        for url in [
            "https://git.example.com/platform/fleet.git",
            "https://user:not-a-secret@git.example.com/platform/fleet",
            "ssh://git@git.example.com:2222/platform/fleet.git",
            "git@Git.example.com:platform/fleet.git",
        ] {
            assert_eq!(
                identity(url).as_deref(),
                Some("git.example.com/platform/fleet"),
                "{url}"
            );
        }
        for path in [
            "/srv/fleet.git",
            "../fleet",
            "a/b:c",
            "file:///srv/fleet",
            "",
        ] {
            assert_eq!(identity(path), None, "{path}");
        }
    }

    #[test]
    fn no_password_is_left_in_a_url() {
        let cases = [
            (
                "https://user:not-a-secret@a.example/b.git",
                Some("https://a.example/b.git"),
            ),
            (
                "https://not-a-secret@a.example/b",
                Some("https://a.example/b"),
            ),
            (
                "https://not@a-secret@a.example/b",
                Some("https://a.example/b"),
            ),
            (
                "ssh://git:not-a-secret@a.example:22/b",
                Some("ssh://git@a.example:22/b"),
            ),
            ("git@a.example:b.git", Some("git@a.example:b.git")),
            ("ftp://user:not-a-secret@a.example/b", None),
            ("https://a.example/b?private_token=not-a-secret", None),
            ("user:not-a-secret@a.example:b.git", None),
            ("/srv/fleet.git", None),
        ];
        for (url, written) in cases {
            assert_eq!(without_credentials(url).as_deref(), written, "{url}");
        }
    }
}
