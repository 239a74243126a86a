"""Tests fxtrace check: every rule on samples, files that would harm a reader, the output formats, and several models."""

import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree
import zipfile

import archive_edit
import fxtrace
import harness
import hostile
import hostile_collections
import large_collections
import pytest
import torch

ROOT = pathlib.Path(harness.ROOT)
SAMPLES = ROOT / "sample_models"
HEADINGS = {
    re.sub("[^a-z -]", "", heading.lower()).replace(" ", "-")
    for heading in re.findall("^#+ (.*)$", (ROOT / "docs/how-to/check.md").read_text(encoding="utf-8"), re.MULTILINE)
}
NESTED = str(SAMPLES / "nested_exported.pt2")
HOSTILE_NAME = "<b>&\"'`|]]>\x1b[31m\n\u202e\x00\uffff{0}[a](b)\\"


def validator(name: str):
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(json.loads((ROOT / "schemas" / name).read_text(encoding="utf-8")))


def run(program, *arguments: str, code: int | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run([program.path, "check", *map(str, arguments)], capture_output=True)
    assert b"internal" not in done.stderr, done.stderr
    if code is not None:
        assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
    return done


def report(program, *arguments: str) -> dict:
    document = json.loads(run(program, "--json", *arguments).stdout)
    validator("check.schema.json").validate(document)
    return document


def kinds(document: dict) -> set[str]:
    return {offence["rule"].removeprefix("security-") for offence in document["offences"]}


# --- rules on samples ---


@pytest.mark.parametrize(
    "broken, held, model",
    [
        (["--no-failed"], ["--no-failed", "--control-flow=subgraph"], "control_flow_submodule.pt"),
        (["--max-params=10"], ["--max-params=1M"], "attention_exported.pt2"),
        (["--max-macs=100"], ["--max-macs=1G"], "nested_exported.pt2"),
        (["--max-activations=10"], ["--max-activations=1MiB"], "nested_exported.pt2"),
        (["--max-peak=10"], ["--max-peak=1MiB"], "nested_exported.pt2"),
        (["--deny=aten.mul"], ["--deny=aten.item"], "nested_exported.pt2"),
        (["--deny=torch.nn.Linear"], ["--deny=torch.nn.Conv2d"], "nested_scripted.pt"),
        (["--require=aten.linear followed-by aten.relu"], ["--require=aten.mul preceded-by aten.relu"], "nested_exported.pt2"),
        (["--require=torch.nn.ReLU within @head"], ["--require=torch.nn.ReLU within @stage"], "nested_exported.pt2"),
        (["--require=torch.nn.Linear at-most 1"], ["--require=torch.nn.Linear at-most 9"], "nested_scripted.pt"),
        (["--require=higher_order.cond at-most 0"], ["--require=higher_order.cond at-least 1"], "exported_cond.pt2"),
    ],
)
def test_rule(program, broken, held, model):
    path = str(SAMPLES / model)
    found = report(program, path, *broken)
    assert not found["holds"] and found["errors"] > 0
    assert all(offence["message"] for offence in found["offences"])
    run(program, path, *broken, code=1)
    run(program, path, *held, code=0)


def test_operators_of_a_backend(program, tmp_path):
    collection = json.loads(program.stdout("trace", NESTED, "--no-default-leaves"))
    used = {node["target"] for graph in collection["graphs"] for node in graph["nodes"] if node["op"] == "call_function"}
    assert len(used) > 2
    listed = tmp_path / "ops.txt"
    listed.write_text("".join(f"{target}  # used\n" for target in used))
    run(program, NESTED, "--ops", listed, code=0)
    for left_out in used:
        listed.write_text("".join(f"{target}\n" for target in used - {left_out}))
        assert {offence["subject"] for offence in report(program, NESTED, "--ops", listed)["offences"]} == {left_out}


def rule_file(folder: pathlib.Path, ops_file: str) -> pathlib.Path:
    path = folder / "rules.json"
    path.write_text(json.dumps({"rules": [{"ops_file": ops_file}]}))
    return path


def test_files_that_rules_name(program, tmp_path):
    """They are in the folder of the rules or below, and nothing of them is shown."""
    folder = tmp_path / "rules"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "ops.txt").write_text("**\n")
    (folder / "ops.txt").symlink_to("below/ops.txt")
    for good in ("below/ops.txt", "./below/ops.txt", "ops.txt"):
        run(program, NESTED, "--rules", rule_file(folder, good), code=0)
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret word: sesame\n")
    (folder / "link.txt").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    os.mkfifo(tmp_path / "pipe")
    for bad in ("../secret.txt", str(secret), "link.txt", "folder/secret.txt", "below/../../secret.txt", "pipe", "folder/pipe", "below", "/dev/zero"):
        done = run(program, NESTED, "--rules", rule_file(folder, bad), code=2)
        assert b"expected a" in done.stderr and b"sesame" not in done.stderr, (bad, done.stderr)
    assert b"no" in run(program, NESTED, "--rules", rule_file(folder, "missing.txt"), code=2).stderr.lower()
    # Those that the command line names may be anywhere, and are shown as little.
    for option in ("--ops", "--rules", "--config"):
        done = run(program, NESTED, option, secret, code=2)
        assert b"secret.txt:1" in done.stderr and b"sesame" not in done.stderr and b"'the" not in done.stderr, done.stderr
        for other in (tmp_path / "pipe", "/dev/zero", tmp_path, "/dev/null"):
            assert b"this is" in run(program, NESTED, option, other, code=2).stderr


