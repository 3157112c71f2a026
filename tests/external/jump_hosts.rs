//! What is generated for jump hosts of all fixtures, in the hands of OpenSSH and Python, and the image beside it. What a
//! jump host does when it runs is in the tests beside this one.

use std::fs;
use std::path::Path;

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
    for (fixture, cluster, hosts) in [("quickstart", "tenant-a/edge", &quickstart[..]), ("ipv6", "v6/edge", &ipv6)] {
        let file = format!("overlays/clusters/{cluster}/jumphost/ssh_config");
        for (host, address) in hosts {
            assert_eq!(address_by_ssh(&GENERATED[fixture].path().join(&file), host), *address, "{host}");
        }
    }
}

#[test]
fn ssh_and_the_pods_host_aliases_agree_on_every_host() {
    let mut hosts = 0;
    for file in files_named("ssh_config") {
        let deployment = fs::read_to_string(file.with_file_name("deployment.yaml")).unwrap();
        for alias in sequence(&object(&deployment, "Deployment")["spec"]["template"]["spec"]["hostAliases"]) {
            for name in sequence(&alias["hostnames"]) {
                assert_eq!(address_by_ssh(&file, &string(name)), string(&alias["ip"]), "{file:?}");
                hosts += 1;
            }
        }
    }
    assert!(hosts > 20, "{hosts}");
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
fn the_host_tool_is_no_newer_than_the_python_of_the_jump_hosts_image() {
    let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))";
    for file in files_named("host") {
        succeed(tool("python3").arg("-c").arg(parse).arg(file));
    }
}

#[test]
fn host_list_reads_the_hosts_of_every_jump_host() {
    for file in files_named("hosts") {
        let mut tool = tool("python3");
        let list = succeed(tool.arg(file.with_file_name("host")).arg("list").env("SIPGEN_HOSTS", &file));

        let ssh_config = fs::read_to_string(file.with_file_name("ssh_config")).unwrap();
        let hosts = ssh_config.lines().filter_map(|line| line.strip_prefix("Host ")).filter(|host| *host != "*");
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

    assert!(file("images/jump-host/Containerfile").split_whitespace().any(|word| word == pinned), "{pinned}");
}

#[test]
fn the_image_has_the_user_as_whom_every_jump_host_runs() {
    let image = file("images/jump-host/Containerfile");

    for deployment in files_named("sshd_config").into_iter().map(|file| file.with_file_name("deployment.yaml")) {
        let deployment = object(&fs::read_to_string(deployment).unwrap(), "Deployment");
        let user = deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"].as_u64().unwrap();
        assert!(
            image.contains(&format!("useradd --uid {user} ")) && image.contains(&format!("\nUSER {user}:{user}\n"))
        );
    }
}
