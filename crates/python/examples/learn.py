"""Learns to stay alive, with NumPy alone, then plays over TCP.

    python learn.py                             # learns, prints each generation, and writes policy.npy
    python learn.py --plot curve.svg            # the same, with the curve
    python learn.py --play 4242 --team red      # the learned policy joins a trantor-server on this port

The policy is one matrix: what an agent sees near it, times the actions; it does the one with the highest score of those that are
possible. The cross-entropy method improves it: a population is drawn around a mean, each member plays the same games, and the next
mean and spread are those of the members that lived longest.
"""

import argparse
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trantor

Floats = npt.NDArray[np.float64]

FEATURES = 7
"""Food on the four tiles of a sight at level 1, what the agent carries, chance, and a constant."""
POPULATION = 24
ELITE = 6
GAMES_EACH = 2
"""Games of a member in a generation; all members play the same."""
GENERATIONS = 20
AGENTS = 6
EVERY_UNITS = 7
NEW_GAMES = 10_000_000
"""The seed of games that no policy has seen."""
CYCLES = 1_000
"""Steps of a game: 7,000 units. An agent that never eats lives for 1,260."""
CARRIED = 3 + trantor.STATE_NAMES[3:].index("food")


def features(tiles: npt.NDArray[np.generic], carried: npt.NDArray[np.generic], random: np.random.Generator) -> Floats:
    """What the policy sees: shape (rows, FEATURES), each from 0 to 1.

    Args:
        tiles: shape (rows, 4): food on the own tile, and ahead to the left, ahead, and ahead to the right.
        carried: shape (rows,): food that the agent carries.
    """
    rows = np.empty((len(tiles), FEATURES))
    rows[:, :4] = np.minimum(tiles, 1)
    rows[:, 4] = np.minimum(carried, 20) / 20
    rows[:, 5] = random.random(len(tiles))
    rows[:, 6] = 1
    return rows


def lifetimes(members: Floats, seed: int, noise: float = 0.0) -> Floats:
    """How long the agents of each member live, on average, in units.

    Args:
        members: shape (members, FEATURES, actions).
        seed: of the games, and of chance.
        noise: chance that is added to each score, from 0 to this.
    """
    games = GAMES_EACH * len(members)
    env = trantor.make_vec(games, threads=2, agents={"red": AGENTS}, every=EVERY_UNITS, max_cycles=CYCLES)
    random = np.random.default_rng(seed)
    # Each member plays the same games.
    observations, infos = env.reset(seed=[seed + game for _ in members for game in range(GAMES_EACH)])
    sight, state = observations["observation"]["sight"], observations["observation"]["state"]
    mask = observations["action_mask"]
    lives = infos["living"]
    units = np.zeros(env.num_envs)
    while lives.any():
        seen = features(sight[:, :4, 0], state[:, CARRIED], random)
        scores: Floats = np.matmul(seen.reshape(len(members), -1, FEATURES), members).reshape(env.num_envs, -1)
        if noise:
            scores += noise * random.random(scores.shape)
        actions = np.where(mask, scores, -np.inf).argmax(axis=1).astype(np.uint8)
        _, _, terminations, truncations, infos = env.step(actions)
        units += EVERY_UNITS * lives
        # Where a game is over, the next one begins, which does not count.
        lives &= infos["living"] & ~(terminations | truncations)
    env.close()
    of_members: Floats = units.reshape(len(members), -1).mean(axis=1)
    return of_members


def at_random(seed: int) -> float:
    """How long agents live that do anything that is possible, in units."""
    return float(lifetimes(np.zeros((POPULATION, FEATURES, len(trantor.ACTION_NAMES))), seed, noise=1.0).mean())


def learn(seed: int = 1) -> Iterator[tuple[Floats, Floats]]:
    """Yields of each generation how long its members lived, in units, and the policy after it, shape (FEATURES, actions)."""
    random = np.random.default_rng(seed)
    mean = np.zeros((FEATURES, len(trantor.ACTION_NAMES)))
    spread = np.ones_like(mean)
    for number in range(GENERATIONS):
        members = mean + spread * random.standard_normal((POPULATION, *mean.shape))
        lived = lifetimes(members, seed=1_000 * seed + GAMES_EACH * number)
        elite = members[np.argsort(-lived, kind="stable")[:ELITE]]
        mean = elite.mean(axis=0)
        # More than the spread of so few, so that it does not settle too early.
        spread = elite.std(axis=0) + 0.3 * (1 - number / GENERATIONS)
        yield lived, mean


