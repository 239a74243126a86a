"""Tests bench/run on a small model."""

import os
import re
import subprocess
import sys

import pytest
from harness import ROOT, SAMPLES


@pytest.mark.volume
def test_toy(program, tmp_path):
    report = tmp_path / "report.md"
    command = [os.path.join(ROOT, "bench", "run"), "--toy", "--runs", "1", "--fxtrace", program.path, "--python", sys.executable]
    done = subprocess.run([sys.executable, *command, "-o", str(report)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = report.read_text(encoding="utf-8")
    assert done.stdout == text
    rows, warm = ([[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("| Linear")] for part in text.split("\n## "))
    assert [(row[1], row[-1]) for row in rows] == [
        ("fxtrace, .pt", "exact"),
        ("fxtrace, .pt2", "exact"),
        ("torch.fx.symbolic_trace", "exact"),
        ("torch.jit.load, walk over the graph, .pt", "exact"),
        ("torch.export.load, unflatten, .pt2", "exact"),
    ]
    assert all(row[2].endswith(" ms") and row[4].endswith(" MB") for row in rows)
    assert [row[1] for row in warm] == [
        "`import torch`, once",
        "fxtrace.trusted.trace, .pt",
        "fxtrace.trusted.trace, .pt2",
        "torch.jit.load, walk over the graph, .pt",
        "torch.export.load, unflatten, .pt2",
        "torch.fx.symbolic_trace",
    ]
    assert all(row[3].endswith(" ms") for row in warm[1:])


def test_timings(program):
    model = os.path.join(SAMPLES, "attention_exported.pt2")
    for options, lines in (([], 1), (["-v"], 4)):
        done = program.run("trace", model, "-f", "text", "--timings", *options)
        assert len(done.stderr.decode().splitlines()) == lines
        number = r"\d+\.\d ms"
        said = done.stderr.decode().splitlines()[-1]
        assert re.fullmatch(f"fxtrace: load {number}, trace {number}, passes {number}, write {number}", said)
    assert program.run("trace", model, "-f", "text").stderr == b""
