//! URLs of git repos.

use std::borrow::Cow;

use regex::Captures;

use crate::base::text::{credentials, static_regex};

/// The parts of a URL that tell one repo from another. The scheme, the user, the port of SSH and a final `.git`
/// only choose a way to it.
struct RepoIdentity {
    /// Host in lower case.
    host: String,
    path: String,
}

/// Returns whether two URLs lead to one repo. A path of the local machine equals only itself.
pub(crate) fn is_same_repo(one: &str, other: &str) -> bool {
    let urls = [one, other];
    match (identity(one), identity(other)) {
        (Some((one, one_port)), Some((other, other_port))) => {
            // Two servers on one machine differ by the port of HTTP; SSH has another one anyway.
            let ports = one_port.zip(other_port);
            one.host == other.host
                && ports.is_none_or(|(one, other)| one == other)
                && is_same_path(urls, [&one.path, &other.path])
        }
        (None, None) => local_path(one) == local_path(other),
        _ => false,
    }
}

/// Returns whether the paths of two URLs of one host name one repo.
fn is_same_path(urls: [&str; 2], [one, other]: [&str; 2]) -> bool {
    let has = |mark: &str| urls.iter().any(|url| url.contains(mark));
    // Gerrit's URLs of HTTP begin with this, unless they are anonymous.
    let [plain_one, plain_other] = [one, other].map(|path| path.strip_prefix("a/").unwrap_or(path));
    one == other
        || has("/scm/") && one.eq_ignore_ascii_case(other)
        || has(":29418/") && plain_one == plain_other
}

/// Returns the host of a repo's URL.
pub(crate) fn host(url: &str) -> Option<String> {
    identity(url).map(|(identity, _)| identity.host)
}

/// Splits a URL of HTTP or SSH, or git's short form of SSH. The port is that of HTTP.
fn identity(url: &str) -> Option<(RepoIdentity, Option<&str>)> {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = match scheme {
        // An IPv6 address has colons, too.
        "" if rest.contains("]:") => rest.split_once("]:")?,
        "" => rest.split_once(':')?,
        _ => rest.split_once('/')?,
    };
    if authority.contains('/') {
        // A path with a colon.
        return None;
    }
    let (host, port) = host_and_port(authority);
    let path = path.trim_matches('/');
    let path = decoded(path.strip_suffix(".git").unwrap_or(path));
    let port = match scheme.to_ascii_lowercase().as_str() {
        "https" => Some(port.unwrap_or("443")),
        "http" => Some(port.unwrap_or("80")),
        _ => None,
    };
    // Servers redirect plain HTTP.
    let port = port.map(|port| if port == "80" { "443" } else { port });
    let (host, path) = on_forge(&host.to_ascii_lowercase(), &path);
    (!host.is_empty() && !path.is_empty()).then_some((RepoIdentity { host, path }, port))
}

/// Returns the host and path by which a public forge names a repo. Several hosts of a forge have the
/// same repos, and their paths ignore case.
fn on_forge(host: &str, path: &str) -> (String, String) {
    let parts = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let azure = |mut parts: Vec<String>| {
        // A repo that has the name of its project may be named by it alone.
        if let Some(at) = parts.iter().position(|part| part == "_git") {
            let name = if at == 1 { parts.last().cloned() } else { None };
            parts.splice(at..=at, name);
        }
        ("dev.azure.com".to_owned(), parts.join("/").to_lowercase())
    };
    match host.strip_prefix("www.").unwrap_or(host) {
        "dev.azure.com" => azure(parts(path)),
        "ssh.dev.azure.com" | "vs-ssh.visualstudio.com" => {
            azure(parts(path.strip_prefix("v3/").unwrap_or(path)))
        }
        "github.com" | "ssh.github.com" => ("github.com".to_owned(), path.to_lowercase()),
        "gitlab.com" | "altssh.gitlab.com" => ("gitlab.com".to_owned(), path.to_lowercase()),
        "bitbucket.org" | "altssh.bitbucket.org" => {
            ("bitbucket.org".to_owned(), path.to_lowercase())
        }
        _ => match host.strip_suffix(".visualstudio.com") {
            Some(organization) => {
                let mut parts = parts(path);
                if parts[0].eq_ignore_ascii_case("DefaultCollection") {
                    parts[0].clear();
                }
                parts.retain(|part| !part.is_empty());
                azure([vec![organization.to_owned()], parts].concat())
            }
            None => {
                // Bitbucket Server has this in URLs of HTTP alone, maybe below a path of its own.
                let repo = path.strip_prefix("scm/").or_else(|| Some(path.rsplit_once("/scm/")?.1));
                let repo = repo.filter(|repo| repo.contains('/'));
                (host.to_owned(), repo.unwrap_or(path).to_owned())
            }
        },
    }
}

/// Replaces percent-encoded ASCII characters, such as the space in a name.
fn decoded(path: &str) -> Cow<'_, str> {
    static_regex!("%([0-7][0-9A-Fa-f])").replace_all(path, |code: &Captures<'_>| {
        let byte = u8::from_str_radix(&code[1], 16).unwrap_or_default();
        char::from(byte).to_string()
    })
}

fn local_path(url: &str) -> &str {
    let path = url.strip_prefix("file://").unwrap_or(url).trim_end_matches('/');
    path.strip_suffix(".git").unwrap_or(path)
}

