//! The hosts of package managers, by the manager's name: what each of them asks when it installs something from its usual
//! place. A registry of one's own, or a mirror, is named by itself.

/// Names and their hosts. A host that only serves web pages for people is none of them.
pub(crate) const PRESETS: &[(&str, &[&str])] = &[
    ("npm", &["registry.npmjs.org:443"]),
    (
        "yarn",
        &[
            "registry.yarnpkg.com:443",
            "registry.npmjs.org:443",
            "repo.yarnpkg.com:443",
        ],
    ),
    (
        "cargo",
        &["index.crates.io:443", "static.crates.io:443", "crates.io:443"],
    ),
    ("rustup", &["static.rust-lang.org:443"]),
    ("pip", &["pypi.org:443", "files.pythonhosted.org:443"]),
    ("conda", &["conda.anaconda.org:443", "repo.anaconda.com:443"]),
    ("go", &["proxy.golang.org:443", "sum.golang.org:443"]),
    ("maven", &["repo.maven.apache.org:443", "repo1.maven.org:443"]),
    (
        "gradle",
        &[
            "plugins.gradle.org:443",
            "plugins-artifacts.gradle.org:443",
            "services.gradle.org:443",
            "downloads.gradle.org:443",
            "repo.maven.apache.org:443",
        ],
    ),
    ("gem", &["rubygems.org:443", "index.rubygems.org:443"]),
    (
        "composer",
        &[
            "repo.packagist.org:443",
            "packagist.org:443",
            // Where most packages themselves lie.
            "api.github.com:443",
            "codeload.github.com:443",
        ],
    ),
    ("nuget", &["api.nuget.org:443"]),
    ("hex", &["hex.pm:443", "repo.hex.pm:443", "builds.hex.pm:443"]),
    ("debian", &["deb.debian.org", "security.debian.org"]),
    (
        "ubuntu",
        &["archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"],
    ),
    ("alpine", &["dl-cdn.alpinelinux.org"]),
];

/// The hosts of a package manager; none where there is no such preset.
pub(crate) fn preset(name: &str) -> Option<&'static [&'static str]> {
    let found = PRESETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, hosts)| *hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::permissions::{Host, host_and_port};

    #[test]
    fn the_page_names_them_all() {
        let page = include_str!("../../../docs/permissions.md");
        for (preset, hosts) in PRESETS {
            let hosts: Vec<String> = hosts.iter().map(|host| host_and_port(host).0).collect();
            let line = format!("| `{preset}` | {} |", hosts.join(", "));
            assert!(page.contains(&line), "docs/permissions.md has no line {line}");
        }
    }

    #[test]
    fn every_host_of_a_preset_is_one_name() {
        for (preset, hosts) in PRESETS {
            assert!(!preset.contains('.') && !hosts.is_empty(), "{preset}");
            for written in *hosts {
                let (host, port) = host_and_port(written);
                assert!(
                    matches!(Host::parse(&host), Ok(Host::Name(name)) if name == host),
                    "{written}"
                );
                assert!(port.is_none_or(|port| port == 443), "{written}");
            }
        }
    }
}
