#!/usr/bin/env python3
"""The comments of one pull or merge request and the pull requests of one repo, as the APIs of GitHub and GitLab have them.

Starts with the comments of the JSON file that it is given, and writes them back after every change. Serves the bare
repo beside that file, and keeps pull requests in pulls.json there. Prints the port that it listens on. Whoever asks is
the user `bot`, number 7.
"""

import base64
import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

FILE = sys.argv[1]
COMMENTS = re.compile(r"/(issues/5/comments|merge_requests/5/notes)$")
COMMENT = re.compile(r"/(?:issues/comments|merge_requests/5/notes)/(\d+)$")
GIT = re.compile(r"/platform/fleet(?:\.git)?(/(?:info/refs|git-(?:receive|upload)-pack))$")
PULLS = re.compile(r"/repos/platform/fleet/pulls$")
DIRECTORY = os.path.dirname(FILE)
PAGE = 100


class Api(BaseHTTPRequestHandler):
    def answer(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def git(self, path, query):
        """Answers git as the forge's web server does."""
        user, _, token = base64.b64decode(str(self.headers.get("Authorization"))[6:]).decode().partition(":")
        if not user or token != "token-of-the-bot":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
            return
        length = int(self.headers.get("Content-Length") or 0)
        variables = {
            "GIT_PROJECT_ROOT": DIRECTORY,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": user,
            "REQUEST_METHOD": self.command,
            "PATH_INFO": "/fleet.git" + path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": str(self.headers.get("Content-Type")),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": str(self.headers.get("Content-Encoding") or ""),
        }
        answer = subprocess.run(
            ["git", "http-backend"],
            input=self.rfile.read(length),
            stdout=subprocess.PIPE,
            env={**os.environ, **variables},
            check=True,
        )
        head, _, content = answer.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def pulls(self, query):
        """Answers with the pull requests of a branch, or opens one."""
        file = os.path.join(DIRECTORY, "pulls.json")
        pulls = []
        if os.path.exists(file):
            with open(file, encoding="utf-8") as text:
                pulls = json.load(text)
        if self.command == "GET":
            head = parse_qs(query, strict_parsing=True)["head"][0]
            return self.answer(200, [pull for pull in pulls if "platform:" + pull["head"] == head])
        pull = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(file, "w", encoding="utf-8") as text:
            json.dump(pulls + [pull], text)
        return self.answer(201, pull)

    def body(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if "json" in self.headers["Content-Type"]:
            return json.loads(text)["body"]
        return parse_qs(text, keep_blank_values=True, strict_parsing=True)["body"][0]

    def handle_request(self):
        url = urlsplit(self.path)
        of_git = GIT.search(url.path)
        if of_git:
            return self.git(of_git[1], url.query)
        if url.path.endswith(".whl"):
            with open(os.path.join(DIRECTORY, os.path.basename(url.path)), "rb") as wheel:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(wheel.read())
            return None
        token = str(self.headers.get("Authorization")) + str(self.headers.get("PRIVATE-TOKEN"))
        if "token-of-the-bot" not in token and ("token-to-read" not in token or self.command != "GET"):
            return self.answer(403, {"message": "403 Forbidden"})
        if PULLS.search(url.path):
            return self.pulls(url.query)
        with open(FILE, encoding="utf-8") as file:
            comments = json.load(file)
        one = COMMENT.search(url.path)
        if self.command == "GET" and url.path.endswith("/user"):
            return self.answer(200, {"id": 7})
        if self.command == "GET" and COMMENTS.search(url.path):
            page = int(parse_qs(url.query).get("page", ["1"])[0]) - 1
            return self.answer(200, comments[page * PAGE:][:PAGE])
        if self.command == "POST" and COMMENTS.search(url.path):
            comment = {"id": 1000 + len(comments), "user": {"login": "github-actions[bot]"}, "author": {"id": 7}}
            comments.append(comment)
        elif self.command in ("PATCH", "PUT") and one:
            comment = next(comment for comment in comments if comment["id"] == int(one[1]))
        else:
            return self.answer(404, {"message": "404 Not Found"})
        comment["body"] = self.body()
        with open(FILE, "w", encoding="utf-8") as file:
            json.dump(comments, file)
        self.answer(200, comment)

    do_GET = do_POST = do_PATCH = do_PUT = handle_request

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Api)
print(server.server_port, flush=True)
server.serve_forever()
