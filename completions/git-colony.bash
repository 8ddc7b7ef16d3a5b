# bash completion for git-colony and 'git colony'                          -*- shell-script -*-
#
# Installed as git-colony among bash-completion's completions it is loaded when it is needed. git's own
# completion calls _git_colony for 'git colony'; nothing of git's is redefined.

# Fills COMPREPLY from the program. Arguments: the words up to the one that is typed; that one is "cur".
__git_colony_offer() {
    local kind value about head="" open=""
    COMPREPLY=()
    # bash replaces only what follows the last of these: the part before must not come twice.
    [[ $cur == *[:=]* ]] && head=${cur%"${cur##*[:=]}"}
    [[ $cur == [\'\"]* ]] && open=1 head=""
    {
        IFS= read -r kind || return 0
        case $kind in
        files | directories)
            # With no reply, '-o default' lists files, and quotes their names by itself.
            compopt -o default +o nospace -o filenames 2>/dev/null
            [[ $kind == directories ]] && compopt -o plusdirs 2>/dev/null
            return 0
            ;;
        esac
        compopt +o default +o bashdefault -o nospace 2>/dev/null
        while IFS=$'\t' read -r value about; do
            if [[ $open ]]; then
                # The quote that is open protects it: an offer has no character that could end it.
                COMPREPLY+=("$value")
            else
                printf -v value %q "$value"
                COMPREPLY+=("${value#"$head"} ")
            fi
        done
    } < <(command git-colony complete -- "$@" 2>/dev/null)
}

# Called by git's completion with "words", "cword" and "cur" set.
_git_colony() {
    local at=${__git_cmd_idx:-0}
    if ((at == 0)); then
        while ((++at < cword)) && [[ ${words[at]} != colony ]]; do :; done
    fi
    __git_colony_offer git "${words[@]:1:at-1}" colony "${words[@]:at+1:cword-at}"
}

# Completes the program under its own name.
__git_colony_main() {
    local cur words cword prev
    if declare -F _comp_get_words >/dev/null; then
        _comp_get_words -n := cur words cword prev
    elif declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n := cur words cword prev
    else
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
    fi
    __git_colony_offer git-colony "${words[@]:1:cword}"
}

complete -o bashdefault -o default -o nospace -F __git_colony_main git-colony
