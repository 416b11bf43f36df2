"""The environments: PettingZoo's own checks, one outcome, and what happens at the edges."""

import concurrent.futures
import multiprocessing
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test

import trantor
from trantor import ACTION_NAMES, STATE_NAMES

SMALL = {"map": (8, 8), "agents": {"red": 3, "blue": 2}, "max_cycles": 40}


def played(env, seed, steps=30):
    """Plays random actions that the mask allows, and answers what was observed last."""
    random = np.random.default_rng(seed)
    observations, _ = env.reset(seed=seed)
    for _ in range(steps):
        if not env.agents:
            break
        actions = {
            agent: int(random.choice(np.flatnonzero(observations[agent]["action_mask"]))) for agent in env.agents
        }
        observations, *_ = env.step(actions)
    return observations


@pytest.mark.parametrize("options", [{}, {"map": (8, 8), "most_agents": 12}, {"opponents": ["green=team:6"]}])
def test_pettingzoo_accepts_the_parallel_environment(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(trantor.parallel_env(**options), 60)


def test_pettingzoo_accepts_the_environment_of_single_agents():
    api_test(trantor.aec_env(**SMALL), 60)


def test_pettingzoo_finds_seeds_cycles_and_pictures_right():
    parallel_seed_test(lambda: trantor.parallel_env(**SMALL))
    seed_test(lambda: trantor.aec_env(**SMALL), 50)

    class Module:
        parallel_env = staticmethod(trantor.parallel_env)
        env = staticmethod(trantor.aec_env)

    max_cycles_test(Module)
    render_test(trantor.aec_env)
    picture = trantor.parallel_env(**SMALL, render_mode="rgb_array")
    picture.reset(seed=1)
    assert picture.render().shape == (256, 256, 3)
    assert picture.render().std() > 10


@pytest.mark.parametrize("seed", range(10))
def test_a_recording_of_an_environment_verifies_and_ends_in_its_digest(seed, tmp_path):
    env = trantor.parallel_env(
        map=(6 + seed, 7), opponents=["green=team:3"], lag=["off", "radio"][seed % 2], most_agents=9, record=True
    )
    played(env, seed)
    path = tmp_path / "game.trj"
    env.save_recording(path)
    recording = trantor.Recording(path)
    assert recording.verify() == env.digest()
    assert recording.state(10**9)["digest"] == env.digest()
    assert sum(event["event"] == "join_asked" for event in recording.events()) >= 15
    server = os.environ["TRANTOR_SERVER"]
    said = subprocess.run([server, "replay", "verify", "--json", path], capture_output=True, text=True, check=False)
    assert f'"state":"{env.digest()}"' in said.stdout


def outcome(seed):
    observations = played(trantor.parallel_env(**SMALL), seed)
    return {agent: {**each["observation"], "mask": each["action_mask"]} for agent, each in observations.items()}


def test_two_processes_give_equal_arrays():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(outcome, [7, 7])
    assert first and data_equivalence(first, second)


def test_threads_and_other_games_change_nothing():
    digests = []
    for games, threads in [(5, 1), (5, 2), (5, 5), (2, 2)]:
        env = trantor.make_vec(games, threads, **SMALL)
        env.reset(seed=[11, 12, 13, 14, 15][:games])
        for step in range(60):
            env.step(np.full(env.num_envs, step % 4))
        digests.append([env.digest(game) for game in range(2)])
        env.close()
    assert all(each == digests[0] for each in digests)
    assert len(set(digests[0])) == 2


def test_raw_agents_send_and_are_sent_lines():
    options = {"map": (5, 5), "agents": {"red": 2}, "observations": "raw", "max_cycles": 40}
    parallel_api_test(trantor.parallel_env(**options), 60)
    env = trantor.parallel_env(**options)
    observations, _ = env.reset(seed=1)
    assert observations == {"red_0": "1\n5 5\n", "red_1": "0\n5 5\n"}
    observations, *_ = env.step({"red_0": "Broadcast caf\udce9", "red_1": "Inventory"})
    assert observations["red_0"] == "ok\n"
    assert re.fullmatch(r"\[ food \d+, .* thystame 0 \]\nmessage [0-8], caf\udce9\n", observations["red_1"])
    # Commands queue, as on a server; who sends nothing waits.
    for line in ["Fork", "Left", ""]:
        observations, *_ = env.step({"red_0": line})
    assert observations == {"red_0": "", "red_1": ""}
    steps = [env.step({"red_0": "", "red_1": ""})[0]["red_0"] for _ in range(5)]
    assert steps == ["", "", "ok\n", "ok\n", ""]
    aec = trantor.aec_env(**options)
    aec.reset(seed=1)
    heard = {"red_0": [], "red_1": []}
    for agent in aec.agent_iter():
        text, _, termination, truncation, _ = aec.last()
        heard[agent].append(text)
        aec.step(None if termination or truncation else ["Fork", "Jump"][agent == "red_1"])
    assert heard["red_0"][:3] == ["1\n5 5\n", "ok\n", "ok\n"] and heard["red_1"][1:3] == ["ko\n", "ko\n"]
    before = env.digest()
    for action, error in [(1, TypeError), (None, TypeError), ("Left\nLeft", ValueError), ("x" * 20_000, ValueError)]:
        with pytest.raises(error):
            env.step({"red_0": action})
    assert env.digest() == before
    with pytest.raises(ValueError, match="raw"):
        trantor.make_vec(1, observations="raw")


def test_what_is_seen_is_what_lies_and_stands_there():
    env = trantor.parallel_env(**SMALL)
    observations, _ = env.reset(seed=4)
    scene = env._batch.scene(0)
    # Agents are numbered in turn by each team.
    agents = sorted(scene["agents"].tolist(), key=lambda row: row[1])
    for row, agent in zip(agents, env.agents, strict=True):
        number, team, x, y = row[:4]
        seen = observations[agent]["observation"]
        here = sum((other[2], other[3]) == (x, y) for other in agents)
        assert seen["sight"][0].tolist() == [*scene["ground"][y, x].tolist(), here, 0]
        assert not seen["sight"][4:].any()
        state = dict(zip(STATE_NAMES, seen["state"].tolist(), strict=True))
        assert (state["living"], state["team"], state["level"], state["food"]) == (1, team, 1, row[6])
        assert state["life_units"] == 126 * (1 + row[6])


def test_what_is_rewarded_is_what_happened():
    env = trantor.parallel_env(map=(4, 4), agents={"red": 1}, rewards={"food": 2.0, "unit": 0.5, "death": -7.0})
    observations, _ = env.reset(seed=1)
    total = lived = 0.0
    while env.agents:
        mask = observations["red_0"]["action_mask"]
        eats = mask[ACTION_NAMES.index("take food")] and lived < 100
        observations, rewards, *_ = env.step({"red_0": ACTION_NAMES.index("take food" if eats else "wait")})
        total += rewards["red_0"]
        lived += 1
    state = observations["red_0"]["observation"]["state"]
    assert state[0] == 0
    # It was born with food, of which it ate all, and it died in its last step.
    born_with = 9
    assert total == pytest.approx(-7.0 - 2.0 * born_with + 0.5 * 7 * (lived - 1), abs=2.0)


def test_a_message_is_heard_with_its_direction():
    env = trantor.parallel_env(map=(5, 5), agents={"red": 2})
    env.reset(seed=2)
    observations, *_ = env.step({"red_0": ACTION_NAMES.index("broadcast 3")})
    heard = observations["red_1"]["observation"]["messages"]
    assert heard[0, 1] == 4 and heard[0, 0] <= 8
    assert not heard[1:].any()
    assert not observations["red_0"]["observation"]["messages"].any()


def test_a_team_grows_by_forks_as_far_as_it_has_names():
    env = trantor.parallel_env(map=(5, 5), agents={"red": 1}, most_agents=3)
    env.reset(seed=3)
    fork = ACTION_NAMES.index("fork")
    for _ in range(60):
        env.step({"red_0": fork})
    assert set(env.agents) == {"red_0", "red_1", "red_2"}


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"map": (0, 5)}, "map"),
        ({"agents": {}}, "agents"),
        ({"agents": {"a b": 1}}, "one word"),
        ({"agents": {"red": 0}}, "red"),
        ({"opponents": ["blue=genius:1"]}, "opponents"),
        ({"opponents": ["blue=script:none.luau:1"]}, "none.luau"),
        ({"lag": "thick"}, "lag"),
        ({"every": 0}, "every"),
        ({"max_cycles": 0}, "max_units"),
        ({"rewards": {"fun": 1.0}}, "fun"),
        ({"rewards": {"win": float("nan")}}, "finite"),
        ({"render_mode": "ascii"}, "render_mode"),
        ({"render_mode": "human", "port": 70_000}, "port"),
        ({"render_mode": "human", "port": -1}, "port"),
        ({"port": 4_242}, "port"),
        ({"observations": "text"}, "raw"),
    ],
)
def test_wrong_options_are_refused_in_words(options, word):
    with pytest.raises(ValueError, match=word):
        trantor.parallel_env(**options).reset(seed=1)


