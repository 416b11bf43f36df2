"""Tournaments: what counts depends on nothing but the league, and nothing that is played is lost."""

import csv
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import accumulate
from pathlib import Path

import pytest
from test_players import JOINED, WALKS

from trantor.tournament import Outcome, Player, Unit, make_runner, sweep
from trantor.tournament.league import Stop, read
from trantor.tournament.schedule import rounds, standing
from trantor.tournament.store import SCHEMA
from trantor.tournament.tables import rate
from trantor.tournament.unit import play_unit, rules

SCRIPTS = Path(__file__).parents[3] / "assets" / "minds"
SHORT = """
[tournament]
maps = [[8, 8], [10, 9]]
seeds = 6
max_units = 700
"""
BUILT_IN = SHORT + "".join(
    f'[[player]]\nname = "{name}"\nmind = "{mind}"\n'
    for name, mind in [("ada", "team"), ("bob", "random"), ("cyd", "team,every=40"), ("dan", "trivial")]
)


def written(folder, text):
    path = folder / "league.toml"
    path.write_text(text)
    return path


def run(path, *words):
    words = [sys.executable, "-m", "trantor", "tournament", str(path), *words]
    return subprocess.run(words, capture_output=True, text=True, check=True)


def results(folder):
    """The rows of a league's results by key, without what is of one run."""
    rows = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    own = "words", "slowest_seconds", "attempts", "seconds"
    return {row["key"]: {name: value for name, value in row.items() if name not in own} for row in rows}


def test_the_rule_errs_as_rarely_as_it_says():
    assert (Stop().lead, Stop(0.6, 0.05).lead, Stop(0.75, 0.1).lead, Stop(0.75, 0.25).lead) == (4, 8, 2, 1)
    draw = random.Random(1)
    stop, wrong, cases = Stop(0.7, 0.05), 0, 4_000
    for _ in range(cases):
        seeds = (draw.choice((0, 1 if draw.random() < 0.7 else -1)) for _ in range(400))
        settled = next(ahead for ahead in accumulate(seeds) if stop.settles(ahead))
        assert stop.settles(-settled)
        wrong += settled < 0
    assert 0.01 * cases < wrong <= 0.05 * cases


def test_ratings_know_neither_order_nor_names():
    draw = random.Random(2)
    results = {}
    for number in range(300):
        first, second = draw.sample("abcd", 2)
        results[f"{number:03}"] = first, second, draw.choice([min(first, second), first, second, None])
    ratings = rate("abcd", results)
    shuffled = list(results.items())
    draw.shuffle(shuffled)
    assert rate("dcba", dict(shuffled)) == ratings
    assert sorted(ratings, key=lambda name: -ratings[name].strength) == list("abcd")
    other = dict(zip("abcd", "zyxw", strict=True)) | {None: None}
    renamed = {key: tuple(other[name] for name in row) for key, row in results.items()}
    assert {other[name]: rating for name, rating in ratings.items()} == rate("wxyz", renamed)
    # A win and a loss are one as good as the other, whichever comes first.
    even = rate("ab", {str(number): ("a", "b", "ab"[number % 2]) for number in range(40)})
    assert abs(even["a"].strength - even["b"].strength) < even["a"].margin / 10
    assert even["a"].margin < 8 < 16.3 == round(rate("a", {})["a"].margin, 1)


def test_every_seed_is_played_from_both_sides_by_each_pair(tmp_path):
    league = read(written(tmp_path, BUILT_IN))
    [pairings] = rounds(league, {})
    assert [(each.first.name + each.second.name) for each in pairings] == [
        "adabob", "adacyd", "adadan", "bobcyd", "bobdan", "cyddan",
    ]
    for each in pairings:
        assert len(each.units) == 12
        for one, two in each.units:
            assert one.players == two.players[::-1] and (one.seed, one.map) == (two.seed, two.map)
            assert one.key != two.key
    assert len({unit.key for each in pairings for pair in each.units for unit in pair}) == 6 * 12 * 2
    gauntlet = read(written(tmp_path, BUILT_IN.replace("seeds", 'kind = "gauntlet"\nchampion = "cyd"\nseeds')))
    [pairings] = rounds(gauntlet, {})
    assert [(each.first.name, each.second.name) for each in pairings] == [("cyd", "ada"), ("cyd", "bob"), ("cyd", "dan")]


