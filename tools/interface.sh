#!/bin/sh
# Prints the interface of the programs, one item a line: options with their ranges and defaults, commands, console
# words, keys, metrics, formats, environment variables, exit statuses. docs/interface.txt holds the result;
# `cargo xtask ci` compares the two. After a change that is meant:
#
#     cargo build --workspace --bins && tools/interface.sh > docs/interface.txt
#
# The programs answer for themselves. Only the viewer's keys and words, the format versions and the environment come
# from the declarations, since no program prints them without a screen.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
programs=$(cd "${1:-${CARGO_TARGET_DIR:-target}/debug}" && pwd)
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
server=

# Options, arguments and commands of a program, from its --help; commands are asked in turn.
options() {
    "$programs/$1" ${2:-} ${3:-} --help | awk -v of="$1${2:+ $2}${3:+ $3}" '
        function flush(  found) {
            if (item == "") return
            line = of ": " item
            while (match(text, /\[(default|possible values|alias|[0-9][0-9.a-z]* to )[^]]*\]/)) {
                # A default that is a place on this machine is none of the interface.
                found = substr(text, RSTART, RLENGTH)
                if (found !~ /\[default: \//) line = line " " found
                text = substr(text, RSTART + RLENGTH)
            }
            print line (values == "" ? "" : " [possible values:" values "]")
            item = text = values = ""
        }
        /^[^ ]/ { flush(); section = $1 }
        section == "Commands:" && /^  [a-z]/ { if ($1 != "help") print of ": command " $1; next }
        /^ +(-|\[[A-Z]|<[A-Z])/ && !/^ +- / {
            flush(); sub(/^ +/, ""); at = match($0, /  +/)
            item = at ? substr($0, 1, at - 1) : $0; text = at ? substr($0, at) : ""; next
        }
        /^ +- [a-z-]+:/ { sub(/:$/, "", $2); values = values " " $2; next }
        { text = text " " $0 }
        END { flush() }'
    [ -n "${3:-}" ] || "$programs/$1" ${2:-} --help | awk '
        /^[^ ]/ { section = $1 }
        section == "Commands:" && /^  [a-z]/ && $1 != "help" { print $1 }' |
        while read -r command; do options "$1" ${2:-} "$command"; done
}

# The exit status of a program; the first argument says when, the others are the command.
status() {
    when=$1 of=$2; shift 2
    got=0
    "$programs/$of" "$@" </dev/null >/dev/null 2>&1 || got=$?
    echo "$of: exit status $got $when"
}

{
    for program in trantor-server trantor-bot trantor-load trantor-viewer trantor-bench trantor-sim trantor-fuzz xtask; do
        options $program
        status "after --help" $program --help
        status "for an unknown option" $program --no-such-option
    done
    for program in trantor-bot trantor-load trantor-viewer; do
        options $program completions
        options $program man
    done
    for command in console replay sim config completions man types; do
        echo "trantor-server: command $command"
        options trantor-server "$command"
    done
    "$programs/trantor-server" config print |
        sed -nE 's/^(# )?([a-z-]+ = .*)$/trantor-server: in the file of options \1\2/p'

    "$programs/trantor-server" sim --until 2000 --record "$work/game.trj" >/dev/null
    status "where a recording verifies" trantor-server replay verify "$work/game.trj"
    status "where a file cannot be read" trantor-server replay verify "$work/none.trj"
    head -c 2000 "$work/game.trj" >"$work/cut.trj"
    status "where a recording has no end" trantor-server replay verify "$work/cut.trj"
    status "where no server answers" trantor-bot -p 1 --name red --patience 0
    status "where no server answers" trantor-load -p 1
    status "where no server answers" trantor-server console -p 1 help

    # A server with all that has figures of its own; it ends with its standard input.
    mkfifo "$work/words"
    "$programs/trantor-server" --console until-end -p 0 --metrics 0 --record "$work/r" --save "$work/s" \
        <"$work/words" >"$work/said" 2>/dev/null &
    server=$!
    exec 3>"$work/words"
    echo help >&3
    for _ in $(seq 100); do
        address=$(sed -nE 's,.*(http://[0-9.:]+)/metrics.*,\1,p' "$work/said")
        [ -z "$address" ] || ! grep -q '^quit ' "$work/said" || break
        sleep 0.1
    done
    for page in metrics health; do
        curl -sf "$address/$page" >"$work/$page" && echo "trantor-server: page /$page"
    done
    echo quit >&3
    exec 3>&-
    got=0; wait "$server" || got=$?
    echo "trantor-server: exit status $got after quit"
    sed -nE 's/^# TYPE ([^ ]+) histogram$/trantor-server: metric \1 (histogram)/p' "$work/metrics"
    sed -nE '/_(bucket|sum|count)[ {]/!s/^(trantor_[^ ]+) .*/trantor-server: metric \1/p' "$work/metrics"
    sed -n '/^help /,/^quit /p' "$work/said" | cut -c1-39 | sed -E 's/^/trantor-server: console /; s/ +$//'
    "$programs/trantor-server" --help | grep -o 'TRANTOR_SERVER_[A-Z]*' | sed 's/^/trantor-server: environment /'

    sed -nE 's/^\| (`[^|]*) \|.*/\1/p' docs/replay-events.md | grep -o '`[a-z_]*`' | tr -d '`' |
        sed 's/^/trantor-server: replay export name /'
    sed -nE 's/^    [A-Z][A-Za-z]+: ("[^"]+"), \[(.*)\];$/trantor-viewer: key \2 for \1/p' crates/viewer/src/input.rs
    sed -n '/^const COMMANDS/,/^];/p' crates/viewer/src/console.rs |
        sed -nE 's/^ *"(.*) — .*/trantor-viewer: console \1/p'
    grep -rhoE '(JOURNAL|SNAPSHOT|WIRE)_VERSION: u16 = [0-9]+' crates/*/src |
        sed -E 's/^([A-Z]+)_VERSION: u16 = /format: version of \1 /'
    for crate in server viewer bot runtime; do
        grep -rlE --exclude=transcripts.rs 'env::(var|vars)' "crates/$crate/src" | xargs -r grep -hoE '"[A-Z][A-Z_]{3,}"' |
            grep -v -e POSIX -e BLESS -e CARGO_MANIFEST_DIR | sed -E "s/\"(.*)\"/trantor-$crate: environment \1/"
    done
} >"$work/interface"
sort -u "$work/interface"
