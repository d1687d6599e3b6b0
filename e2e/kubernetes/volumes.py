"""PersistentVolumes of a cluster, and those who claim them."""
import yaml

from cluster import Refused


def apply(state, manifest):
    told = ""
    for volume in yaml.safe_load_all(manifest):
        if volume["kind"] != "PersistentVolume":
            return None
        name, nfs = volume["metadata"]["name"], volume["spec"]["nfs"]
        known = state.setdefault("volumes", {}).setdefault(name, {"nfs": nfs, "phase": "Available", "claim": None})
        if known["nfs"] != nfs:
            raise Refused('The PersistentVolume "%s" is invalid: spec.persistentvolumesource: Forbidden: is immutable after creation' % name)
        told += "persistentvolume/%s configured\n" % name
    return told


def listed(state):
    return {"kind": "PersistentVolumeList", "apiVersion": "v1", "items": [{
        "metadata": {"name": name},
        "spec": {"nfs": v["nfs"], "claimRef": v["claim"]},
        "status": {"phase": v["phase"]},
    } for name, v in state.get("volumes", {}).items()]}


def delete(state, names):
    for name in names:
        # One that is bound is protected.
        if state["volumes"].get(name, {"phase": "Bound"})["phase"] != "Bound":
            del state["volumes"][name]
    return ""


def claim(state, namespace, claim):
    """A PersistentVolumeClaim that names its volume."""
    volume = state["volumes"][claim["spec"]["volumeName"]]
    if volume["phase"] != "Available":
        raise Refused("the volume is not available")
    volume.update(phase="Bound", claim={"namespace": namespace, "name": claim["metadata"]["name"]})
    return claim


def release(state, namespace, name):
    for volume in state["volumes"].values():
        if volume["claim"] == {"namespace": namespace, "name": name}:
            volume["phase"] = "Released"
            return {"kind": "Status", "status": "Success"}
    raise Refused('persistentvolumeclaims "%s" not found' % name)
