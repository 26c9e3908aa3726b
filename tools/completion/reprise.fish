# SPDX-License-Identifier: Apache-2.0
# fish completion for reprise. It asks the program, so it can't go stale.

function __reprise_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and echo $words[2]
end

function __reprise_answers
    set -l words (commandline -opc)
    set -l before $words[-1]
    contains -- -- $words; and return # what is behind it is no option of ours
    set -l found (reprise --list-words (__reprise_command) $before 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
        return
    end
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
complete -c reprise -n '__reprise_command' -a '(__reprise_answers)'