def test_rules_have_a_measure(program, tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": [{"deny": f"x{i}"} for i in range(10_001)]}))
    assert b"more than 10000 rules" in run(program, NESTED, "--rules", path, code=2).stderr
    path.write_text("[" * 17_000_000)
    assert b"too large" in run(program, NESTED, "--rules", path, code=2).stderr
    path.write_text("a\n" * 100_001)
    assert b"more than 100000 operators" in run(program, NESTED, "--ops", path, code=2).stderr


def test_rules_from_a_pipe(program, tmp_path):
    command = f"{program.path} check {NESTED} --rules <(echo '{{\"rules\": [{{\"deny\": \"aten.mul\"}}]}}') --ops /dev/stdin < {tmp_path / 'ops.txt'}"
    (tmp_path / "ops.txt").write_text("**\n")
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert done.returncode == 1 and b"aten.mul" in done.stdout, done


def test_offences_have_source_lines(program):
    offences = report(program, NESTED, "--deny=aten.mul")["offences"]
    assert [offence["source"]["text"] for offence in offences] == ["return self.act(self.linear(x)) * self.scale"] * 2
    assert all(offence["source"]["line"] > 0 for offence in offences)


@pytest.mark.parametrize("name", sorted(sample["file"] for kind in ("torchscript", "exported_program") for sample in harness.samples(kind)))
def test_samples_would_do_no_harm(program, name):
    """Nothing is said of what torch itself writes, but where a sample has classes and operators of its own."""
    found = report(program, str(SAMPLES / name), "--security")
    assert kinds(found) <= {"exported_containers.pt2": {"pickle"}, "exported_objects.pt2": {"library"}}.get(name, set()), found


def test_several_models(program, tmp_path):
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(pathlib.Path(NESTED).read_bytes()[:1000])
    done = run(program, NESTED, broken, str(SAMPLES / "failing_nested.pt"), "--no-failed", code=3)
    assert b"nested_exported.pt2: the rule holds" in done.stdout and b"failing_nested.pt: 1 of 1 rule" in done.stdout
    assert b"broken.pt2" in done.stderr
    run(program, NESTED, NESTED, "--no-failed", code=0)
    assert len(json.loads(run(program, NESTED, NESTED, "--json", code=0).stdout)["reports"]) == 2


def test_collections(program, tmp_path):
    saved = tmp_path / "saved.json"
    saved.write_bytes(program.stdout("trace", str(SAMPLES / "exported_dimensions.pt2"), "--dim", "s19=8..16"))
    run(program, saved, code=0)  # the default leaves --security out
    run(program, saved, "--security", code=0)  # it is JSON
    run(program, saved, "--program", code=2)
    # The ranges of the trace are those of the collection.
    run(program, saved, "--max-macs=256", code=0)
    assert "up to 256" in report(program, saved, "--max-macs=255")["offences"][0]["message"]


# --- what the file would have a reader do ---


class Runs:
    def __reduce__(self):
        return os.system, ("true",)


def edited(changes: dict[str, bytes], source: str = NESTED) -> bytes:
    with zipfile.ZipFile(source) as old:
        records = {name: old.read(name) for name in old.namelist()}
    root = next(iter(records)).split("/")[0]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new:
        for name, data in {**records, **{f"{root}/{name}": data for name, data in changes.items()}}.items():
            new.writestr(name, data)
    return buffer.getvalue()


def saved(value, legacy: bool = False) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, _use_new_zipfile_serialization=not legacy)
    return buffer.getvalue()