/// Removes user and password from an HTTPS URL, and the password from an SSH URL. URLs with other
/// credentials are refused.
pub(crate) fn without_credentials(url: &str) -> Option<String> {
    identity(url)?;
    let plain = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/')?;
            let (user, address) = authority.rsplit_once('@').unwrap_or(("", authority));
            let user = match scheme {
                "http" | "https" => "",
                "ssh" => user.split(':').next().unwrap_or_default(),
                _ => return None,
            };
            let at = if user.is_empty() { "" } else { "@" };
            format!("{scheme}://{user}{at}{address}/{path}")
        }
        None => url.to_owned(),
    };
    // A token may also be in a query, or before a host without a scheme.
    credentials::found(&plain, false).is_none().then_some(plain)
}

/// Returns host and port of an authority, without its user.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    let (_, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, rest) = match address.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
        None => address.split_at(address.find(':').unwrap_or(address.len())),
    };
    (host, rest.strip_prefix(':').filter(|port| !port.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repo_has_many_urls() {
        let urls = [
            "https://git.example.com/platform/fleet.git",
            "https://user:not-a-secret@git.example.com/platform/fleet",
            "https://git.example.com:443/platform/fleet/",
            "http://git.example.com/platform/fleet",
            "ssh://git@git.example.com/platform/fleet.git",
            "ssh://git@git.example.com:22/platform/fleet",
            "ssh://git@git.example.com:2222/platform/fleet.git",
            "git@Git.example.com:platform/fleet.git",
            "git.example.com:platform/fleet",
            "git@git.example.com:/platform/fleet.git",
        ];
        for one in urls {
            for other in urls {
                assert!(is_same_repo(one, other), "{one} {other}");
            }
            assert_eq!(host(one).as_deref(), Some("git.example.com"), "{one}");
        }
        assert!(is_same_repo("/srv/fleet.git", "/srv/fleet/"));
        assert!(is_same_repo("file:///srv/fleet.git", "/srv/fleet"));
        assert!(is_same_repo("git@[2001:db8::1]:fleet.git", "https://[2001:db8::1]/fleet"));
        for (one, other) in [
            (urls[0], "https://git.example.com/platform/fleet2.git"),
            (urls[0], "https://git.example.com/Platform/fleet.git"),
            (urls[0], "https://other.example.com/platform/fleet.git"),
            (urls[0], "https://git.example.com:8443/platform/fleet.git"),
            (urls[3], "https://git.example.com:8443/platform/fleet.git"),
            (urls[0], "/platform/fleet"),
            ("/srv/fleet", "../fleet"),
            ("a/b:c", "b:c"),
            ("https://g.example.com/a/x", "https://g.example.com/x"),
            ("https://g.example.com/my-scm/a/x", "https://g.example.com/a/x"),
        ] {
            assert!(!is_same_repo(one, other), "{one} {other}");
        }
        for path in ["/srv/fleet.git", "../fleet", "a/b:c", "file:///srv/fleet", ""] {
            assert_eq!(host(path), None, "{path}");
        }
    }

    #[test]
    fn a_repo_of_a_public_forge_has_several_hosts_and_ignores_case() {
        for urls in [
            &[
                "https://dev.azure.com/org/proj/_git/repo",
                "https://org@dev.azure.com/Org/proj/_git/repo",
                "git@ssh.dev.azure.com:v3/org/proj/repo",
                "ssh://git@ssh.dev.azure.com/v3/org/proj/repo",
                "https://org.visualstudio.com/proj/_git/repo",
                "https://org.visualstudio.com/DefaultCollection/proj/_git/repo",
                "https://org.visualstudio.com/defaultcollection/proj/_git/repo",
                "org@vs-ssh.visualstudio.com:v3/org/proj/repo",
            ][..],
            &["https://dev.azure.com/org/A%20b/_git/r", "git@ssh.dev.azure.com:v3/org/A b/r"],
            &["https://dev.azure.com/org/_git/repo", "https://dev.azure.com/org/repo/_git/repo"],
            &[
                "https://github.com/A/x",
                "https://www.github.com/A/x",
                "git@github.com:a/X.git",
                "ssh://git@ssh.github.com:443/a/x",
            ],
            &["https://gitlab.com/A/b/x", "ssh://git@altssh.gitlab.com:443/a/b/x.git"],
            &["https://bitbucket.org/a/x", "ssh://git@altssh.bitbucket.org:443/a/x.git"],
            &[
                "https://bb.example.com/scm/A/x.git",
                "https://bb.example.com/bitbucket/scm/a/x.git",
                "ssh://git@bb.example.com:7999/a/x.git",
            ],
            &["https://bb.example.com/scm/A/x.git", "ssh://git@bb.example.com:7999/A/x.git"],
            &["https://g.example.com/a/x", "ssh://u@g.example.com:29418/x"],
            &["https://g.example.com/x", "ssh://u@g.example.com:29418/x", "u@g.example.com:x"],
        ] {
            for one in urls {
                assert!(urls.iter().all(|other| is_same_repo(one, other)), "{one} {urls:?}");
            }
        }
        for (one, other) in [
            (
                "https://dev.azure.com/org/proj/_git/repo",
                "https://dev.azure.com/org/proj/_git/other",
            ),
            ("https://dev.azure.com/org/_git/repo", "https://dev.azure.com/org/proj/_git/repo"),
            ("https://github.com/a/x", "https://gitlab.com/a/x"),
        ] {
            assert!(!is_same_repo(one, other), "{one} {other}");
        }
    }

    #[test]
    fn no_password_is_left_in_a_url() {
        let cases = [
            ("https://user:not-a-secret@a.example/b.git", Some("https://a.example/b.git")),
            ("https://not-a-secret@a.example/b", Some("https://a.example/b")),
            ("https://not@a-secret@a.example/b", Some("https://a.example/b")),
            ("ssh://git:not-a-secret@a.example:22/b", Some("ssh://git@a.example:22/b")),
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
