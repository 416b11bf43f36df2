"""Matches of minds and of our programs: the same game that the server plays, and recordings of them."""

import base64
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import zlib

import numpy as np
import pytest

import trantor
from trantor import picture


def sim(words):
    """The summary of a game of `trantor-server sim`."""
    said = subprocess.run([os.environ["TRANTOR_SERVER"], "sim", *words.split()], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


@pytest.mark.parametrize("seed", range(50))
def test_a_match_is_the_one_that_the_server_plays(seed):
    side, units = 6 + seed % 9, 150 + 17 * seed
    minds = [["red=team:3", "blue=team:3"], ["red=random:4", "blue=team:2"], ["red=team:4,every=9.5", "blue=random:4"]]
    players, lag = minds[seed % 3], ["off", "radio", "noisy"][seed % 3]
    match = trantor.play(players, seed=seed, map=(side, side + 1), lag=lag, max_units=units)
    words = f"--seed {seed} -x {side} -y {side + 1} --until {units} --lag {lag} --clients {4 if seed % 3 else 3}"
    summary = sim(" --mind ".join([words, *players]))
    for figure in ("digest", "actions", "joins", "deadlines"):
        assert getattr(match, figure) == summary[figure]


def test_programs_of_ours_play_the_game_of_sim():
    words = "-p {port} -h {host} -n {team} --seed {seed} --team-size 1 --team-size-max 1"
    command = f"{shlex.quote(os.environ['TRANTOR_BOT'])} {words}"
    match = trantor.play([trantor.Program(team, command) for team in ("red", "blue")], seed=7, map=(10, 10))
    summary = sim("--seed 7 -x 10 -y 10 -c 6 --teams red blue --team-size-max 6")
    assert (match.winner is not None, match.digest, match.units) == (True, summary["digest"], summary["units"])
    assert match.teams["red"].lost is None and match.teams["red"].thinking_seconds > 0


def test_a_recorded_match_is_read_back(tmp_path):
    match = trantor.play(["red=team:6", "red=random:1"], seed=2, map=(10, 10), max_units=300, record=True)
    path = tmp_path / "match.trj"
    match.save_recording(path)
    recording = trantor.Recording(path)
    assert recording.verify() == match.digest
    assert recording.span == (0.0, 300.0)
    first = recording.state(0)
    assert first["agents"].shape == (6, 13) and first["ground"].shape == (10, 10, 7)
    table = recording.to_pandas()
    assert (table["event"] == "joined").sum() == match.joins
    if importlib.util.find_spec("pyarrow"):
        assert recording.to_arrow().num_rows == len(table)
    with pytest.raises(ValueError, match="record=True"):
        trantor.play(["red=team:1"], max_units=1).save_recording(path)


def test_a_part_of_a_recording_is_not_taken_for_the_whole(tmp_path):
    match = trantor.play(["red=random:6", "blue=random:6"], seed=2, map=(10, 10), record=True)
    whole, path = match.recording, tmp_path / "part.trj"
    for length in (len(whole) // 2, len(whole) - 1, len(whole) * 7 // 8):
        path.write_bytes(whole[:length])
        part = trantor.Recording(path)
        with pytest.raises(ValueError, match="no end mark.*unfinished=True"):
            part.verify()
        assert re.fullmatch("[0-9a-f]{16}", part.verify(unfinished=True)) and part.verify(unfinished=True) != match.digest
    path.write_bytes(whole[:100])
    for unfinished in (False, True):
        with pytest.raises(ValueError, match="no end mark|nothing of it"):
            trantor.Recording(path).verify(unfinished=unfinished)
    damaged = bytearray(whole)
    damaged[-40] ^= 1
    path.write_bytes(damaged)
    for unfinished in (False, True):
        with pytest.raises(ValueError):
            trantor.Recording(path).verify(unfinished=unfinished)
    path.write_bytes(whole)
    assert trantor.Recording(path).verify() == trantor.Recording(path).verify(unfinished=True) == match.digest


def test_a_match_is_short_in_words_and_a_picture_in_a_notebook():
    match = trantor.play(["red=team:6", "<b>=random:3"], seed=2, map=(20, 20), max_units=900, record=True)
    assert len(repr(match)) < 1_000 and "digest" in repr(match)
    page = match._repr_html_()
    assert "&lt;b&gt;" in page and "<b>=" not in page and "<td>3</td>" in page
    image = base64.b64decode(re.search("base64,([^\"]+)", page)[1])
    assert image.startswith(b"\x89PNG") and zlib.crc32(image[-8:-4]) == int.from_bytes(image[-4:])
    pixels = np.frombuffer(zlib.decompress(image[41:-16]), np.uint8).reshape(640, 1 + 640 * 3)
    assert (pixels[:, 1:].reshape(640, 640, 3) == picture.draw(match.scene)).all()


@pytest.mark.parametrize("side", [10, 20, 40, 150])
def test_a_picture_shows_levels_and_where_agents_face(side):
    scene = trantor.play(["red=team:1"], map=(side, side), max_units=1).scene
    seen = {}
    for direction in range(1, 5):
        # At the largest maps an agent has four pixels, and its level is its size.
        for level in range(1, 9) if side <= 40 else (1, 8):
            scene["agents"][0, 4:6] = direction, level
            seen[picture.draw(scene).tobytes()] = direction, level
    assert len(seen) == (32 if side <= 40 else 4)
    crowd = {**scene, "agents": scene["agents"].repeat(9, axis=0)}
    pictures = {picture.draw({**crowd, "agents": crowd["agents"][:count]}).tobytes() for count in range(10)}
    assert len(pictures) == (10 if side <= 20 else 5)


def test_the_package_says_what_it_is():
    assert trantor.__version__ == importlib.metadata.version("trantor")
    assert set(dir(trantor)) == set(trantor.__all__)


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        trantor.Recording(tmp_path / "nowhere.trj")
    path = tmp_path / "noise.trj"
    path.write_bytes(b"no journal")
    with pytest.raises(ValueError):
        trantor.Recording(path).verify()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_an_interrupt_ends_a_match():
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            trantor.play(["red=team:200", "blue=team:200"], map=(150, 150))
    finally:
        signal.signal(signal.SIGALRM, before)
