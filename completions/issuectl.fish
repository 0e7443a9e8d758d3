# Completes issuectl in fish. The candidates come from "issuectl __complete".

function __issuectl_candidates
    set --local words (commandline --current-process --tokenize --cut-at-cursor)
    set --local current (commandline --current-token --cut-at-cursor)
    set --local lines ($words[1] __complete $words[2..] "$current" 2>/dev/null)
    if test "$lines" = \tfiles
        # In "--option=value", only the value is completed.
        set --local option (string match --regex '^--[^=]*=' -- "$current")
        __fish_complete_path (string replace --regex '^--[^=]*=' '' -- "$current") | string replace --regex -- '^' "$option"
    else
        printf '%s\n' $lines
    end
end

complete --command issuectl --no-files --keep-order --arguments '(__issuectl_candidates)'
