//! A network and a file system of one's own, in which addresses, names and paths are those that were rendered.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::network::is_root;
use crate::support::{text, tool};

/// Linux namespaces, and the process that holds them; all processes in them end with it.
pub(crate) struct Place {
    holder: Child,
    /// The process in the namespaces, by its number outside.
    inside: String,
    directory: TempDir,
    started: RefCell<Vec<Child>>,
}

/// Makes `$1/etc` and `$1/bin` the place's `/etc` and `/usr/local/bin`, and the other arguments its addresses.
const SET_UP: &str = r#"
set -eu
directory=$1; dex=$2; shift 2
ip link set lo up
for address in "$@"; do ip address add "$address" dev lo; done
mkdir "$directory/machine" "$directory/bin"
mount --bind /usr/local/bin "$directory/machine"
for program in "$directory"/machine/*; do
  if [ -e "$program" ]; then ln -s "$program" "$directory/bin/"; fi
done
ln -sf "$dex" "$directory/bin/dex"
mount --bind "$directory/bin" /usr/local/bin
mount --bind "$directory/etc" /etc
read -r pid rest < /proc/self/stat
echo "$pid"
# Until the test ends, however it does.
exec cat
"#;

/// What programs need of the machine's `/etc`.
const ETC: [&str; 7] =
    ["group", "ld.so.cache", "ld.so.conf", "ldap", "nsswitch.conf", "passwd", "ssl"];

impl Place {
    /// A place with addresses and with names for the first of them.
    pub(crate) fn new(addresses: &[&str], names: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let etc = directory.path().join("etc");
        fs::create_dir(&etc).unwrap();
        for name in ETC.iter().filter(|name| Path::new("/etc").join(name).exists()) {
            // What an ordinary user must not read is not needed.
            let _ = tool("cp")
                .args(["-rL", &format!("/etc/{name}")])
                .arg(&etc)
                .stderr(Stdio::null())
                .status()
                .unwrap();
        }
        let hosts = format!("127.0.0.1 localhost\n{} {}\n", addresses[0], names.join(" "));
        fs::write(etc.join("hosts"), hosts).unwrap();

        let dex = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin/dex");
        assert!(dex.is_file(), "there is no {}; `tests/tools/install` installs it", dex.display());
        let mut command = tool("unshare");
        if !is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args([
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            SET_UP,
            "sh",
        ]);
        command.arg(directory.path()).arg(dex).args(addresses);
        let mut holder =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap_or_else(|error| {
                panic!("unshare cannot be run ({error}); it is part of util-linux")
            });
        let mut inside = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut inside).unwrap();
        assert!(
            !inside.is_empty(),
            "no namespaces can be made here; the tests need unshare, ip and mount"
        );
        Self { holder, inside: inside.trim().to_owned(), directory, started: RefCell::default() }
    }

    /// A directory that the place and the test share.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file to a path in the place's `/etc`.
    pub(crate) fn write(&self, path: &str, content: &str) {
        let below =
            path.strip_prefix("/etc/").unwrap_or_else(|| panic!("{path} is not below /etc"));
        let file = self.path().join("etc").join(below);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    /// A program in the place.
    pub(crate) fn tool(&self, program: &str) -> Command {
        let mut command = tool("nsenter");
        command.args(["--target", &self.inside, "--mount", "--net", "--pid"]);
        if !is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        let installed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin").join(program);
        command.arg("--").arg(if installed.is_file() { installed } else { PathBuf::from(program) });
        command
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, command: &mut Command) -> Output {
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Runs a program that must end well, and returns what it printed.
    #[track_caller]
    pub(crate) fn succeed(&self, command: &mut Command) -> String {
        let output = self.run(command);
        assert!(
            output.status.success(),
            "{command:?}\n{}{}\n{}",
            text(&output.stdout),
            text(&output.stderr),
            self.logs()
        );
        text(&output.stdout)
    }

    /// Runs a program with a text as its input.
    pub(crate) fn run_with_input(&self, command: &mut Command, input: &str) -> Output {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Starts a program that runs as long as the place is there, and returns the process that waits for it. Its output is
    /// in the file `NAME.log`.
    pub(crate) fn start(&self, name: &str, command: &mut Command) -> u32 {
        let log = fs::File::create(self.path().join(format!("{name}.log"))).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let process = child.id();
        self.started.borrow_mut().push(child);
        process
    }

    /// What the programs that were started have said.
    pub(crate) fn logs(&self) -> String {
        let files = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        let logs =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|log| format!("-- {}\n{}", log.display(), fs::read_to_string(&log).unwrap()))
            .collect()
    }

    /// Makes an authority, unless it is there, and a certificate of it for DNS names and addresses, in the files
    /// `ca.crt`, `NAME.crt` and `NAME.key`.
    pub(crate) fn certificate(&self, name: &str, subjects: &[String]) {
        let file = |name: &str| self.path().join(name).to_str().unwrap().to_owned();
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        if !self.path().join("ca.crt").exists() {
            self.succeed(
                self.tool("openssl")
                    .args(["req", "-x509", "-subj", "/CN=Authority"])
                    .args(key)
                    .args(["-keyout", &file("ca.key"), "-out", &file("ca.crt")]),
            );
        }
        let extension = format!("subjectAltName={}", subjects.join(","));
        self.succeed(
            self.tool("openssl")
                .args(["req", "-x509", "-subj", "/CN=server", "-addext", &extension])
                .args(["-addext", "basicConstraints=critical,CA:FALSE"])
                .args(key)
                .args(["-CA", &file("ca.crt"), "-CAkey", &file("ca.key")])
                .args([
                    "-keyout",
                    &file(&format!("{name}.key")),
                    "-out",
                    &file(&format!("{name}.crt")),
                ]),
        );
    }

    /// The text of a file that the place and the test share.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// What the script `login` prints.
    pub(crate) fn login(&self, arguments: &[&str], environment: &BTreeMap<&str, &str>) -> Command {
        let mut command = self.tool("python3");
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/auth_login/login"))
            .args(arguments);
        command.env("SSL_CERT_FILE", self.path().join("ca.crt")).envs(environment);
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        for child in self.started.get_mut() {
            let _ = child.wait();
        }
    }
}