def play(policy: Floats, port: int, team: str, host: str = "localhost", decisions: int | None = None) -> int:
    """Joins a server with the policy.

    Args:
        decisions: leaves after so many; None: plays until its agent dies.

    Returns:
        Decisions that it took.
    """
    random = np.random.default_rng(1)
    with socket.create_connection((host, port)) as server, server.makefile("rw", newline="\n") as lines:

        def ask(command: str, answer: str) -> str:
            """Sends a command and reads until its answer; empty: the agent is dead."""
            print(command, file=lines, flush=True)
            for line in lines:
                if line.startswith("dead"):
                    break
                if re.match(answer, line):
                    return line
            return ""

        lines.readline()
        places = ask(team, r"\d+$|ko")
        if not places or places.startswith("ko"):
            raise SystemExit(f"the server has no place in team {team}")
        lines.readline()
        taken = 0
        while decisions is None or taken < decisions:
            look, inventory = ask("Look", r"\["), ask("Inventory", r"\[")
            if not look or not inventory:
                break
            tiles = np.array([[tile.split().count("food") for tile in look.strip("[]\n").split(",")[:4]]])
            here = look.strip("[]\n").split(",")[0].split()
            carried: dict[str, str] = dict(re.findall(r"(\w+) (\d+)", inventory))
            scores = (features(tiles, np.array([int(carried.get("food", 0))]), random) @ policy)[0]

            def is_possible(name: str) -> bool:
                verb, _, thing = name.partition(" ")
                return {"take": thing in here, "set": carried.get(thing, "0") != "0", "incantation": False}.get(verb, True)

            # To wait is always possible.
            best = (trantor.ACTION_NAMES[int(action)] for action in np.argsort(-scores, kind="stable"))
            verb, _, thing = next(filter(is_possible, best)).partition(" ")
            taken += 1
            if verb != "wait" and not ask(f"{verb.capitalize()} {thing}".rstrip(), r"ok|ko"):
                break
        return taken


def plot(curve: Floats, random_units: float) -> str:
    """The curve of the generations as SVG: the best member, the mean, and what chance does.

    Args:
        curve: shape (generations, members), in units.
    """
    width, height, left, bottom = 640, 300, 60, 40
    top = float(curve.max()) * 1.25
    across = (width - left - 20) / max(len(curve) - 1, 1)

    def y(units: float) -> str:
        return f"{height - bottom - (height - bottom - 15) * units / top:.1f}"

    def line(values: Any, colour: str) -> str:
        points = " ".join(f"{left + across * place:.1f},{y(value)}" for place, value in enumerate(values))
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'

    def text(x: float, height: float | str, words: str, colour: str = "#333", anchor: str = "middle") -> str:
        return f'<text x="{x:.1f}" y="{height}" fill="{colour}" text-anchor="{anchor}">{words}</text>'

    parts = [f'<rect width="{width}" height="{height}" fill="white"/>']
    for units in range(0, int(top), 1_000):
        parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(units)}" y2="{y(units)}" stroke="#ddd"/>')
        parts.append(text(left - 8, f"{float(y(units)) + 4:.1f}", f"{units:,}", anchor="end"))
    for place in range(len(curve)):
        parts.append(text(left + across * place, height - 22, str(place + 1)))
    parts += [
        line(curve.max(axis=1), "#1f6fb4"),
        line(curve.mean(axis=1), "#c8511b"),
        line([random_units] * len(curve), "#888"),
        text(left + 10, 28, "best member of the population", "#1f6fb4", "start"),
        text(left + 10, 46, "mean of the population", "#c8511b", "start"),
        text(width - 24, f"{float(y(random_units)) - 6:.1f}", "at random", "#888", "end"),
        text(width / 2, height - 4, "generation; upwards: units lived"),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="policy.npy", metavar="FILE", help="where the policy is [policy.npy]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", metavar="FILE", help="draws the curve, as SVG")
    parser.add_argument("--play", type=int, metavar="PORT", help="plays the policy on a server instead")
    parser.add_argument("--team", default="red")
    parser.add_argument("--host", default="localhost")
    options = parser.parse_args()
    if options.play is not None:
        taken = play(np.load(options.policy), options.play, options.team, options.host)
        print(f"dead after {taken} decisions")
        return
    random_units = at_random(options.seed)
    print(f"at random: {random_units:.0f} units")
    curve: list[Floats] = []
    policy: Floats = np.zeros((FEATURES, len(trantor.ACTION_NAMES)))
    for number, (lived, policy) in enumerate(learn(options.seed), 1):
        curve.append(lived)
        print(f"generation {number:2}: {lived.mean():.0f} units, best member {lived.max():.0f}")
    np.save(options.policy, policy)
    # On games that it has not seen.
    print(f"the policy: {lifetimes(policy[None], NEW_GAMES)[0]:.0f} units on new games; saved as {options.policy}")
    if options.plot:
        Path(options.plot).write_text(plot(np.array(curve), random_units), encoding="utf-8")


if __name__ == "__main__":
    main()
