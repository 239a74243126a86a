"""Tests fxtrace check --baseline and --write-baseline: known offences break no rule, new ones do, and a file that does not fit
the model or the rules hides nothing."""

import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import fxtrace
import harness
import pytest

ROOT = pathlib.Path(harness.ROOT)
SAMPLES = ROOT / "sample_models"
RULES = ["--no-failed", "--deny=aten.mul", "--max-params=100"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> pathlib.Path:
    for name in ("nested_exported.pt2", "failing_nested.pt"):
        shutil.copy(SAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


MODELS = ["nested_exported.pt2", "failing_nested.pt"]


def run(program, *words, code=0) -> subprocess.CompletedProcess:
    done = subprocess.run([program.path, "check", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def validator(name: str):
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text()))


def report(program, *words, code=0) -> dict:
    document = json.loads(run(program, "--json", *words, code=code).stdout)
    validator("check").validate(document)
    return document


def written(program, *words) -> dict:
    run(program, *words, "--write-baseline=b.json")
    document = json.loads(pathlib.Path("b.json").read_text())
    validator("check_baseline").validate(document)
    return document


def change(change) -> None:
    """Of the baseline in b.json."""
    path = pathlib.Path("b.json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_what_is_known_breaks_nothing(program, folder):
    document = written(program, *RULES, *MODELS)
    text = pathlib.Path("b.json").read_text()
    assert [rule["name"] for rule in document["rules"]] == ["deny aten.mul", "max-params", "no-failed"]
    assert {entry["model"] for entry in document["offences"]} == set(MODELS)
    # An offence a line, in the same order whatever was given first, by whatever path; no line of code and no name of a node.
    assert len(text.splitlines()) == len(document["offences"]) + len(document["rules"]) + 8
    run(program, *RULES, folder / MODELS[1], f"./{MODELS[0]}", "--write-baseline=c.json")
    assert pathlib.Path("c.json").read_text() == text
    assert not re.search(r"\.py|%", text)
    assert "no new offence" in run(program, *RULES, *MODELS, "--baseline=b.json").stdout
    # Offences of another model, without the baseline and of another rule.
    run(program, *RULES, *MODELS, code=1)
    shutil.copy(MODELS[1], "copy.pt")
    found = report(program, *RULES, *MODELS, "copy.pt", "--baseline=b.json", code=1)
    assert [one["holds"] for one in found["reports"]] == [True, True, False]
    found = report(program, *RULES, "--deny=aten.relu", MODELS[0], "--baseline=b.json", code=1)
    assert {offence["rule"] for offence in found["offences"] if not offence["known"]} == {"deny aten.relu"}
    assert {rule["name"]: (rule["offences"], rule["known"]) for rule in found["rules"]}["deny aten.mul"] == (0, 2)


def test_more_of_the_same_is_new(program, folder):
    written(program, *RULES, MODELS[0])

    def lower(rule, by=1):
        def entry(document):
            found = next(entry for entry in document["offences"] if entry["rule"] == rule)
            found["count"] -= by

        change(entry)

    # In one of two modules; in the other one it is known, although both are one offence.
    lower("deny aten.mul")
    found = report(program, *RULES, MODELS[0], "--baseline=b.json", code=1)
    muls = {offence["known"]: offence["places"] for offence in found["offences"] if offence["rule"] == "deny aten.mul"}
    assert [place["module"] for place in muls[False]] == ["stage.first"] and [place["module"] for place in muls[True]] == ["stage.second"]
    assert "stage.second" not in run(program, *RULES, MODELS[0], "--baseline=b.json", code=1).stdout
    # A cost that has grown since.
    written(program, *RULES, MODELS[0])
    lower("max-params")
    assert "max-params" in run(program, *RULES, MODELS[0], "--baseline=b.json", code=1).stdout
    # Where it cannot be told whether a rule holds, another thing is said than that it does not.
    pathlib.Path("b.json").unlink()
    written(program, "--deny=aten.mul", MODELS[1])
    change(lambda document: [entry.pop("undecided", None) for entry in document["offences"]])
    run(program, "--deny=aten.mul", MODELS[1], "--baseline=b.json", code=1)


def test_formats(program, folder):
    written(program, *RULES, *MODELS)
    change(lambda document: document["offences"].remove(next(entry for entry in document["offences"] if entry["model"] == MODELS[0])))
    words = [*RULES, *MODELS, "--baseline=b.json"]
    document = report(program, *words, code=1)
    assert document["errors"] == 1 and document["known"] == sum(one["known"] for one in document["reports"]) > 5
    suites = ElementTree.fromstring(run(program, *words, "--junit", code=1).stdout)
    assert [suites.get(name) for name in ("tests", "failures", "skipped")] == ["6", "1", "4"]
    assert {case.find("skipped").get("message") for case in suites.iter("testcase") if case.find("skipped") is not None} >= {"1 known offence"}
    assert suites.find(".//failure").text.count("aten.mul.Tensor") == 1 and "1 known offence" in suites.find(".//failure").text
    results = json.loads(run(program, *words, "--sarif", code=1).stdout)["runs"][0]["results"]
    fresh = [result for result in results if result["baselineState"] == "new"]
    assert len(fresh) == 1 and "suppressions" not in fresh[0] and len(results) == document["known"] + 1
    assert all(result["suppressions"] == [{"kind": "external", "status": "accepted"}] for result in results if result not in fresh)
    markdown = run(program, *words, "--markdown", code=1).stdout
    assert markdown.count("| error |") == 1 and "Known: `max-params (1), deny aten.mul (1)`" in markdown


def test_what_is_gone_is_told(program, folder):
    whole = written(program, *RULES, *MODELS)
    shutil.copy(SAMPLES / "exported_callbacks.pt2", MODELS[0])  # another model under that name
    done = run(program, *RULES, *MODELS, "--baseline=b.json")
    assert f"note: b.json has more than there is in {MODELS[0]}: max-params (1), deny aten.mul (2); --write-baseline takes it out" in done.stderr
    found = report(program, *RULES, MODELS[0], "--baseline=b.json")
    assert {(gone["rule"], gone["module"], gone["known"], gone["now"]) for gone in found["gone"]} >= {("deny aten.mul", "stage.first", 1, 0)}
    # Models that were not given stay in it while they exist, and are told with -v alone: a hook is given what has changed.
    assert MODELS[1] not in run(program, *RULES, MODELS[0], "--baseline=b.json").stderr
    assert f"were not given: {MODELS[1]}" in run(program, "-v", *RULES, MODELS[0], "--baseline=b.json").stderr
    kept = [entry for entry in whole["offences"] if entry["model"] == MODELS[1]]
    assert [entry for entry in written(program, *RULES, MODELS[0])["offences"] if entry["model"] == MODELS[1]] == kept
    pathlib.Path(MODELS[1]).unlink()
    assert not [entry for entry in written(program, *RULES, MODELS[0])["offences"] if entry["model"] == MODELS[1]]


def test_nothing_passes_by_a_baseline_that_does_not_fit(program, folder):
    assert "cannot open" in run(program, *MODELS, "--baseline=none.json", code=2).stderr
    run(program, *MODELS, "--baseline=", code=2)
    pathlib.Path("text.json").write_text("{")
    assert "text.json:1:2" in run(program, *MODELS, "--baseline=text.json", code=2).stderr
    pathlib.Path("text.json").write_text('{"rules": []}')
    assert "not a baseline" in run(program, *MODELS, "--baseline=text.json", code=2).stderr
    written(program, *RULES, *MODELS)
    assert "'deny aten.mul', which is not checked" in run(program, "--no-failed", *MODELS, "--baseline=b.json", code=2).stderr
    changed = run(program, *RULES, "--max-params=99", *MODELS, "--baseline=b.json", code=2).stderr
    assert "asked for 'at most 100 parameters' and now asks for 'at most 99 parameters'" in changed
    twice = lambda document: document["offences"].append(document["offences"][0])
    for spoil in (twice, lambda d: d.update(version=2), lambda d: d["rules"].pop(), lambda d: d["offences"][0].update(count="1")):
        pathlib.Path("b.json").unlink()
        written(program, *RULES, *MODELS)
        change(spoil)
        assert "b.json:" in run(program, *RULES, *MODELS, "--baseline=b.json", code=2).stderr
    # What cannot be read is in no baseline, and keeps one from being written.
    pathlib.Path("b.json").unlink()
    pathlib.Path("bad.pt").write_bytes(b"no model")
    assert "b.json is not written" in run(program, *RULES, *MODELS, "bad.pt", "--write-baseline=b.json", code=3).stderr
    run(program, "bad.pt", "--write-baseline=b.json", code=3)
    assert not pathlib.Path("b.json").exists()
    written(program, *RULES, *MODELS)
    run(program, *RULES, *MODELS, "bad.pt", "--baseline=b.json", code=3)


def test_nothing_is_overwritten(program, folder):
    pathlib.Path("notes.json").write_text('{"mine": 1}')
    assert "not a baseline" in run(program, *MODELS, "--write-baseline=notes.json", code=2).stderr
    assert pathlib.Path("notes.json").read_text() == '{"mine": 1}'
    run(program, MODELS[0], f"--write-baseline={MODELS[0]}", code=2)
    run(program, MODELS[0], "--write-baseline=b.json", "-o", "./b.json", code=2)
    run(program, MODELS[0], "--write-baseline=b.json", "--baseline=b.json", code=2)
    written(program, *RULES, *MODELS)
    before = pathlib.Path("b.json").read_text()
    # Offences of a model that is not looked at, by a rule that is not among those of now.
    assert "which is not checked" in run(program, "--no-failed", MODELS[0], "--write-baseline=b.json", code=2).stderr
    run(program, *RULES, MODELS[0], "--baseline=b.json", "-o", "b.json", code=2)
    assert pathlib.Path("b.json").read_text() == before


def test_findings_about_the_file(program, folder):
    class Runs:
        def __reduce__(self):
            return (os.system, ("true",))

    pathlib.Path("state.pt").write_bytes(pickle.dumps(Runs()))
    (entry,) = written(program, "--security", "state.pt")["offences"]
    assert entry["rule"] == "security-pickle" and entry["record"] == "" and entry["subject"]
    run(program, "--security", "state.pt", "--baseline=b.json")
    change(lambda document: document["offences"][0].update(subject="os.remove"))
    run(program, "--security", "state.pt", "--baseline=b.json", code=1)


def test_package(program, folder, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    written(program, "--deny=aten.mul", MODELS[0])
    assert not fxtrace.check(MODELS[0], deny="aten.mul")
    found = fxtrace.check(MODELS[0], deny="aten.mul", baseline="b.json")
    assert found and found.known == 2 and all(offence.known for offence in found) and not found.gone
    assert [(rule.offences, rule.known) for rule in found.rules] == [(0, 2)]
    with pytest.raises(fxtrace.UsageError, match="cannot open"):
        fxtrace.check(MODELS[0], baseline=folder / "none.json")
