#!/usr/bin/python3 -B
"""What runs on a node: the kubelet and, on a master, etcd and the API server. Whoever can connect to their ports takes them for alive.
    node.py CLUSTER NAME [master]
"""
import http.server
import json
import re
import socket
import ssl
import sys
import threading

import api
import cluster
import volumes

CLUSTER, NAME = sys.argv[1:3]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, text):
        self.answer(status, {"kind": "Status", "message": text})

    def allowed(self, state):
        return self.headers.get("Authorization") in ("Bearer " + state["admin"], "Bearer " + state["bearer"])

    def do_GET(self):
        self.play(None)

    def do_DELETE(self):
        self.play(None)

    def do_POST(self):
        self.play(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def play(self, question):
        with cluster.store(CLUSTER) as state:
            try:
                if self.path == "/ca":
                    return self.answer(200, {"ca": state["ca"]})
                api.need_majority(state, NAME)
                if self.path == "/join":
                    return self.answer(200, api.join(state, question))
                if not self.allowed(state):
                    return self.refuse(401, "Unauthorized")
                if self.path == "/api/v1/nodes":
                    return self.answer(200, api.node_list(state))
                if self.path == "/api/v1/persistentvolumes":
                    return self.answer(200, volumes.listed(state))
                claims = re.fullmatch("/api/v1/namespaces/([^/]+)/persistentvolumeclaims(?:/([^/]+))?", self.path)
                if claims and self.command == "POST":
                    return self.answer(201, volumes.claim(state, claims[1], question))
                if claims and self.command == "DELETE":
                    return self.answer(200, volumes.release(state, claims[1], claims[2]))
                if self.path == "/secret":
                    state[question["kind"]].append(question["value"])
                    return self.answer(200, {})
                if self.path != "/kubectl":
                    return self.refuse(404, "Not Found")
                self.kubectl(state, question)
            except api.Refused as e:
                self.refuse(403, str(e))

    def kubectl(self, state, question):
        try:
            # A pod runs where it is, whichever API server is asked for it.
            out = api.kubectl(state, question["own"], question["argv"], question["manifest"])
            self.answer(200, {"status": None if out is None else 0, "out": out or "", "err": ""})
        except api.Refused as e:
            self.answer(200, {"status": 1, "out": e.args[1] if len(e.args) > 1 else "", "err": e.args[0] + "\n"})


class Server(http.server.ThreadingHTTPServer):
    """A connection that says nothing, as those of load balancers that check, does not keep the others waiting."""
    daemon_threads = True
    request_queue_size = 50

    def __init__(self):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cluster.PKI + "/apiserver.crt", cluster.PKI + "/apiserver.key")
        super().__init__(("0.0.0.0", cluster.APISERVER), Handler)

    def finish_request(self, request, client):
        request.settimeout(30)
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client)

    def handle_error(self, request, client):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client)


def listen(port):
    server = socket.create_server(("0.0.0.0", port), backlog=50)
    while True:
        server.accept()[0].close()


if sys.argv[3:] == ["master"]:
    threading.Thread(target=listen, args=(cluster.ETCD,), daemon=True).start()
    threading.Thread(target=Server().serve_forever, daemon=True).start()
listen(cluster.KUBELET_PORT)
