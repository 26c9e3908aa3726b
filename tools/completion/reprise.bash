# SPDX-License-Identifier: Apache-2.0
# bash completion for reprise. It asks the program, so it can't go stale.

# Whether the word is ours still, and not the job's: those are behind "--", and behind run's first
# word that is no option and no option's value.
_reprise_ours()
{
    local command=$1 at values
    values=" $(reprise --list-details "$command" 2>/dev/null |
               awk -F'\t' '$3 != "" { printf "%s -%s ", $1, $2 }')"
    for ((at = 2; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
        --) return 1 ;;
        =) at=$((at + 1)) ;;
        -*) [[ $values == *" ${COMP_WORDS[at]} "* && ${COMP_WORDS[at + 1]-} != = ]] && at=$((at + 1)) ;;
        *) [ "$command" = run ] && return 1 ;;
        esac
    done
    return 0
}

_reprise()
{
    local word=$2 before=$3 command=${COMP_WORDS[1]} words

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(reprise --list-commands) --help --version" -- "$word")
        return
    fi
    if [ "$command" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(reprise --list-commands) env" -- "$word")
        return
    fi
    _reprise_ours "$command" || return
    # "--device=so" comes in three words.
    [ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
    [ "$word" = = ] && word=
    if words=$(reprise --list-words "$command" "$before" 2>/dev/null); then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        return
    fi
    case $before in
    --kernel | -k | --proof)
        mapfile -t COMPREPLY < <(compgen -W "$(reprise --list-names kernels 2>/dev/null)" -- "$word")
        return ;;
    --segment | -s)
        mapfile -t COMPREPLY < <(compgen -W "$(reprise --list-names segments 2>/dev/null)" -- "$word")
        return ;;
    --buffer)
        mapfile -t COMPREPLY < <(compgen -W "$(reprise --list-names buffers 2>/dev/null)" -- "$word")
        return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(reprise --list-options "$command" 2>/dev/null)" -- "$word")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    fi
}

complete -o default -o bashdefault -F _reprise reprise
