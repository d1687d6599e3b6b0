# Stop a run with everything that it has started. $1 = directory, $2 = seconds between the request and force.
case $1 in /*) dir=$1 ;; *) dir=$HOME/$1 ;; esac
cd -- "$dir" 2>/dev/null && [ -h started ] && ! [ -h status ] || exit 0
if ! flock -n -s lock true; then # otherwise its number may be somebody else's by now
	known=$(readlink started)
	case $known in *[!0-9]* | '' | 0 | 1) echo "its number is $known" >&2; exit 70 ;; esac
	# Find the processes of the run's session, and those that these have started in sessions of their own, as sudo does. Who has been found is
	# known from then on: what it has started may outlive it.
	find_them() {
		them=$(cat /proc/[0-9]*/stat 2>/dev/null | sed -n 's/^\([0-9]*\) (.*) [^ZX] \([0-9]*\) [-0-9]* \([-0-9]*\) .*/\1 \2 \3/p' | awk -v known="$known" '
			{ parent[$1] = $2; session[$1] = $3 }
			END {
				n = split(known, list, " ")
				for (i = 1; i <= n; i++) family[list[i]]
				do {
					grown = 0
					for (p in parent) if (!(p in family) && (parent[p] in family || session[p] in family)) { family[p]; grown = 1 }
				} while (grown)
				for (p in family) if (p in parent) printf "%s ", p
			}')
		known="$known $them"
		[ -n "$them" ]
	}
	if find_them; then kill -s TERM $them 2>/dev/null; fi
	until=$(($(date +%s) + $2))
	while find_them && [ "$(date +%s)" -lt $until ]; do sleep 0.1; done
	n=0
	while find_them; do
		kill -s KILL $them 2>/dev/null
		n=$((n + 1))
		if [ $n -gt 50 ]; then echo "it cannot be killed" >&2; exit 75; fi
		sleep 0.1
	done
fi
rm -f command input out err
[ -h status ] || ln -s 137 status
