# Completes issuectl in bash. The candidates come from "issuectl __complete".

_issuectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD line value
    # Without the package bash-completion, arguments with "=" or ":" are not completed.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n =: cur words cword
    fi
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == $'\tfiles' ]]; then
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "${cur#--*=}")
            return
        fi
        # bash replaces only the text after the last "=" or ":".
        value=${line%%$'\t'*}
        value=${value#"${cur%"${cur##*[=:]}"}"}
        # Other users choose the names of applications, which may contain blanks or commands.
        printf -v value %q "$value"
        COMPREPLY+=("$value")
    done < <("${words[0]}" __complete "${words[@]:1:cword-1}" "$cur" 2>/dev/null)
}
complete -F _issuectl issuectl
