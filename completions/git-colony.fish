# fish completion for git-colony and 'git colony'.
#
# A file for conf.d: it adds two rules to those of git, and replaces none. That of fish for git-* programs
# is not relied on: releases differ in what they make of it.

function __git_colony_offer
    set -l words (commandline -opc) (commandline -ct)
    set -l answer (command git-colony complete -- $words 2>/dev/null)
    set -l kind $answer[1]
    switch "$kind"
        case files
            __fish_complete_path (commandline -ct)
        case directories
            __fish_complete_directories (commandline -ct)
        case words
            # "<word> TAB <what it is>" is what fish wants; it quotes what needs quotes.
            test (count $answer) -gt 1; and printf '%s\n' $answer[2..-1]
    end
end

function __git_colony_in_git
    functions -q $argv[1]; and $argv
end

complete -c git-colony -f -k -a '(__git_colony_offer)'
complete -c git -n '__git_colony_in_git __fish_git_needs_command' -f -a colony -d 'Save and restore states of a repository, merge the work of agents'
complete -c git -n '__git_colony_in_git __fish_git_using_command colony' -f -k -a '(__git_colony_offer)'
