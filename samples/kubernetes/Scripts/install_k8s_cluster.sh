#!/bin/bash
# Makes this machine a node of a Kubernetes cluster, with kubeadm, containerd and Calico.
# For Ubuntu 20.04, 22.04, 24.04 and Debian 12; the account needs sudo without a password.
#
# The phases that the VNF manager may call one by one; without a phase all of it is done:
# vnfm-phases: prepare
#
# usage: install_k8s_cluster.sh [prepare] -m MASTERS | -w ADDRESS  -i ADDRESS  [options]
#   prepare       install and fetch everything that does not depend on other nodes, and end
#   -m MASTERS    be a master: addresses of all masters, with commas; the first one makes the cluster, the others join it
#   -w ADDRESS    be a worker, with that address
#   -i ADDRESS    address of the cluster: a virtual one if there are several masters
#   -p NETWORK    of the pods          -a NETWORK   of the services
#   -t TOKEN      for joining          -s HASH      of the CA certificate       -k KEY   of the certificates of the masters
#   -d            trace                -o           write to /tmp/install_k8s_cluster.log, too
#
# environment (secrets belong here: everybody can see arguments)
#   K8S_JOIN_TOKEN, K8S_CERTIFICATE_KEY        in place of -t and -k
#   K8S_NODE_NAME                              default: master or worker, and the last number of the address
#   K8S_CERT_SANS                              more names and addresses of the Kubernetes API, with commas
#   K8S_QUIET                                  not empty: do not print what others need to join
#   http_proxy, https_proxy, no_proxy          proxy
#   HTTP_PRIVATE_REGISTRIES                    registries without TLS, with commas
#   ha_flag                                    of a worker: True if there are several masters
set -euo pipefail

readonly K8S_MINOR=v1.34 # the last one for machines with cgroups v1, such as Ubuntu 20.04
readonly CALICO=v3.30.3
readonly REGISTRIES=/etc/containerd/certs.d

say() { echo "install_k8s_cluster: $*"; }
die() { echo "install_k8s_cluster: $*" >&2; exit 255; }

# as_root keeps the proxy, whose address may hold a password, off the command line.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo --preserve-env=http_proxy,https_proxy,no_proxy,DEBIAN_FRONTEND -- "$@"; fi
}

# root_file writes the standard input to a file with a mode.
root_file() {
    as_root mkdir -p -- "$(dirname -- "$1")"
    as_root install -m "$2" /dev/null "$1.new"
    as_root tee -- "$1.new" >/dev/null
    as_root mv -f -- "$1.new" "$1"
}

# again COUNT COMMAND… repeats what depends on the network.
again() {
    local count=$1 n
    shift
    for ((n = 1; n <= count; n++)); do
        "$@" && return 0
        say "attempt $n of $count failed: $1 $2"
        sleep $((n * 5))
    done
    return 1
}

# What only this script needs, and what holds secrets, goes with it, however it ends.
work='' configuration=''
tidy() {
    if [ -n "$work" ]; then rm -rf -- "$work"; fi
    if [ -n "$configuration" ]; then as_root rm -f -- "$configuration"; fi
}
trap tidy EXIT

phase=all masters='' worker='' cluster='' pods=192.168.0.0/16 services=10.96.0.0/12
token=${K8S_JOIN_TOKEN:-} hash='' key=${K8S_CERTIFICATE_KEY:-}

arguments() {
    if [ "${1:-}" = prepare ]; then phase=prepare; shift; fi
    local option
    while getopts 'm:w:i:p:a:t:s:k:doh' option; do
        case $option in
        m) masters=$OPTARG ;;
        w) worker=$OPTARG ;;
        i) cluster=$OPTARG ;;
        p) pods=$OPTARG ;;
        a) services=$OPTARG ;;
        t) token=$OPTARG ;;
        s) hash=$OPTARG ;;
        k) key=$OPTARG ;;
        d) set -x ;;
        o) exec > >(tee -a /tmp/install_k8s_cluster.log) 2>&1 ;;
        h) sed -n '2,/^set -e/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
        *) die 'see -h' ;;
        esac
    done
    [ -n "$masters$worker" ] && [ -n "$cluster" ] || die '-m or -w, and -i must be given; see -h'
}

