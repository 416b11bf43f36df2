"""The environments: PettingZoo's own checks, one outcome, and what happens at the edges."""

import concurrent.futures
import multiprocessing
import os
import re
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
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
        ({"agents": {"a b": 1}}, "spaces"),
        *(({key: given}, f"'{name}'|{name}\".*cannot be") for name in ("ADMIN", "GRAPHIC", "TRANTOR", "draw")
          for key, given in (("agents", {name: 1}), ("opponents", [f"{name}=team:1"]))),
        ({"agents": {"red": 0}}, "red"),
        ({"opponents": ["blue=genius:1"]}, "opponents"),
        ({"opponents": ["blue=script:none.luau:1"]}, "none.luau"),
        ({"lag": "thick"}, "lag"),
        ({"every": 0}, "every"),
        ({"max_cycles": 0}, "max_cycles"),
        ({"every": 10_000, "max_cycles": 1_001}, "max_cycles of 10000 units .* to 1,000"),
        ({"rewards": {"fun": 1.0}}, "fun"),
        ({"rewards": {"win": float("nan")}}, "rewards: win .* number"),
        ({"render_mode": "ascii"}, "render_mode"),
        ({"render_mode": "human", "port": 70_000}, "port"),
        ({"render_mode": "human", "port": -1}, "port"),
        ({"port": 4_242}, "port"),
        ({"observations": "text"}, "raw"),
        ({"agents": {"red": 2**40}}, "agents of red .* 4,096"),
        ({"most_agents": 2**40}, "most_agents .* 4,096"),
        ({"agents": {"red": 4_000, "blue": 97}}, "together .* 4,096 over time, not 4,097"),
        ({"map": (2**40, 2)}, "map: columns"),
        ({"map": (20, 20, 20)}, "map .* such as"),
    ],
)
def test_wrong_options_are_refused_in_words(options, word):
    with pytest.raises(ValueError, match=word):
        trantor.parallel_env(**options).reset(seed=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"map": 10}, "map must be columns and rows"),
        ({"map": "10"}, "map must be columns and rows"),
        ({"map": (10, 9.5)}, "map: rows must be a whole number"),
        ({"agents": ["red"]}, "agents must be agents by team"),
        ({"agents": {"red": "6"}}, "agents of red must be a whole number"),
        ({"agents": {1: 6}}, "name of a team"),
        ({"opponents": "blue=team:6"}, "opponents must be a list"),
        ({"opponents": [6]}, "opponents must be minds"),
        ({"every": True}, "every must be a whole number"),
        ({"max_cycles": None}, "max_cycles"),
        ({"lag": 3}, "lag must be a text"),
        ({"rewards": [1.0]}, "rewards must be numbers by name"),
        ({"rewards": {"win": "ten"}}, "rewards: win must be a number"),
        ({"render_mode": "human", "port": "4242"}, "port must be a whole number"),
        ({"record": 1}, "record must be True or False"),
        ({"opponents": {"blue": 6}}, "opponents must be a list"),
        ({"opponent": []}, "unknown parameter 'opponent': did you mean opponents"),
    ],
)
def test_what_is_of_another_kind_is_refused_with_the_name_and_what_is_taken(options, words):
    for make in (trantor.parallel_env, trantor.aec_env, lambda **options: trantor.make_vec(1, **options)):
        if options.keys() & {"port", "record"} and make not in (trantor.parallel_env, trantor.aec_env):
            continue
        with pytest.raises(TypeError, match=words):
            make(**options)


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
    for games, threads, agents in [(0, 1, {"red": 1}), (1, 0, {"red": 1}), (1, 1, {}), (65_536, 1, {"red": 4_096})]:
        with pytest.raises(ValueError):
            trantor.make_vec(games, threads, agents=agents)


