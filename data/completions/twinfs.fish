# SPDX-License-Identifier: MIT
# Completion of twinfs in fish. Everything comes from the help of a command, which this file reads when
# fish loads it: its operands, its options, and the words that these accept.

# Succeeds if the command line is one of this command; without a command name it is mount.
function __twinfs_is
    set -l words (commandline -opc)
    if contains -- "$words[2]" $__twinfs_commands
        test "$words[2]" = $argv[1]
    else
        test $argv[1] = mount
    end
end

function __twinfs_is_first
    test (count (commandline -opc)) = 1
end

# Prints the mount points of views.
function __twinfs_views
    set -l mounted '^\S+ \S+ \S+ \S+ (\S+) .* - fuse\.twinfs '
    for escaped in (string match -rg $mounted </proc/self/mountinfo)
        printf '%b\n' (string replace -a '\\' '\\0' -- $escaped) # \040 is a space
    end
end

# Prints the value of complete -a for an argument.
function __twinfs_values # ARGUMENT
    switch $argv[1]
        case DIR
            echo '(__fish_complete_directories)'
        case FILE PATH
            echo '(__fish_complete_path)'
        case 'RULE*'
            echo '(__fish_append , source-order first-seen oldest newest shortest-path)' \
                '(__fish_append , longest-path most-linked path:)'
        case 'OPTION*'
            echo '(__fish_append , $__twinfs_items)' \
                '(__fish_append , allow_other auto_unmount io_uring nonempty passthrough trusted_xattrs)'
        case '*|*'
            string replace -a '|' ' ' -- $argv[1]
    end
end

function __twinfs_complete_operands # CONDITION USAGE
    switch $argv[2]
        case '*SOURCE|FILE*'
            complete -c twinfs -n $argv[1] -F -a '(__twinfs_views)'
        case '*FILE*' '*MANIFEST*'
            complete -c twinfs -n $argv[1] -F
        case '*SOURCE... MOUNTPOINT*'
            complete -c twinfs -n $argv[1] -a '(__fish_complete_directories)'
        case '*SOURCE*MOUNTPOINT*' '*MOUNTPOINT*SOURCE*'
            complete -c twinfs -n $argv[1] -a '(__twinfs_views) (__fish_complete_directories)'
        case '*MOUNTPOINT*'
            complete -c twinfs -n $argv[1] -a '(__twinfs_views)'
        case '*SOURCE*' '*FOLDER*'
            complete -c twinfs -n $argv[1] -a '(__fish_complete_directories)'
        case '*COMMAND*'
            complete -c twinfs -n $argv[1] -a "$__twinfs_commands"
    end
end

function __twinfs_complete_option # CONDITION LETTER NAME ARGUMENT TEXT
    set -l option -c twinfs -n $argv[1] -l $argv[3] -d $argv[5]
    test -n "$argv[2]"; and set -a option -s $argv[2]
    test -n "$argv[4]"; and set -a option -x -a (__twinfs_values $argv[4] | string collect -a)
    complete $option
end

function __twinfs_complete_command # COMMAND
    set -l is "__twinfs_is $argv[1]"
    set -l help (twinfs $argv[1] --help 2>/dev/null | string collect)
    set -l form '^ *(?:Usage|or): twinfs [a-z]+ \[OPTION\.\.\.\](.*)'
    set -l option '^ {2,6}(?|-(.), |())--([a-z0-9-]+)(?:\[=\S+\])?(?|=(\S+)|()) *(.*)$'
    set -l usage
    # joins an option and its description on the next line
    for line in (string replace -ar '\n {7,}' ' ' -- $help | string split \n)
        if set -l found (string match -rg $form -- $line)
            set usage "$usage |$found"
        else if set -l found (string match -rg $option -- $line)
            __twinfs_complete_option $is $found
            test $argv[1] = mount; and not contains -- $found[2] options help
            and set -ga __twinfs_items $found[2](test -n "$found[3]"; and echo =; or echo '')
        end
    end
    __twinfs_complete_operands $is $usage
end

set -g __twinfs_items
set -g __twinfs_commands
complete -c twinfs -f
for line in (twinfs --help 2>/dev/null | string match -r '^  [a-z]+  .*')
    set -l command (string match -rg '^  ([a-z]+) +(.*)' -- $line)
    set -a __twinfs_commands $command[1]
    complete -c twinfs -n __twinfs_is_first -a $command[1] -d $command[2]
    __twinfs_complete_command $command[1]
end