# own_address finds which of the masters this machine is.
own_address() {
    local address
    if [ -n "$worker" ]; then echo "$worker"; return; fi
    for address in ${masters//,/ }; do
        if ip -o addr show | grep -F " $address/" >/dev/null; then echo "$address"; return; fi
    done
    die "none of the addresses $masters is this machine's"
}

facts() {
    address=$(own_address)
    main=${masters%%,*}
    role=master ha=False
    [ -n "$worker" ] && role=worker
    case $masters in *,*) ha=True ;; esac
    [ "$role" = worker ] && ha=${ha_flag:-False}
    port=6443
    [ "$ha" = True ] && port=16443
    name=${K8S_NODE_NAME:-$role${address##*.}}
    . /etc/os-release
    case $ID$VERSION_ID in
    ubuntu20.04 | ubuntu22.04 | ubuntu24.04 | debian12) ;;
    *) die "$PRETTY_NAME is not supported: use Ubuntu 20.04, 22.04 or 24.04, or Debian 12" ;;
    esac
}

system() {
    say "set up $name"
    as_root hostnamectl set-hostname "$name"
    if [ -d /etc/cloud/cloud.cfg.d ]; then # where cloud-init may set name and hosts anew at every start
        printf 'preserve_hostname: true\nmanage_etc_hosts: false\n' | root_file /etc/cloud/cloud.cfg.d/99-kubernetes.cfg 644
    fi
    as_root swapoff -a
    as_root sed -i '/^[^#].*[[:space:]]swap[[:space:]]/s/^/#/' /etc/fstab
    printf 'overlay\nbr_netfilter\n' | root_file /etc/modules-load.d/kubernetes.conf 644
    as_root modprobe overlay
    as_root modprobe br_netfilter
    printf 'net.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\nnet.ipv4.ip_forward = 1\n' |
        root_file /etc/sysctl.d/90-kubernetes.conf 644
    as_root sysctl -q --system
}

# A machine that has just booted may still update itself.
apt() { again 10 as_root apt-get -o DPkg::Lock::Timeout=300 -y -qq "$@"; }

packages() {
    export DEBIAN_FRONTEND=noninteractive
    local list=(ca-certificates curl gnupg containerd socat conntrack)
    [ "$role" = master ] && [ "$ha" = True ] && list+=(haproxy keepalived)
    say "install ${list[*]}"
    apt update
    apt install "${list[@]}"
    local repository=https://pkgs.k8s.io/core:/stable:/$K8S_MINOR/deb
    as_root install -d -m 755 /etc/apt/keyrings # apt reads it as another user
    again 5 curl -fsSL -o "$work/release.key" "$repository/Release.key"
    gpg --batch --yes --dearmor -o "$work/kubernetes.gpg" "$work/release.key"
    as_root install -m 644 "$work/kubernetes.gpg" /etc/apt/keyrings/kubernetes.gpg
    echo "deb [signed-by=/etc/apt/keyrings/kubernetes.gpg] $repository/ /" | root_file /etc/apt/sources.list.d/kubernetes.list 644
    say "install Kubernetes $K8S_MINOR"
    apt update
    apt install --allow-change-held-packages kubelet kubeadm kubectl
    as_root apt-mark hold kubelet kubeadm kubectl >/dev/null
    echo "KUBELET_EXTRA_ARGS=--node-ip=$address" | root_file /etc/default/kubelet 644
}

# in_unit writes a value so that systemd reads it as it is.
in_unit() { sed 's/[\\"]/\\&/g; s/%/%%/g' <<<"$1"; }

