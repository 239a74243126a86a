"""What README tells its readers to type, typed: Python runs, and commands print what stands there.

    test_readme.py FXTRACE     # writes what the program prints now into README

A block of Python is run as a script; in a block of `console`, a line that begins with "$ " is a command and what
follows is its output, on stdout and stderr.  All run in one folder, in the order of the page.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, "README.md")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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


def run_python(text: str, folder: str, number: int) -> str:
    script = os.path.join(folder, f"block_{number}.py")  # TorchScript reads its source
    with open(script, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, timeout=300
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return done.stdout


def prepare(folder: str) -> None:
    for name in ("sample_models", "tests"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))


def rerun(text: str, program: str, folder: str) -> str:
    """README with the outputs of now."""
    number = 0

    def replace(match: re.Match) -> str:
        nonlocal number
        number += 1
        kind, body = match.groups()
        if kind == "python":
            run_python(body, folder, number)
            return match.group()
        now = "".join(
            f"$ {command}\n{run_command(command, program, folder)}" for command, _ in commands(body)
        )
        return f"```console\n{now}```"

    prepare(folder)
    return BLOCK.sub(replace, text)


def test_readme_is_true(program, tmp_path):
    with open(README, encoding="utf-8") as file:
        text = file.read()
    assert len(BLOCK.findall(text)) > 5
    assert rerun(text, program.path, str(tmp_path)).splitlines() == text.splitlines()


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

    with open(README, encoding="utf-8") as file:
        before = file.read()
    with tempfile.TemporaryDirectory() as folder:
        after = rerun(before, os.path.abspath(sys.argv[1]), folder)
    with open(README, "w", encoding="utf-8") as file:
        file.write(after)
