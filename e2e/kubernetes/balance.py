#!/usr/bin/python3 -B
"""HAProxy as it runs: connections to its port go to one of the servers that answer. SIGHUP makes it read its configuration again."""
import itertools
import re
import signal
import socket
import sys
import threading

import cluster

CONFIG = "/etc/haproxy/haproxy.cfg"


def configuration(path):
    """Port and servers. ValueError if HAProxy would not take it."""
    text = cluster.read(path)
    ports = re.findall(r"^\s*bind \*:(\d+)$", text, re.M)
    servers = re.findall(r"^\s*server\s+(\S+)\s+([0-9.]+):(\d+) check$", text, re.M)
    names = [name for name, _, _ in servers]
    if len(ports) != 1 or not servers or len(set(names)) < len(names):
        raise ValueError("%s: ports %s, servers %s" % (path, ports, names))
    if text.rstrip("\n").rpartition("backend ")[2].count("server ") != len(servers):
        raise ValueError("a server is outside of the backend")
    return int(ports[0]), [(address, int(port)) for _, address, port in servers]


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


def connect(client):
    start = next(turn) % len(servers)
    for server in servers[start:] + servers[:start]:
        try:
            peer = socket.create_connection(server, 1)
        except OSError:
            continue
        peer.settimeout(60)
        threading.Thread(target=copy, args=(peer, client), daemon=True).start()
        return copy(client, peer)
    client.close()


def reload(*_):
    global servers
    servers = configuration(CONFIG)[1]


if __name__ == "__main__":
    port, servers = configuration(CONFIG)
    turn = itertools.count()
    signal.signal(signal.SIGHUP, reload)
    listener = socket.create_server(("0.0.0.0", port), backlog=50)
    while True:
        client, _ = listener.accept()
        client.settimeout(60)
        threading.Thread(target=connect, args=(client,), daemon=True).start()
