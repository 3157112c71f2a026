"""A BMC as no emulator would play it: it answers from a table, and prints what it is asked.

    odd-bmc.py ADDRESS PORT '{"GET /path": [200, {"Header": "value"}, "text"], ...}'

What is not in the table it does not know. An answer of `null` never comes.
"""

import http.server
import json
import socket
import sys
import threading

address, port, answers = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        asked = self.command + " " + self.path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        print("asked", asked, body, flush=True)
        answer = answers.get(asked, [404, {}, ""])
        if answer is None:
            threading.Event().wait()
        status, headers, text = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_CONNECT = answer


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in address else socket.AF_INET


with Server((address, port), Handler) as server:
    print("ready", flush=True)
    server.serve_forever()
