"""The Kubernetes API of a master, and what kubectl does there: questions are answered by those who hold the cluster's store."""
import base64
import json
import secrets
import re

import cluster
import volumes
from cluster import Refused

MANIFESTS = ("calico.yaml", "create_admin_token.yaml")
ETCDCTL = ["etcdctl", "--endpoints=https://127.0.0.1:2379", "--cacert=/etc/kubernetes/pki/etcd/ca.crt",
           "--cert=/etc/kubernetes/pki/etcd/server.crt", "--key=/etc/kubernetes/pki/etcd/server.key"]


def healthy(state):
    return {m["name"]: cluster.answers(m["ip"], cluster.ETCD) for m in state["members"]}


def need_majority(state, own):
    """etcd serves nobody without a majority, nor through a member that it has lost."""
    if own not in [m["name"] for m in state["members"]]:
        raise Refused("etcdserver: server stopped")
    if sum(healthy(state).values()) <= len(state["members"]) // 2:
        raise Refused("Error from server: etcdserver: request timed out")


def ready(state, node):
    return state["network"] and cluster.answers(node["ip"], cluster.KUBELET_PORT)


def join(state, question):
    """A machine becomes a node."""
    name, ip, key = question["name"], question["ip"], question.get("key")
    if question["token"] not in state["tokens"]:
        raise Refused("the token is not valid")
    known = state["nodes"].get(name)
    if known and ready(state, known):
        raise Refused('a Node with name "%s" and status "Ready" already exists in the cluster' % name)
    answer = {"cluster": state["id"], "admin": None}
    if key is not None:
        if key not in state["keys"]:
            raise Refused("the certificate key is not valid")
        ill = [m for m, well in healthy(state).items() if not well]
        if ill:
            raise Refused("etcd cluster is not healthy: failed to dial " + ", ".join(ill))
        add_member(state, name, ip)
        answer.update(admin=state["admin"], ca_key=state["ca_key"], sans=state["sans"])
    add_node(state, name, ip, key is not None)
    return answer


def add_node(state, name, ip, master):
    state["nodes"][name] = {"ip": ip, "master": master, "closed": False, "labels": {"kubernetes.io/hostname": name}}


def add_member(state, name, ip):
    state["members"].append({"ID": secrets.randbits(63) | 1 << 63, "name": name, "ip": ip})


def node_list(state):
    return {"kind": "NodeList", "apiVersion": "v1", "items": [{
        "metadata": {"name": name, "labels": node["labels"], "annotations": node.get("annotations", {})},
        "spec": {"unschedulable": node["closed"]},
        "status": {
            "addresses": [{"type": "InternalIP", "address": node["ip"]}, {"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": "True" if ready(state, node) else "Unknown"}],
            "nodeInfo": {"containerRuntimeVersion": "containerd://1.6.20"},
        }} for name, node in state["nodes"].items()]}


def kubectl(state, own, argv, manifest):
    """What kubectl does; its standard output. None: nobody plays that."""
    command = " ".join(argv)
    nodes = state["nodes"]

    def node(name):
        if name not in nodes:
            raise Refused('Error from server (NotFound): nodes "%s" not found' % name)
        return nodes[name]

    if command == "get nodes -o json":
        return json.dumps(node_list(state))
    if argv[:2] == ["get", "node"] and len(argv) == 3:
        node(argv[2])
        return argv[2] + "\n"
    if argv[0] in ("cordon", "uncordon"):
        for name in argv[1:]:
            node(name)["closed"] = argv[0] == "cordon"
        return ""
    if argv[:2] == ["annotate", "node"] and argv[-2] == "--overwrite" and argv[-1].startswith("vnfm/leaving="):
        for name in argv[2:-2]:
            node(name)["annotations"] = {"vnfm/leaving": argv[-1].partition("=")[2]}
        return ""
    if argv[:2] == ["annotate", "node"] and argv[-1] == "vnfm/leaving-":
        for name in argv[2:-1]:
            node(name).pop("annotations", None)
        return ""
    if re.fullmatch(r"drain \S+ --ignore-daemonsets --delete-emptydir-data --force --timeout=\S+", command):
        if not node(argv[1])["closed"] or not ready(state, node(argv[1])):
            raise Refused("error: unable to drain node %s: global timeout reached" % argv[1])
        return "node/%s drained\n" % argv[1]
    if argv[:2] == ["delete", "node"] and argv[3:] == ["--ignore-not-found"]:
        nodes.pop(argv[2], None)
        return ""
    if re.fullmatch(r"delete pods --all-namespaces --field-selector spec\.nodeName=\S+ --force --grace-period=0 --wait=false", command):
        return "No resources found\n"
    if argv[:2] == ["label", "node"] and argv[3] == "--overwrite":
        node(argv[2])["labels"].update(label.split("=", 1) for label in argv[4:])
        return ""
    if command == "apply -f -":
        return volumes.apply(state, manifest)
    if command == "get persistentvolumes -o json":
        return json.dumps(volumes.listed(state))
    if argv[:2] == ["delete", "persistentvolumes"] and argv[-2:] == ["--ignore-not-found", "--wait=false"]:
        return volumes.delete(state, argv[2:-2])
    if argv[:2] == ["apply", "-f"] and len(argv) == 3:
        return apply(state, manifest)
    if command == "-n kube-system get secrets --field-selector type=kubernetes.io/service-account-token -o json":
        return json.dumps({"items": state["secrets"]})
    if argv[:6] == ["exec", "-n", "kube-system", "etcd-" + own, "--", "etcdctl"]:
        return etcdctl(state, argv[5:])
    return None


def apply(state, manifest):
    if "name: calico-node" in manifest:
        state["network"] = True
        return "daemonset.apps/calico-node created\n"
    if "kubernetes.io/service-account.name: admin" not in manifest:
        return None
    if not state["secrets"]:
        token = base64.b64encode(state["bearer"].encode()).decode()
        state["secrets"] = [{"metadata": {"name": "admin-token", "annotations": {"kubernetes.io/service-account.name": "admin"}},
                             "data": {"token": token}}]
    return "secret/admin-token created\n"


def etcdctl(state, argv):
    if argv[:5] != ETCDCTL or not argv[5].startswith("--command-timeout="):
        return None
    command = " ".join(argv[6:])
    if command == "member list -w json":
        return json.dumps({"members": [{"ID": m["ID"], "name": m["name"], "peerURLs": ["https://%s:2380" % m["ip"]]} for m in state["members"]]})
    if command == "endpoint health --cluster -w json":
        well = healthy(state)
        text = json.dumps([{"endpoint": "https://%s:2379" % m["ip"], "health": well[m["name"]]} for m in state["members"]])
        if not all(well.values()):
            raise Refused("Error: unhealthy cluster", text)
        return text
    if argv[6:8] == ["member", "remove"] and len(argv) == 9:
        left = [m for m in state["members"] if "%x" % m["ID"] != argv[8]]
        if len(left) == len(state["members"]):
            raise Refused("Error: etcdserver: member not found")
        well = healthy(state)
        if sum(well[m["name"]] for m in left) <= len(left) // 2:
            raise Refused("Error: etcdserver: re-configuration failed due to not enough started members")
        state["members"] = left
        return "Member %s removed\n" % argv[8]
    return None
