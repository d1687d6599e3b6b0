# Carry a run out in its directory, which is the current one. $1 = blocks of 1 KiB that are kept of each output, in each of two files.
# What is to be known of it is in symbolic links: they are made at once or not at all, on a full disk, too.
trap signalled=1 HUP INT TERM # the command is to end first
keep() { # the last of the standard input, in $1.old and $1
	trap '' HUP INT TERM
	while dd bs=1k count="$2" 2>/dev/null >"$1" && [ -s "$1" ]; do
		mv -f -- "$1" "$1.old"
	done
	cat >/dev/null # on a full disk the command goes on
}
mkfifo out err || exit
keep stdout "$1" <out 9>&- &
stdout=$!
keep stderr "$1" <err 9>&- &
stderr=$!
ln -s $$ started || exit
sh ./command <input >out 2>err &
command=$!
status=
while :; do # a signal ends the wait, too
	signalled=0
	wait $command
	now=$?
	if [ $now = 127 ] && [ -n "$status" ]; then break; fi # it had ended when the signal came
	status=$now
	[ $signalled = 1 ] || break
done
rm -f command input out err
n=0
while { kill -0 $stdout || kill -0 $stderr; } 2>/dev/null && [ $n -lt 20 ]; do # something in the background may write for ever
	n=$((n + 1))
	sleep 0.1
done
ln -s $status status
