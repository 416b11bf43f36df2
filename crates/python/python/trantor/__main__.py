"""`python -m trantor`: tournaments."""

import argparse
import io
import sys
from pathlib import Path

from . import __version__


def main() -> int:
    """Reads the command line and does what it asks."""
    parser = argparse.ArgumentParser("python -m trantor", description="Tournaments of players of Trantor.")
    parser.add_argument("--version", action="version", version=f"trantor {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    tournament = commands.add_parser("tournament", help="play a league, or go on with one, and write its report")
    tournament.add_argument("league", type=Path, help="the league's file, as docs/python.md has it")
    tournament.add_argument("--out", type=Path, metavar="DIR", help="where results go [default: the file's name without .toml]")
    tournament.add_argument("--runner", default="local", help="local, ray, ray:ADDRESS or ray://HOST:PORT [default: local]")
    tournament.add_argument("--jobs", type=int, metavar="N", help="processes of the local runner [default: one a processor]")
    # Whatever the terminal can show: a table with a question mark is better than none.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    asked = parser.parse_args()
    if asked.jobs is not None and asked.jobs < 1:
        parser.error(f"--jobs: 1 or more, not {asked.jobs}")
    try:
        from .tournament.run import run
        from .tournament.store import StoreError

        try:
            return run(asked.league, asked.out, asked.runner, asked.jobs)
        except (StoreError, RuntimeError, ValueError, TypeError, OSError) as error:
            message = " ".join(str(error).split())
            print(f"python -m trantor: {message}", file=sys.stderr)
    except ModuleNotFoundError as error:
        extra = "ray" if error.name == "ray" else "tournament"
        print(f"python -m trantor: {error.name} is missing: pip install 'trantor[{extra}]'", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