def test_wrong_actions_are_refused_and_change_nothing():
    env = trantor.parallel_env(**SMALL)
    env.reset(seed=1)
    before = env.digest()
    wrong = [("red_0", action, TypeError) for action in (1.5, None, "forward", True)]
    for agent, action, error in [*wrong, ("red_0", 37, ValueError), ("red_0", -1, ValueError), ("green_0", 1, ValueError)]:
        with pytest.raises(error):
            env.step({agent: action})
    assert env.digest() == before
    vector = trantor.make_vec(2, **SMALL)
    vector.reset(seed=1)
    wrong = [(np.full(vector.num_envs, action), ValueError, "0 to 36") for action in (-1, 37, 300)]
    for actions, error, word in [*wrong, (np.zeros(3, np.uint8), ValueError, "shape"), (np.zeros(10), TypeError, "whole")]:
        with pytest.raises(error, match=word):
            vector.step(actions)
    with pytest.raises(ValueError, match="seeds"):
        vector.reset(seed=[1, 2, 3])
    for games, threads, agents in [(0, 1, {"red": 1}), (1, 0, {"red": 1}), (1, 1, {})]:
        with pytest.raises(ValueError):
            trantor.make_vec(games, threads, agents=agents)


def test_nothing_works_before_the_start_and_after_the_end():
    env = trantor.parallel_env(**SMALL)
    with pytest.raises(RuntimeError, match="reset"):
        env.digest()
    env.reset(seed=1)
    env.close()
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.step({})


