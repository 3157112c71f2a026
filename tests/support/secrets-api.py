"""The part of a Kubernetes API server that a jump host asks: GET of a Secret, judged by RBAC rules.

    secrets-api.py ADDRESS PORT CERTIFICATE KEY STATE

STATE is a file of JSON that is read for each request: {"token", "namespace", "rules", "secrets": {name: {key: text}}}.
"""

import base64
import http.server
import json
import ssl
import sys

address, port, certificate, key, state_file = sys.argv[1:]


def allows(rule, name):
    """As Kubernetes has it: a rule without resourceNames is for every object."""
    names = rule.get("resourceNames")
    return "" in rule["apiGroups"] and "secrets" in rule["resources"] and "get" in rule["verbs"] \
        and (not names or name in names)


def answer(path, authorization):
    with open(state_file) as file:
        state = json.load(file)
    before = "/api/v1/namespaces/{}/secrets/".format(state["namespace"])
    name = path.split("?")[0][len(before):]
    if authorization != "Bearer " + state["token"]:
        return 401, {}
    if not path.startswith(before) or not name or not any(allows(rule, name) for rule in state["rules"]):
        return 403, {}
    secret = state["secrets"].get(name)
    if secret is None:
        return 404, {}
    return 200, {"data": {key: base64.b64encode(text.encode()).decode() for key, text in secret.items()}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, body = answer(self.path, self.headers.get("Authorization"))
        print("asked", self.path, status, flush=True)
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
with http.server.ThreadingHTTPServer((address, int(port)), Handler) as server:
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("ready", flush=True)
    server.serve_forever()
