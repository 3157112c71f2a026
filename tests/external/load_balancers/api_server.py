"""An API server, as far as a load balancer sees one: HTTPS, of which /readyz says whether it is ready.

    api_server.py ADDRESS NAME CERTIFICATE

Any other path is a stream, as of `kubectl exec`: each line comes back with the server's name before it.
A line on stdin, such as 500, is the status of /readyz from then on.
"""
import http.server
import ssl
import sys
import threading

address, name, certificate = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    status = 200

    def do_GET(self):
        if self.path == "/readyz":
            self.send_response(Handler.status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        for line in self.rfile:
            self.wfile.write(f"{name} ".encode() + line)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = http.server.socket.AF_INET6 if ":" in address else http.server.socket.AF_INET

    def handle_error(self, *_):
        """Clients may go as they like."""


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
server = Server((address, 6443), Handler)
# The thread of a connection shakes hands, so that none waits for another.
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("serving", flush=True)
for line in sys.stdin:
    Handler.status = int(line)
    print("switched", flush=True)
