"""Tests that check --security finds no offence in what torch's own savers write (benign_files.py)."""

import subprocess

import benign_files
import pytest

# Bytes that a package keeps for its caller may be anything: they are an offence by intent (security-unknown).
BY_INTENT = {"packages_bytes.pt"}


def said_of(program, tmp_path, files) -> str:
    """What the program says of those that do not hold."""
    names = []
    for name, data in files:
        if name not in BY_INTENT:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
            names.append(name)
    if not names:
        return ""
    done = subprocess.run([program.path, "check", "--security", "--", *names], cwd=tmp_path, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    each = [subprocess.run([program.path, "check", "--security", "--", name], cwd=tmp_path, capture_output=True, text=True) for name in names]
    return "".join(one.stdout + one.stderr for one in each if one.returncode != 0) or f"together: exit code {done.returncode}"


def test_one_of_each_kind_holds(program, tmp_path):
    firsts = [next(benign_files.files(function), None) for function in benign_files.FUNCTIONS]
    assert said_of(program, tmp_path, [file for file in firsts if file]) == ""  # without that package there is no safetensors file


@pytest.mark.volume
@pytest.mark.parametrize("function", benign_files.FUNCTIONS, ids=lambda function: function.__name__)
def test_files_of_torch_hold(program, tmp_path, function):
    assert said_of(program, tmp_path, benign_files.files(function)) == ""
