"""Matches of minds: the same game that the server plays, and recordings of them."""

import importlib.util
import json
import os
import signal
import subprocess

import pytest

import trantor


@pytest.mark.parametrize("seed", range(50))
def test_a_match_is_the_one_that_the_server_plays(seed):
    side, units = 6 + seed % 9, 150 + 17 * seed
    minds = [["red=team:3", "blue=team:3"], ["red=random:4", "blue=team:2"], ["red=team:4,every=9.5", "blue=random:4"]]
    players, lag = minds[seed % 3], ["off", "radio", "noisy"][seed % 3]
    match = trantor.play(players, seed=seed, map=(side, side + 1), lag=lag, max_units=units)
    words = [os.environ["TRANTOR_SERVER"], "sim", "--seed", seed, "-x", side, "-y", side + 1, "--until", units]
    words += ["--lag", lag, "--clients", 4 if seed % 3 else 3]
    for player in players:
        words += ["--mind", player]
    said = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    summary = json.loads(said.stdout)
    assert match.digest == summary["digest"]
    assert (match.actions, match.joins, match.deadlines) == (
        summary["actions"],
        summary["joins"],
        summary["deadlines"],
    )


def test_a_recorded_match_is_read_back(tmp_path):
    match = trantor.play(["red=team:6"], seed=2, map=(10, 10), max_units=300, record=True)
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
