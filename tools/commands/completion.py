"""`stepwell completion bash|zsh|fish`: the script by which a shell completes our command lines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_stepwell() {
    local IFS=$'\\n' line
    COMPREPLY=()
    for line in $(stepwell __complete bash "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null); do
        line=${line%%$'\\t'*}
        [[ $line == */ ]] && compopt -o nospace
        COMPREPLY+=("$(printf %q "$line")")
    done
}
complete -F _stepwell stepwell stepwell-opt
"""
_ZSH = """\
#compdef stepwell stepwell-opt
_stepwell() {
    local line
    local -a names folders
    for line in "${(@f)$(stepwell __complete zsh "${(@)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -z $line ]] && continue
        if [[ $line == */ ]]; then
            folders+=("$line")
        else
            names+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
        fi
    done
    (( $#names )) && _describe stepwell names
    (( $#folders )) && compadd -S '' -a folders
}
compdef _stepwell stepwell stepwell-opt
"""
_FISH = """\
function __stepwell
    set -l current (commandline -ct)
    stepwell __complete fish (commandline -opc) "$current" 2>/dev/null
end
complete -c stepwell -c stepwell-opt -f -a '(__stepwell)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the argument: the shell."""
    parser.description = (
        "Print the script by which a shell completes commands, options, names and files of `stepwell` and "
        "`stepwell-opt` (docs/editors.md says where it goes)."
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell to print it for")


def run(args: Namespace) -> int:
    """Print the script; returns the exit status."""
    args.facts["script"] = _SCRIPTS[args.shell]
    print(_SCRIPTS[args.shell], end="")
    return 0
