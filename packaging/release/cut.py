"""Cuts a version: turns the section Unreleased of the changelog into one, and updates the version elsewhere."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from pathlib import Path

from common import ROOT, Failure, run, say


# Other files that contain the version, in examples and in expected outputs; measurements keep the version that was measured.
SAY_IT = ["README.md", "docs", ":!docs/reference/benchmarks.md", "examples", "tests/golden", "tests/golden_documents"]


def replace_everywhere(old: str, new: str) -> None:
    for name in run("git", "ls-files", "--", *SAY_IT, cwd=ROOT).split():
        if Path(name).suffix not in (".md", ".txt", ".1", ".json"):
            continue
        text = (ROOT / name).read_text()
        series = [".".join(version.split(".")[:2]) for version in (old, new)]
        after = re.sub(rf"(?<![\d.]){re.escape(old)}(?![\d.])", new, text)
        after = after.replace(f"find_package(fxtrace {series[0]} ", f"find_package(fxtrace {series[1]} ")
        if after != text:
            (ROOT / name).write_text(after)


def cut(version: str) -> None:
    """Sets the version of CMakeLists.txt, of the changelog and wherever it is said, and commits that with the version's tag."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Failure(f"{version} is no version: MAJOR.MINOR.PATCH")
    if run("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT).strip():
        raise Failure("some files differ from what is committed: commit them first")
    changelog, cmake = ROOT / "CHANGELOG.md", ROOT / "CMakeLists.txt"
    text = changelog.read_text()
    if f"## [{version}]" in text:
        raise Failure(f"CHANGELOG.md has {version} already")
    unreleased = re.search(r"(?ms)^## \[Unreleased\]\n(.*?)(?=^## \[|\Z)", text)
    if not unreleased or not unreleased[1].strip():
        raise Failure("nothing stands under [Unreleased] in CHANGELOG.md: there is nothing to release")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.now(timezone.utc).timestamp())
    date = datetime.fromtimestamp(seconds, timezone.utc).date()
    changelog.write_text(text.replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {date}\n", 1))
    before = cmake.read_text()
    after, count = re.subn(r"(project\(fxtrace VERSION )[\d.]+", rf"\g<1>{version}", before)
    if count != 1:
        raise Failure("CMakeLists.txt does not say its version where project() does")
    cmake.write_text(after)
    replace_everywhere(re.search(r"project\(fxtrace VERSION ([\d.]+)", before)[1], version)
    run("git", "commit", "-q", "-a", "-m", f"Release {version}", cwd=ROOT)
    run("git", "tag", "-a", f"v{version}", "-m", f"fxtrace {version}", cwd=ROOT)
    say(f"{version} is committed and tagged; scripts/release makes its files")
