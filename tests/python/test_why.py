"""Tests fxtrace why: each suggestion has the stated effect in `fxtrace trace`; also modules, dimensions and hostile collections."""

import collections
import json
import os
import shlex
import time
from typing import Optional

import fxtrace
import golden
import harness
import hostile_collections
import large_collections
import pytest
import test_hints
import tiers
import torch
import zoo
from torch import Tensor, nn

SCHEMA = os.path.join(harness.ROOT, "schemas", "why.schema.json")
SAMPLES = sorted(  # of one model each
    name for name in os.listdir(harness.SAMPLES) if name.endswith((".pt", ".pt2")) and "several" not in name
)
FAILING = ["control_flow_root.pt", "control_flow_submodule.pt", "failing_nested.pt", "failing_second_call.pt", "raising.pt"]


def sample(name: str) -> str:
    return os.path.join(harness.SAMPLES, name)


@pytest.fixture(scope="module")
def why(program):
    import jsonschema_rs

    with open(SCHEMA, encoding="utf-8") as file:
        validator = jsonschema_rs.Draft202012Validator(json.load(file))

    def ask(model: str, *arguments: str) -> dict:
        answer = json.loads(program.stdout("why", "--json", *arguments, "--", model))
        validator.validate(answer)
        return answer

    return ask


def explained(program, *arguments: str) -> list[dict]:
    return json.loads(program.stdout("why", "--json", *arguments))["explained"]


def check_suggestions(program, why, model: str, *given: str) -> dict:
    """What is said of options is what a trace with them gives; pasted into a shell, as it were."""
    answer = why(model, *given)
    failed = harness.failed_modules(program.trace(model, *given))
    assert answer["modules"]["failed"] == len(failed)
    assert sorted(path for group in answer["failures"] for path in group["paths"]) == failed
    suggestions = answer["suggestions"]
    if not failed:
        assert suggestions is None
        return answer
    least = len(failed)
    for trial in suggestions["helpful"]:
        check_trial(program, model, given, trial)
        assert len(trial["failed"]) < len(failed)
        least = min(least, len(trial["failed"]))
    for options in suggestions["others"]:
        words = [word for option in options for word in shlex.split(option)]
        assert len(harness.failed_modules(program.trace(model, *given, *words))) >= len(failed), options
    best, leaves = suggestions["best"], suggestions["with_leaves"]
    if best is not None:
        check_trial(program, model, given, best)
        assert len(best["failed"]) <= least < len(failed)
        least = len(best["failed"])
    else:
        assert not suggestions["helpful"]
    if leaves is not None:
        check_trial(program, model, given, leaves)
        assert len(leaves["failed"]) < least
        least = len(leaves["failed"])
    if suggestions["with_leaves"] is None and least > 0:
        assert least == 1 and "" in (failed if best is None else best["failed"])  # the root is no leaf by a path
    return answer


def check_trial(program, model: str, given: tuple[str, ...], trial: dict) -> None:
    words = [word for option in trial["options"] for word in shlex.split(option)]
    collection = program.trace(model, *given, *words)
    assert harness.failed_modules(collection) == sorted(trial["failed"]), trial
    assert sum(len(graph["nodes"]) for graph in collection["graphs"]) == trial["nodes"], trial


@pytest.mark.parametrize("name", tiers.only(FAILING, SAMPLES))
@pytest.mark.parametrize("given", [(), ("--no-default-leaves",)], ids=["default", "no-default-leaves"])
def test_suggestions_for_samples(program, why, name, given):
    check_suggestions(program, why, sample(name), *given)


MODELS = [value for value in vars(test_hints).values() if isinstance(value, type) and issubclass(value, nn.Module)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_suggestions_for_models(program, why, tmp_path, model):
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.script(model().eval()), path)
    check_suggestions(program, why, path)


@pytest.mark.volume
@pytest.mark.parametrize("name", [name for name in zoo.MAKERS if zoo.split(name)[1] == "scripted"])
def test_suggestions_for_the_zoo(program, why, zoo_archive, name):
    for given in ((), ("--no-default-leaves",)):
        check_suggestions(program, why, zoo_archive(name), *given)


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = self.fc(x)
        return x


