# Tell how a run is getting on. $1 = directory, $2 = bytes of each output to show while it runs, $3 = when it has ended.
# First line: absent, running, lost, or ended and the status. Then the end of the standard output; that of the standard error goes there.
case $1 in /*) dir=$1 ;; *) dir=$HOME/$1 ;; esac
if ! cd -- "$dir" 2>/dev/null || ! [ -h started ]; then
	echo absent
	exit 0
fi
bytes=$3
locked=0
[ -h status ] || flock -n -s lock true || locked=$?
if [ -h status ]; then # it may have ended since one looked first
	echo "ended $(readlink status)"
elif [ $locked = 0 ]; then
	echo lost
elif [ $locked = 1 ]; then
	echo running
	bytes=$2
else
	exit 75
fi
cat stdout.old stdout 2>/dev/null | tail -c "$bytes"
cat stderr.old stderr 2>/dev/null | tail -c "$bytes" >&2
