"""Provides what the scripts of a release share: the folders, the pinned versions, and functions that run commands."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "release-files"  # files that may be deleted
TOOLS = WORK / "tools"  # the Python with the compiler and the packages that make wheels
PINNED = json.loads((Path(__file__).parent / "pinned.json").read_text())


class Failure(Exception):
    """The release cannot be made; the message says what is wrong and what to do."""


def say(text: str) -> None:
    print(f"release: {text}", file=sys.stderr, flush=True)


class Step:
    """Says how long something took."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.since = time.monotonic()

    def __exit__(self, failed, *_) -> None:
        if not failed:
            say(f"{self.what}: {time.monotonic() - self.since:.0f} s")


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, log: str = "release.log") -> str:
    """Runs a command, whose output goes to a file of WORK as well; returns what it writes to stdout."""
    words = [str(word) for word in command]
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / log).open("a") as file:
        file.write(f"$ {shlex.join(words)}\n")
        file.flush()
        done = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=file, text=True, check=False)
        file.write(done.stdout)
    if done.returncode != 0:
        last = "\n".join((WORK / log).read_text(errors="replace").splitlines()[-15:])
        raise Failure(f"{words[0]} failed ({done.returncode}); {WORK / log} ends:\n{last}")
    return done.stdout


def unpack_package(package: str, folder: Path) -> None:
    """Debian's package, as apt has it, unpacked and not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=folder)
    run("dpkg-deb", "-x", next(folder.glob(f"{package}_*.deb")), folder)


class Made:
    """A mark that something was made of a recipe, so that it is made again when that changes."""

    def __init__(self, name: str, *recipe: object) -> None:
        self.file = WORK / "made" / name
        self.text = hashlib.sha256(repr(recipe).encode()).hexdigest()

    def __bool__(self) -> bool:
        return self.file.exists() and self.file.read_text() == self.text

    def mark(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(self.text)


def in_parallel(jobs: list) -> None:
    """Runs functions side by side, as many as there are processors."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