container_runtime() {
    containerd config default | sed -e 's/SystemdCgroup = false/SystemdCgroup = true/' \
        -e "s#config_path = [\"'].*#config_path = \"$REGISTRIES\"#" | root_file /etc/containerd/config.toml 644
    if [ -n "${http_proxy:-}${https_proxy:-}" ]; then
        printf '[Service]\nEnvironment="HTTP_PROXY=%s" "HTTPS_PROXY=%s" "NO_PROXY=%s"\n' \
            "$(in_unit "${http_proxy:-}")" "$(in_unit "${https_proxy:-}")" "$(in_unit "${no_proxy:-}")" | root_file /etc/systemd/system/containerd.service.d/proxy.conf 600
    fi
    local registry
    for registry in $(tr -d '" ' <<<"${HTTP_PRIVATE_REGISTRIES:-}" | tr ',' ' '); do
        printf 'server = "http://%s"\n\n[host."http://%s"]\n  capabilities = ["pull", "resolve"]\n' "$registry" "$registry" |
            root_file "$REGISTRIES/$registry/hosts.toml" 644
    done
    as_root systemctl daemon-reload
    as_root systemctl enable -q containerd
    as_root systemctl restart containerd
}

images() {
    [ "$role" = master ] || return 0
    say 'fetch images'
    again 5 as_root kubeadm config images pull --kubernetes-version "$(kubeadm version -o short)" >/dev/null
}

prepare() {
    if [ -e /var/lib/kubernetes-prepared ] && [ "$(cat /var/lib/kubernetes-prepared)" = "$role $ha $K8S_MINOR" ]; then return; fi
    system
    packages
    container_runtime
    images
    echo "$role $ha $K8S_MINOR" | root_file /var/lib/kubernetes-prepared 644
}

