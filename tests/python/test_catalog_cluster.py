"""Tests the program in docs/how-to/catalog.md that catalogs a bucket with Ray, with a model that cannot be read and a worker that
dies during the run."""

import os
import re
import shutil
import subprocess
import sys

import harness
import pytest

PAGE = os.path.join(harness.ROOT, "docs", "how-to", "catalog.md")
SAMPLES = ["nested_exported.pt2", "failing_nested.pt", "nested_scripted.pt", "vision_exported.pt2"]


@pytest.mark.volume
def test_ray_program(program, tmp_path):
    pytest.importorskip("ray")
    parquet = pytest.importorskip("pyarrow.parquet")
    models, target = tmp_path / "models", tmp_path / "catalog"
    models.mkdir()
    target.mkdir()
    for name in SAMPLES:
        shutil.copy(os.path.join(harness.SAMPLES, name), models)
    (models / "broken.pt").write_bytes(b"no model")
    # The first call ends the Python that made it, as a machine that goes away would.
    once = tmp_path / "once"
    dying = tmp_path / "fxtrace"
    dying.write_text(
        f"#!/bin/sh\nif [ ! -e {once} ]; then touch {once}; kill -9 $PPID; exit 1; fi\nexec {program.path} \"$@\"\n"
    )
    dying.chmod(0o755)
    with open(PAGE, encoding="utf-8") as file:
        script = re.search(r"^```py\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "program.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "program.py", models.as_uri(), target.as_uri()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.path.join(harness.ROOT, "python"), "FXTRACE": str(dying), "RAY_DEDUP_LOGS": "0"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert once.exists()
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(models))]
    assert len(lines) == len(SAMPLES) + 1 and sum(line.endswith((".pt", ".pt2")) for line in map(str.strip, lines)) == len(SAMPLES)
    found = parquet.read_table(target / "models").to_pydict()
    assert sorted(os.path.basename(model) for model in found["model"]) == sorted([*SAMPLES, "broken.pt"])
    assert [bool(error) for error in found["error"]].count(True) == 1
    assert parquet.read_table(target / "nodes").num_rows == sum(nodes or 0 for nodes in found["nodes"])
