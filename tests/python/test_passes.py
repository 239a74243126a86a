"""Tests graph passes: the results of a graph, and its effects on inputs and buffers, stay the same bit for bit."""

import json
import pathlib
import warnings

import fxtrace
import harness
import pytest
import random_layouts
import tiers
import torch
import tvcompat
import zoo
from fxtrace import _exported
from test_exported_zoo import prepare

SAMPLES = {sample["file"]: sample for sample in harness.samples()}
EXPORTED = {sample["file"]: sample for sample in harness.samples("exported_program")}
RULES = ("default", "no-default-leaves")


# Where nn.MultiheadAttention is called for itself torch gives Python an undefined tensor.
NOT_RUN = ("tv_vit_scripted",)


def pass_names(program) -> list[str]:
    return [line.split()[0] for line in program.stdout("trace", "--list-passes").decode().splitlines()]


def check_pass(before: dict, after: dict) -> None:
    """What a pass leaves as it is."""
    harness.check_collection(after)
    assert after["modules"] == before["modules"] and after["parameters"] == before["parameters"]
    for old, new in zip(before["graphs"], after["graphs"], strict=True):
        assert old["execution"] == new["execution"]
        added = new["guards"][len(old["guards"]) :]
        assert old["guards"] == new["guards"][: len(old["guards"])] and all(guard["expr"].endswith(".is_contiguous()") for guard in added)
        inputs = [[node["name"] for node in graph["nodes"] if node["op"] == "placeholder"] for graph in (old, new)]
        assert inputs[0] == inputs[1]


@pytest.mark.parametrize("rules", tiers.only(["no-default-leaves"], RULES))
@pytest.mark.parametrize("name", tiers.one_in(4, SAMPLES))
def test_torchscript_samples(program, name, rules):
    sample = SAMPLES[name]
    path = harness.sample_path(sample)
    method = ["--method", sample["method"]] if sample["method"] != "forward" else []
    options = [*harness.RULES[rules], *method]
    before = program.trace(path, *options)
    for each in pass_names(program):
        after = program.trace(path, *options, "--pass", each)
        check_pass(before, after)
        if after["graphs"][0] == before["graphs"][0]:
            continue
        for inputs in sample["inputs"]:
            args, kwargs = harness.make_inputs(inputs)
            harness.compare_graphs(path, before["graphs"][0], after["graphs"][0], args, kwargs)


@pytest.mark.parametrize("rules", tiers.only(["no-default-leaves"], RULES))
@pytest.mark.parametrize("name", EXPORTED)
def test_exported_samples(program, name, rules):
    sample = EXPORTED[name]
    path = harness.sample_path(sample)
    exported = harness.load_exported(sample)
    options = [*harness.RULES[rules], *(["--model", sample["model"]] if "model" in sample else [])]
    before = program.trace(path, *options)
    runs = [harness.ExportedRun(path, exported, *harness.make_inputs(inputs)) for inputs in sample["inputs"]]
    for each in pass_names(program):
        after = program.trace(path, *options, "--pass", each)
        check_pass(before, after)
        if after["graphs"][0] == before["graphs"][0]:
            continue
        for run in runs:
            run.compare(after["graphs"][0])


@pytest.mark.volume
def test_a_saved_collection_gives_the_same(program, tmp_path):
    """render --pass does what trace --pass does, and says so in the options."""
    for name in (*SAMPLES, *EXPORTED):
        path = harness.sample_path({**SAMPLES, **EXPORTED}[name])
        sample = {**SAMPLES, **EXPORTED}[name]
        options = ["--model", sample["model"]] if "model" in sample else []
        saved = tmp_path / "saved.json"
        saved.write_bytes(program.stdout("trace", path, *options))
        rendered = program.stdout("render", str(saved), "--pass", "functional")
        assert rendered == program.stdout("trace", path, *options, "--pass", "functional")
        assert json.loads(rendered)["options"]["pass"] == ["functional"]


class Scripted(torch.nn.Module):
    """Regions of autocast that are for no call, and one that is."""

    def forward(self, x: torch.Tensor):
        with torch.autocast("cpu"):
            rows = x.size(0)
            with torch.autocast("cpu", enabled=False):
                rows = rows + 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
        with torch.autocast("cpu"):
            unused = x @ x + 1
        return y, x @ x, rows


