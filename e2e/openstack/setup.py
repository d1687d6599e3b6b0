#!/usr/bin/python3
"""Fill the testbed's OpenStack: `setup.py identity` as soon as Keystone is up,
`setup.py resources` when all services are.  Running it again changes nothing.
"""
import os
import sys
import time

import openstack

PASSWORD = "devstack"
REGION = "RegionOne"
SERVICES = [
    # type, name, url
    ("compute", "nova", "http://127.0.0.1:8774/v2.1"),
    ("placement", "placement", "http://127.0.0.1:8778"),
    ("network", "neutron", "http://127.0.0.1:9696"),
    ("image", "glance", "http://127.0.0.1:9292"),
    ("volumev3", "cinderv3", "http://127.0.0.1:8776/v3/%(project_id)s"),
    ("block-storage", "cinder", "http://127.0.0.1:8776/v3/%(project_id)s"),
    ("orchestration", "heat", "http://127.0.0.1:8004/v1/%(project_id)s"),
    # Nobody listens here until the VNF manager under test does.
    ("nfv-orchestration", "vnfm", "http://127.0.0.1:9890"),
]


def identity(cloud):
    ks = cloud.identity
    roles = {r.name: r for r in ks.roles()}
    for name in ("service", "heat_stack_owner", "heat_stack_user"):
        if name not in roles:
            roles[name] = ks.create_role(name=name)
    projects = {p.name: p for p in ks.projects(domain_id="default")}
    for name in ("service", "nfv"):
        if name not in projects:
            projects[name] = ks.create_project(name=name, domain_id="default")
    users = {u.name: u for u in ks.users(domain_id="default")}

    def user(name, project, granted):
        if name not in users:
            users[name] = ks.create_user(
                name=name, domain_id="default", password=PASSWORD,
                default_project_id=projects[project].id)
        for r in granted:
            ks.assign_project_role_to_user(projects[project], users[name],
                                           roles[r])

    for name in ("nova", "neutron", "glance", "cinder", "placement", "heat",
                 "vnfm"):
        user(name, "service", ["admin", "service"])
    user("nfv_user", "nfv", ["admin", "member", "heat_stack_owner"])
    user("nfv_member", "nfv", ["member", "heat_stack_owner"])
    user("admin", "nfv", ["admin"])

    services = {s.type: s for s in ks.services()}
    have = {e.service_id for e in ks.endpoints()}
    for kind, name, url in SERVICES:
        if kind not in services:
            services[kind] = ks.create_service(type=kind, name=name)
        if services[kind].id not in have:
            for interface in ("public", "internal", "admin"):
                ks.create_endpoint(service_id=services[kind].id, url=url,
                                   interface=interface, region_id=REGION)

    domain = ks.find_domain("heat") or ks.create_domain(name="heat")
    heat_admin = next(iter(ks.users(domain_id=domain.id,
                                    name="heat_domain_admin")), None)
    if heat_admin is None:
        heat_admin = ks.create_user(name="heat_domain_admin",
                                    domain_id=domain.id, password=PASSWORD)
    ks.assign_domain_role_to_user(domain, heat_admin, roles["admin"])


def resources(cloud):
    flavors = {f.name for f in cloud.compute.flavors(details=False)}
    for fid, name, vcpus, ram, disk in (
            ("1", "m1.tiny", 1, 512, 1), ("2", "m1.small", 1, 2048, 20),
            ("3", "m1.medium", 2, 4096, 40), ("4", "m1.large", 4, 8192, 80)):
        if name not in flavors:
            cloud.compute.create_flavor(id=fid, name=name, vcpus=vcpus,
                                        ram=ram, disk=disk)

    images = {i.name for i in cloud.image.images()}
    for name in ("cirros-0.5.2-x86_64-disk", "ubuntu"):
        if name not in images:
            cloud.image.create_image(name=name, data=b"\0" * 1024,
                                     disk_format="raw", container_format="bare",
                                     visibility="public")

    net = cloud.network
    nfv = cloud.identity.find_project("nfv", domain_id="default").id
    nets = {n.name: n for n in net.networks()}
    for name, cidr in (("net0", "10.10.0.0/24"), ("net1", "10.10.1.0/24"),
                       ("net_mgmt", "192.168.120.0/24")):
        if name not in nets:
            nets[name] = net.create_network(name=name, project_id=nfv,
                                            is_shared=True)
            net.create_subnet(name=name.replace("net", "subnet", 1),
                              network_id=nets[name].id, project_id=nfv,
                              ip_version=4, cidr=cidr)
    if "public" not in nets:
        nets["public"] = net.create_network(
            name="public", is_router_external=True,
            provider_network_type="flat", provider_physical_network="public")
        net.create_subnet(name="public-subnet", network_id=nets["public"].id,
                          ip_version=4, cidr="203.0.113.0/24",
                          is_dhcp_enabled=False)

    want = set(os.environ["COMPUTES"].split())
    end = time.time() + 120
    while True:
        up = {h.name for h in cloud.compute.hypervisors(details=True)
              if h.state == "up"}
        if want <= up:
            break
        if time.time() > end:
            sys.exit("no hypervisors " + " ".join(sorted(want - up)))
        time.sleep(1)
    while True:
        found = cloud.block_storage.get("/os-services").json()["services"]
        states = {s["binary"]: s["state"] for s in found}
        if states.get("cinder-volume") == "up" \
                and states.get("cinder-scheduler") == "up":
            break
        if time.time() > end:
            sys.exit("cinder services not up: %s" % states)
        time.sleep(1)
    while True:
        found = cloud.orchestration.get(
            "/services").json().get("services") or []
        if any(s["status"] == "up" for s in found):
            break
        if time.time() > end:
            sys.exit("no heat engine is up")
        time.sleep(1)


if __name__ == "__main__":
    {"identity": identity, "resources": resources}[sys.argv[1]](
        openstack.connect(
            auth_url="http://127.0.0.1:5000/v3", username="admin",
            password=PASSWORD, project_name="admin",
            user_domain_name="Default", project_domain_name="Default",
            region_name=REGION, identity_api_version="3"))
