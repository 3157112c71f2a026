//! What is generated for jump hosts of all fixtures, in the hands of OpenSSH and Python, and the image beside it. What a
//! jump host does when it runs is in the tests beside this one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::pod::KUBELETS_HOSTS;
use crate::support::programs::*;
use crate::support::tool;

/// What the ssh client makes of a configuration: the address of a host.
fn address_by_ssh(configuration: &Path, host: &str) -> String {
    let effective = succeed(tool("ssh").arg("-G").arg("-F").arg(configuration).arg(host));
    let line = effective.lines().find_map(|line| line.strip_prefix("hostname "));
    line.unwrap_or_else(|| panic!("no hostname in\n{effective}")).to_owned()
}

#[test]
fn ssh_finds_each_host_by_its_name() {
    let quickstart = [
        ("lab-a1", "198.51.100.11"),
        ("lab-b1", "198.51.100.21"),
        ("lab-a2", "198.51.100.12"),
        ("lab-b2", "198.51.100.22"),
    ];
    let ipv6 = [("d1-north", "2001:db8:0:a::11"), ("d2-south", "2001:db8:0:a::22")];
    for (fixture, cluster, hosts) in
        [("quickstart", "tenant-a/edge", &quickstart[..]), ("ipv6", "v6/edge", &ipv6)]
    {
        let file = format!("overlays/clusters/{cluster}/jumphost/ssh_config");
        for (host, address) in hosts {
            assert_eq!(
                address_by_ssh(&GENERATED[fixture].path().join(&file), host),
                *address,
                "{host}"
            );
        }
    }
}

/// Writes the `/etc/hosts` of a jump host, behind lines of the kubelet.
fn refresh(script: &Path, hosts: &Path, etc_hosts: &Path) {
    let kubelets = etc_hosts.with_extension("kubelet");
    fs::write(&kubelets, KUBELETS_HOSTS).unwrap();
    let mut refresh = tool("python3");
    refresh.arg(script).arg("--once").env("SIPGEN_HOSTS", hosts);
    refresh.env("SIPGEN_ETC_HOSTS", kubelets).env("SIPGEN_SHARED_ETC_HOSTS", etc_hosts);
    assert_eq!(succeed(refresh.env("SIPGEN_API_ACCESS", "/does/not/exist")), "");
}

#[test]
fn ssh_and_the_pods_etc_hosts_agree_on_every_host() {
    let directory = tempfile::tempdir().unwrap();
    let etc_hosts = directory.path().join("hosts");
    let mut hosts = 0;
    for file in files_named("ssh_config") {
        refresh(&shared_beside(&file).join("refresh"), &file.with_file_name("hosts"), &etc_hosts);
        let text = fs::read_to_string(&etc_hosts).unwrap();
        let (kubelets, ours) = text.split_once("\n# The hosts of this cluster.\n").unwrap();
        assert_eq!(kubelets, KUBELETS_HOSTS);
        for line in ours.lines() {
            let (address, name) = line.split_once('\t').unwrap();
            assert_eq!(address_by_ssh(&file, name), address, "{file:?}");
            hosts += 1;
        }
    }
    assert!(hosts > 20, "{hosts}");
}

/// The file is mounted by itself: another one in its place would not be seen.
#[test]
fn etc_hosts_grows_and_shrinks_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let (list, etc_hosts) = (directory.path().join("list"), directory.path().join("hosts"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/jumphost/shared/refresh");
    let mut inodes = BTreeSet::new();
    for count in [1, 300, 2, 0, 40] {
        let lines = (0..count)
            .map(|n| format!("{{\"name\": \"host-{n}\", \"address\": \"198.51.100.{n}\"}}\n"));
        fs::write(&list, lines.collect::<String>()).unwrap();

        refresh(&script, &list, &etc_hosts);

        let ours = (0..count).map(|n| format!("198.51.100.{n}\thost-{n}\n")).collect::<String>();
        let expected = format!("{KUBELETS_HOSTS}\n# The hosts of this cluster.\n{ours}");
        assert_eq!(fs::read_to_string(&etc_hosts).unwrap(), expected);
        inodes.insert(fs::metadata(&etc_hosts).unwrap().ino());
    }
    assert_eq!(inodes.len(), 1);
}

#[test]
fn every_authorized_key_is_one_for_openssh() {
    for file in files_named("authorized_keys") {
        let content = fs::read_to_string(&file).unwrap();
        let keys = content.lines().filter(|line| !line.starts_with('#')).count();
        assert!(keys > 0, "{file:?}");

        let fingerprints = succeed(tool("ssh-keygen").arg("-l").arg("-f").arg(&file));

        assert_eq!(fingerprints.lines().count(), keys, "{file:?}\n{fingerprints}");
    }
}

#[test]
fn the_scripts_are_no_newer_than_the_python_of_the_jump_hosts_image() {
    let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))";
    for file in files_named("host").into_iter().chain(files_named("refresh")) {
        succeed(tool("python3").arg("-c").arg(parse).arg(file));
    }
}

#[test]
fn host_list_reads_the_hosts_of_every_jump_host() {
    for file in files_named("hosts") {
        let mut tool = tool("python3");
        let list = succeed(
            tool.arg(shared_beside(&file).join("host")).arg("list").env("SIPGEN_HOSTS", &file),
        );

        let ssh_config = fs::read_to_string(file.with_file_name("ssh_config")).unwrap();
        let hosts = ssh_config
            .lines()
            .filter_map(|line| line.strip_prefix("Host "))
            .filter(|host| *host != "*");
        let listed = list.lines().skip(1).map(|line| line.split_whitespace().next().unwrap());
        assert_eq!(listed.collect::<Vec<_>>(), hosts.collect::<Vec<_>>(), "{file:?}");
    }
}

// The image

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_image_has_what_the_rendered_files_call() {
    let image = file("images/jump-host/Containerfile");
    let words: Vec<&str> = image.split_whitespace().collect();

    for package in ["openssh-server", "openssh-client", "python3", "kubernetes-client"] {
        assert!(words.contains(&package), "{package}");
    }
    assert!(image.contains("COPY --chmod=0755 host /usr/local/bin/host\n"));
}

#[test]
fn the_image_has_the_redfishtool_of_the_tests() {
    let requirements = file("tests/tools/requirements.txt");
    let pinned = requirements.lines().find(|line| line.starts_with("redfishtool==")).unwrap();

    assert!(
        file("images/jump-host/Containerfile").split_whitespace().any(|word| word == pinned),
        "{pinned}"
    );
}

#[test]
fn the_image_has_the_user_as_whom_every_jump_host_runs() {
    let image = file("images/jump-host/Containerfile");

    for deployment in
        files_named("sshd_config").into_iter().map(|file| file.with_file_name("deployment.yaml"))
    {
        let deployment = object(&fs::read_to_string(deployment).unwrap(), "Deployment");
        let user = deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
            .as_u64()
            .unwrap();
        assert!(
            image.contains(&format!("useradd --uid {user} "))
                && image.contains(&format!("\nUSER {user}:{user}\n"))
        );
    }
}
