"""Tests the manual pages and shell completions, which the build writes from the program's table of options; completions run in
the shells that are installed."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import pytest
import tiers
from commands import COMMANDS

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def share(program) -> pathlib.Path:
    folder = pathlib.Path(program.path).parents[1] / "share"
    if not folder.is_dir():
        pytest.skip("the program does not stand in a build folder")
    return folder


def options(program, command: str) -> list[str]:
    """Every option's long names, from --help."""
    text = program.stdout(*([command] if command else []), "--help").decode()
    names = re.findall(r"^ +((?:-\w, +)?(?:--[\w-]+, )*--[\w-]+)", text, re.MULTILINE)
    return [name for line in names for name in re.findall(r"--[\w-]+", line)]


# --- manual pages ---


def page(share: pathlib.Path, command: str) -> pathlib.Path:
    return share / "man" / "man1" / (f"fxtrace-{command}.1" if command else "fxtrace.1")


def rendered(file: pathlib.Path) -> str:
    done = subprocess.run(
        ["man", "--warnings=w", "--local-file", file], capture_output=True, text=True, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_there_is_a_page_for_each_command(program, share):
    help_text = program.stdout("--help").decode()
    listed = re.findall(r"^  (\w+) ", help_text[help_text.index("Commands:") : help_text.index("Options:")], re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)
    assert sorted(file.name for file in (share / "man" / "man1").iterdir()) == sorted(page(share, name).name for name in ["", *COMMANDS])


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="no man")
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_page(program, share, command):
    text = rendered(page(share, command))
    for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"):
        assert f"\n{title}\n" in text, title
    names = options(program, command)
    assert "--help" in names
    for name in names:
        assert re.search(rf"^ +(-\w, |--[\w-]+, )?{name}\b", text, re.MULTILINE), name
    # What is said of each is all there, and what can be typed can be pasted.
    words = " ".join(text.split())
    for line in program.stdout(*([command] if command else []), "--help").decode().split("\n\n")[0].splitlines()[1:]:
        assert " ".join(line.split()) in words, line
    source = page(share, command).read_text(encoding="utf-8")
    assert not re.search(r"(?<!\\)[-'`^~](?!\\)", re.sub(r"^\..*", "", source, flags=re.MULTILINE)), source


def test_reference_is_made_from_the_sources(program):
    documents = pathlib.Path(program.path).with_name("fxtrace_documents")
    if not documents.exists():
        pytest.skip("the build has no fxtrace_documents")
    done = subprocess.run([sys.executable, HERE.parents[1] / "scripts" / "reference", "--check", "--documents", documents], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_page_as_recorded(share):
    """FXTRACE_UPDATE=1 records it."""
    file = HERE.parent / "golden_documents" / "fxtrace-render.1"
    now = page(share, "render").read_text(encoding="utf-8")
    if os.environ.get("FXTRACE_UPDATE"):
        file.write_text(now, encoding="utf-8")
    assert now == file.read_text(encoding="utf-8")


# --- completions ---

MARK = re.compile(r"<<(.*?)>>", re.DOTALL)


class Shell:
    """An interactive shell at a terminal; control-x prints the line that is typed so far."""

    def __init__(self, arguments: list[str], folder: pathlib.Path, environment: dict[str, str], setup: list[str]):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, {**os.environ, **environment, "TERM": "dumb", "PS1": "$ "})
        for line in [*setup, "echo rea''dy"]:
            self.send(line + "\n")
        self.read_until(re.compile(r"ready\r?\n"))

    def send(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def read_until(self, pattern: re.Pattern) -> re.Match:
        text = ""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                text += os.read(self.terminal, 65536).decode(errors="replace")
            if match := pattern.search(text):
                return match
        raise AssertionError(f"no {pattern.pattern}: {text}")

    def complete(self, typed: str) -> str:
        """The line after a tab."""
        self.send(typed + "\t\x18")
        line = self.read_until(MARK)[1]
        self.send("\x15")
        return line

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("models")
    for name in ("model.pt2", "zebra.json", "with space.pt"):
        (folder / name).touch()
    return folder


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request, share, folder):
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param}")
    if request.param == "bash":
        setup = [f"source {share}/bash-completion/completions/fxtrace", """bind -x '"\\C-x": echo "<<$READLINE_LINE>>"'"""]
        result = Shell(["bash", "--norc", "--noprofile", "-i"], folder, {"INPUTRC": "/dev/null"}, setup)
    else:
        setup = [
            f"fpath=({share}/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D",
            "shown() { print -r -- \"<\"\"<$BUFFER>>\" }; zle -N shown; bindkey '^X' shown; bindkey '^U' kill-whole-line",
            "unsetopt list_ambiguous; setopt no_beep no_auto_list no_prompt_cr",
        ]
        result = Shell(["zsh", "-f", "-i"], folder, {"ZDOTDIR": str(folder)}, setup)
    yield result
    result.close()