class Exported(torch.nn.Module):
    """The same for torch.export, and modes of gradients."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(4, 4))

    def forward(self, x):
        with torch.autocast("cpu"):
            rows = x.shape[0]
        with torch.no_grad():
            columns = x.shape[1]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ self.w
        with torch.no_grad():
            z = x * self.w
            with torch.autocast("cpu"):
                rows = rows + 1
        torch._C._log_api_usage_once("exported")
        return y, x @ self.w, z * rows, self.w * columns


def targets(collection: dict) -> list[str]:
    return [node["target"] for node in collection["graphs"][0]["nodes"] if node["op"] == "call_function"]


@pytest.mark.parametrize("each", ["eliminate-dead-code", "functional"])
def test_switches(program, tmp_path, each):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Scripted().eval()).save(path)
    x = torch.rand(4, 4)
    before, after = program.trace(path), program.trace(path, "--pass", each)
    check_pass(before, after)
    regions = [sum(target.endswith("_enter_autocast") for target in targets(traced)) for traced in (before, after)]
    assert regions == [4, 1] and targets(after).count("aten.matmul.default") == 2
    harness.compare_graphs(path, before["graphs"][0], after["graphs"][0], (x,), {})


@pytest.mark.parametrize("each", ["eliminate-dead-code", "functional"])
def test_switches_of_exported_programs(program, tmp_path, each):
    path = str(tmp_path / "model.pt2")
    exported = torch.export.export(Exported(), (torch.rand(4, 4),))
    torch.export.save(exported, path)  # torch itself cannot load empty regions
    x = torch.rand(4, 4)
    before, after = program.trace(path), program.trace(path, "--pass", each)
    check_pass(before, after)
    regions = [sum("wrap_with" in target for target in targets(traced)) for traced in (before, after)]
    assert regions[0] > regions[1] == 2
    harness.ExportedRun(path, exported, (x,), {}).compare(after["graphs"][0])
    results = [harness.rebuild_exported(path, traced["graphs"][0], exported)(x) for traced in (before, after)]
    assert [[y.requires_grad for y in each] for each in results] == [[True, True, False, True]] * 2


def check_passes(program, saved: pathlib.Path, path: str, options: list[str], make_run) -> None:
    """Each pass on one trace.  `make_run` gives what compares graphs; those that are equal run once."""
    saved.write_bytes(program.stdout("trace", path, *options))
    before = json.loads(saved.read_bytes())
    run, ran = make_run(before["graphs"][0]), [before["graphs"][0]]
    for each in pass_names(program):
        after = json.loads(program.stdout("render", str(saved), "--pass", each))
        check_pass(before, after)
        if after["graphs"][0] in ran:
            continue
        ran.append(after["graphs"][0])
        try:
            program.validate(after)
            run.compare(after["graphs"][0])
        except Exception as error:
            error.add_note(f"after {each}, {options}")
            raise


@pytest.mark.parametrize("name", tiers.in_turn([], [name for name in zoo.shapes_names() if name not in NOT_RUN]))
def test_torchscript_models(program, zoo_archive, tmp_path, name):
    path = zoo_archive(name)
    tvcompat.add_kernels()
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    # Those that only the test of shapes asks for by the rules with which more nodes are the model's own.
    for rules in RULES[1:] if name in zoo.SHAPES_ONLY else RULES:
        check_passes(
            program, tmp_path / "saved.json", path, harness.RULES[rules],
            lambda graph: harness.GraphRun(path, graph, inputs, {}),
        )  # fmt: skip


@pytest.mark.parametrize("name", tiers.in_turn([], zoo.exported_names()))
def test_exported_models(program, zoo_archive, tmp_path, name):
    path = zoo_archive(name)
    prepare(name)
    inputs = torch.load(path.removesuffix(".pt2") + ".inputs.pt")
    run = harness.ExportedRun(path, _exported.load(path), inputs, {})
    for rules in RULES:
        check_passes(program, tmp_path / "saved.json", path, harness.RULES[rules], lambda _: run)


class Written(torch.nn.Module):
    """Writes through views and conversions; each gives back what it wrote to."""

    def __init__(self, name):
        super().__init__()
        self.function = getattr(self, name)

    def forward(self, x):
        return self.function(x)

    def windows(self, x):
        a, b, c, d = x.clone(), x.clone(), x.clone(), x.clone()
        a.unfold(1, 2, 2).add_(1)  # one column is in no window
        b.unfold(0, 1, 2).mul_(-2)
        c.unfold(-1, 5, 3).neg_()  # there is room for one
        d.unfold(0, 2, 3).unfold(1, 2, 2)[0, 1].sub_(3)
        return a, b, c, d

    def windows_of_an_input(self, x):
        x.unfold(0, 2, 2).mul_(-0.0)
        return x + 1

    def conversions(self, x):
        half, same = x.to(torch.float16), x.to(torch.float32)
        copy = x.to(torch.float32, copy=True)
        half.add_(1 / 3)
        same.mul_(3)
        copy.sub_(7)
        return half, same, copy, x + 1

    def moved(self, x):
        y = x.clone()
        y.movedim(1, 0).add_(torch.arange(3.0))
        y.moveaxis((0, 1), (1, 0))[2].mul_(2)
        return y

    def out(self, x):
        c, wide = torch.zeros(4, 7), torch.zeros(3, 7, dtype=torch.float64)
        torch.sin(x[0], out=c[2])
        torch.add(x[0], x[1], out=c[0])
        torch.sum(x, 0, out=c[3])
        torch.exp(x[0], out=wide[1])
        return c, wide


@pytest.mark.parametrize(
    "name, is_dynamic",
    [(name, False) for name in ("windows", "windows_of_an_input", "conversions", "moved", "out")]
    + [(name, True) for name in ("windows", "windows_of_an_input", "conversions")],
)
def test_writes_of_exported_programs(program, tmp_path, name, is_dynamic):
    path, module = str(tmp_path / "program.pt2"), Written(name)
    x = torch.randn(3, 7)
    dynamic = ({0: torch.export.Dim("n", min=3, max=9), 1: torch.export.Dim.STATIC},) if is_dynamic else None
    exported = torch.export.export(module, (x.clone(),), dynamic_shapes=dynamic)
    torch.export.save(exported, path)
    for given in (x, torch.randn(6, 7)) if is_dynamic else (x,):
        run = harness.ExportedRun(path, _exported.load(path), (given,), {})
        graph = program.trace(path, "--no-default-leaves", "--pass", "remove-inplace")["graphs"][0]
        written = {node["target"] for node in graph["nodes"] if "_." in node["target"]}
        assert written <= {"aten.copy_.default"}, written
        run.compare(graph)
        run.compare(program.trace(path, "--no-default-leaves", "--pass", "functional")["graphs"][0])


class ScriptedOut(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        c, wide = torch.zeros(4, 7), torch.zeros(3, 7, dtype=torch.float64)
        torch.sin(x[0], out=c[2])
        torch.add(x[0], x[1], out=c[0])
        torch.exp(x[0], out=wide[1])
        half = x.to(torch.float16)
        half.add_(1 / 3)
        y = x.clone()
        y.unfold(1, 2, 3).mul_(2)
        return c, wide, half, y


def test_writes_of_scripted_models(program, tmp_path):
    path, x = str(tmp_path / "model.pt"), torch.randn(3, 7)
    torch.jit.save(torch.jit.script(ScriptedOut()), path)
    options = ["--input", "x=float32[3,7]"]
    before = program.trace(path, *options)["graphs"][0]
    after = program.trace(path, *options, "--pass", "remove-inplace")["graphs"][0]
    assert not [node for node in after["nodes"] if ".out" in node["target"] or "_." in node["target"]]
    harness.compare_graphs(path, before, after, [x], {})


class Overlaps(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y.unfold(1, 3, 2).add_(1)
        return y


class Sums(torch.nn.Module):
    def forward(self, x):
        return torch.sum(x, 0, out=torch.zeros(7, dtype=torch.float64))


@pytest.mark.parametrize("module, reason", [(Overlaps, "may overlap"), (Sums, "computes in the dtype of out")])
def test_writes_that_have_no_functional_form(program, tmp_path, module, reason):
    """torch's functionalization refuses the one and rounds the other before it converts."""
    path = str(tmp_path / "program.pt2")
    torch.export.save(torch.export.export(module(), (torch.randn(3, 7),)), path)
    before = program.trace(path, "--no-default-leaves")["graphs"][0]
    done = program.run("trace", path, "--no-default-leaves", "-f", "json", "--pass", "remove-inplace")
    assert reason in done.stderr.decode()
    assert json.loads(done.stdout)["graphs"][0]["nodes"] == before["nodes"]


