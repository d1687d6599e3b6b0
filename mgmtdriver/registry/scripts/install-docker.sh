#!/bin/sh
# Has Docker installed and running. $1 is the drop-in of its service that tells it of a proxy, and comes on the standard input; if that is
# empty, none is written. It may be run again at any time, also where it was killed.
set -e
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# A machine that has just booted may still update itself, for minutes.
again() {
	tries=50
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 6
	done
}
answers() { docker version >/dev/null 2>&1; }

if ! docker --version >/dev/null 2>&1; then
	echo "install Docker"
	again dpkg --configure -a </dev/null
	again apt-get -qq update </dev/null
	again apt-get -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends install docker.io ca-certificates </dev/null
fi

# What is to be has a copy until Docker has been restarted with it.
mkdir -p "${1%/*}"
(umask 077 && cat >"$1.new")
if [ ! -s "$1.new" ] || { cmp -s "$1.new" "$1" && [ ! -e "$1.pending" ]; }; then
	rm -f "$1.new"
else
	touch "$1.pending"
	mv -f "$1.new" "$1"
	echo "restart Docker with the proxy"
	systemctl daemon-reload
	systemctl restart docker
	rm -f "$1.pending"
fi

answers || systemctl enable --now docker || true # what it says then tells more
tries=30
until answers; do
	tries=$((tries - 1))
	if [ $tries -le 0 ]; then
		systemctl --no-pager --lines=15 status docker >&2 || true
		echo "Docker service is not running" >&2
		exit 1
	fi
	sleep 2
done
echo "Docker runs"