COMPLETED = [
    ("fxtrace tr", "fxtrace trace "),
    ("fxtrace sum", "fxtrace summary "),
    ("fxtrace --ver", "fxtrace --version "),
    ("fxtrace mod", "fxtrace model.pt2 "),
    ("fxtrace trace mod", "fxtrace trace model.pt2 "),
    ("fxtrace trace wi", "fxtrace trace with\\ space.pt "),
    ("fxtrace trace --hooks sk", "fxtrace trace --hooks skip "),
    ("fxtrace trace --control-flow=sub", "fxtrace trace --control-flow=subgraph "),
    ("fxtrace trace model.pt2 -f do", "fxtrace trace model.pt2 -f dot "),
    ("fxtrace trace model.pt2 --format=js", "fxtrace trace model.pt2 --format=json "),
    ("fxtrace trace --pass func", "fxtrace trace --pass functional "),
    ("fxtrace render zeb", "fxtrace render zebra.json "),
    ("fxtrace render zebra.json --pass remove-in", "fxtrace render zebra.json --pass remove-inplace "),
    ("fxtrace summary model.pt2 --sort by", "fxtrace summary model.pt2 --sort bytes "),
    ("fxtrace summary --mark", "fxtrace summary --markdown "),
    ("fxtrace model.pt2 --sort ma", "fxtrace model.pt2 --sort macs "),
    ("fxtrace trace --config zeb", "fxtrace trace --config zebra.json "),
    ("fxtrace trace --config=zeb", "fxtrace trace --config=zebra.json "),
    ("fxtrace trace -o zeb", "fxtrace trace -o zebra.json "),
    # Nothing is made up: a rule is no file, and `trace` has no --markdown.
    ("fxtrace trace --leaf zeb", "fxtrace trace --leaf zeb"),
    ("fxtrace trace --markd", "fxtrace trace --markd"),
]


@pytest.mark.parametrize("pair", tiers.one_in(3, COMPLETED), ids=lambda pair: pair[0])
def test_completion(shell, pair):
    typed, completed = pair
    assert shell.complete(typed).rstrip() == completed.rstrip()


def fish(share: pathlib.Path, folder: pathlib.Path, line: str) -> list[str]:
    script = f"source {share}/fish/vendor_completions.d/fxtrace.fish; complete -C $argv[1]"
    done = subprocess.run(["fish", "--no-config", "-c", script, line], capture_output=True, text=True, cwd=folder, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [found.split("\t")[0] for found in done.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize("typed, completed", COMPLETED)
def test_fish(share, folder, typed, completed):
    found = fish(share, folder, typed)
    if typed == completed:
        assert found == []
    else:
        last = completed.strip().removeprefix(typed[: typed.rindex(" ") + 1])
        assert found == [last.replace("\\", "")]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_all_options_are_completed(program, share, folder, command):
    bash = ["bash", "-c", 'source "$1"; COMP_WORDS=(fxtrace $2 -); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fxtrace; printf "%s\\n" "${COMPREPLY[@]}"', "_"]
    done = subprocess.run([*bash, share / "bash-completion/completions/fxtrace", command], capture_output=True, text=True)
    expected = options(program, command)
    assert set(expected) <= set(done.stdout.split()), done.stderr
    if shutil.which("fish"):
        assert set(expected) == set(fish(share, folder, f"fxtrace {command} --".replace("  ", " ")))
