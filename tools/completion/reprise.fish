# SPDX-License-Identifier: Apache-2.0
# fish completion for reprise. It asks the program, so it can't go stale.

function __reprise_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and echo $words[2]
end

# The words that are not ours, before the one that is typed: those behind "--", and from run's first
# word on that is no option and no option's value. Fails where the typed one is ours still.
function __reprise_others
    set -l words (commandline -opc)
    set -l command $words[2]
    set -l values (reprise --list-details $command 2>/dev/null |
        awk -F'\t' '$3 != "" { print $1; print "-" $2 }')
    set -l at 3
    while test $at -le (count $words)
        if test $words[$at] = --
            test $at -lt (count $words); and printf '%s\n' $words[(math $at + 1)..-1]
            return 0
        else if string match -q -- '-*' $words[$at]
            contains -- $words[$at] $values; and set at (math $at + 1)
        else if test $command = run
            printf '%s\n' $words[$at..-1]
            return 0
        end
        set at (math $at + 1)
    end
    return 1
end

# As if the job's command line stood alone.
function __reprise_job
    set -l others (__reprise_others); or return
    test (__reprise_command) = run; or return
    complete -C (string join ' ' -- (string escape -- $others) (commandline -ct))
end

# All that can stand here, where that is one of a few words; fails where it is not.
function __reprise_words
    set -l words (commandline -opc)
    set -l option (string match -r -- '^--[^=]*(?==)' (commandline -ct))
    if test (__reprise_command) = help
        reprise --list-commands
        echo env
    else if test -n "$option"
        set -l found (reprise --list-words (__reprise_command) $option 2>/dev/null); or return
        printf "$option=%s\n" $found
    else
        reprise --list-words (__reprise_command) $words[-1] 2>/dev/null
    end
end

function __reprise_answers
    set -l words (commandline -opc)
    set -l before $words[-1]
    switch $before
        case --kernel -k --proof
            reprise --list-names kernels 2>/dev/null
        case --segment -s
            reprise --list-names segments 2>/dev/null
        case --buffer
            reprise --list-names buffers 2>/dev/null
        case '*'
            reprise --list-options (__reprise_command) 2>/dev/null
    end
end

complete -c reprise -n 'not __reprise_command' -f -a '(reprise --list-commands)'
complete -c reprise -n '__reprise_command; and not __reprise_others; and __reprise_words >/dev/null' \
    -f -a '(__reprise_words)'
complete -c reprise -n '__reprise_command; and not __reprise_others; and not __reprise_words >/dev/null' \
    -a '(__reprise_answers)'
complete -c reprise -n '__reprise_command; and __reprise_others' -a '(__reprise_job)'
