#!/bin/bash
# Makes this machine the load balancer in front of a Kubernetes cluster, with HAProxy and kubectl.
# For Ubuntu 20.04, 22.04, 24.04 and Debian 12; the account needs sudo without a password. It may be run again.
#
# usage: install_external_lb.sh -m MASTERS -w WORKERS
#   -m MASTERS    addresses of all masters, with commas
#   -w WORKERS    addresses of all workers, with commas
#
# environment: http_proxy, https_proxy, no_proxy
#
# HAProxy then leads port 8383 to the Kubernetes API of the masters. The backend kubernetes-nodeport has all nodes, for frontends of services with
# node ports: a frontend on such a port leads to the same port of the nodes. The VNF manager keeps its servers up to date.
set -euo pipefail

readonly API_PORT=8383
readonly K8S_MINOR=v1.34
readonly CONFIG=/etc/haproxy/haproxy.cfg

say() { echo "install_external_lb: $*"; }
die() {
    say "$*" >&2
    exit 255
}

# as_root keeps the proxy, whose address may hold a password, off the command line.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo --preserve-env=http_proxy,https_proxy,no_proxy,DEBIAN_FRONTEND -- "$@"; fi
}

read_arguments() {
    masters= workers=
    while getopts m:w: option; do
        case $option in
        m) masters=$OPTARG ;;
        w) workers=$OPTARG ;;
        *) die "usage: install_external_lb.sh -m MASTERS -w WORKERS" ;;
        esac
    done
    [ -n "$masters" ] && [ -n "$workers" ] || die "-m and -w must be given"
    local address
    for address in ${masters//,/ } ${workers//,/ }; do
        [[ $address =~ ^[0-9A-Fa-f.:]+$ ]] || die "$address is no address"
    done
}

again() { # number of attempts, command
    local left=$1
    shift
    until "$@"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 5
    done
}

install_packages() {
    local repository=https://pkgs.k8s.io/core:/stable:/$K8S_MINOR/deb keyring=/etc/apt/keyrings/kubernetes.gpg source=/etc/apt/sources.list.d/kubernetes.list
    export DEBIAN_FRONTEND=noninteractive
    say "packages"
    again 5 as_root apt-get -o DPkg::Lock::Timeout=300 -qq update
    again 5 as_root apt-get -o DPkg::Lock::Timeout=300 -y -qq install ca-certificates curl gnupg haproxy
    say "kubectl"
    again 5 curl -fsSL -o "$work/release.key" "$repository/Release.key"
    gpg --batch --yes --dearmor -o "$work/kubernetes.gpg" "$work/release.key"
    as_root install -d -m 755 "${keyring%/*}" "${source%/*}" # apt reads them as another user
    as_root install -m 644 "$work/kubernetes.gpg" "$keyring"
    echo "deb [signed-by=$keyring] $repository/ /" | as_root tee "$source" >/dev/null
    again 5 as_root apt-get -o DPkg::Lock::Timeout=300 -qq update
    again 5 as_root apt-get -o DPkg::Lock::Timeout=300 -y -qq install kubectl
}

servers() { # role, addresses with commas, port of the servers, options
    local address
    for address in ${2//,/ }; do
        echo "    server $1-${address//[.:]/-} $address$3 $4" # the last number alone may be that of another one
    done
}

configuration() {
    cat <<END
global
    log /dev/log local0
    user haproxy
    group haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin

defaults
    log global
    mode tcp
    option tcplog
    option dontlognull
    timeout connect 5s
    timeout client 1h
    timeout server 1h

frontend kubernetes-apiserver
    bind *:$API_PORT
    default_backend kubernetes-apiserver

backend kubernetes-apiserver
    balance roundrobin
    option tcp-check
$(servers master "$masters" :6443 check)

# All nodes: a connection goes to the port of the node on which it has come.
backend kubernetes-nodeport
    balance roundrobin
$(servers master "$masters" "" "check port 10250")
$(servers worker "$workers" "" "check port 10250")
END
}

configure() {
    local new=$CONFIG.new
    say "HAProxy on port $API_PORT"
    as_root mkdir -p /run/haproxy
    configuration | as_root tee "$new" >/dev/null
    as_root haproxy -c -q -f "$new" || die "HAProxy does not accept its configuration"
    as_root mv -f "$new" "$CONFIG"
    as_root systemctl -q enable haproxy
    as_root systemctl restart haproxy
}

read_arguments "$@"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
install_packages
configure
mkdir -p -m 700 "$HOME/.kube" # the VNF manager puts the configuration there
say "done"