def test_nothing_works_before_the_start_and_after_the_end():
    env = trantor.parallel_env(**SMALL)
    with pytest.raises(RuntimeError, match="reset"):
        env.digest()
    for makes in (trantor.parallel_env, trantor.aec_env):
        new = makes(**SMALL, render_mode="rgb_array")
        for what, use in (("step", lambda new=new: new.step({})), ("render", new.render)):
            # PettingZoo's own, and Gymnasium's.
            for error in (AssertionError, ResetNeeded):
                with pytest.raises(error, match=f"needs to be called before {what}"):
                    use()
        with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
            new.agents
    for use in (lambda: new.observe("red_0"), new.agent_iter):
        with pytest.raises(AssertionError, match="needs to be called before"):
            use()
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        new.last()
    vector = trantor.make_vec(2, **SMALL)
    with pytest.raises(ResetNeeded):
        vector.step(np.zeros(vector.num_envs, np.uint8))
    env.reset(seed=1)
    while env.agents:
        env.step({})
    ended = env.digest()
    new.reset(seed=1)
    for agent in new.agent_iter():
        new.step(None if new.terminations[agent] or new.truncations[agent] else 0)
    for over, action in ((env, {}), (new, 0)):
        with pytest.raises(ResetNeeded, match="after all agents are terminated or truncated"):
            over.step(action)
    assert env.digest() == ended
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


@pytest.mark.parametrize("agents", [{"red": 1}, {"red": 2, "blue": 3}])
def test_gymnasium_counts_the_episodes_of_a_vector_that_the_games_count(agents):
    """As `AutoresetMode.NEXT_STEP` says: the step after the end of a row begins its next episode, and no other step does."""
    rewards = {"unit": 1.0, "death": -1_000.0}
    env = RecordEpisodeStatistics(trantor.make_vec(3, 2, map=(4, 4), agents=agents, max_cycles=210, rewards=rewards))
    random = np.random.default_rng(1)
    observations, infos = env.reset(seed=1)
    lives, deaths, steps = env.num_envs, 0, np.zeros(env.num_envs, int)
    total, ended, were_dead_early = np.zeros(env.num_envs), np.zeros(env.num_envs, bool), 0
    expected = {"r": [], "l": []}
    for _ in range(700):
        mask, before = observations["action_mask"].copy(), infos["living"]
        single = {name: rows[0] for name, rows in observations["observation"].items()}
        assert env.single_observation_space.contains({"observation": single, "action_mask": mask[0]})
        observations, rewards, terminations, truncations, infos = env.step((mask * random.random(mask.shape)).argmax(axis=1))
        assert rewards.dtype == np.float32 and not rewards[ended].any() and not (terminations & truncations).any()
        assert (infos["living"] == (observations["observation"]["state"][:, 0] == 1)).all() and infos["_living"].all()
        lives += ended.sum()
        deaths += (before & ~infos["living"] & ~ended).sum()
        total, steps = np.where(ended, 0, total + rewards), np.where(ended, 0, steps + 1)
        ended = terminations | truncations
        # The rows of a game end together, and only those that have died are terminated.
        assert (ended.reshape(3, -1).all(axis=1) == ended.reshape(3, -1).any(axis=1)).all()
        assert (terminations == ended & ~infos["living"]).all()
        were_dead_early += (~infos["living"] & ~ended).sum()
        expected["r"] += total[ended].tolist()
        expected["l"] += steps[ended].tolist()
    assert env.episode_count == len(expected["r"]) == lives - (~ended).sum() > 2 * env.num_envs
    assert list(env.return_queue) == pytest.approx(expected["r"][-100:]) and list(env.length_queue) == expected["l"][-100:]
    assert deaths > 0 and (were_dead_early > 0) == (env.num_envs > 3)


def test_seeds_of_a_vector_are_obeyed_or_refused():
    env = trantor.make_vec(3, **SMALL)

    def digests(seed):
        env.reset(seed=seed)
        return [env.digest(game) for game in range(3)]

    first, *_ = expected = digests([1, 2, 3])
    assert len({*expected}) == 3
    for same in ((1, 2, 3), np.array([1, 2, 3]), [np.int64(1), 2, 3]):
        assert digests(same) == expected
    assert digests([1, None, 3])[::2] == expected[::2]
    assert digests(5) == digests(np.uint8(5)) == digests(np.array(5)) != expected
    for wrong, error in (([1, 2], ValueError), (range(15), ValueError), ([1, 2, -1], ValueError), (1.5, TypeError), ("123", TypeError),
                         ([1, 2, 3.0], TypeError), (range(2**40), ValueError), (range(2**80), ValueError), (np.ones(3), TypeError), (True, TypeError), (-1, ValueError), ({1, 2}, ValueError)):
        with pytest.raises(error, match="seed"):
            env.reset(seed=wrong)
    assert digests([1, 2, 3])[0] == first


