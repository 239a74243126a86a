"""Tests that advice holds: each option that a command prints of a drawn model is typed back, and is neither refused nor asked for
again."""

import os
import re
import shlex
import sys

import pytest
import random_hints
import tiers

SEEDS, TOGETHER = 600, 12
OPTION = re.compile(r"""(?P<before>\bor |)--(?P<name>[a-z][a-z-]+)(?:[ =](?P<value>(?:'[^']*'|[^\s;:,()'"?])+))?(?!:)""")
WITHOUT_VALUE = {"param-shapes-constant"}


def spec_of(drawn: random_hints.Drawn, path: str, spec: str) -> str:
    return drawn.specs.get(path, random_hints.SIZES) if "..." in spec else spec


def typed(drawn: random_hints.Drawn, name: str, value: str | None, fixed: set[str]) -> list[tuple[str, str]]:
    """Return what a user types for an option that is printed: the words as they stand, with the model's own sizes and values for
    "...", VALUE and KEY.  A text without a value, "--input gives shapes", asks for a description of all inputs that are not fixed."""
    if name == "input" and (value is None or "=" not in value):
        assert drawn.specs, "there is no input that --input could describe"
        return [("input", f"{path}={spec}") for path, spec in drawn.specs.items() if path not in fixed]
    if name == "input":
        path, spec = value.split("=", 1)
        if ".KEY" not in path:
            return [("input", f"{path}={spec_of(drawn, path, spec)}")]
        whole = path.removesuffix("KEY")
        assert any(each.startswith(whole) for each in drawn.specs), f"{whole} is no input"
        return [("input", f"{each}={spec}") for each, spec in drawn.specs.items() if each.startswith(whole)]
    if name == "concrete" and value is not None and value.endswith("=VALUE"):
        path = value.removesuffix("=VALUE")
        return [("concrete", f"{path}={drawn.values.get(path, 'null')}")]
    if name in WITHOUT_VALUE:
        return [(name, "")]
    if value is None or value.isupper() or value.startswith("NAME="):
        return []  # the text names the option
    return [(name, value)]


def advised(text: str, drawn: random_hints.Drawn, given: list[tuple[str, str]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the lines with options, and these options as they are typed; of "A or B" the first."""
    lines = []
    fixed = {root_of(option) for option in given if option[0] == "concrete"}
    for line in text.splitlines():
        # These tell what was given, or what does not help.
        if line.startswith(("fxtrace: error: --", "fxtrace: warning: ", "hint: the inputs are", "Options tried alone that leave ")):
            continue
        options = []
        for match in OPTION.finditer(line):
            value = match["value"]
            if match["before"] or match["name"] in ("json", "strict", "inputs"):
                continue
            options += typed(drawn, match["name"], None if value is None else "".join(shlex.split(value)), fixed)
        if options:
            lines.append((line, options))
    return lines


def place(option: tuple[str, str]) -> tuple[str, ...]:
    """Return what an option speaks of: two for one place are not both asked for."""
    name, value = option
    return (name, value.split("=")[0]) if name in ("input", "concrete", "dim") and "batch" not in value else option


def root_of(option: tuple[str, str]) -> str:
    return re.split(r"[.=]", option[1])[0] if option[0] in ("input", "concrete") else option[0]


def words(options: list[tuple[str, str]]) -> list[str]:
    return [word for name, value in options for word in ([f"--{name}", value] if value else [f"--{name}"])]


def commands(path: str) -> list[list[str]]:
    return [
        ["trace", path, "-f", "text"],
        ["summary", path],
        ["why", path],
        ["check", path, "--max-macs", "1"],
        ["convert", path, "--dry-run"],
        ["why", path, "--dim", "batch"],
        ["summary", path, "--at", "batch=2"],
    ]


def check(program, drawn: random_hints.Drawn, command: list[str]) -> int:
    given: list[tuple[str, str]] = []
    tried = 0
    for _ in range(6):
        done = program.run(*command, *words(given))
        text = (done.stdout + done.stderr).decode()
        asked: list[tuple[str, str]] = []
        for line, options in advised(text, drawn, given):
            told = f"{drawn.code}\n{shlex.join(command)} {shlex.join(words(given))}\n{line}\n"
            fresh = [option for option in options if place(option) not in map(place, given)]
            assert fresh, f"{told}asks for what was given"
            tried += len(fresh)
            again = program.run(*command, *words(given), *words(fresh))
            # With --dim or --at, wrong usage may remain: other names of sizes.
            error = again.stderr.decode()
            fault = next((each for each in error.splitlines() if each.startswith("fxtrace: error")), "")
            is_refused = again.returncode not in (0, 1, 3, 4) and not ("--at: " in fault or "--dim " in fault)
            assert not is_refused, f"{told}is refused when {shlex.join(words(fresh))} is typed:\n{error}"
            if "--dim" in command and fresh[0][0] == "dim":
                continue  # a number for the dimension leaves no question about it
            # Two lines may offer two ways for one input.
            if not {root_of(option) for option in fresh} & {root_of(option) for option in asked}:
                asked += fresh
        if not asked:
            break
        given += asked
    return tried


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("part", tiers.in_turn([0], range(SEEDS // TOGETHER), 4))
def test_options_that_are_printed(program, tmp_path, monkeypatch, part, traced):
    """Torch traces one in three of the models, and of one part none."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    tried = 0
    for seed in range(part * TOGETHER, (part + 1) * TOGETHER):
        drawn = random_hints.draw(seed)
        path = random_hints.write(drawn, os.fspath(tmp_path), f"drawn{seed}", traced)
        if path is not None:
            tried += sum(check(program, drawn, command) for command in commands(path))
    assert traced or tried > 2 * TOGETHER