class Sized(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 1:
            x = x - x.mean(0)
        return x


class Both(nn.Module):
    """Needs two options at once, and a value; three modules that are alike."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.gates = nn.ModuleList(Gate() for _ in range(3))
        self.sized = Sized()
        self.spare = Gate()
        self.use_spare = False

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return self.spare(x)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = self.stem(x)
        for gate in self.gates:
            x = gate(x)
        if self.use_spare:
            x = self.spare(x)
        if mask is not None:
            x = self.spare(x) * mask
        return self.sized(x)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("why") / "both.pt")
    torch.jit.save(torch.jit.script(Both().eval()), path)
    return path


def test_the_smallest_set(program, why, both):
    answer = check_suggestions(program, why, both)
    assert [group["paths"] for group in answer["failures"]] == [["gates.0", "gates.1", "gates.2"], ["sized"]]
    suggestions = answer["suggestions"]
    alone = {tuple(trial["options"]): trial["failed"] for trial in suggestions["helpful"]}
    assert ("--control-flow subgraph",) in alone
    assert suggestions["best"]["failed"] == []
    assert len(suggestions["best"]["options"]) == min(len(options) for options, failed in alone.items() if not failed)
    answer = check_suggestions(program, why, both, "--leaf=@sized")
    assert answer["modules"]["failed"] == 3


def test_leaves_on_purpose(program, why, tmp_path):
    """One rule for what is alike, and only for what failed."""

    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("never")

    class Blocks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.h = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), Fails()) for _ in range(12))
            self.g = nn.ModuleList([Fails(), nn.Sequential(nn.ReLU()), Fails()])

        def forward(self, x: Tensor) -> Tensor:
            for block in self.h:
                x = block(x)
            for block in self.g:
                x = block(x)
            return x

    path = str(tmp_path / "blocks.pt")
    torch.jit.save(torch.jit.script(Blocks().eval()), path)
    answer = check_suggestions(program, why, path)
    assert answer["suggestions"]["best"] is None
    options = answer["suggestions"]["with_leaves"]["options"]
    assert options == ["--leaf '@h.*.1'", "--leaf @g.0", "--leaf @g.2"]
    text = program.stdout("why", path).decode()
    assert "h.0.1 … h.11.1 (12 modules)" in text


def test_limits(program, why, tmp_path):
    class Long(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(30):
                x = x.relu()
            return x

    path = str(tmp_path / "long.pt")
    torch.jit.save(torch.jit.script(nn.Sequential(Long())), path)
    for option in ("--max-iterations", "--max-nodes"):
        answer = check_suggestions(program, why, path, option, "20")
        assert [f"{option} 200"] in [trial["options"] for trial in answer["suggestions"]["helpful"]]


def test_an_operator_of_another_library(program, why, tmp_path):
    library = torch.library.Library("fxtwhy", "DEF")
    library.define("choose(Tensor x, int n) -> Tensor[]")

    class Calls(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            parts = torch.ops.fxtwhy.choose(x, 2)
            return parts[0] if len(parts) == 1 else parts[1]

    path = str(tmp_path / "calls.pt")
    torch.jit.save(torch.jit.script(nn.Sequential(Calls())), path)
    answer = check_suggestions(program, why, path)
    operators = answer["suggestions"]["operators"]
    if answer["modules"]["failed"]:
        assert [operator["name"] for operator in operators] == ["fxtwhy::choose"]
        assert operators[0]["schema"].startswith("fxtwhy::choose(")
        assert "--op-schema" in program.stdout("why", path).decode()


# --- modules ---


def test_modules(program, both):
    def one(*arguments: str) -> dict:
        (module,) = explained(program, *arguments)
        return module

    module = one(both, "stem")
    assert (module["status"], module["cause"], module["rule"]) == ("leaf", "rule", "default")
    assert module["places"] == [{**module["places"][0], "graph": "", "calls": 1, "nodes": 1, "first": "stem"}]
    module = one(both, "stem", "--leaf=@stem")
    assert module["rule"] == "@stem" and module["config"] is None
    module = one(both, "gates.1")
    assert module["cause"] == "failed" and module["failure"]["op"] == "prim::If"
    assert b"with --control-flow subgraph it does not fail" in program.stdout("why", both, "gates.1")
    assert one(both, "gates")["cause"] == "container"
    module = one(both, "gates.1.fc", "--leaf=@gates.*")
    assert (module["cause"], module["decided_by"], module["rule"]) == ("in_leaf", "gates.1", "@gates.*")
    module = one(both, "spare")
    assert (module["cause"], module["decided_by"]) == ("not_called", "")
    sites = {(site["method"], site["is_run"], site["condition"] and site["condition"]["text"]) for site in module["call_sites"]}
    assert sites == {("forward", True, "if self.use_spare:"), ("forward", True, "if mask is not None:"), ("encode", False, None)}
    assert [guard["expr"] for guard in module["guards"]] == ["mask is None"]
    assert one(both, "spare.fc")["cause"] == "in_uncalled"
    assert one(both, "")["cause"] == "traced"
    text = program.stdout("why", both, "gates.*").decode()
    assert text.startswith("gates.0 … gates.2 (3 modules)") and len(explained(program, both, "gates.*")) == 3


def test_rules_of_a_configuration(program, both, tmp_path):
    config = tmp_path / "rules.json"
    config.write_text(json.dumps({"rules": [{"path": "stem", "leaf": True}]}), encoding="utf-8")
    (module,) = explained(program, both, "stem", "--config", str(config))
    assert module["config"] == str(config)
    assert "rules.json" in program.stdout("why", both, "stem", "--config", str(config)).decode()


def test_shared_modules(program):
    modules = program.trace(sample("shared_tied_scripted.pt"))["modules"]
    later = next(module for module in modules if module["alias_of"] is not None)
    (module,) = explained(program, sample("shared_tied_scripted.pt"), later["path"])
    assert module["path"] == later["alias_of"] and module["asked"] == later["path"]
    assert later["path"] in module["other_names"]


@pytest.mark.parametrize("name", tiers.only(["failing_nested.pt", "exported_interleaved.pt2", "shared_tied_scripted.pt"], SAMPLES))
def test_every_module_of_a_sample(program, why, name):
    """What is told of all modules is what the collection has; the model and its saved trace say the same of it."""
    collection = program.trace(sample(name))
    answer = json.loads(program.stdout("why", sample(name), "--json", "**"))
    records = {module["path"]: module for module in collection["modules"] if module["alias_of"] is None}
    methods = collections.Counter(call["module"] for graph in collection["graphs"] for call in graph["execution"].get("method_calls", ()))
    assert [module["path"] for module in answer["explained"]] == list(records)
    for module in answer["explained"]:
        record = records[module["path"]]
        assert (module["status"], module["calls"]) == (record["status"], record["calls"])
        assert module["failure"] == record["failure"] or module["cause"] == "in_leaf"  # then of the module around it
        assert sum(place["calls"] for place in module["places"]) == record["calls"] + methods[module["path"]]
        if record["status"] != "unvisited":
            assert module["places"] or record["calls"] == 0


def test_a_path_that_is_not_there(program, both):
    done = program.run("why", both, "gates.9")
    assert done.returncode == 2 and b"did you mean gates." in done.stderr
    assert program.run("why", both, "x.*").returncode == 2
    assert program.run("why", both, "stem", "--dim", "x").returncode == 2


# --- dimensions ---


def dimension(program, model: str, name: str, *options: str) -> dict:
    return json.loads(program.stdout("why", model, "--json", "--dim", name, *options))["dimension"]


def test_a_dimension_of_inputs(program):
    found = dimension(program, sample("exported_dimensions.pt2"), "s19")
    assert found["range"] == {"low": 2, "high": 64}
    assert {(origin["input"], origin["place"], origin["size"]) for origin in found["inputs"]} == {
        ("x", "0", "s19"), ("pairs", "0", "s19*2"), ("words_ids_0", "0", "s19"),
    }  # fmt: skip
    assert "2 <= s19 <= 64" in [guard["text"] for guard in found["guards"]]
    assert {"s19*4", "s19*2+1"} <= {place["text"] for place in found["derived"]}
    assert found["made_by"] is None
    narrowed = dimension(program, sample("exported_dimensions.pt2"), "s19", "--dim", "s19=3..8")
    assert narrowed["range"] == {"low": 3, "high": 8}


def test_a_dimension_of_data(program):
    found = dimension(program, sample("exported_dimensions_unbacked.pt2"), "u0")
    assert found["inputs"] == [] and found["made_by"]["target"] == "aten.item.default"
    assert found["asserts"] and all("u0" in place["text"] for place in found["asserts"])


def test_ranges_that_were_tried(program):
    for model, name in (("exported_dimensions.pt2", "s19"), ("exported_dimensions_auto.pt2", "s17")):
        narrowed = dimension(program, sample(model), name)["narrowed"]
        assert narrowed
        for trial in narrowed:
            collection = program.trace(sample(model), *shlex.split(trial["option"]))
            assert sum(len(graph["nodes"]) for graph in collection["graphs"]) == trial["nodes"]
            assert sum(len(graph["guards"]) for graph in collection["graphs"]) == trial["guards"]


def test_a_dimension_of_a_script(program, both):
    options = ("--input", "x=float32[batch,4]")
    found = dimension(program, both, "batch", *options)
    assert found["range"] == {"low": 0, "high": None}
    assert [place["graph"] for place in found["questions"]] == ["sized"]
    assert {trial["option"]: trial["failed"] for trial in found["narrowed"]}["--dim batch=2.."] == 3
    saved = dimension(program, both, "batch", *options, "--dim", "batch=2..16")
    assert saved["range"] == {"low": 2, "high": 16}


# --- collections ---


def test_a_saved_collection(program, why, tmp_path):
    for name in ("failing_nested.pt", "exported_dimensions.pt2"):
        saved = tmp_path / "saved.json"
        saved.write_bytes(program.stdout("trace", sample(name)))
        answer, told = why(sample(name)), why(str(saved))
        assert told["failures"] == answer["failures"] and not told["tried"]
    found = dimension(program, str(saved), "s19")
    assert found["range"] == {"low": 2, "high": 64} and found["narrowed"] == []
    assert program.run("why", str(saved), "--leaf=x").returncode == 2


def check_hostile(program, case, folder) -> None:
    file = folder / "hostile.json"
    file.write_bytes(case.make())
    for arguments in ((), ("**",), ("--dim", "s0"), ("a\x1b]0;x",)):
        start = time.monotonic()
        done = program.run("why", "--max-memory", "2048", "--max-time", "20", str(file), *arguments)
        assert time.monotonic() - start < 60
        assert done.returncode in (0, 2, 3), (done.returncode, done.stderr[-500:])
        text = (done.stdout + done.stderr).decode("utf-8")  # that it is UTF-8
        assert all(c.isprintable() or c == "\n" for c in text if ord(c) < 0x300), case.name


@pytest.mark.parametrize("case", list(hostile_collections.cases()), ids=lambda case: case.name)
def test_hostile_collections(program, case, tmp_path):
    check_hostile(program, case, tmp_path)


@pytest.mark.volume
def test_mutated_collections(program, tmp_path):
    for case in [*hostile_collections.mutated(), *hostile_collections.flipped()]:
        check_hostile(program, case, tmp_path)


def test_hostile_names(program, tmp_path):
    collection = json.loads(golden.Case.read("json_failing_nested").stdout)
    text = json.dumps(collection).replace("nets.control_flow.", "nets.ga\\u001b[31m\\u202e\\nte.")
    text = text.replace("bool(", "bo\\u001b[31m\\u202e\\nol(").replace("nets/control_flow.py", "ga\\u001b[31m\\u202e\\nte.py")
    file = tmp_path / "names.json"
    file.write_text(text, encoding="utf-8")
    for arguments in ((), ("**",)):
        out = program.stdout("why", str(file), *arguments).decode()
        assert "\x1b" not in out and "\u202e" not in out and "ga\\x1b[31m" in out


def seconds(program, *arguments: str) -> float:
    start = harness.processor_seconds()
    program.stdout(*arguments)
    return harness.processor_seconds() - start


@pytest.mark.volume
@pytest.mark.parametrize("make", [large_collections.nested, large_collections.flat])
def test_a_hundred_thousand_nodes(program, tmp_path, make):
    file = tmp_path / "large.json"
    large_collections.write(make(100_000), str(file))
    for arguments in ((), ("**",)):
        assert seconds(program, "why", str(file), *arguments) < 5


@pytest.mark.volume
def test_a_thousand_failures(program, why, tmp_path):
    path = str(tmp_path / "many.pt")
    model = nn.Sequential(*(Gate() for _ in range(1000)))
    torch.jit.save(torch.jit.script(model.eval()), path)
    answer = why(path)
    assert answer["modules"]["failed"] == 1000 and len(answer["failures"]) == 1
    assert answer["suggestions"]["best"]["options"] == ["--control-flow subgraph"]
    assert seconds(program, "why", path) < 5


# --- Python ---


def test_the_package(program, both, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    found = fxtrace.why(both)
    assert found.failed_modules == 4 and found.suggestions.best.failed == ()
    assert found.failures[0].paths == ("gates.0", "gates.1", "gates.2") and found.failures[0].failure.source.line > 0
    assert fxtrace.why(both, "stem", leaf="@stem").explained[0].rule == "@stem"
    assert fxtrace.why(both, "").explained[0].cause == "traced"
    assert fxtrace.why(fxtrace.trace(both)).tried is False
    found = fxtrace.why(sample("exported_dimensions.pt2"), dim=["s19", "s99=4..8"]).dimension
    assert (found.low, found.high) == (2, 64)
    assert fxtrace.why(both, dim="batch", input={"x": "float32[batch,4]"}).dimension.questions[0].graph == "sized"
    with open(both, "rb") as file:
        assert fxtrace.why(file.read()).failed_modules == 4
    with pytest.raises(TypeError, match="pass_"):
        fxtrace.why(both, pass_="functional")
    with pytest.raises(fxtrace.UsageError, match="no module"):
        fxtrace.why(both, "nothing")
