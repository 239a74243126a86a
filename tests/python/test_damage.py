"""Tests hostile archives under address sanitizer, in one process: no report.  scripts/damage has damaged ones."""

import pathlib
import subprocess

import harness
import hostile
import hostile_exported
import pytest
import tiers

pytestmark = pytest.mark.volume

LARGE = 4 << 20  # bytes: what is wrong with a file of 100 MB is how many, not which, and the sanitizer takes minutes for each


def test_hostile_archives_under_address_sanitizer(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for number, case in enumerate(tiers.of_the_turn([*hostile.cases(), *hostile_exported.cases()], 400)):
        data = case.make()
        if len(data) < LARGE:
            (folder / f"{number:04}_{''.join(c if c.isalnum() else '_' for c in case.name)[:60]}").write_bytes(data)
    script = pathlib.Path(harness.ROOT) / "scripts" / "damage"
    done = subprocess.run([script, "--read", folder, "--findings", tmp_path / "findings"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"{len(list(folder.iterdir()))} files: 0 findings" in done.stdout