@pytest.mark.parametrize("players", [4, 5, 9, 16])
def test_in_a_swiss_tournament_equals_meet_and_none_twice(tmp_path, players):
    text = SHORT.replace("seeds = 6", f'kind = "swiss"\nseeds = 1\nrounds = {players // 2}')
    text += "".join(f'[[player]]\nname = "p{number:02}"\nmind = "random"\n' for number in range(players))
    league = read(written(tmp_path, text))
    outcomes, met, last = {}, [], []
    for number, pairings in enumerate(rounds(league, outcomes), 1):
        last = [{int(each.first.name[1:]), int(each.second.name[1:])} for each in pairings]
        assert len(last) == players // 2 and len(set().union(*last)) == players - players % 2
        met += last
        for each in pairings:
            for unit in each.units[0] + each.units[1]:
                # The lower number is better.
                outcomes[unit.key] = Outcome(min(player.name for player in unit.players), "victory")
            assert standing(each, league.stop, outcomes).done
    assert number == players // 2
    assert len(set(map(frozenset, met))) == len(met)
    if players == 16:
        # Those that won all their matches have met.
        assert {0, 1} in met and all(abs(first - second) < 12 for first, second in map(sorted, last))


def test_what_is_part_of_a_match_is_part_of_its_key(tmp_path):
    script = tmp_path / "bot.luau"
    script.write_text("-- one")
    players = Player("ada", "team"), Player("bob", f"script:{script}")
    unit = Unit(players)
    others = [
        Unit(players[::-1]), Unit(players, seed=2), Unit(players, (20, 21)), Unit(players, lag="radio"), Unit(players, agents=5),
        Unit(players, max_units=9), Unit(players, answer_seconds=1), Unit(players, rules="another"), Unit((players[0], Player("bob", "team"))),
        Unit((players[0], Player("bob", f"script:{script},every=9"))), Unit((players[0], Player("eve", f"script:{script}"))),
    ]
    assert len({unit.key, *(other.key for other in others)}) == 12
    moved = tmp_path / "moved.luau"
    script.rename(moved)
    again = players[0], Player("bob", f"script:{moved}")
    assert Unit(again, record=True).key == unit.key
    archive = again[1].archive()
    os.utime(moved, (0, 0))
    assert again[1].archive() == archive
    moved.chmod(0o700)
    assert Unit((players[0], Player("bob", f"script:{moved}"))).key != unit.key
    moved.chmod(0o600)
    moved.write_text("-- two")
    assert Unit((players[0], Player("bob", f"script:{moved}"))).key != unit.key


def test_what_a_league_does_not_say_is_as_documented(tmp_path):
    documented = (SCRIPTS.parents[1] / "docs" / "python.md").read_text().partition("```toml\n")[2].partition("```")[0]
    [said, players] = documented.split("[[player]]", 1)
    players = f"[[player]]{players}".replace("scout.luau", str(SCRIPTS / "first.luau"))
    for name in ("walker", "students/ada", "students/bob"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "bot.py").write_text("")
    said = read(written(tmp_path, said.replace("Spring league", "league").replace(", [30, 30]", "") + players))
    assert said == read(written(tmp_path, "[tournament]\n" + players))
    assert said.stop == Stop() and said.maps == ((20, 20),)
    assert [player.name for player in said.players] == ["careful", "scout", "walker", "ada", "bob"]


