//! Programs that run beside the tests, and end with them however those end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, mpsc};
use std::thread;

use super::tool;

/// A program that runs until this is dropped, or until the test program is gone, killed or not.
pub struct Daemon {
    process: Child,
    name: String,
    log: PathBuf,
}

/// A program to start, and whom to tell how that went.
type Order = (Command, mpsc::Sender<std::io::Result<Child>>);

/// A thread that starts programs and never ends: the kernel kills them when the thread that started them does.
static STARTER: LazyLock<Mutex<mpsc::Sender<Order>>> = LazyLock::new(|| {
    let (sender, receiver) = mpsc::channel::<Order>();
    thread::spawn(move || {
        for (mut command, answer) in receiver {
            let _ = answer.send(command.spawn());
        }
    });
    Mutex::new(sender)
});

impl Daemon {
    /// Starts a program that `tests/tools/install` has installed; its output goes to `LOGS/NAME.log`.
    #[track_caller]
    pub fn start(name: &str, logs: &Path, configure: impl FnOnce(&mut Command)) -> Self {
        let log = logs.join(format!("{name}.log"));
        let file = fs::File::create(&log).unwrap();
        let mut command = tool("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(tool(name).get_program());
        configure(&mut command);
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let (sender, receiver) = mpsc::channel();
        STARTER.lock().unwrap().send((command, sender)).unwrap();
        let process = receiver.recv().unwrap();
        let process = process.unwrap_or_else(|error| {
            panic!(
                "{name} cannot be run ({error}); `tests/tools/install` installs what the tests need"
            )
        });
        Self { process, name: name.to_owned(), log }
    }

    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// The last lines of its output, for messages.
    pub fn said(&self) -> String {
        let log = String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        format!("-- {}\n{}\n", self.name, lines[lines.len().saturating_sub(15)..].join("\n"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
