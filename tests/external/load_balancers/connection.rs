//! Clients of a load balancer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::support::tool;

/// Longer than anything takes on a machine that is busy otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to a host that answers lines.
pub struct Connection {
    writer: Box<dyn Write>,
    /// Ends with the connection.
    answers: Receiver<String>,
    client: Client,
}

/// What has the connection.
enum Client {
    Test(TcpStream),
    Openssl(Child),
}

impl Connection {
    /// To a worker.
    pub fn plain(address: IpAddr, port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(SocketAddr::new(address, port))?;
        let (writer, reader) = (stream.try_clone()?, stream.try_clone()?);
        Ok(Self { writer: Box::new(writer), answers: lines(reader), client: Client::Test(stream) })
    }

    /// To an API server: a request over TLS that is answered by a stream.
    pub fn tls(address: IpAddr, port: u16) -> io::Result<Self> {
        let mut command = tool("openssl");
        command.args([
            "s_client",
            "-quiet",
            "-connect",
            &SocketAddr::new(address, port).to_string(),
        ]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = command.spawn()?;
        let writer = Box::new(client.stdin.take().unwrap());
        let answers = lines(client.stdout.take().unwrap());
        let mut connection = Self { writer, answers, client: Client::Openssl(client) };
        write!(connection.writer, "GET /stream HTTP/1.1\r\nHost: api\r\n\r\n")?;
        while !connection.answer()?.is_empty() {}
        Ok(connection)
    }

    /// Sends a line and waits for the answer to it; an error if the connection has ended.
    pub fn ask(&mut self, line: &str) -> io::Result<String> {
        writeln!(self.writer, "{line}")?;
        self.writer.flush()?;
        self.answer()
    }

    fn answer(&self) -> io::Result<String> {
        self.answers.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => io::ErrorKind::TimedOut.into(),
            RecvTimeoutError::Disconnected => io::ErrorKind::ConnectionAborted.into(),
        })
    }

    /// Whether the connection ends within a time, while nothing is sent.
    pub fn ends_within(&self, time: Duration) -> bool {
        matches!(self.answers.recv_timeout(time), Err(RecvTimeoutError::Disconnected))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        match &mut self.client {
            Client::Test(stream) => {
                let _ = stream.shutdown(Shutdown::Both);
            }
            Client::Openssl(program) => {
                let _ = program.kill();
                let _ = program.wait();
            }
        }
    }
}

fn lines(reader: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            if send.send(line.trim_end().to_owned()).is_err() {
                return;
            }
        }
    });
    receive
}