def test_the_files_of_a_program_are_those_that_it_names_or_those_of_its_directory(tmp_path):
    (tmp_path / "own" / "__pycache__").mkdir(parents=True)
    for name in ("bot.py", "other.py", "own/main.py", "own/__pycache__/main.pyc", "own/.hidden", "own/log.txt"):
        (tmp_path / name).write_text(name)

    def contents(lines):
        entries = "".join(f"[[player]]\nname = 'p{number}'\n{line}\n" for number, line in enumerate(lines))
        return [sorted(player.contents()) for player in read(written(tmp_path, "[tournament]\n" + entries)).players]

    command = f"command = '{sys.executable} {{}} -p {{{{port}}}}'\n"
    assert contents([
        command.format("bot.py"), command.format("-m bot"), command.format("main.py") + "directory = 'own'",
        command.format("main.py") + "directory = 'own'\nfiles = ['*.py']",
    ]) == [["bot.py"], [], ["log.txt", "main.py"], ["main.py"]]
    for files, words in (("['/etc/*']", "within its directory"), ("['../*.py']", "within its directory"), ("['*.c']", "no files")):
        with pytest.raises(ValueError, match=words):
            contents([command.format("bot.py") + f"files = {files}"] * 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seeds = 6", "seed = 6"), ["tournament.seed", "did you mean seeds"]),
        (("seeds = 6", "seeds = 0"), ["tournament.seeds", "1 to 10000"]),
        (("seeds = 6", "seeds = true"), ["tournament.seeds", "not True"]),
        (("seeds = 6", 'kind = "cup"'), ["tournament.kind", "gauntlet"]),
        (("seeds = 6", 'kind = "gauntlet"\nchampion = "eve"'), ["tournament.champion", "name of a player"]),
        (("seeds = 6", 'kind = "swiss"\nrounds = 3'), ["tournament.rounds", "1 to 2"]),
        (("seeds = 6", "stop = { share = 0.5 }"), ["tournament.stop.share", "over 0.5"]),
        (("seeds = 6", 'lag = "fast"'), ["lag"]),
        (("[8, 8]", "[8, 0]"), ["8x0", "map"]),
        (("[8, 8]", "8"), ["tournament.maps", "[[20, 20], [10, 10]]"]),
        (('"ada"', '"a b"'), ["name", "letters"]),
        (('"ada"', '"ADMIN"'), ["name", "ADMIN", "means something else"]),
        (('"ada"', '"GRAPHIC"'), ["name", "GRAPHIC"]),
        (('"ada"', '"draw"'), ["name", "draw", "without a winner"]),
        (("seeds = 6", "think_seconds = 0"), ["tournament.think_seconds", "1 to 86,400"]),
        (('mind = "random"', 'mind = "random"\nbuild = "make"'), ["player bob", "build", "program"]),
        (('name = "bob"', 'each_directory_of = "nowhere"'), ["each_directory_of", "nowhere"]),
        (('"ada"', '"bob"'), ["player.name", "bob is there twice"]),
        (('"random"', '"best"'), ["bob=best:6", "team"]),
        (('"random"', '"script:none.luau"'), ["bob", "none.luau"]),
        (('mind = "random"', ""), ["player bob", "command"]),
        (('mind = "random"', 'command = "python3 bot.py"'), ["player bob", "{port}"]),
        (("[tournament]", "[league]"), ["tournament", "missing"]),
        (("seeds = 6", "seeds = "), ["league.toml"]),
    ],
)
def test_an_error_in_a_league_names_the_key_and_what_is_accepted(tmp_path, change, words):
    with pytest.raises(ValueError) as error:
        read(written(tmp_path, BUILT_IN.replace(*change, 1)))
    for word in words:
        assert word in str(error.value)


ENDED = """
import os, signal, sys
from pathlib import Path
from trantor.tournament import run, store

add = store.Store.add

def adds(self, *finished):
    add(self, *finished)
    if len(self.outcomes) == 20:
        os.kill(int(sys.argv[2]) and os.getpid(), int(sys.argv[3]))

store.Store.add = adds
if __name__ == "__main__":
    # As at a terminal, wherever the tests were started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run.run(Path(sys.argv[1]), jobs=2))
"""


def ended(path, alone, number):
    """Plays a league of which the process, or its group, is sent a signal after 20 matches."""
    script = path.with_name("ended.py")
    script.write_text(ENDED)
    words = [sys.executable, script, path, str(int(alone)), str(int(number))]
    return subprocess.run(words, capture_output=True, text=True, check=False, start_new_session=True, timeout=120)


