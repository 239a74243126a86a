# What the scripts of action.yml share.  Their inputs come as variables of the environment: nothing of an input becomes code.
# shellcheck shell=bash

# Ends with one line, which GitHub shows at the job.
fail() {
  local text=$*
  text=${text//'%'/%25}
  text=${text//$'\r'/}
  echo "::error title=fxtrace::${text//$'\n'/%0A}"
  exit 2
}

# output NAME VALUE: an output of the step, where there is a GitHub that reads it.
output() {
  [[ $2 != *$'\n'* ]] || fail "$1 is more than one line"
  echo "$1=$2" >>"${GITHUB_OUTPUT:-/dev/null}"
}

# Splits $MODELS into patterns, by spaces and lines.
read_patterns() {
  read -r -d '' -a patterns <<<"$MODELS" || true
  local at
  for at in "${!patterns[@]}"; do
    case ${patterns[at]} in -*) patterns[at]=./${patterns[at]} ;; esac
  done
}
