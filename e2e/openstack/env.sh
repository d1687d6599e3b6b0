# Names and helpers that the testbed's scripts share; to be sourced.
TESTBED_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TESTBED_STATE=${TESTBED_STATE:-/var/tmp/openstack-testbed}
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8
unset PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED "${!OS_@}"

ETC=$TESTBED_STATE/etc LOG=$TESTBED_STATE/log RUN=$TESTBED_STATE/run
PASSWORD=devstack
REGION=RegionOne
COMPUTES=${TESTBED_COMPUTES:-"compute01 compute02 compute03"}
DB_PORT=13306
RABBIT_PORT=15673
RABBIT_DIST_PORT=35672
EPMD_PORT=14369
MEMCACHE_PORT=11211
AUTH_URL=http://127.0.0.1:5000/v3

say() { printf '%4ds  %s\n' "$SECONDS" "$*"; }
die() { printf 'openstack-testbed: %s\n' "$*" >&2; exit 1; }

# A process is known by its pid and the tick it started at, so that a pid that
# the machine has given to somebody else since is never taken for ours.
ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

alive() {
    local pid tick
    read -r pid tick 2>/dev/null <"$RUN/$1.pid" || return 1
    [ -n "$tick" ] && [ "$(ticks "$pid")" = "$tick" ]
}

# start NAME COMMAND...: run it in a session of its own unless it runs already.
start() {
    local name=$1 pid
    shift
    alive "$name" && return 0
    setsid "$@" </dev/null >>"$LOG/$name.log" 2>&1 9>&- &
    pid=$!
    disown "$pid"
    # The command is exec'ed by setsid under the same pid.
    echo "$pid $(ticks "$pid")" >"$RUN/$name.pid"
}

# stop NAME...: end them all, with whatever they left in their sessions; those
# that are not gone after $STOP_SECONDS are killed.
stop() {
    local name pid tick i left limit=${STOP_SECONDS:-6}
    for name; do
        alive "$name" || continue
        read -r pid tick <"$RUN/$name.pid"
        kill -TERM "$pid" 2>/dev/null
    done
    for ((i = 0; i < limit * 10; i++)); do
        left=
        for name; do alive "$name" && left=1; done
        [ -z "$left" ] && break
        sleep 0.1
    done
    for name; do
        [ -e "$RUN/$name.pid" ] || continue
        if alive "$name"; then
            read -r pid tick <"$RUN/$name.pid"
            kill -KILL -- "-$pid" 2>/dev/null
        fi
        rm -f "$RUN/$name.pid"
    done
}

# answers URL: is somebody speaking HTTP there?
answers() { curl -s -o /dev/null -m 5 "$1"; }

# await WHAT SECONDS COMMAND...
await() {
    local what=$1 limit=$2 end
    shift 2
    end=$((SECONDS + limit))
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || die "$what did not come up in $limit s, see $LOG"
        sleep 0.3
    done
}
