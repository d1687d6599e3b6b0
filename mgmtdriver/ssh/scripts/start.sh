# Start a run, unless it was started before. $1 = directory, $2 = mark, $3 = blocks that are kept of each output, $4 = the script of a run,
# $5 = bytes of the command's own input.
# On the standard input: what comes before the mark, the script of the command up to the mark, and the command's own input.
# A run holds a lock on its directory for as long as anything of it lives; whoever does not get the lock finds that it was started.
set -eu
umask 077
for tool in flock setsid; do
	command -v $tool >/dev/null || { echo "$tool is missing; it is part of util-linux" >&2; exit 69; }
done
case $1 in /*) dir=$1 ;; *) dir=$HOME/$1 ;; esac
mkdir -p -- "$dir"
cd -- "$dir"
find .. -mindepth 1 -maxdepth 1 -type d -mtime +7 -exec flock -n '{}/lock' rm -rf -- '{}' ';' 2>/dev/null || :
exec 9>>lock
n=0
until flock -n 9; do
	if [ -h started ]; then echo attached; exit 0; fi
	n=$((n + 1))
	if [ $n -gt 100 ]; then echo "somebody else has been starting it for 10 s" >&2; exit 75; fi
	sleep 0.1
done
if [ -h started ]; then echo attached; exit 0; fi
read_to_mark() {
	while IFS= read -r line || { echo "the input has ended too early" >&2; exit 74; }; do
		if [ "$line" = "$mark" ]; then return; fi
		printf '%s\n' "$line"
	done
}
mark=$2
trap 'df -P . >&2' EXIT # most likely the disk is full
read_to_mark >/dev/null
read_to_mark >command
cat >input
trap - EXIT
if [ "$(wc -c <input)" -ne "$5" ]; then echo "the input has ended too early" >&2; exit 74; fi
setsid sh -c "$4" vnfm-run "$3" </dev/null >/dev/null 2>&1 &
n=0
until [ -h started ]; do
	n=$((n + 1))
	if [ $n -gt 100 ]; then echo "it has not begun within 10 s" >&2; exit 75; fi
	sleep 0.1
done
echo started
