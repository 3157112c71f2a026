//! The keys by which clients know a jump host again, from every place that they may come from.

use std::fs;

use crate::support::ssh::{Key, Scene};
use crate::support::{assert_says, run_tool, text};

#[test]
fn host_keys_in_a_volume_survive_a_restart() {
    let scene = Scene::of("edge");

    let first = scene.shown_host_keys();

    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(scene.shown_host_keys(), first);
}

#[test]
fn a_host_key_of_the_volume_that_was_not_finished_is_made_anew() {
    let scene = Scene::of("edge");
    let first = scene.shown_host_keys();
    let file = scene.claims.path().join("jumphost-edge/ssh_host_rsa_key");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "").unwrap();

    let second = scene.shown_host_keys();

    assert_eq!(second.len(), 2);
    assert_eq!(first[0], second[0], "the other key is kept");
    assert_ne!(first[1], second[1]);
}

#[test]
fn host_keys_in_a_secret_are_those_that_are_shown() {
    let mut scene = Scene::of("far");
    let key = Key::new("ed25519");
    let public = key.public().rsplit_once(' ').unwrap().0.to_owned();
    // As Secrets are often filled: without the last newline, or on Windows.
    for private in
        [key.private(), key.private().trim_end().to_owned(), key.private().replace('\n', "\r\n")]
    {
        scene.keep_host_keys(&private);

        assert_eq!(scene.shown_host_keys(), [format!("[192.0.2.10]:2222 {public}")]);
    }
}

#[test]
fn a_secret_without_a_usable_host_key_ends_the_pod_with_a_message() {
    let mut scene = Scene::of("far");
    let start = |scene: &Scene| {
        let pod = scene.pod();
        let output =
            run_tool(&mut pod.tool(&["timeout", "120", "/bin/sh", "/etc/opt/sip/start"], &[]));
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };

    scene.keep_host_keys("not a key");
    assert_says(
        &start(&scene),
        &["ssh_host_ed25519_key is no private key, or one with a passphrase"],
    );

    scene
        .secrets
        .insert("far-jumphost-keys".to_owned(), [("id_rsa".to_owned(), "x".to_owned())].into());
    assert_says(
        &start(&scene),
        &["There is no host key. In a Secret its entry is called ssh_host_ed25519_key"],
    );
}

#[test]
fn ephemeral_host_keys_are_others_after_a_restart() {
    let scene = Scene::of("lab");

    let first = scene.shown_host_keys();

    assert_eq!(first.len(), 2);
    assert_ne!(scene.shown_host_keys(), first);
}

#[test]
fn nobody_but_sshd_can_read_the_host_keys() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let modes = scene.session("stat -c %a /run/sipgen/host-keys/*_key");

    assert_eq!(modes, "600\n600\n");
}
