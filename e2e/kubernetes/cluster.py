"""What the stand-ins share: the store of a cluster, the way to its Kubernetes API, and how a process goes on in the background.

What etcd would hold is a file below SHARED, a directory that all hosts see. Only the API servers of masters touch it (api.py); everybody
else asks them, through the address that the cluster has.
"""
import base64
import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

import yaml

SHARED = "/var/lib/testbed/kubernetes"
HERE = os.path.dirname(os.path.abspath(__file__))
KUBERNETES = "/etc/kubernetes"
ADMIN = KUBERNETES + "/admin.conf"
KUBELET = KUBERNETES + "/kubelet.conf"
PKI = KUBERNETES + "/pki"
APISERVER, ETCD, KUBELET_PORT = 6443, 2379, 10250


class Refused(Exception):
    """What a server answers to a question that it does not grant: the words and, perhaps, an output."""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", opener=lambda p, flags: os.open(p, flags, mode)) as f:
        f.write(text)
    os.chmod(path, mode)


def read(path):
    with open(path) as f:
        return f.read()


def die(text, status=1):
    print(text, file=sys.stderr)
    sys.exit(status)


def surprise(text):
    """Something that must not happen: the test reads it."""
    line = "%s: %s\n" % (socket.gethostname(), text)
    path = SHARED + "/surprises"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, line.encode())
    os.close(fd)
    die(line, 127)


def installed(package):
    """Whether apt-get has installed a package here: the journal has what was run."""
    with open("/var/log/testbed.jsonl") as f:
        return any(e["command"] == "apt-get" and package in e["argv"] for e in map(json.loads, f))


def unknown():
    surprise("nobody plays " + repr([os.path.basename(sys.argv[0])] + sys.argv[1:]))


@contextlib.contextmanager
def store(cluster):
    """The cluster's store, to be read and changed."""
    directory = "%s/%s" % (SHARED, cluster)
    with open(directory + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = json.loads(read(directory + "/state.json"))
        before = json.dumps(state)
        yield state
        if json.dumps(state) != before:
            write(directory + "/state.new", json.dumps(state, indent=1), 0o600)
            os.rename(directory + "/state.new", directory + "/state.json")


def admin_config(server, ca, token):
    """The configuration of the administrator, as kubectl reads it."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "admin",
        "clusters": [{"name": "kubernetes", "cluster": {
            "server": "https://" + server, "certificate-authority-data": base64.b64encode(ca.encode()).decode()}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "admin", "context": {"cluster": "kubernetes", "user": "admin"}}],
    })


def read_config(path):
    """Where the Kubernetes API is, the certificate of its authority, and what lets one in."""
    config = yaml.safe_load(read(path))
    known = config["clusters"][0]["cluster"]
    return (known["server"].removeprefix("https://"), base64.b64decode(known["certificate-authority-data"]).decode(),
            config["users"][0]["user"]["token"])


def answers(address, port):
    try:
        socket.create_connection((address, port), 1).close()
        return True
    except OSError:
        return False


def key_hash(ca):
    """By which kubeadm recognizes the authority."""
    key = subprocess.run(["openssl", "x509", "-pubkey", "-noout"], input=ca.encode(), stdout=subprocess.PIPE, check=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key, stdout=subprocess.PIPE, check=True).stdout
    return hashlib.sha256(der).hexdigest()


def ask(endpoint, path, question, ca=None, token=None):
    """Post a question to a Kubernetes API. Without the certificate of its authority it may be anybody who answers."""
    context = ssl.create_default_context(cadata=ca) if ca else ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(endpoint, timeout=30, context=context)
    headers = {"Authorization": "Bearer " + token} if token else {}
    connection.request("POST", path, json.dumps(question), headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    if response.status != 200:
        raise OSError("%s: %s" % (endpoint, answer.get("message")))
    return answer


def background(name, *argv):
    """Start a program as systemd would: with nothing of whoever asks for it, and in the place of the one that runs."""
    pid_file = "/run/stand-ins/%s.pid" % name
    end(name)
    log = open("/var/log/%s.log" % name, "a")
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/")
    write(pid_file, str(p.pid))


def signal_to(name, number):
    try:
        os.kill(int(read("/run/stand-ins/%s.pid" % name)), number)
        return True
    except (OSError, ValueError):
        return False


def end(name):
    while signal_to(name, signal.SIGKILL):
        time.sleep(0.05)
    with contextlib.suppress(OSError):
        os.unlink("/run/stand-ins/%s.pid" % name)
