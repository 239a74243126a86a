"""Runs the commands and the Python code in README and the pages of docs/, and compares the output with the pages.

    test_readme.py FXTRACE     # writes what the program prints now into the pages

A block of Python is run as a script; in a block of `console`, a line that begins with "$ " is a command and what
follows is its output, on stdout and stderr.  A block of `pycon` is typed into one Python, line by line.  In a block
without a name, lines that begin with `fxtrace ` are run, and a block of JSON is a configuration or stands in a
collection.  All of a page runs in one folder, in its order, with the models that docs/tutorials/first-steps.md makes.
"""

import contextlib
import doctest
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator

import pytest
import tiers
from commands import COMMANDS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, "README.md")
FIRST_STEPS = os.path.join(ROOT, "docs", "tutorials", "first-steps.md")
PACKAGE = os.path.join(ROOT, "python")
RUNS_MODELS = re.compile(r"fxtrace[ .]verify[ (]")
BLOCK = re.compile(r"^```(python|console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shows_commands(page: pathlib.Path) -> bool:
    blocks = re.findall(r"^```.*?^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return any(re.match("```(console|pycon)$", block, re.MULTILINE) or "\nfxtrace " in block for block in blocks)


PAGES = {"README": README, **{page.stem: str(page) for page in sorted(pathlib.Path(ROOT, "docs").glob("*/*.md")) if shows_commands(page)}}


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


def read(page: str) -> str:
    with open(page, encoding="utf-8") as file:
        return file.read()


def need_plugin(program: str) -> None:
    """Skips a page, or ends the program, that runs models where the build has no plugin for LibTorch."""
    said = subprocess.run([program, "--version", "--json"], check=True, capture_output=True, text=True).stdout
    if json.loads(said)["features"]["verify"]:
        return
    why = f"{program} has no plugin for LibTorch, which `fxtrace verify` needs: it was built without FXTRACE_TORCH_CONFIG"
    if __name__ == "__main__":
        sys.exit(why)
    pytest.skip(why)


def make_models(folder: str) -> None:
    """The files that the first block of Python in the first steps makes."""
    script = next(body for kind, body in BLOCK.findall(read(FIRST_STEPS)) if kind == "python")
    run_python(script, "", folder, 0)


def prepare(folder: str, models: str) -> None:
    for name in ("sample_models", "tests"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    for name in ("model.pt", "model.pt2"):
        shutil.copy(os.path.join(models, name), folder)


def compiles(body: str) -> bool:
    """Whether a block takes a compiler of C++, and half a minute."""
    return "torch._inductor" in body


def rerun(text: str, program: str, folder: str, models: str, *, compiled: bool = False) -> str:
    """The page with the outputs of now; what takes a compiler is run where that is asked for."""
    number = 0
    scope: dict = {}

    def replace(match: re.Match) -> str:
        nonlocal number
        number += 1
        kind, body = match.groups()
        if kind == "python":
            if compiled or not compiles(body):
                run_python(body, program, folder, number)
            return match.group()
        if kind == "pycon":
            with entered(folder, program):
                return f"```pycon\n{run_session(body, scope)}```"
        now = "".join(
            f"$ {command}\n{run_command(command, program, folder)}" for command, _ in commands(body)
        )
        return f"```console\n{now}```"

    prepare(folder, models)
    return BLOCK.sub(replace, text)


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


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> str:
    folder = str(tmp_path_factory.mktemp("models"))
    make_models(folder)
    return folder


@pytest.fixture(scope="module")
def collections(program) -> list[dict]:
    samples = os.path.join(ROOT, "sample_models")
    return [program.trace(os.path.join(samples, f"{name}.pt")) for name in ("nested_scripted", "failing_nested")]


@pytest.mark.volume
def test_what_takes_a_compiler(program, models, tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    pages = [text for text in map(read, PAGES.values()) if compiles(text)]
    assert pages
    for i, text in enumerate(pages):
        (tmp_path / str(i)).mkdir()
        assert rerun(text, program.path, str(tmp_path / str(i)), models, compiled=True).splitlines() == text.splitlines()


@pytest.mark.parametrize("page", tiers.rotating(PAGES, 4))
def test_pages_are_true(program, collections, models, tmp_path, page):
    text = read(PAGES[page])
    if RUNS_MODELS.search(text):
        need_plugin(program.path)
    assert "ImportError" not in text
    assert rerun(text, program.path, str(tmp_path), models).splitlines() == text.splitlines()

    for kind, block in re.findall(r"^```(json)?\n(.*?)^```$", re.sub(BLOCK, "", text), re.MULTILINE | re.DOTALL):
        if kind == "json":
            value = json.loads(block)
            if "rules" in value:
                (tmp_path / "rules.json").write_text(block)
                if page == "check":
                    (tmp_path / "backend_ops.txt").write_text("**\n")
                    done = program.run("check", str(tmp_path / "model.pt2"), "--rules", str(tmp_path / "rules.json"))
                    assert done.returncode in (0, 1), done.stderr
                    continue
                program.stdout("trace", str(tmp_path / "model.pt"), "--config", str(tmp_path / "rules.json"))
            else:
                assert found_in(value, collections), block
            continue
        for line in block.splitlines():
            if line.startswith("fxtrace ") or line.startswith("python -m fxtrace "):
                script = f"set -eo pipefail\nfxtrace() {{ '{program.path}' \"$@\"; }}\n{line}"
                done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
                assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_demo(program):
    (shown,) = re.findall(r"^```\n(\$ build/release/bin/fxtrace .*?)^```$", read(README), re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "FXTRACE": program.path}
    done = subprocess.run(
        [os.path.join(ROOT, "scripts", "demo")], capture_output=True, text=True, timeout=120, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(program.path, "build/release/bin/fxtrace").startswith(shown)


def test_options_of_pages_exist(program):
    """Every option that a page names is one of a command; `python -m fxtrace` has one more."""
    known = "".join(program.stdout(command, "--help").decode() for command in COMMANDS)
    named = set()
    for page in PAGES.values():
        text = read(page)
        lines = re.findall(rf"(?<!-m )fxtrace (?:{'|'.join(COMMANDS)}) [^`|#\n]*", text) + re.findall(r"^\| `(-.*?)` \|", text, re.MULTILINE)
        named |= {option for line in lines for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", line)}
    assert len(named) > 20
    assert not {option for option in named if option not in known}


def anchors(text: str) -> set[str]:
    """Those that a forge gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    root = pathlib.Path(ROOT)
    folders = [root, *sorted((root / "docs").glob("**/")), *sorted(root.glob("lib/**/")), *sorted(root.glob("app/**/")), root / "sample_models", root / "tests" / "python"]
    for file in [file for folder in folders for file in sorted(folder.glob("*.md"))]:
        text = re.sub(r"^```.*?^```$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "``", text)):
            if re.match(r"https?:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            assert target.exists(), f"{file.relative_to(root)}: {link}"
            assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{file.relative_to(root)}: {link}"


if __name__ == "__main__":
    import tempfile

    sys.path.insert(0, PACKAGE)
    need_plugin(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as models:
        make_models(models)
        for page in PAGES.values():
            with tempfile.TemporaryDirectory() as folder:
                after = rerun(read(page), os.path.abspath(sys.argv[1]), folder, models)
            with open(page, "w", encoding="utf-8") as file:
                file.write(after)


def rows_of_coming_from() -> list[str]:
    """The commands in the tables of docs/how-to/coming-from.md."""
    rows = re.findall(r"^\| (?!in Python|---)(.*) \|$", read(os.path.join(ROOT, "docs", "how-to", "coming-from.md")), re.MULTILINE)
    assert len(rows) > 30
    return [command.replace("\\|", "|") for row in rows for command in re.findall(r"`(fxtrace [^`]*)`", row)[-1:]]


def test_every_row_of_coming_from_runs(program, tmp_path, models):
    """Each gives something, and no row is without a command."""
    text = read(os.path.join(ROOT, "docs", "how-to", "coming-from.md"))
    need_plugin(program.path)
    prepare(str(tmp_path), models)
    run_command("fxtrace trace model.pt2 -o model.json", program.path, str(tmp_path))
    assert len(rows_of_coming_from()) == len(re.findall(r"^\| (?!in Python|---)", text, re.MULTILINE))
    for command in dict.fromkeys(rows_of_coming_from()):
        script = f"set -eo pipefail\nfxtrace() {{ '{program.path}' \"$@\"; }}\n{command}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert done.returncode == 0 and done.stdout.strip() not in ("", "null"), f"{command}\n{done.stderr}"
