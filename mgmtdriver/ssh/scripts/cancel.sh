# Stop a run. $1 = directory, $2 = seconds between the request and force.
case $1 in /*) dir=$1 ;; *) dir=$HOME/$1 ;; esac
cd -- "$dir" 2>/dev/null && [ -h started ] && ! [ -h status ] || exit 0
if ! flock -n -s lock true; then # otherwise its number may be somebody else's by now
	group=$(readlink started)
	signal() { kill -s "$1" -- "-$group" 2>/dev/null; }
	signal TERM
	n=0
	while signal 0 && [ $n -lt $(($2 * 10)) ]; do
		n=$((n + 1))
		sleep 0.1
	done
	signal KILL
	n=0
	while signal 0; do
		n=$((n + 1))
		if [ $n -gt 50 ]; then echo "it cannot be killed" >&2; exit 75; fi
		sleep 0.1
	done
fi
rm -f command input out err
[ -h status ] || ln -s 137 status
