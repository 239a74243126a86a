# What the scripts of action.yml share.  Their inputs come as variables of the environment: nothing of an input becomes code.
# Names of files are those of a pull request: none is an option, a link that is followed, or a command in the log.
# shellcheck shell=bash

cd -P . || exit
workspace=$PWD

# Makes the folder $work, which goes when the script ends.  Of all that is printed from here on, no line begins with "::" and none
# has "##[", which are commands to GitHub, but for those of fail().
mark=''  # what only fail() knows
begin() {
  work=$(mktemp -d)
  mark=${work##*.}$RANDOM$RANDOM
  exec 3>&1 > >(LC_ALL=C sed -e "s/^$mark//;t" -e $'s/\r/\\\\r/g' -e 's/##\[/## [/g' -e 's/^/| /' >&3) 2>&1
  local log=$!
  # shellcheck disable=SC2064 # the process of now
  trap "exec >&3 2>&3; wait $log || true; rm -rf \"\$work\"" EXIT
}

# Ends with one line, which GitHub shows at the job.
fail() {
  local text=$*
  text=${text//'%'/%25}
  text=${text//$'\r'/}
  echo "$mark::error title=fxtrace::${text//$'\n'/%0A}"
  exit 2
}

# output NAME VALUE: an output of the step, where there is a GitHub that reads it.
output() {
  [[ $2 != *$'\n'* ]] || fail "$1 is more than one line"
  printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/null}"
}

# enter FOLDER: goes there, and makes what is missing, through no link that lies in the workspace.
enter() {
  local rest=$1/ name here
  if [[ $rest == /* ]]; then cd /; fi
  while [[ -n $rest ]]; do
    name=${rest%%/*} rest=${rest#*/} here=${PWD%/}
    if [[ -z $name || $name == . ]]; then continue; fi
    [[ -d ./$name ]] || mkdir -- "./$name" 2>/dev/null || fail "cannot make the folder $1"
    cd -P -- "./$name" 2>/dev/null || fail "cannot write into the folder $1"
    # Where it has led is asked afterwards, so that nothing can change in between.
    [[ $PWD == "$here/$name" || $name == .. || $here/ != "${workspace%/}"/* ]] ||
      fail "$1 goes through a link, which nothing is written through: $name"
  done
}

# put FILE PATH: writes the content there into a new file, as what has that name may be a link.
put() (
  folder=.
  if [[ $2 == */* ]]; then folder=${2%/*}/; fi
  enter "$folder"
  set -o noclobber  # creates a file, or fails
  { rm -f -- "./${2##*/}" && cat -- "$1" >"./${2##*/}"; } 2>/dev/null || fail "cannot write the file $2"
)

# Splits $MODELS into patterns, by spaces and lines.
read_patterns() {
  read -r -d '' -a patterns <<<"$MODELS" || true
  local at
  for at in "${!patterns[@]}"; do
    case ${patterns[at]} in -*) patterns[at]=./${patterns[at]} ;; esac
  done
}