def test_a_league_goes_on_after_a_kill_and_ends_in_the_same_table(tmp_path):
    folders = [tmp_path / "whole", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
        written(folder, BUILT_IN)
    whole = run(folders[0] / "league.toml", "--jobs", "1")
    assert ended(folders[1] / "league.toml", True, signal.SIGKILL).returncode == -signal.SIGKILL
    lines = folders[1] / "league" / "results.jsonl"
    kept = lines.read_text().splitlines()
    assert len(kept) == 20 < len(results(folders[0] / "league")) < 6 * 12 * 2
    # As if the kill had come between the table and the lines.
    lines.write_text("\n".join(kept[:-1] + [kept[-1][:20]]))
    rest = run(folders[1] / "league.toml", "--jobs", "2")
    table = [each.stdout.partition("\n\n")[0] for each in (whole, rest)]
    assert table[0] == table[1] and "ada" in table[0]
    first, second = (results(folder / "league") for folder in folders)
    # Several processes may have played a match more before a pair was settled.
    assert {key: second[key] for key in first} == first
    assert lines.read_text().splitlines()[: len(kept)] == kept
    pages = [(folder / "league" / "report.html").read_text() for folder in folders]
    assert all(page.count("<details id=") == 6 and ".trj" in page for page in pages)
    again = run(folders[1] / "league.toml")
    assert again.stdout == rest.stdout and results(folders[1] / "league") == second


def test_an_interrupt_ends_a_league_and_keeps_what_was_played(tmp_path):
    run = ended(written(tmp_path, BUILT_IN), False, signal.SIGINT)
    assert run.returncode == 130 and "goes on from here" in run.stdout and "Traceback" not in run.stderr
    assert len(results(tmp_path / "league")) == 20
    assert "Not all of it is played" in (tmp_path / "league" / "report.html").read_text()


def test_a_unit_whose_process_dies_is_played_again():
    unit = Unit((Player("ada", "team"), Player("bob", "team")), max_units=2_000)
    with closing(make_runner("local", 1)) as runner:
        runner.start(unit)
        finished = runner.wait()
        [process] = multiprocessing.active_children()
        process.kill()
        process.join()
        runner.start(unit)
        again = runner.wait()
    assert (finished.outcome.attempts, again.outcome.attempts, again.outcome.units) == (1, 2, 2_000)
    assert again.outcome.digest == finished.outcome.digest
    assert not multiprocessing.active_children()


BOTS = {
    "crashes": "raise SystemExit('no brain')",
    "silent": JOINED + "answers.read()",
    "floods": JOINED + "while True: server.sendall(b'Forward\\n' * 5000)",
}


def test_players_that_misbehave_lose_their_matches_and_nothing_else_is_lost(tmp_path):
    text = SHORT.replace("seeds = 6", "seeds = 1\nagents = 2\nanswer_seconds = 1").replace(", [10, 9]", "")
    text += f'[[player]]\nname = "scout"\nmind = "script:{SCRIPTS / "first.luau"}"\n'
    text += "".join(f'[[player]]\nname = "{name}"\nmind = "{name}"\n' for name in ("team", "random"))
    for name, source in BOTS.items():
        (tmp_path / "bots" / name).mkdir(parents=True)
        (tmp_path / "bots" / name / "bot.py").write_text(source)
    text += f"[[player]]\neach_directory_of = \"bots\"\ncommand = '\"{sys.executable}\" bot.py {{port}} {{team}}'\n"
    path = written(tmp_path, text)
    said = run(path, "--jobs", "2")
    rows = results(tmp_path / "league").values()
    assert len(rows) == 2 * 15 and not [row for row in rows if row["how"] == "void"]
    reasons = {"crashes": "did not connect, exit status 1", "silent": "no command within 1 seconds", "floods": "1000 commands ahead"}
    for row in rows:
        lost = [name for name in row["players"] if name in reasons]
        assert sorted(row["troubles"]) == sorted(lost)
        assert all(reasons[name] in row["troubles"][name] for name in lost)
        assert row["winner"] not in lost and (len(lost) != 1 or row["winner"] in row["players"])
    assert [line.split()[1] for line in said.stdout.splitlines()[1:3]] == ["team", "scout"]
    page = (tmp_path / "league" / "report.html").read_text()
    assert all(reason in page for reason in reasons.values()) and "<pre>no brain</pre>" in page


CRASHES_LATE = JOINED + """
for _ in range(TURNS): ask('Left')
print('that is all')
"""


def test_two_that_crash_are_as_good_as_they_came_far(tmp_path):
    """Neither is left at the end: the higher level counts, and then the time; a process that never connects has done nothing."""
    sources = {"never": "", "early": CRASHES_LATE.replace("TURNS", "3"), "later": CRASHES_LATE.replace("TURNS", "150"), "alike": CRASHES_LATE.replace("TURNS", "150")}
    # It crashes long before the one that only turns.
    rises = "while ask('Take linemate') != 'ok': ask('Forward')\nask('Set linemate')\nask('Incantation')\nanswers.readline()\n"
    sources["level2"] = JOINED + rises
    players = {}
    for name, source in sources.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.py").write_text(source)
        command = f'"{sys.executable}" bot.py {{port}} {{team}}'
        players[name] = Player(name, command=command, directory=tmp_path / name)

    def met(first, second):
        outcome = play_unit(Unit((players[first], players[second]), (8, 8), agents=1, max_units=3_000))[0]
        assert sorted(outcome.troubles) == sorted([first, second])
        return outcome

    for better, worse in (("early", "never"), ("later", "early"), ("level2", "later"), ("level2", "never")):
        for order in ((better, worse), (worse, better)):
            outcome = met(*order)
            assert (outcome.winner, outcome.how) == (better, "reached"), order
    assert (met("later", "alike").winner, met("later", "alike").how) == (None, "draw")
    assert met("never", "level2").reached == {"never": [], "level2": ["joins", "level 2"]}


BUILDS = """
import pathlib, sys
print("compiles" + " and compiles" * 3)
pathlib.Path("bot.py").write_text(pathlib.Path("bot.txt").read_text())
sys.exit(pathlib.Path("bot.txt").read_text() == "")
"""


def test_a_league_of_folders_plays_whatever_is_in_them(tmp_path):
    """No folder stops the others: each fault is a forfeit with its reason, and what is built is built once."""
    folders = tmp_path / "students"
    texts = {"ada": WALKS, "bob": WALKS.replace("Forward", "Left"), "erin": None, "fay": "", "gus": "import time", "jean paul": WALKS, "ADMIN": WALKS}
    for name, text in texts.items():
        (folders / name).mkdir(parents=True)
        if text is not None:
            (folders / name / "bot.txt").write_text(text)
    build = tmp_path / "build.py"
    build.write_text(BUILDS)
    text = SHORT.replace("seeds = 6", "seeds = 1\nagents = 1\nrecord = false").replace(", [10, 9]", "").replace("700", "1_400")
    text += f"[[player]]\neach_directory_of = \"students\"\ncommand = '\"{sys.executable}\" bot.py {{port}} {{team}}'\n"
    text += f"build = '\"{sys.executable}\" {build}'\n"
    # As an editor of Windows leaves it.
    path = tmp_path / "league.toml"
    path.write_bytes(("\ufeff" + text).replace("\n", "\r\n").encode())
    said = run(path, "--jobs", "2")
    rows = results(tmp_path / "league").values()
    assert len(rows) == 7 * 6 and not [row for row in rows if row["how"] == "void"]
    reasons = {"erin": "has no files", "fay": "its build failed, exit status 1", "gus": "did not connect, exit status 0"}
    for row in rows:
        lost = [name for name in row["players"] if name in reasons]
        assert sorted(row["troubles"]) == sorted(lost) and all(reasons[name] in row["troubles"][name] for name in lost)
        assert len(lost) != 1 or (row["winner"] not in lost and row["how"] == "forfeit")
    page = (tmp_path / "league" / "report.html").read_text(encoding="utf-8")
    assert all(reason in page for reason in reasons.values()) and "compiles and compiles" in page and "jean_paul" in page
    lines = list(csv.DictReader((tmp_path / "league" / "marks.csv").read_text(encoding="utf-8-sig").splitlines()))
    marks = {line["player"]: line for line in lines}
    assert list(marks) == [line.split()[1] for line in said.stdout.splitlines()[1:8]] and set(marks) == {*texts, "jean_paul", "_ADMIN"} - {"jean paul", "ADMIN"}
    for name, joins in (("ada", "8"), ("_ADMIN", "8"), ("erin", "0"), ("fay", "0"), ("gus", "0")):
        # Not of matches that the others could not play.
        assert (marks[name]["marked"], marks[name]["joins"], marks[name]["level 2"]) == ("8" if joins == "8" else "12", joins, "0")
    assert reasons["fay"] in marks["fay"]["reason"] and marks["ada"]["reason"] == ""
    # Nobody's folder was changed, and nothing is built or played again.
    assert sorted(path.name for path in folders.rglob("*") if path.is_file()) == ["bot.txt"] * 6
    again = run(path)
    assert "build ada" in said.stderr and "build ada" not in again.stderr and again.stdout == said.stdout
    assert results(tmp_path / "league") == {row["key"]: row for row in rows}


def test_a_script_of_a_folder_is_its_own_and_a_wrong_one_forfeits(tmp_path):
    sources = {"ada": (SCRIPTS / "first.luau").read_text(encoding="utf-8"), "bob": "return 1 +", "cyd": None}
    for name, source in sources.items():
        (tmp_path / "students" / name).mkdir(parents=True)
        if source is not None:
            (tmp_path / "students" / name / "mind.luau").write_text(source)
    text = SHORT.replace("seeds = 6", "seeds = 1") + '[[player]]\neach_directory_of = "students"\nmind = "script:mind.luau"\n'
    players = {player.name: player for player in read(written(tmp_path, text)).players}
    assert players["ada"].fault is None and "mind.luau:1" in players["bob"].fault and "there is no script" in players["cyd"].fault
    outcomes = sweep([Unit((players["ada"], players[name]), max_units=300) for name in ("bob", "cyd")])
    assert [(each.winner, each.how) for each in outcomes] == [("ada", "forfeit")] * 2


def test_a_league_is_played_and_reported_in_any_locale(tmp_path):
    text = SHORT.replace("[tournament]", '[tournament]\nname = "Frühling ★"').replace("seeds = 6", "seeds = 1").replace("700", "50")
    path = tmp_path / "league.toml"
    path.write_text(text + "".join(f'[[player]]\nname = "{name}"\nmind = "random"\n' for name in "ab"), encoding="utf-8")
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"}
    words = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning:trantor", "-m", "trantor", "tournament", str(path)]
    said = subprocess.run(words, capture_output=True, text=True, env=ascii_only, check=False)
    assert said.returncode == 0, said.stderr
    assert "Frühling ★" in (tmp_path / "league" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("trouble", ["junk", "locked", "row", "folder"])
def test_trouble_with_the_results_is_said_in_one_line(tmp_path, trouble):
    path = written(tmp_path, BUILT_IN.replace("seeds = 6", "seeds = 1"))
    table = tmp_path / "league" / "results.sqlite"
    table.parent.mkdir()
    with closing(sqlite3.connect(table)) as held:
        if trouble == "junk":
            table.write_bytes(b"no table" * 100)
        elif trouble == "locked":
            held.execute("CREATE TABLE other (a)")
            held.execute("BEGIN EXCLUSIVE")
        elif trouble == "row":
            held.execute(SCHEMA)
            held.execute("INSERT INTO results (key, json) VALUES ('a', '{}')")
            held.commit()
        else:
            table.mkdir() if not table.exists() else None
        words = [sys.executable, "-m", "trantor", "tournament", str(path)]
        words += ["--out", str(path)] if trouble == "folder" else []
        said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 2 and said.stdout == "" and said.stderr.count("\n") == 1, said.stderr
    assert {"junk": "move", "locked": "wait until", "row": "move", "folder": "league.toml"}[trouble] in said.stderr


def test_a_match_that_stands_still_is_ended(monkeypatch):
    monkeypatch.setattr(Unit, "seconds_max", 0.0)
    with closing(make_runner("local", 1)) as runner:
        runner.start(Unit((Player("ada", "team"), Player("bob", "team"))))
        finished = runner.wait()
    assert finished.outcome.how == "void" and "not over after 0 seconds" in finished.outcome.troubles[""]
    assert not multiprocessing.active_children()


def test_a_player_that_kills_the_process_makes_its_match_void(tmp_path):
    (tmp_path / "bot.py").write_text("import os, signal, sys\nos.kill(os.getppid(), signal.SIGKILL)")
    killer = Player("killer", command=f'"{sys.executable}" bot.py {{port}}', directory=tmp_path)
    players = Player("ada", "team"), Player("bob", "random")
    void, whole = sweep([Unit((players[0], killer), max_units=100), Unit(players, max_units=100)])
    assert (void.how, void.attempts) == ("void", 3) and "died 3 times, by SIGKILL" in void.troubles[""]
    assert whole.how != "void"


def test_an_archive_has_what_a_program_needs(tmp_path):
    (tmp_path / "bot").mkdir()
    start = tmp_path / "bot" / "start.sh"
    start.write_text(f'#!/bin/sh\nexec "{sys.executable}" lib/bot.py "$@"')
    start.chmod(0o755)
    (tmp_path / "bot" / "lib").mkdir()
    (tmp_path / "bot" / "lib" / "bot.py").write_text(WALKS)
    players = Player("ada", "team"), Player("bob", command="./start.sh {port} {team}", directory=tmp_path / "bot")
    unit = Unit(players, agents=1, max_units=200)
    here = play_unit(unit)[0]
    archives = [player.archive() for player in players]
    start.unlink()
    there = play_unit(unit, *archives)[0]
    assert (here.troubles, there.troubles) == ({}, {}) and here.digest == there.digest and there.slowest_seconds["bob"] > 0


def test_processes_that_cannot_start_are_an_error_at_once():
    script = "from trantor.tournament import *\nsweep([Unit((Player('ada', 'team'), Player('bob', 'team')))])"
    run = subprocess.run([sys.executable], input=script, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 1 and "RuntimeError: processes do not start, with status 1" in run.stderr


def test_a_sweep_answers_in_order_and_names_what_cannot_be_played(tmp_path):
    script = tmp_path / "bot.luau"
    script.write_text((SCRIPTS / "first.luau").read_text())
    players = Player("ada", "team"), Player("bob", f"script:{script}")
    units = [Unit(players, seed=seed, max_units=300, record=True) for seed in (3, 1, 2, 3)]
    outcomes = sweep([*units, Unit(players, rules="another")])
    assert [outcome.digest for outcome in outcomes[:4]] == [play_unit(unit)[0].digest for unit in units]
    assert len({outcome.digest for outcome in outcomes[:4]}) == 3
    assert outcomes[4].how == "void" and "install the same wheel" in outcomes[4].troubles[""]
    assert rules() in outcomes[4].troubles[""]
    with pytest.raises(ValueError, match="ray://HOST:PORT"):
        sweep([], runner="slurm")
    for wrong, error, words in (({"map": 10}, TypeError, "map must be columns"), ({"seed": -1}, ValueError, "seed"), ({"agents": 2**40}, ValueError, "agents"),
                                ({"players": ["red"]}, TypeError, "Player"), ({"think_seconds": None}, TypeError, "think_seconds")):
        with pytest.raises(error, match=words):
            Unit(**{"players": players, **wrong})
    for jobs, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="jobs must be a whole number from 1"):
            make_runner("local", jobs)