def test_pickles_that_run_code(program, tmp_path):
    import pickle

    path = tmp_path / "model.pt2"
    for changes, subject in [
        ({"data/sample_inputs/model.pt": saved(Runs())}, "posix.system"),
        ({"data/constants/opaque_obj_0": pickle.dumps(Runs())}, "posix.system"),
        ({"extra/anything": pickle.dumps(Runs(), protocol=4)}, "posix.system"),
        ({"data/weights/x.pt": saved({"a": Runs()})}, "posix.system"),
        ({"data/sample_inputs/model.pt": saved(Runs(), legacy=True)}, "posix.system"),
    ]:
        path.write_bytes(edited(changes))
        found = report(program, path, "--security")
        # A record that torch does not write there is an offence by itself.
        assert [offence["subject"] for offence in found["offences"] if offence["rule"] != "security-unknown"] == [subject], changes.keys()
        run(program, path, code=1)  # by default, too
    for content in (saved(Runs()), saved(Runs(), legacy=True), pickle.dumps(Runs()), pickle.dumps(Runs(), protocol=0)):
        path.write_bytes(content)
        assert [offence["subject"] for offence in report(program, path, "--security")["offences"]] == ["posix.system"]
    harmless = {"a": torch.ones(3), "b": [torch.float16, torch.Size([1])]}
    for content in (saved(harmless), saved(harmless, legacy=True), edited({"data/sample_inputs/model.pt": saved(harmless, legacy=True)})):
        path.write_bytes(content)
        run(program, path, "--security", code=0)


def test_what_is_not_looked_into_does_not_pass(program, tmp_path):
    """torch.load unpickles a tar archive's members."""
    import gzip
    import tarfile

    path = tmp_path / "model.pt"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("pickle"))
    for content in (path.read_bytes(), gzip.compress(saved(Runs())), bytes([0, 200, 1, 255]) * 200):
        path.write_bytes(content)
        assert kinds(report(program, path, "--security")) == {"unknown"}


def test_globals_are_those_of_torch(program, tmp_path):
    """What torch.load(weights_only=True) takes is harmless here, and nothing else is."""
    from torch._weights_only_unpickler import _get_allowed_globals

    # What wraps storages of devices that this torch was not built with stands in others' files.
    path = tmp_path / "names.pkl"
    names = sorted(_get_allowed_globals())
    path.write_bytes(hostile.PROTO + hostile.tuple_of(*(hostile.name(*name.rsplit(".", 1)) for name in names)) + hostile.STOP)
    assert report(program, path, "--security")["holds"]
    others = ["os.system", "builtins.eval", "torch.load", "torch.hub.load", "torch.storage._load_from_bytes", "torch.jit.load"]
    path.write_bytes(hostile.PROTO + hostile.tuple_of(*(hostile.name(*name.rsplit(".", 1)) for name in others)) + hostile.STOP)
    assert {offence["subject"] for offence in report(program, path, "--security")["offences"]} == set(others)


