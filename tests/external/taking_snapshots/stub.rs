//! An API server that answers as a test says.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The answer to a request.
pub(crate) enum Answer {
    Json(u16, Value),
    /// A body without its end, and then nothing.
    Unfinished(Value),
    /// The connection is closed without a word.
    Closed,
}

/// A server on loopback, as long as it is not dropped.
pub(crate) struct Stub {
    directory: TempDir,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    /// Starts one. `answer` is given the path with its query, and how often it was asked for before.
    pub(crate) fn start(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let address = listener.local_addr().unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "stub",
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
            "clusters": [{"name": "stub", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "stub", "user": {}}]
        });
        fs::write(directory.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), asked.clone());
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (answer, log) = (answer.clone(), log.clone());
                thread::spawn(move || serve(connection.unwrap(), &*answer, &log));
            }
        });
        Self { directory, asked }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// The paths that were asked for, with their queries.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    mut connection: TcpStream,
    answer: &dyn Fn(&str, usize) -> Answer,
    asked: &Mutex<Vec<String>>,
) {
    let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
    let Some(Ok(request)) = lines.next() else {
        return;
    };
    // The rest of the head: nobody sends a body.
    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let path = request
        .strip_prefix("GET ")
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or(&request)
        .to_owned();
    let before = {
        let mut asked = asked.lock().unwrap();
        let before = asked.iter().filter(|known| **known == path).count();
        asked.push(path.clone());
        before
    };
    let head = |code: u16, length: usize| {
        format!(
            "HTTP/1.1 {code} Said\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )
    };
    // The client may be gone.
    let _ = match answer(&path, before) {
        Answer::Json(code, body) => {
            let body = body.to_string();
            connection.write_all((head(code, body.len()) + &body).as_bytes())
        }
        Answer::Unfinished(body) => {
            let body = body.to_string();
            let sent = connection.write_all((head(200, body.len() + 1) + &body).as_bytes());
            // Until the client gives up and closes the connection.
            let _ = std::io::copy(&mut connection, &mut std::io::sink());
            sent
        }
        Answer::Closed => Ok(()),
    };
}

/// A failure as an API server words it.
pub(crate) fn status(code: u16, reason: &str) -> Answer {
    let message = format!("said {reason}");
    Answer::Json(
        code,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}),
    )
}

/// A page of a list.
pub(crate) fn page(items: &[Value], next: Option<&str>) -> Answer {
    Answer::Json(
        200,
        json!({"kind": "List", "metadata": {"continue": next.unwrap_or_default()}, "items": items}),
    )
}

pub(crate) fn host(name: &str) -> Value {
    json!({"metadata": {"namespace": "metal", "name": name, "uid": name}, "spec": {"online": true}})
}