def test_another_thread_is_told_where_the_games_are():
    env = trantor.parallel_env(**SMALL)
    env.reset(seed=1)
    vector = trantor.make_vec(2, 2, **SMALL)
    vector.reset(seed=1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="thread"):
            pool.submit(env.step, {}).result()
        with pytest.raises(RuntimeError, match="thread"):
            pool.submit(vector.step, np.zeros(vector.num_envs, np.uint8)).result()
    env.step({})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("render_mode", [None, "human"])
def test_a_child_of_the_process_is_told_that_it_has_no_games_and_ends(render_mode):
    script = f"""
import gc, os, trantor
env = trantor.parallel_env(render_mode={render_mode!r})
env.reset(seed=1)
child = os.fork()
if child == 0:
    refused = 0
    for use, words in ((env.step, {{}}), (env.reset, 1)):
        try:
            use(words)
        except RuntimeError as error:
            refused += "fork" in str(error)
    del env, use
    gc.collect()
    os._exit(refused)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=False, timeout=60).returncode == 2


def test_gymnasium_accepts_the_vector_of_games():
    env = RecordEpisodeStatistics(trantor.make_vec(3, 2, **{**SMALL, "max_cycles": 5}))
    observations, _ = env.reset(seed=1)
    ended = 0
    for step in range(1, 14):
        assert env.single_observation_space.contains(
            {"observation": {name: rows[0] for name, rows in observations["observation"].items()},
             "action_mask": observations["action_mask"][0]}
        )
        observations, rewards, terminations, truncations, _ = env.step(env.action_space.sample())
        assert rewards.dtype == np.float32 and rewards.shape == (15,)
        # Every sixth step begins the next games instead of playing.
        assert truncations.all() == (step % 6 == 5)
        assert not (step % 6 == 0 and (terminations.any() or rewards.any()))
        ended += int(truncations.all())
    assert ended == 2


def test_nothing_is_left_of_the_game_before():
    options = {"map": (10, 10), "agents": {"red": 1}, "max_cycles": 300}
    env = trantor.parallel_env(**options)
    names = {name: place for place, name in enumerate(ACTION_NAMES)}
    level = 1
    for seed in range(20):
        observations, _ = env.reset(seed=seed)
        random = np.random.default_rng(seed)
        while env.agents and level == 1:
            mask = observations["red_0"]["action_mask"]
            wanted = ["incantation", "take food", "take linemate" if mask[names["set linemate"]] == 0 else "set linemate"]
            action = next((names[word] for word in wanted if mask[names[word]]), int(random.integers(1, 4)) * mask[1])
            observations, *_ = env.step({"red_0": int(action)})
            level = observations["red_0"]["observation"]["state"][2]
        if level > 1:
            break
    assert level > 1 and observations["red_0"]["observation"]["sight"][4:].any()
    again, _ = env.reset(seed=5)
    first, _ = trantor.parallel_env(**options).reset(seed=5)
    assert data_equivalence(again, first)


def test_units_are_rewarded_as_they_pass():
    env = trantor.aec_env(map=(6, 6), agents={"red": 2}, max_cycles=30, rewards={"unit": 1.0})
    env.reset(seed=1)
    total = dict.fromkeys(env.agents, 0.0)
    for agent in env.agent_iter():
        _, reward, termination, truncation, _ = env.last()
        total[agent] += reward
        env.step(None if termination or truncation else ACTION_NAMES.index("fork"))
    assert total == {"red_0": 210.0, "red_1": 210.0}
