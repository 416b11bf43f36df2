"""Matches with programs and policies: lock-step, what ends a player, and that nothing else ends with it."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import trantor
from trantor import ACTION_NAMES, programs

DOCS = Path(__file__).parents[3] / "docs"
JOINED = """
import os, socket, subprocess, sys, time
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
server.connect(("127.0.0.1", int(sys.argv[1])))
answers = server.makefile()
def ask(line):
    server.sendall(f"{line}\\n".encode())
    return answers.readline().strip()
answers.readline()
free = ask(sys.argv[2])
answers.readline()
"""
WALKS = JOINED + "while ask('Forward'): pass\n"


@pytest.fixture
def program(tmp_path):
    """Makes a player of a script."""

    def make(script, team="red", count=1, **options):
        path = tmp_path / f"{team}.py"
        path.write_text(script)
        command = f"{shlex.quote(sys.executable)} {shlex.quote(str(path))} {{port}} {{team}}"
        return trantor.Program(team, command, count=count, **options)

    return make


def forward(_observation, _agent):
    return ACTION_NAMES.index("forward")


def test_the_program_of_the_manual_plays_the_same_match_twice(program, tmp_path):
    [bot] = re.findall(r"^```python\n(.*?)^```", (DOCS / "bots.md").read_text(), re.DOTALL | re.MULTILINE)
    bot = program(bot, team="blue", count=2)
    bot = trantor.Program("blue", bot.command.replace("{port} {team}", "-p {port} -n {team}"), count=2)
    players = ["red=team:3", bot, trantor.Policy("green", forward, count=1)]
    first, second = (trantor.play(players, seed=5, map=(10, 10), max_units=2_500, record=True) for _ in range(2))
    assert first.digest == second.digest and first.actions == second.actions
    assert list(first.teams) == ["red", "blue", "green"]
    assert first.teams["green"].deaths == 1 and first.teams["blue"].lost is None
    assert "starved at level" in first.teams["blue"].last_words or first.teams["blue"].deaths == 0
    assert max(level for _, levels in first.levels for level in levels[1:2]) >= 2
    first.save_recording(tmp_path / "match.trj")
    assert trantor.Recording(tmp_path / "match.trj").verify() == first.digest


@pytest.mark.parametrize(
    ("player", "reason", "last_words"),
    [
        (trantor.Program("red", "./no-such-bot {port}", count=1), "cannot be started: [Errno 2] No such file", ""),
        (trantor.Policy("red", lambda *_: "Connect_nbr", 1, raw=True), "more than 1000 commands that take no time", ""),
        ("raise SystemExit('no brain')", "did not connect, exit status 1", "no brain"),
        ("print('a\\x1b[2J\\u202eb'); raise SystemExit(1)", "did not connect, exit status 1", "a [2J b"),
        ("import time; time.sleep(60)", "did not connect within 0.5 seconds", ""),
        ("import os; os.kill(os.getpid(), 9)", "did not connect, killed by signal 9", ""),
        (JOINED + "ask('Left'); print('bye'); 1 / 0", "closed its connection, exit status 1", "ZeroDivisionError"),
        (JOINED + "ask('Left'); time.sleep(60)", "sent no command within 0.5 seconds", ""),
        (JOINED + "while True: server.sendall(b'Forward\\n' * 5000)", "more than 1000 commands ahead", ""),
        (JOINED + "server.sendall(b'x' * 99999); time.sleep(60)", "a line of more than 16384 bytes", ""),
        (JOINED + "while ask('Jump'): pass", "20 unknown commands in a row, the last b'Jump'", ""),
        (JOINED + "while ask('Connect_nbr'): pass", "more than 1000 commands that take no time", ""),
        (JOINED + "while True: server.sendall(b'Left\\n'); time.sleep(0.001)", "did not read for 0.5 seconds", ""),
        (WALKS.replace("sys.argv[2]", "'green'"), "asked for b'green'", ""),
        (JOINED + "while True: sys.stderr.write('noise\\n'); ask('Left')", None, "noise\nnoise"),
    ],
)
def test_a_player_that_misbehaves_is_out_and_the_others_play_on(program, monkeypatch, player, reason, last_words):
    # Short only where the time is waited for: the machine may be busy.
    seconds = 0.5 if "0.5" in (reason or "") else 10.0
    monkeypatch.setattr(programs, "CONNECT_SECONDS", seconds)
    loud = trantor.Policy("blue", lambda _text, _agent: "Broadcast " + "x" * 16_000, count=3, raw=True)
    red = program(player) if isinstance(player, str) else player
    match = trantor.play([red, loud], map=(8, 8), max_units=700, answer_seconds=seconds)
    team = match.teams["red"]
    assert (team.lost is None and reason is None) or reason in team.lost
    assert last_words in team.last_words and len(team.last_words) <= programs.LAST_WORDS_BYTES
    blue = match.teams["blue"]
    assert match.units == 700 and (blue.lost, blue.deaths, blue.joins, blue.longest_life_units) == (None, 0, 3, 700)
    assert (team.alive_units < 700, team.level) == (reason is not None, team.alive_units > 0 or team.level)
    # The last row of levels: no agent of red is left, and all of blue are.
    assert match.levels[-1][1] == [0 if reason else 1, 1]


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_what_a_program_has_started_ends_with_the_match_whatever_ends_it(program, tmp_path, is_interrupted):
    numbers = tmp_path / "numbers"
    script = f"""
