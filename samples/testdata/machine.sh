# A machine in a namespace of its own, on which the programs that the installation script runs only tell that they were run.
# $1 = a directory for the machine, $2 = the script to install, $3 = what to run on the machine
set -eu
root=$1
mount -t tmpfs tmpfs "$root"
for dir in usr bin sbin lib lib32 lib64 dev proc; do
	if [ -h "/$dir" ]; then
		cp -P "/$dir" "$root/$dir"
	elif [ -d "/$dir" ]; then
		mkdir "$root/$dir"
		mount --rbind "/$dir" "$root/$dir"
	fi
done
mkdir -p "$root/stub" "$root/etc/systemd/system" "$root/root" "$root/tmp" "$root/var/lib"
cp -P /etc/passwd /etc/group "$root/etc"
cp -PR /etc/alternatives "$root/etc" 2>/dev/null || :
cp "$2" "$root/install.sh"
printf 'ID=%s\nVERSION_ID=%s\nPRETTY_NAME=machine\n' "${OS:-ubuntu}" "${OS_VERSION:-22.04}" >"$root/etc/os-release"
printf '127.0.0.1 localhost\n10.10.0.59 master59\n10.10.0.78 master10-78\n' >"$root/etc/hosts"
stub() {
	printf '#!/bin/bash\necho "%s $*" >>/journal\n%s\n' "$1" "${2:-}" >"$root/stub/$1"
	chmod +x "$root/stub/$1"
}
echo "swap none swap 0 0" >"$root/etc/fstab"
for program in apt-get apt-mark hostnamectl swapoff modprobe sysctl systemctl timeout; do stub $program; done
write='while [ $# -gt 0 ]; do if [ "$1" = -o ]; then echo content >"$2"; fi; shift; done'
stub curl "$write"
stub gpg "$write"
stub haproxy
stub sudo 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"'
stub containerd 'printf "config_path = \"\"\nSystemdCgroup = false\n"'
stub kubectl
stub ip 'echo "1: lo    inet 127.0.0.1/8 scope host lo"; for a in 59 78; do [ "$a" = "${OWN:-59}" ] && echo "2: ens3    inet 10.10.0.$a/24 scope global ens3"; done; echo more'
stub kubeadm 'case "$*" in
"version -o short") echo v1.34.1 ;;
init\ --config*) cat "$3" >/init.yaml; echo "proxy of kubeadm: ${http_proxy:-none}" >>/journal; mkdir -p /etc/kubernetes/pki; echo CA >/etc/kubernetes/pki/ca.crt; echo admin >/etc/kubernetes/admin.conf; touch /etc/kubernetes/kubelet.conf ;;
join*) cat "$3" >/join.yaml; mkdir -p /etc/kubernetes; echo admin >/etc/kubernetes/admin.conf
	[ -z "${FAIL:-}" ] || exit 1
	echo "This node has joined the cluster:"; seq 20000 ;;
"reset -f") rm -rf /etc/kubernetes ;;
esac'
exec chroot "$root" /usr/bin/env HOME=/root "PATH=/stub:$PATH" bash -c "$3"
