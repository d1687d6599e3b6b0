#!/usr/bin/python3 -B
"""keepalived as it runs: of the machines with the same virtual address one has it, until it is gone. In place of VRRP they share a lock."""
import fcntl
import os
import re
import signal
import socket
import subprocess

import cluster

text = cluster.read("/etc/keepalived/keepalived.conf")
interface = re.search(r"^\s*interface (\S+)$", text, re.M)[1]
address, length = re.search(r"virtual_ipaddress \{\s*([0-9.]+)/(\d+)", text).groups()
re.search(r"^\s*priority \d+$", text, re.M)[0]

lock = os.open("%s/%s.lock" % (cluster.SHARED, address), os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
subprocess.run(["ip", "addr", "replace", "%s/%s" % (address, length), "dev", interface], check=True)
# Tell everybody whose address it is now, who may know it as that of another machine.
mac = bytes.fromhex(cluster.read("/sys/class/net/%s/address" % interface).strip().replace(":", ""))
ip = socket.inet_aton(address)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((interface, 0))
s.send(b"\xff" * 6 + mac + b"\x08\x06" + b"\0\1\x08\0\6\4\0\1" + mac + ip + b"\xff" * 6 + ip)
signal.pause()
