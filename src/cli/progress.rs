//! Progress bar on stderr, shown after 300 ms.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sipgen::Stage;

/// Shorter work gets no bar, which would only flicker.
const BLINK: Duration = Duration::from_millis(300);
const STEPS: u64 = 5;

/// Progress bar, with the thread that shows it after a delay.
pub(super) struct Progress {
    bar: ProgressBar,
    done: Sender<()>,
    waiter: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts the delay. The bar stays hidden if stderr is not a terminal.
    pub(super) fn start() -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {msg}") {
            bar.set_style(style);
        }
        let (done, receiver) = mpsc::channel();
        let shown = bar.clone();
        let waiter = thread::spawn(move || {
            if receiver.recv_timeout(BLINK) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.tick();
            }
        });
        Self { bar, done, waiter: Some(waiter) }
    }

    /// Shows the current stage of a run.
    pub(super) fn show(&self, stage: Stage) {
        let (step, what) = match stage {
            Stage::Reading => (0, "reading the repo"),
            Stage::Planning => (1, "assigning hosts"),
            Stage::Rendering => (2, "rendering"),
            Stage::Comparing => (3, "comparing with existing files"),
        };
        self.bar.set_position(step);
        self.bar.set_message(what);
    }

    /// Shows how much of an action is done, of all if that is known.
    pub(super) fn show_count(&self, action: &str, done: u64, all: Option<u64>) {
        self.bar.set_length(all.unwrap_or(done));
        self.bar.set_position(done);
        let of = all.map(|all| format!(" of {all}")).unwrap_or_default();
        self.bar.set_message(format!("{action}: {done}{of}"));
    }

    /// Shows that files are being written.
    pub(super) fn show_writing(&self) {
        self.bar.set_position(STEPS - 1);
        self.bar.set_message("writing");
    }
}

impl Drop for Progress {
    /// Removes the bar.
    fn drop(&mut self) {
        // Sending fails if the thread has ended because the bar is already visible.
        let _ = self.done.send(());
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
        self.bar.finish_and_clear();
    }
}