def with_link() -> bytes:
    buffer = io.BytesIO(edited({}))
    with zipfile.ZipFile(buffer, "a") as file:
        link = zipfile.ZipInfo("nested_exported/extra/link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        file.writestr(link, "/etc/passwd")
    return buffer.getvalue()


def with_name(name: str) -> bytes:
    buffer = io.BytesIO(edited({}))
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(zipfile.ZipInfo(name), "x")
    return buffer.getvalue()


def with_bomb() -> bytes:
    buffer = io.BytesIO(edited({}))
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr("nested_exported/extra/zeros", bytes(20_000_000), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def with_cut_tensor() -> bytes:
    with zipfile.ZipFile(NESTED) as old:
        name = next(name for name in old.namelist() if "/data/weights/weight_" in name)
        return edited({name.split("/", 1)[1]: old.read(name)[:4]})


def with_claimed_size() -> bytes:
    """Both its header and the directory say so."""
    data = bytearray(with_bomb())
    for at in (data.rfind(b"PK\x01\x02") + 24, data.rfind(b"PK\x03\x04") + 22):
        data[at : at + 4] = struct.pack("<I", 5_000_000)
    return bytes(data)


@pytest.mark.parametrize(
    "make, kind",
    [
        (with_link, "path"),
        (lambda: with_name("nested_exported/../../x"), "path"),
        (lambda: with_name("/etc/x"), "path"),
        (lambda: with_name("nested_exported\\..\\..\\x"), "path"),
        (lambda: edited({"extra/lib": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + bytes(60)}), "code"),
        (with_bomb, "size"),
        (with_cut_tensor, "size"),
        (with_claimed_size, "size"),
    ],
    ids=["link", "dots", "absolute", "backslash", "elf", "bomb", "tensor", "claimed"],
)
def test_files_that_would_do_harm(program, tmp_path, make, kind):
    path = tmp_path / "model.pt2"
    path.write_bytes(make())
    found = report(program, path, "--security")
    assert kind in kinds(found), found["offences"]
    run(program, path, "--security", code=1)


# Damaged archives that do their reader no harm: nothing at all in the file, records that nobody needs, other names of code.
HARMLESS = {"truncated_0", "without_version", "without_byteorder", "constants_other"}


def test_hostile_archives(program, tmp_path):
    """Whatever the archive is, there is an answer, what is printed is safe, and only what is harmless passes."""
    path = tmp_path / "model.pt"
    passed = set()
    for case in hostile.damaged_containers():
        path.write_bytes(case.make())
        done = run(program, path, "--security")
        assert done.returncode in (0, 1, 3), (case.name, done.stderr)
        assert b"\x1b" not in done.stdout, case.name
        if done.returncode == 0:
            passed.add(case.name)
    assert passed == HARMLESS


# --- formats ---


@pytest.fixture(scope="module")
def hostile_collection(program, tmp_path_factory) -> str:
    """A collection whose every name is markup and controls."""
    collection = json.loads(program.stdout("trace", str(SAMPLES / "failing_nested.pt")))
    collection["model"]["type"] = HOSTILE_NAME
    for module in collection["modules"]:
        if module["failure"]:
            module["failure"]["message"] = HOSTILE_NAME
            for key in ("file", "function", "text"):
                module["failure"]["source"][key] = HOSTILE_NAME
    path = tmp_path_factory.mktemp("hostile") / "h\x1b[31m<&\"\n\u202e.json"
    path.write_text(json.dumps(collection))
    return str(path)


def check_github_uri(uri: str) -> None:
    """A path in the repository: relative, with forward slashes, percent-encoded, without a scheme."""
    assert uri and all(0x21 <= ord(c) < 0x7F and c not in '<>"{}|\\^`' for c in uri)
    parts = urllib.parse.urlsplit(uri)
    assert not parts.scheme and not parts.netloc and not parts.query and not parts.fragment, uri
    assert not uri.startswith("/") and not {".", "..", ""} & set(parts.path.split("/")), uri


def check_sarif(document: dict) -> None:
    """What SARIF 2.1.0 requires of what is written, and code scanning of its rules."""
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-schema-2.1.0.json")
    (one,) = document["runs"]
    driver = one["tool"]["driver"]
    assert driver["name"] == "fxtrace" and driver["version"]
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(set(identifiers)) == len(identifiers)
    for rule in driver["rules"]:
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", rule["id"])
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["defaultConfiguration"]["level"] in ("error", "warning")
        category, *weakness = rule["properties"]["tags"]
        assert (category == "security") == bool(weakness) == ("security-severity" in rule["properties"])
        heading = re.search(r"See docs/how-to/check\.md#([a-z-]+)$", rule["help"]["text"])[1]
        assert heading in HEADINGS, heading
    for result in one["results"]:
        assert identifiers[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"] and result["level"] in ("error", "warning")
        (location,) = result["locations"]
        for location in [location, *result.get("relatedLocations", [])]:
            physical = location["physicalLocation"]
            check_github_uri(physical["artifactLocation"]["uri"])
            assert physical["region"]["startLine"] >= 1
            places = [tuple(logical.items()) for logical in location.get("logicalLocations", [])]
            assert len(set(places)) == len(places) and all(dict(place)["fullyQualifiedName"] for place in places)


def test_formats_of_a_hostile_collection(program, hostile_collection, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"no_failed": True, "name": HOSTILE_NAME, "message": HOSTILE_NAME}]}))
    outputs = {}
    for suffix in ("txt", "json", "xml", "sarif", "md"):
        path = tmp_path / f"out.{suffix}"
        run(program, hostile_collection, "--rules", rules, "-o", path, code=1)
        outputs[suffix] = path.read_text(encoding="utf-8")
    validator("check.schema.json").validate(json.loads(outputs["json"]))
    check_sarif(json.loads(outputs["sarif"]))
    root = ElementTree.fromstring(outputs["xml"])
    (case,) = root.iter("testcase")
    assert case.get("name").startswith("<b>&\"'`|]]>\\x1b[31m")
    assert case.find("failure").text.count("\n") >= 1
    for suffix in ("txt", "xml", "md"):
        assert not set(outputs[suffix]) & {"\x1b", "\x00", "\u202e"}, suffix
    assert "<b>" not in outputs["md"] and "](b)" not in outputs["md"]