def outcome(function, x):
    """What it gives for a copy with the same strides, and what becomes of that."""
    given = torch.empty_strided(x.shape, x.stride()).copy_(x)
    return [*function(given), given]


@pytest.mark.parametrize("seed", tiers.in_turn([0], range(60), 1))
def test_views_and_copies(program, tmp_path, monkeypatch, seed):
    """Writes through what reshape() and others make a view or a copy of, as strides say."""
    monkeypatch.setenv("FXTRACE", program.path)
    path, removed = str(tmp_path / "program.pt2"), 0
    count = 4 if seed == 0 else 40
    kinds = (random_layouts.VIEWS, random_layouts.VIEWS, random_layouts.WRITES, random_layouts.UNARY)
    for number in range(count):
        x, scope = torch.rand(2, 3, 4), {"torch": torch, "Tensor": torch.Tensor}
        exec(random_layouts.Drawn(40 * seed + number, {"x": x.clone()}, 10, kinds).source(), scope)  # noqa: S102  (made here)
        module = torch.nn.Module()
        module.forward = scope["f"]
        torch.export.save(torch.export.export(module, (x.clone(),)), path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = fxtrace.trace(path, no_default_leaves=True, pass_="functional")
        removed += not [node for node in graph.root if node.target.endswith("_.Tensor") or "_." in node.target and node.target != "aten.copy_.default"]
        rebuilt = graph.graph_module()
        for given in (x, x.transpose(0, 2).contiguous().transpose(0, 2), torch.rand(4, 3, 2).permute(2, 1, 0), torch.rand(2, 3, 8)[..., ::2]):
            try:
                expected = outcome(torch.export.load(path).module(), given)
                actual = outcome(rebuilt, given)
            except Exception as error:  # a view that there is not, or a guard
                assert given is not x and ("view size" in str(error) or "is_contiguous" in str(error)), error
                continue
            for result, wanted in zip(actual, expected, strict=True):
                assert torch.equal(result, wanted)
    assert removed > 0.6 * count
