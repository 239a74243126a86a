"""What README and docs/python.md tell their readers to type, typed: Python runs, and commands print what stands there.

    test_readme.py FXTRACE     # writes what the program prints now into the pages

A block of Python is run as a script; in a block of `console`, a line that begins with "$ " is a command and what
follows is its output, on stdout and stderr.  A block of `pycon` is typed into one Python, line by line.  All run in
one folder, in the order of the page.
"""

import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, "README.md")
PAGES = {"README": README, "python": os.path.join(ROOT, "docs", "python.md")}
PACKAGE = os.path.join(ROOT, "python")
BLOCK = re.compile(r"^```(python|console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[tuple[str, str]]:
    """Each with its output."""
    found = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        found.append((command, output))
    return found


def run_command(command: str, program: str, folder: str) -> str:
    text = f"fxtrace() {{ '{program}' \"$@\"; }}\n{command}"
    done = subprocess.run(
        ["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, timeout=120
    )
    return done.stdout


def run_python(text: str, program: str, folder: str, number: int) -> str:
    script = os.path.join(folder, f"block_{number}.py")  # TorchScript reads its source
    with open(script, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        timeout=300,
        env={**os.environ, "PYTHONPATH": PACKAGE, "FXTRACE": program},
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return done.stdout


@contextlib.contextmanager
def entered(folder: str, program: str) -> Iterator[None]:
    before = os.getcwd(), os.environ.get("FXTRACE")
    os.chdir(folder)
    os.environ["FXTRACE"] = program
    try:
        yield
    finally:
        os.chdir(before[0])
        os.environ.pop("FXTRACE")
        if before[1] is not None:
            os.environ["FXTRACE"] = before[1]


def run_session(text: str, scope: dict) -> str:
    """The block as it reads when its lines are typed now."""
    shown = []
    for example in doctest.DocTestParser().get_examples(text):
        first, *others = example.source.rstrip("\n").split("\n")
        shown += [f">>> {first}", *(f"... {line}" for line in others)]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, kind, *_, **__: print(f"{kind.__name__}: {message}")
            try:
                exec(compile(example.source, "<stdin>", "single"), scope)
            except Exception as error:
                lines = traceback.format_exception_only(error)
                print("Traceback (most recent call last):\n  ...\n" + "".join(lines), end="")
        shown += output.getvalue().splitlines()
    return "".join(f"{line}\n" for line in shown)


def prepare(folder: str) -> None:
    for name in ("sample_models", "tests"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))


def rerun(text: str, program: str, folder: str) -> str:
    """The page with the outputs of now."""
    number = 0
    scope: dict = {}

    def replace(match: re.Match) -> str:
        nonlocal number
        number += 1
        kind, body = match.groups()
        if kind == "python":
            run_python(body, program, folder, number)
            return match.group()
        if kind == "pycon":
            with entered(folder, program):
                return f"```pycon\n{run_session(body, scope)}```"
        now = "".join(
            f"$ {command}\n{run_command(command, program, folder)}" for command, _ in commands(body)
        )
        return f"```console\n{now}```"

    prepare(folder)
    return BLOCK.sub(replace, text)


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_true(program, tmp_path, page):
    with open(PAGES[page], encoding="utf-8") as file:
        text = file.read()
    assert len(BLOCK.findall(text)) >= 5 and "ImportError" not in text
    assert rerun(text, program.path, str(tmp_path)).splitlines() == text.splitlines()


def found_in(part: object, whole: object) -> bool:
    """Whether what the page shows of an object is there, at any depth."""
    if isinstance(part, dict):
        if isinstance(whole, dict) and all(key in whole and found_in(value, whole[key]) for key, value in part.items()):
            return True
    elif part == whole:
        return True
    if isinstance(part, dict) and isinstance(whole, dict):
        return any(found_in(part, item) for item in whole.values())
    return isinstance(part, dict) and isinstance(whole, list) and any(found_in(part, item) for item in whole)


def test_other_blocks_of_readme(program, tmp_path):
    """Commands without output run; JSON is a configuration that is accepted, or stands in a collection."""
    with open(README, encoding="utf-8") as file:
        text = file.read()
    rerun(text, program.path, str(tmp_path))  # makes the files
    blocks = re.findall(r"^```(json)?\n(.*?)^```$", re.sub(BLOCK, "", text), re.MULTILINE | re.DOTALL)
    ran = shown = 0
    collections = [
        program.trace(os.path.join(ROOT, "sample_models", f"{name}.pt")) for name in ("nested_scripted", "failing_nested")
    ]
    for kind, block in blocks:
        if kind == "json":
            value = json.loads(block)
            shown += 1
            if "rules" in value:
                (tmp_path / "rules.json").write_text(block)
                program.stdout("trace", str(tmp_path / "model.pt"), "--config", str(tmp_path / "rules.json"))
            else:
                assert found_in(value, collections), block
            continue
        for line in block.splitlines():
            if line.startswith("fxtrace ") or line.startswith("python -m fxtrace "):
                script = f"set -eo pipefail\nfxtrace() {{ '{program.path}' \"$@\"; }}\n{line}"
                done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
                assert done.returncode == 0, f"{line}\n{done.stderr}"
                ran += 1
    assert ran >= 8 and shown >= 3


def test_demo(program):
    with open(README, encoding="utf-8") as file:
        (shown,) = re.findall(r"^```\n(\$ build/release/bin/fxtrace .*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "FXTRACE": program.path}
    done = subprocess.run(
        [os.path.join(ROOT, "scripts", "demo")], capture_output=True, text=True, timeout=120, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(program.path, "build/release/bin/fxtrace") == shown


def test_options_of_readme_exist(program):
    """Every option that the page names is one of a command."""
    with open(README, encoding="utf-8") as file:
        text = file.read()
    known = "".join(program.stdout(command, "--help").decode() for command in ("trace", "inspect", "render"))
    fxtrace = re.findall(r"fxtrace (?:trace|inspect|render) [^`|#\n]*", text) + re.findall(r"^\| `(-.*?)` \|", text, re.MULTILINE)
    named = {option for line in fxtrace for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)}
    assert len(named) > 20
    assert not {option for option in named if option not in known}

    known = re.sub(r"-h, --help.*", "", known)
    for names in re.findall(r"^ +((?:-[a-z], )?--[a-z][a-z-]+)", known, re.MULTILINE):
        assert any(re.search(rf"`{option.strip()}\b", text) for option in names.split(",")), f"README says nothing of {names}"


if __name__ == "__main__":
    import tempfile

    sys.path.insert(0, PACKAGE)
    for page in PAGES.values():
        with open(page, encoding="utf-8") as file:
            before = file.read()
        with tempfile.TemporaryDirectory() as folder:
            after = rerun(before, os.path.abspath(sys.argv[1]), folder)
        with open(page, "w", encoding="utf-8") as file:
            file.write(after)
