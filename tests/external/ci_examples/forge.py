#!/usr/bin/env python3
"""The comments of one pull or merge request, as the APIs of GitHub and GitLab have them.

Starts with the comments of the JSON file that it is given, and writes them back after every change. Prints the
port that it listens on. Whoever asks is the user `bot`, number 7.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

FILE = sys.argv[1]
COMMENTS = re.compile(r"/(issues/5/comments|merge_requests/5/notes)$")
COMMENT = re.compile(r"/(?:issues/comments|merge_requests/5/notes)/(\d+)$")
PAGE = 100


class Api(BaseHTTPRequestHandler):
    def answer(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def body(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if "json" in self.headers["Content-Type"]:
            return json.loads(text)["body"]
        return parse_qs(text, keep_blank_values=True, strict_parsing=True)["body"][0]

    def handle_request(self):
        token = str(self.headers.get("Authorization")) + str(self.headers.get("PRIVATE-TOKEN"))
        if "token-of-the-bot" not in token and ("token-to-read" not in token or self.command != "GET"):
            return self.answer(403, {"message": "403 Forbidden"})
        url = urlsplit(self.path)
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