def test_a_mask_begins_the_games_that_it_names_and_no_other():
    env = trantor.make_vec(3, 2, **SMALL)
    mask = np.repeat([False, True, False], 5)
    with pytest.raises(ResetNeeded, match="without reset_mask"):
        env.reset(options={"reset_mask": mask})
    observations, _ = env.reset(seed=1)
    for _ in range(10):
        env.step(np.ones(15, np.uint8))
    kept, before = {name: rows.copy() for name, rows in observations["observation"].items()}, [env.digest(game) for game in range(3)]
    options = {"reset_mask": mask}
    again, _ = env.reset(seed=[7, 8, 9], options=options)
    assert options == {"reset_mask": mask}
    assert [env.digest(game) == before[game] for game in range(3)] == [True, False, True]
    for name, rows in again["observation"].items():
        assert (rows[~mask] == kept[name][~mask]).all()
    wanted = env.digest(1)
    env.reset(seed=[1, 8, 2])
    assert env.digest(1) == wanted
    one_row = np.arange(15) == 7
    for wrong, error in ((one_row, ValueError), (np.zeros(15, bool), ValueError), (mask.astype(int), ValueError), (mask[:3], ValueError)):
        with pytest.raises(error, match="reset_mask"):
            env.reset(options={"reset_mask": wrong})
    with pytest.raises(TypeError, match="did you mean reset_mask"):
        env.reset(options={"reset_masks": mask})


@pytest.mark.parametrize("modules", ["gymnasium, trantor", "trantor, gymnasium"])
def test_gymnasium_makes_the_environments_by_their_name(modules):
    script = f"import {modules}\nprint(gymnasium.make('Trantor-v0').reset(seed=1)[0]['observation']['state'][2])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "1\n"


def test_gymnasium_accepts_the_environment_of_one_agent():
    env = gymnasium.make("Trantor-v0", map=(8, 8), opponents=["blue=team:2"], max_cycles=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Any whole number in an array is possible, and Gymnasium would like smaller bounds.
        warnings.filterwarnings("ignore", message=".*(Box|infinity|precision).*")
        check_env(env.unwrapped)
    observation, _ = env.reset(seed=2)
    one = trantor.parallel_env(agents={"red": 1}, map=(8, 8), opponents=["blue=team:2"], max_cycles=50)
    assert data_equivalence(one.reset(seed=2)[0]["red_0"], observation)
    steps = 1
    while not any(env.step(1)[2:4]):
        steps += 1
    assert steps == 50
    with pytest.raises(ResetNeeded):
        env.unwrapped.step(1)
    with pytest.raises(ValueError, match="agents: one"):
        gymnasium.make("Trantor-v0", agents={"red": 2})


def test_gymnasium_and_we_count_the_rows_of_a_vector_alike():
    assert gymnasium.make_vec("Trantor-v0", num_envs=4).unwrapped.num_games == 4
    six = gymnasium.make_vec("Trantor-v0", num_envs=12, agents={"red": 6}, threads=2)
    assert (six.num_envs, six.unwrapped.num_games) == (12, 2)
    assert trantor.make_vec(num_envs=12).num_games == 1
    for wrong, error, words in (({"num_envs": 13}, ValueError, "multiple of 12"), ({"num_envs": 12, "num_games": 1}, TypeError, "give one"),
                                ({}, TypeError, "num_games"), ({"num_env": 12}, TypeError, "num_envs")):
        with pytest.raises(error, match=words):
            trantor.make_vec(**wrong)


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