@pytest.mark.parametrize("case", list(hostile_collections.cases()), ids=lambda case: case.name)
def test_hostile_collections(program, case, tmp_path):
    path = tmp_path / "hostile.json"
    path.write_bytes(case.make())
    rules = ["--no-failed", "--max-macs=1", "--deny=**", "--require=** followed-by **", "--require=** within @**"]
    start = time.monotonic()
    done = run(program, path, *rules, "--json", "--max-memory=2048", "--max-time=20")
    assert time.monotonic() - start < 60
    assert done.returncode in (0, 1, 3), done.stderr[-500:]
    if done.returncode != 3:
        validator("check.schema.json").validate(json.loads(done.stdout))
        ElementTree.fromstring(run(program, path, *rules, "--junit").stdout)
        check_sarif(json.loads(run(program, path, *rules, "--sarif").stdout))


def test_formats(program, tmp_path):
    rules = tmp_path / "rules.json"
    document = {
        "format": "fxtrace.check_rules",
        "version": 1,
        "rules": [
            {"no_failed": True},
            {"deny": ["aten.mul.*"], "severity": "warning", "message": "No products."},
            {"deny": ["aten.item.*", "aten.nonzero.*"], "id": "no-host-sync"},
            {"deny": "aten.bincount.*"},
            {"max_params": "1K", "name": "small"},
            {"security": True},
        ]
    }
    validator("check_rules.schema.json").validate(document)
    rules.write_text(json.dumps(document))
    done = run(program, NESTED, "--rules", rules, "--junit", code=0)
    root = ElementTree.fromstring(done.stdout)
    assert root.get("tests") == "12" and root.get("failures") == "0"
    assert "aten.mul.Tensor is not allowed" in root.find(".//system-out").text
    sarif = json.loads(run(program, NESTED, "--rules", rules, "--sarif").stdout)
    check_sarif(sarif)
    rules_by_id = {rule["id"]: rule for rule in sarif["runs"][0]["tool"]["driver"]["rules"]}
    assert list(rules_by_id)[:4] == ["no-failed", "deny-operator", "no-host-sync", "max-params"]
    denied = rules_by_id["deny-operator"]  # two rules: one is an error
    assert denied["fullDescription"]["text"] == "no aten.mul.*; no aten.bincount.*" and denied["defaultConfiguration"]["level"] == "error"
    assert rules_by_id["no-host-sync"]["shortDescription"]["text"] == "no aten.item.*"
    results = sarif["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == {"deny-operator"}
    assert {result["properties"]["rule"] for result in results} == {"deny aten.mul.*"}
    assert [result["level"] for result in results] == ["warning", "warning"]
    assert results[0]["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("nested.py")
    markdown = run(program, NESTED, "--rules", rules, "--markdown").stdout.decode()
    assert "| warning | `deny aten.mul.*` | `aten.mul.Tensor is not allowed`<br>`No products.` |" in markdown


@pytest.mark.parametrize(
    "rule", [{"deny": []}, {"deny": "a", "ops": "b"}, {"no_failed": False}, {"max_macs": -1}, {"severity": "error"}, {"max_macs": "1X"}]
)
def test_schema_and_reader_refuse_the_same(program, tmp_path, rule):
    document = {"rules": [rule]}
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(document))
    assert not validator("check_rules.schema.json").is_valid(document)
    assert str(rules).encode() in run(program, NESTED, "--rules", rules, code=2).stderr


# --- bytes and checksums ---


def test_content(program, tmp_path, monkeypatch):
    """Of every record, whatever file it is in, and of archives in records."""
    monkeypatch.setenv("FXTRACE", program.path)
    path = tmp_path / "model"

    def found(content: bytes, *options: str) -> list[tuple]:
        path.write_bytes(content)
        document = report(program, path, "--verify-content", *options)
        return [(offence["rule"], offence["undecided"], [place["record"] for place in offence["places"]]) for offence in document["offences"]]

    weight = torch.arange(60_000, 60_100, dtype=torch.int64)
    state = saved({"weight": weight, "other": torch.zeros(3)})
    script = edited({"data/9": weight.numpy().tobytes()})
    exported = edited({"data/weights/weight_9": weight.numpy().tobytes(), "data/constants/model.pt": saved(torch.ones(3))}, str(SAMPLES / "nested_exported.pt2"))
    nested = edited({"extra/inner.pt": state})
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("model/inner.pt", edited({"more.pt": state}))
    whole = {"state": state, "script": script, "exported": exported, "nested": nested, "shards": state + state, "zipped": zipped.getvalue()}
    for name, content in whole.items():
        assert found(content) == [], name
    wrong = bytes(len(weight) * 8)
    kept = lambda content: archive_edit.overwritten(content, weight.numpy().tobytes(), wrong)  # noqa: E731
    assert [records for _, _, records in found(kept(state))] == [["archive/data/0"]]
    assert [records[0].split("/", 1)[1] for _, _, records in found(kept(script))] == ["data/9"]
    assert [records[0].split("/", 1)[1] for _, _, records in found(kept(exported))] == ["data/weights/weight_9"]
    # The record around it has another checksum, too.
    inside = found(kept(nested))
    assert sorted(record.split("/", 1)[1] for _, _, records in inside for record in records) == ["extra/inner.pt", "extra/inner.pt/archive/data/0"]
    assert [records for _, _, records in found(state + kept(state))] == [["[1]/archive/data/0"]]
    compressed = bytearray(zipped.getvalue())
    compressed[len(compressed) // 2] ^= 1
    assert [records for _, _, records in found(bytes(compressed))] == [["model/inner.pt"]]
    # With --program it is told once.
    path.write_bytes(kept(exported))
    both = report(program, path, "--verify-content", "--program")["offences"]
    assert [offence["rule"] for offence in both if "checksum" in offence["message"]] == ["verify-content"]
    assert not fxtrace.check(path, verify_content=True) and fxtrace.check(state, verify_content=True)
    text = run(program, path, "--verify-content", code=1).stdout.decode()
    assert "its bytes do not match their checksum in the archive" in text and "data/weights/weight_9" in text
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"verify_content": True, "severity": "warning"}]}))
    assert run(program, path, "--rules", rules, code=0).returncode == 0
    baseline = tmp_path / "baseline.json"
    run(program, path, "--verify-content", "--write-baseline", baseline, code=0)
    run(program, path, "--verify-content", "--baseline", baseline, code=0)


