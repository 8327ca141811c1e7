# Completion for bash. It takes commands, options and values from `tinypush --help` and `tinypush COMMAND --help`.

# Prints the names of a kind (queue, failed, recipient or device), with the options that are on the line so far. Behind
# `recipient remove NAME` these are the recipients in the file.
_tinypush_names() {
  local program=$1 kind=$2 word joined= index
  local -a line=() given=() operands=()
  # bash makes the equals sign a word of its own.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ ($joined || $word == =) && ${#line[@]} -gt 0 ]]; then line[-1]+=$word; else line+=("${word/#\~\//$HOME/}"); fi
    joined=
    if [[ $word == = ]]; then joined=1; fi
  done
  for ((index = 0; index < ${#line[@]}; index++)); do
    case ${line[index]} in
      --config=* | --dir=* | -[co]?*) given+=("${line[index]}") ;;
      -c | --config | -o | --dir)
        given+=("${line[index]}" "${line[index + 1]-}")
        ((++index))
        ;;
      --language | --comment) ((++index)) ;;
      -*) ;;
      *) operands+=("${line[index]}") ;;
    esac
  done
  case "${#operands[@]} ${operands[*]:0:2}" in
    '3 recipient remove') kind=token ;;
    [3-9]' recipient '[air]*) return ;;
  esac
  case $kind in
    queue) "$program" queue list --json "${given[@]}" ;;
    failed) "$program" queue list --failed --json "${given[@]}" ;;
    recipient) "$program" recipient list --json "${given[@]}" ;;
    device) "$program" sandbox device list --json "${given[@]}" ;;
    token) "$program" recipient list --json "${given[@]}" -- "${operands[2]}" | sed 's/.*"token"/{"token"/' ;;
  esac 2>/dev/null </dev/null | sed -n 's/^{"[a-z]*":"\([A-Za-z0-9._@+-]*\)".*/\1/p' | head -n 1000 | sort -u
}

# Prints each setting with its values: KEY=VALUES.
_tinypush_settings() {
  local program=${1%-mqtt}
  "${program%-http}" help settings 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*=[^ ]*\)$/\1/p'
}

_tinypush() {
  local program=$1 current=$2 option=$3 command verb= first=1
  local help value words
  COMPREPLY=()
  # -c FILE and -o KEY=VALUE may stand before the command.
  while [[ ${program##*/} == tinypush && $first -lt $COMP_CWORD ]]; do
    case ${COMP_WORDS[first]} in
      -c | -o | --config | --option) ((first += 2)) ;;
      -[co]*) ((first += 1)) ;;
      *) break ;;
    esac
    # In --config=FILE and -o KEY=VALUE, bash makes the equals sign a word of its own.
    if [[ ${COMP_WORDS[first - 1]} == = ]]; then ((first += 1)); fi
    if [[ ${COMP_WORDS[first]-} == = ]]; then ((first += 2)); fi
  done
  command=${COMP_WORDS[first]-}
  # tinypush-http has no commands.
  if [[ ${program##*/} == tinypush-http ]]; then
    command=
  elif ((COMP_CWORD == first)); then
    words=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')
    if [[ ${program##*/} == tinypush ]]; then words+=' help'; fi
    mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$current")
    return
  fi
  if ((COMP_CWORD == first + 1)) && [[ $command == help ]]; then
    words=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words settings" -- "$current")
    return
  fi
  if ((COMP_CWORD > first + 1)) && [[ "$command ${COMP_WORDS[first + 1]}" == 'sandbox device' ]]; then verb=device; fi
  help=$("$program" ${command:+"$command"} ${verb:+"$verb"} --help 2>/dev/null) || return

  # In --name=value and KEY=VALUE bash makes the equals sign a word of its own.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  value=
  if [[ $option =~ ^--?[a-z-]+$ ]]; then
    value=$(sed -n "s/^  \(-[a-z], \)\{0,1\}$option\(, --[a-z-]*\)\{0,1\} \([^ ]\{1,\}\) .*/\3/p" <<<"$help" | head -n 1)
  elif [[ $current != "${COMP_WORDS[COMP_CWORD]}" || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    # The value of a setting.
    [[ $option =~ ^[a-z-]+$ ]] || return
    value=$(_tinypush_settings "$program" | sed -n "s/^$option=//p")
    [[ $value ]] || return
  fi

  case "$option $value" in
    *' FILE' | *' FILE|-')
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    *' DIR')
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      ;;
    '--to NAME')
      mapfile -t COMPREPLY < <(compgen -W "$(_tinypush_names "$program" recipient)" -- "$current")
      ;;
    '--level LEVEL')
      mapfile -t COMPREPLY < <(compgen -W 'passive active time-sensitive critical' -- "$current")
      ;;
    '--data KEY=VALUE') ;;
    *' KEY=VALUE')
      compopt -o nospace
      words=$(_tinypush_settings "$program" | sed 's/=.*//')
      mapfile -t COMPREPLY < <(compgen -S = -W "$words" -- "$current")
      ;;
    *'|'*)
      mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" -- "$current")
      ;;
    *' '?*) ;;
    *)
      if [[ $current == -* ]]; then
        words=$(sed -n 's/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p; s/^  \(-[a-z]\) .*/\1/p' <<<"$help")
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
      fi
      # The help lists subcommands before the options.
      words=
      if ((COMP_CWORD == first + 1)) || [[ $verb && $COMP_CWORD == $((first + 2)) ]]; then
        words=$(sed -n '/^  -/q; s/^  \([a-z]\{1,\}\) .*/\1/p' <<<"$help")
        if [[ $command == sandbox && ! $verb && $help == *'sandbox device'* ]]; then words=device; fi
      fi
      if [[ $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
      fi
      case "$command ${COMP_WORDS[first + 1]-} ${COMP_WORDS[first + 2]-}" in
        'queue show '* | 'queue drop '*) words=queue ;;
        'queue retry '*) words=failed ;;
        'recipient '[ailr]*) words=recipient ;;
        'sandbox device list '*) return ;;
        'sandbox device '*) words=device ;;
      esac
      if [[ $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tinypush_names "$program" "$words")" -- "$current")
      elif [[ $(sed -n 1,3p <<<"$help") == *FILE* ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
}

complete -F _tinypush tinypush tinypush-mqtt tinypush-http