load_balancer() {
    local interface length n=0 master servers=''
    interface=$(ip -o -4 addr show | awk -v a="$address" '{split($4, p, "/"); if (p[1] == a) print $2}')
    length=$(ip -o -4 addr show | awk -v a="$address" '{split($4, p, "/"); if (p[1] == a) print p[2]}')
    [ -n "$interface" ] || die "no network interface has the address $address"
    for master in ${masters//,/ }; do
        servers+="    server  $(master_name "$master") $master:6443 check"$'\n'
        [ "$master" = "$address" ] && priority=$((103 - n))
        n=$((n + 1))
    done
    root_file /etc/haproxy/haproxy.cfg 644 <<CONFIG
global
    log /dev/log local0
    daemon

defaults
    mode tcp
    log global
    option dontlognull
    timeout connect 10s
    timeout client 4h
    timeout server 4h

frontend kube-apiserver
    bind *:16443
    default_backend kube-apiserver

backend kube-apiserver
    balance roundrobin
    option tcp-check
$servers
CONFIG
    root_file /etc/keepalived/keepalived.conf 600 <<CONFIG
global_defs {
    enable_script_security
    script_user root
}

vrrp_script haproxy {
    script "/usr/bin/pidof haproxy"
    interval 3
    fall 3
    rise 2
}

vrrp_instance kubernetes {
    state BACKUP
    interface $interface
    virtual_router_id $((${cluster##*.} % 254 + 1))
    priority $priority
    advert_int 1
    virtual_ipaddress {
        $cluster/$length
    }
    track_script {
        haproxy
    }
}
CONFIG
    as_root systemctl enable -q haproxy keepalived
    as_root systemctl restart haproxy keepalived
}

# master_name is the name of a master; the VNF manager has written all of them to /etc/hosts.
master_name() {
    local found
    found=$(awk -v a="$1" '$1 == a {print $2; exit}' /etc/hosts)
    echo "${found:-master${1##*.}}"
}

# clean_slate removes what an attempt has left that failed halfway.
clean_slate() {
    if as_root test -e /etc/kubernetes/kubelet.conf || as_root test -e /etc/kubernetes/manifests/kube-apiserver.yaml; then
        say 'start over: remove what a former attempt has left'
        as_root kubeadm reset -f >/dev/null
        as_root rm -rf /etc/cni/net.d
    fi
}

reachable() { timeout 3 bash -c "exec 3<>/dev/tcp/$1/$2" 2>/dev/null; }

await_cluster() {
    local n
    for ((n = 0; n < 60; n++)); do
        reachable "$cluster" "$port" && return 0
        sleep 2
    done
    die "the Kubernetes API does not answer at $cluster:$port"
}

# without_proxy runs kubeadm, which would tell the control plane of the proxy, with its password, and whoever asks for the pods, too.
without_proxy() (
    unset http_proxy https_proxy no_proxy
    "$@"
)

kubeadm_file() { # a configuration, which may hold secrets
    configuration=/etc/kubernetes/vnfm-kubeadm.yaml
    root_file $configuration 600
}

init() {
    if [ "$ha" = True ]; then await_cluster; fi # HAProxy answers at the virtual address
    local sans='' san
    for san in $cluster ${masters//,/ } $(tr ',' ' ' <<<"${K8S_CERT_SANS:-}"); do sans+="    - \"$san\""$'\n'; done
    kubeadm_file <<CONFIG
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  name: "$name"
localAPIEndpoint:
  advertiseAddress: "$address"
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: "$(kubeadm version -o short)"
controlPlaneEndpoint: "$cluster:$port"
networking:
  podSubnet: "$pods"
  serviceSubnet: "$services"
apiServer:
  certSANs:
$sans
CONFIG
    say 'make the cluster'
    without_proxy as_root kubeadm init --config $configuration --upload-certs --skip-token-print >/dev/null
    kubeconfig
    say "set up the network of the pods, Calico $CALICO"
    again 5 curl -fsSL -o "$work/calico.yaml" "https://raw.githubusercontent.com/projectcalico/calico/$CALICO/manifests/calico.yaml"
    again 5 kubectl apply -f "$work/calico.yaml" >/dev/null
}

join() {
    [ -n "$token" ] && [ -n "$hash" ] || die 'a token and -s are needed to join'
    await_cluster
    local control_plane='' output
    if [ "$role" = master ]; then
        [ -n "$key" ] || die 'a certificate key is needed to join as a master'
        control_plane=$(printf 'controlPlane:\n  certificateKey: "%s"\n  localAPIEndpoint:\n    advertiseAddress: "%s"' "$key" "$address")
    fi
    kubeadm_file <<CONFIG
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  name: "$name"
discovery:
  bootstrapToken:
    apiServerEndpoint: "$cluster:$port"
    token: "$token"
    caCertHashes: ["sha256:${hash#sha256:}"]
$control_plane
CONFIG
    say "join the cluster as $role"
    output=$(without_proxy as_root kubeadm join --config $configuration)
    grep -q 'This node has joined the cluster' <<<"$output" || die 'this node has not joined the cluster'
    if [ "$role" = master ]; then kubeconfig; fi
}

kubeconfig() {
    (umask 077 && mkdir -p "$HOME/.kube" && rm -f "$HOME/.kube/config" && as_root cat /etc/kubernetes/admin.conf >"$HOME/.kube/config")
}

in_cluster() {
    [ "$role" = master ] || return 0
    again 10 kubectl get node "$name" >/dev/null || die "$name is not a node of the cluster"
}

# tell prints what others need to join.
tell() {
    [ -z "${K8S_QUIET:-}" ] || return 0
    echo "token:$(as_root kubeadm token create)"
    echo "server:$(kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')"
    as_root cat /etc/kubernetes/pki/ca.crt
    echo "ssl_ca_cert_hash:$(openssl x509 -pubkey -noout -in <(as_root cat /etc/kubernetes/pki/ca.crt) |
        openssl pkey -pubin -outform der 2>/dev/null | sha256sum | cut -d' ' -f1)"
    echo "certificate_key:$(as_root kubeadm init phase upload-certs --upload-certs | tail -1)"
}

arguments "$@"
work=$(mktemp -d)
facts
prepare
[ "$phase" = prepare ] && exit 0
clean_slate
if [ "$role" = master ] && [ "$ha" = True ]; then load_balancer; fi
if [ "$role" = master ] && [ "$address" = "$main" ]; then
    init
    in_cluster
    tell
else
    join
    in_cluster
fi
say 'done'
