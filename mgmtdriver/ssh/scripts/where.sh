# Tell the path of the directory of a run, if there is one. $1 = directory.
case $1 in /*) dir=$1 ;; *) dir=$HOME/$1 ;; esac
cd -- "$dir" 2>/dev/null || exit 0
pwd -P