child = subprocess.Popen(["sleep", "1000"])
open({str(numbers)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
while ask('Forward'): pass
time.sleep(1000)
"""

    def plays(_observation, _agent):
        if is_interrupted and numbers.exists():
            raise KeyboardInterrupt
        return ACTION_NAMES.index("forward")

    with pytest.raises(KeyboardInterrupt) if is_interrupted else nullcontext():
        trantor.play([trantor.Policy("blue", plays, count=1), program(JOINED + script)], max_units=100)
    for number in numbers.read_text().split():
        # A child without a parent may wait for its end to be noted.
        status = Path(f"/proc/{number}/stat")
        assert not status.exists() or status.read_text().split()[2] == "Z"


SQUATS = """
import socket, struct, sys, time
open(sys.argv[3], "w").write("started")
held = []
# Whatever listens on this machine, with the name of each team, for as long as the match lasts.
while True:
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        columns = line.split()
        port = int(columns[1].rpartition(":")[2], 16)
        if columns[3] == "0A" and columns[1].startswith("0100007F") and port != int(sys.argv[1]):
            try:
                other = socket.create_connection(("127.0.0.1", port), 0.2)
                other.sendall(b"red\\n" + b"Left\\n" * 900)
                held.append(other)
            except OSError:
                pass
        # Descriptors come and go, before those of its connections too.
        open("/dev/null").close()
        if len(held) > 20:
            held.pop(0).close()
    time.sleep(0.01)
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not say whose a connection is")
def test_nobody_takes_the_place_of_another_player(program, tmp_path):
    """A program that answers late has its place still: who says its name first is turned away."""
    started = tmp_path / "started"
    rival = subprocess.Popen([sys.executable, "-c", SQUATS, "0", "blue", str(started)])
    try:
        # Only once the rival knocks at every port.
        waits = f"import os, time\nwhile not os.path.exists({str(started)!r}): time.sleep(0.01)\ntime.sleep(0.5)\n"
        # Through a start script, and two processes of one team.
        script = program(waits + WALKS, count=2)
        wrapped = trantor.Program("red", f"sh -c '{script.command} & wait'", count=2)
        match = trantor.play([wrapped], map=(5, 5), max_units=100)
    finally:
        rival.kill()
        rival.wait()
    assert match.teams["red"].lost is None and match.teams["red"].joins == 2
    quiet = trantor.play([script], map=(5, 5), max_units=100)
    assert match.digest == quiet.digest and match.actions == quiet.actions > 20


def test_who_thinks_for_too_long_in_all_loses(program, tmp_path):
    slow = tmp_path / "slow.luau"
    slow.write_text("""
local trantor = require("@trantor")
return trantor.agent(function(me)
    while true do
        local sum = 0
        for n = 1, 20_000 do sum += n % 7 end
        me:forward()
    end
end)
""")

    def ponders(_observation, _agent):
        time.sleep(0.002)
        return ACTION_NAMES.index("forward")

    quick = "blue=team:1"
    players = [f"red=script:{slow}:3", program(JOINED + "while ask('Forward'): time.sleep(0.002)"), trantor.Policy("red", ponders)]
    for player in players:
        unlimited = trantor.play([player, quick], map=(6, 6), max_units=700)
        used = unlimited.teams["red"].thinking_seconds
        assert unlimited.teams["red"].lost is None and used > 0
        limited = trantor.play([player, quick], map=(6, 6), max_units=700, think_seconds=max(used / 100, 0.001))
        red = limited.teams["red"]
        assert re.match("thought for more than .* seconds in all", red.lost or "")
        assert red.alive_units < 700 == limited.units and limited.levels[-1][1][0] == 0
        assert (red.deaths, limited.teams["blue"].lost, limited.teams["blue"].thinking_seconds) == (0, None, 0.0)


def test_a_program_grows_by_forks_if_it_may(program):
    forks = JOINED + "for _ in range(2): ask('Fork')\nwhile ask('Forward'): pass\n"
    grown = trantor.play([program(forks, grows=True)], map=(5, 5), max_units=200)
    assert 3 <= grown.joins <= programs.PROCESSES_MAX and grown.teams["red"].lost is None
    assert trantor.play([program(forks, grows=True)], map=(5, 5), max_units=200).digest == grown.digest
    asks = """
ask('Fork')
other = socket.create_connection(server.getpeername())
other.sendall(b"red\\n")
print(ask('Connect_nbr'), other.makefile().read().split())
while ask('Forward'): pass
"""
    alone = trantor.play([program(JOINED + asks)], map=(5, 5), max_units=200)
    assert (alone.joins, alone.teams["red"].last_words) == (1, "1 ['WELCOME', 'ko']")


def test_a_raw_agent_reads_what_a_server_sends():
    commands = "Look|Inventory|Forward|Take food|Take|take food|Connect_nbr|Broadcast  two words |Set linemate|Set food|Fork|"
    commands = [*commands.split("|"), "Eject", "Incantation", "Right", "Left now", "Look"]
    words = f"{os.environ['TRANTOR_SERVER']} --lock-step --seed 9 -x 10 -y 10 -n red -c 1 -p 0".split()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            lines = (line.decode() for line in server.stdout)
            [port] = next(found for line in lines if (found := re.findall(r"listening on \S+:(\d+)", line)))
            with socket.create_connection(("127.0.0.1", int(port))) as connection, connection.makefile("rb") as answers:
                connection.sendall(b"red\n")
                expected = [answers.readline() for _ in range(3)]
                assert expected.pop(0) == programs.WELCOME
                for command in commands:
                    connection.sendall(command.encode() + b"\n")
                    expected.append(answers.readline())
        finally:
            server.kill()
    heard, left = [], list(commands)

    def speaks(text, agent):
        heard.append(text)
        # An empty answer would wait.
        return (left.pop(0) or " ") if left else ""

    trantor.play([trantor.Policy("red", speaks, count=1, raw=True)], seed=9, map=(10, 10), max_units=200)
    assert "".join(heard) == b"".join(expected).decode()


def test_policies_observe_what_environments_do():
    seen = []

    def watches(observation, agent):
        seen.append((agent, observation))
        return np.uint8(0)

    trantor.play([trantor.Policy("red", watches, count=2)], seed=3, map=(8, 8), max_units=5)
    env = trantor.aec_env(agents={"red": 2}, map=(8, 8))
    assert [agent for agent, _ in seen] == ["red_0", "red_1"]
    for _, observation in seen:
        assert env.observation_space("red_0").contains(observation)
        assert observation["observation"]["state"][0] == 1 and observation["action_mask"][1] == 1


@pytest.mark.parametrize(
    ("player", "error", "word"),
    [
        (trantor.Policy("red", lambda *_: 37), ValueError, "0 to 36"),
        (trantor.Policy("red", lambda *_: "forward"), TypeError, "whole number"),
        (trantor.Policy("red", lambda *_: 1, raw=True), TypeError, "Take food"),
        (trantor.Policy("red", lambda *_: "Left\nLeft", raw=True), ValueError, "one line"),
        (trantor.Policy("red", forward, count=0), ValueError, "agents of red .* from 1 to 4,096"),
        (trantor.Policy("red", forward, count=2**40), ValueError, "agents of red .* from 1 to 4,096"),
        (trantor.Program("red", "true", count="6"), TypeError, "agents of red must be a whole number"),
        (trantor.Program("red", ["true"]), TypeError, "command of red must be a text"),
        (trantor.Policy("red", "forward"), TypeError, "function of red must be one"),
        (trantor.Policy(7, forward), TypeError, "team must be the name"),
        (6, TypeError, "players must be a list"),
        (trantor.Policy("blue", forward), ValueError, "more than one player"),
        (trantor.Program("a b", "true"), ValueError, "spaces"),
    ],
)
def test_wrong_players_are_refused_in_words(player, error, word):
    with pytest.raises(error, match=word):
        trantor.play(["blue=team:1", player], max_units=100)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"players": "red=team:6"}, TypeError, "players must be a list"),
        ({"map": 10}, TypeError, "map must be columns and rows"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": 1.5}, TypeError, "seed must be a whole number"),
        ({"max_units": 2**40}, ValueError, "max_units .* 10,000,000"),
        ({"record": "yes"}, TypeError, "record"),
        ({"answer_seconds": 0}, ValueError, "answer_seconds"),
        ({"think_seconds": "5"}, TypeError, "think_seconds must be a number"),
        ({"lag": None}, TypeError, "lag must be a text"),
    ],
)
def test_wrong_parameters_of_a_match_are_refused_with_their_name(options, error, words):
    with pytest.raises(error, match=words):
        trantor.play(**{"players": ["red=team:1"], **options})