def test_content_without_checksums(program, tmp_path):
    """Nobody can tell, which is an offence, too."""
    path, collection = tmp_path / "model", tmp_path / "model.json"
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"weight": torch.ones(30)}, path)
    finally:
        torch.serialization.set_crc32_options(True)
    for content in (path.read_bytes(), saved([1], legacy=True), b"text", b""):
        path.write_bytes(content)
        assert all(offence["undecided"] for offence in report(program, path, "--verify-content")["offences"])
        run(program, path, "--verify-content", code=1)
        run(program, path, "--verify-content", "--programs-only", "--no-failed", code=1) if content.startswith(b"\x80") else None
    run(program, NESTED, "--no-failed", code=0)
    program.stdout("trace", NESTED, "-o", str(collection))
    assert b"is a collection" in run(program, collection, "--verify-content", code=2).stderr


# --- Python ---


def test_package(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    found = fxtrace.check(NESTED, deny="aten.mul", ops=["aten.**", "operator.*"], max_params="1M", no_failed=True)
    assert not found and not found.holds and found.errors == 2
    assert [rule.holds for rule in found.rules] == [True, True, False, True]
    offence = next(iter(found))
    assert offence.rule == "deny aten.mul" and offence.places[0].module == "stage.first" and offence.source.line
    assert fxtrace.check(NESTED) and fxtrace.check(pathlib.Path(NESTED).read_bytes(), security=True)
    assert fxtrace.check(fxtrace.trace(NESTED, no_default_leaves=True), require=["torch.nn.Linear at-most 9", "no aten.item"], rules=[{"max_params": 10**6}])
    assert fxtrace.check(str(SAMPLES / "exported_dimensions.pt2"), max_macs=256, dim={"s19": "8..16"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'denny'"):
        fxtrace.check(NESTED, denny="x")
    with pytest.raises(fxtrace.UsageError, match="is not a relation"):
        fxtrace.check(NESTED, require="a b c")


# --- several models ---


@pytest.fixture
def workspace(tmp_path) -> pathlib.Path:
    """A folder with models as a checkout has them."""
    folder = tmp_path / "checkout"
    (folder / "models" / "more").mkdir(parents=True)
    shutil.copy(NESTED, folder / "models" / "nested.pt2")
    shutil.copy(SAMPLES / "failing_nested.pt", folder / "models" / "more" / "failing one.pt")
    return folder


def test_a_repository_of_three_models(program, workspace, monkeypatch):
    """One report in each format, with paths that GitHub finds in the repository."""
    monkeypatch.chdir(workspace)
    shutil.copy(SAMPLES / "nested_scripted.pt", workspace / "models" / "ö #1.pt")
    given = ["models/nested.pt2", "./models/more/failing one.pt", str(workspace / "models" / "ö #1.pt")]
    rules = ["--no-failed", "--deny", "aten.mul"]
    outputs = {name: run(program, *rules, f"--{name}", *given, code=1).stdout for name in ("json", "junit", "sarif", "markdown")}
    document = json.loads(outputs["json"])
    validator("check.schema.json").validate(document)
    assert [report["path"] for report in document["reports"]] == given and document["unread"] == []
    suites = ElementTree.fromstring(outputs["junit"])
    assert [suite.get("name") for suite in suites] == given
    assert int(suites.get("tests")) == sum(int(suite.get("tests")) for suite in suites) == 6
    assert outputs["markdown"].count(b"\n**") + outputs["markdown"].startswith(b"**") == 3 and b"**models/nested.pt2: " in outputs["markdown"]
    sarif = json.loads(outputs["sarif"])
    check_sarif(sarif)
    results = sarif["runs"][0]["results"]
    paths = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert set(map(urllib.parse.unquote, paths)) == {"models/nested.pt2", "models/more/failing one.pt", "models/ö #1.pt"}
    assert all((workspace / urllib.parse.unquote(path)).is_file() for path in paths)
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]
    assert len({*zip(paths, prints, strict=True)}) == len(results)
    assert str(workspace) not in outputs["sarif"].decode()

    # One that cannot be read is told, and does not keep the others.
    (workspace / "models" / "bad.pt").write_bytes(b"no model")
    done = run(program, *rules, "--json", *given[:2], "models/bad.pt", "models/none.pt", code=3)
    document = json.loads(done.stdout)
    validator("check.schema.json").validate(document)
    assert [item["path"] for item in document["unread"]] == ["models/bad.pt", "models/none.pt"] and not document["holds"]
    assert len(document["reports"]) == 2 and done.stderr.decode().count("fxtrace: error:") == 2
    errors = ElementTree.fromstring(run(program, *rules, "--junit", *given[:2], "models/bad.pt", code=3).stdout)
    assert errors.get("errors") == "1"


def test_names_that_nothing_has(program, tmp_path, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)

    def refused(*words, models=(NESTED,)):
        done = run(program, *models, *words, code=2)
        assert not done.stdout
        return done.stderr.decode()

    assert "did you mean 'aten.item.*'" in refused("--deny", "aten.itme.*")
    assert "'Linear'" in refused("--require", "Lineer followed-by Linear")
    assert "is not the path of a module" in refused("--require", "no Linear within @no.such.**")
    assert "--op-schema" in refused("--deny", "mylib.*")
    ops = tmp_path / "ops.txt"
    ops.write_text("aten.linear\naten.rellu\n")
    assert "did you mean 'aten.relu'" in refused("--ops", ops)
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"deny": "aten.itme", "name": "no sync"}]}))
    assert "the rule 'no sync'" in refused("--rules", rules)
    # Known and not there, declared, or in another model.
    run(program, NESTED, "--deny", "aten.item", "--deny", "Conv2d", "--deny", "scaled_dot_product_attention", "--deny", "torchvision.*", code=0)
    run(program, NESTED, "--deny", "mylib.*", "--op-schema", "mylib::op(Tensor x) -> Tensor", code=0)
    other = str(SAMPLES / "failing_nested.pt")
    own = next(module.type for module in fxtrace.trace(other).modules if module.type and not module.type.startswith("torch"))
    assert "is not an operator" in refused("--deny", own)
    run(program, NESTED, other, "--deny", own, code=1)


# --- size ---


@pytest.mark.volume
@pytest.mark.parametrize("make", [large_collections.nested, large_collections.flat])
def test_100_000_nodes(program, tmp_path, make):
    path = str(tmp_path / "large.json")
    large_collections.write(make(100_000), path)
    rules = ["--no-failed", "--max-macs=1", "--max-peak=1", "--deny=aten.relu", "--require=torch.nn.Linear followed-by aten.relu|aten.mul"]
    for suffix in ("txt", "json", "xml", "sarif", "md"):
        before = harness.processor_seconds()
        start = time.monotonic()
        run(program, path, *rules, "-o", tmp_path / f"out.{suffix}", code=1)
        seconds = harness.processor_seconds() - before
        print(f"{make.__name__} {suffix}: {seconds:.2f} s of processor time, {time.monotonic() - start:.2f} s")
        assert seconds < 8  # 2 s of a release build; this one has assertions and reads JSON


def test_files_without_a_program(program, tmp_path):
    """--programs-only, of the hook and the action, holds them to --security alone; a misspelled name is one all the same."""
    state = str(tmp_path / "weights.pt")
    torch.save(torch.nn.Linear(2, 2).state_dict(), state)
    model = os.path.join(harness.SAMPLES, "nested_exported.pt2")
    done = subprocess.run([program.path, "check", "--no-failed", state], capture_output=True, text=True)
    assert done.returncode == 3 and "holds no graph" in done.stderr
    for rules, says in ((["--no-failed", "--max-params=1M"], "no rule to check"), ([], "all 6 rules hold")):
        done = subprocess.run([program.path, "check", "--programs-only", *rules, state, model], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert f"note: {state} holds no program" in done.stderr and f"{state}: {says}" in done.stdout
        assert f"{model}: " in done.stdout
    misspelled = [program.path, "check", "--programs-only", "--deny", "aten.itme.*", state, model]
    assert subprocess.run(misspelled, capture_output=True).returncode == 2
    pickled = str(tmp_path / "module.pt")
    torch.save(torch.nn.Linear(2, 2), pickled)
    assert subprocess.run([program.path, "check", "--programs-only", "--security", pickled], capture_output=True).returncode == 1
