"""Tests the functions of the package: their list, their help, summaries, catalogs, and models in torch's memory."""

import copy
import inspect
import io
import json
import os
import pickle
import pydoc
import re
import sqlite3
import subprocess
import sys
import warnings

import fxtrace
import harness
import pytest
import torch
from fxtrace import _keywords, _leaf, _options
from torch import nn

EXPORTED = os.path.join(harness.SAMPLES, "nested_exported.pt2")
SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")
FAILING = os.path.join(harness.SAMPLES, "failing_nested.pt")
DIMENSIONS = os.path.join(harness.SAMPLES, "exported_dimensions.pt2")
FUNCTIONS = ("bom", "catalog", "check", "convert", "diff", "extract", "fetch", "find_program", "load", "order", "partition", "summary", "trace", "verify", "why")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    warnings.simplefilter("ignore", fxtrace.FxtraceWarning)
    torch.manual_seed(0)


def in_python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": harness.PACKAGE}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stdout


# Which there are


def test_dir_is_what_there_is():
    assert dir(fxtrace) == sorted([*fxtrace.__all__, "__version__"])
    functions = {name for name in fxtrace.__all__ if name.islower()}
    assert functions == set(FUNCTIONS)
    assert all(hasattr(fxtrace, name) for name in fxtrace.__all__)
    # Before any of them was asked for, and whatever was imported.
    code = "import fxtrace; before = dir(fxtrace); import fxtrace.catalog, fxtrace._diff; print(before == dir(fxtrace), *before)"
    assert in_python(code).split() == ["True", *dir(fxtrace)]


def test_the_package_can_be_looked_at():
    """Where it was not installed, too: then nothing says which version it is."""
    text = pydoc.plain(pydoc.render_doc(fxtrace))
    assert all(f"{name}(" in text for name in FUNCTIONS if name != "catalog")
    assert dict(inspect.getmembers(fxtrace)).keys() >= set(fxtrace.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help(name):
    function = getattr(fxtrace, name)
    text = pydoc.plain(pydoc.render_doc(function))
    words = {"find_program": ["PATH"], "load": ["Returns", "Raises InputError"]}.get(name, ["Returns", "Raises UsageError", "InputError"])
    assert all(word in text for word in words), text
    parameters = [each for each in inspect.signature(function).parameters if each not in ("options", "source")]
    if name != "trace":  # which leaves options to the command line's help
        assert all(text.count(parameter) > 1 for parameter in parameters), text


@pytest.mark.parametrize("name", _options.TAKEN)
def test_keywords_are_the_options(program, name):
    """As they are spelt on the command line, but for what Python has as words, and --model."""
    spelt = {"from": "from_", "pass": "pass_", "model": "model_name"}
    text = program.stdout(name, "--help").decode()
    options = {option.replace("-", "_") for option in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.MULTILINE)}
    function = getattr(fxtrace, name)
    own = set(inspect.signature(function.__call__ if name == "catalog" else function).parameters) - {"models", "others", "output", "options", "storage_options"}
    keywords = own | (_options.TAKEN[name] if name != "trace" else set())
    assert keywords <= {spelt.get(option, option) for option in options} | {"model", "before", "after", "module"}
    assert "model" in own or name in ("catalog", "diff")
    assert _options.OPTIONS[name].keys() == own - {"model", "before", "after", "format"} - ({"module"} if name == "why" else set())


def test_forms_of_values():
    forms = {form for table in _options.OPTIONS.values() for _, form in table.values()}
    assert forms == {*_keywords._CONVERTERS, "flag"}


def test_catalogs_module_is_the_function():
    """`fxtrace.catalog.rows` was there first."""
    for code in (
        "import fxtrace.catalog; catalog = fxtrace.catalog",
        "import fxtrace; catalog = fxtrace.catalog; import fxtrace.catalog; assert fxtrace.catalog is catalog",
        "from fxtrace import catalog",
        "from fxtrace.catalog import rows; import fxtrace; catalog = fxtrace.catalog; assert catalog.rows == rows",
    ):
        made = f"print(len(catalog({EXPORTED!r}).execute('SELECT * FROM models').fetchall()), callable(catalog.rows))"
        assert in_python(f"{code}; {made}") == "1 True\n"


# Summaries, and sizes that are given


@pytest.mark.parametrize(
    "path, keywords, arguments",
    [
        (EXPORTED, {}, []),
        (EXPORTED, {"leaf": "nets.nested.Block", "depth": 1}, ["--leaf", "nets.nested.Block", "--depth", "1"]),
        (EXPORTED, {"fold": True, "sort": "macs"}, ["--fold", "--sort", "macs"]),
        (SCRIPTED, {"input": {"x": "float32[b,4]"}, "at": {"b": 3}}, ["--input", "x=float32[b,4]", "--at", "b=3"]),
        (SCRIPTED, {"input": {"x": "float32[b,4]"}, "at": {"x": (3, 4)}}, ["--input", "x=float32[b,4]", "--at", "x=3x4"]),
        (DIMENSIONS, {"at": "s19=2,s99=4", "columns": "weights"}, ["--at", "s19=2,s99=4", "--columns", "weights"]),
        (DIMENSIONS, {"columns": ["weights", "intensity"]}, ["--columns", "weights,intensity"]),
    ],
)
def test_summaries_are_the_programs(program, path, keywords, arguments):
    expected = json.loads(program.stdout("summary", "--json", path, *arguments))
    found = fxtrace.summary(path, **keywords)
    assert found == expected
    with open(path, "rb") as file:  # the name alone is not there
        assert fxtrace.summary(file, **keywords)["modules"] == expected["modules"]
    shown = {name: value for name, value in keywords.items() if name not in ("input", "leaf")}
    traced = {name: value for name, value in keywords.items() if name in ("input", "leaf")}
    collection = fxtrace.trace(path, no_default_leaves=True, **traced)
    assert fxtrace.summary(collection, **shown) == collection.summary(**shown)
    if "leaf" not in keywords:
        assert collection.summary(**shown)["modules"] == expected["modules"]


def test_one_program_of_several():
    path = os.path.join(harness.SAMPLES, "exported_several.pt2")
    inputs = [node.name for node in fxtrace.trace(path, model_name="decoder").root if node.op == "placeholder"]
    assert [value["name"] for value in fxtrace.summary(path, model_name="decoder")["inputs"]] == inputs
    assert [module.path for module in fxtrace.order(path, model_name="decoder").modules]
    assert fxtrace.extract(path, model_name="decoder", from_=inputs[0]).root


def test_summaries_say_what_the_program_says():
    (hint,) = fxtrace.summary(SCRIPTED).messages
    assert hint.kind == "hint" and "--input 'x=float32[1,4]'" in hint.text
    with pytest.raises(TypeError, match=r"summary\(\) got an unexpected keyword argument 'leafs'"):
        fxtrace.summary(EXPORTED, leafs="a")
    for at in (3, [3], {"s19": None}, {"s19": "many"}, {"nothing": 3}, "s19"):
        with pytest.raises(fxtrace.UsageError, match="at expects|--at: "):
            fxtrace.summary(DIMENSIONS, at=at)
    with pytest.raises(fxtrace.UsageError, match="--columns: unknown column 'cache'"):
        fxtrace.summary(DIMENSIONS, columns="cache")
    with pytest.raises(fxtrace.InputError, match="no such file"):
        fxtrace.summary("none.pt2")


def test_costs_where_a_model_will_run(program):
    at = {"s19": 5, "s99": 7}
    collection = fxtrace.trace(DIMENSIONS)
    for model in (DIMENSIONS, collection):
        assert fxtrace.summary(model, at=at)["totals"]["macs"] == 80
        assert fxtrace.check(model, max_macs=80, at=at) and not fxtrace.check(model, max_macs=79, at=at)
        assert not fxtrace.check(model, max_macs=80)
        assert [module.macs for module in fxtrace.order(model, at=at).modules] == [80, 80]
        assert [module.macs for module in fxtrace.order(model).modules] == [None, None]
        found = fxtrace.diff(model, EXPORTED, at={"s19": 5})
        assert (found.before.macs, found.after.macs) == (80, 368)
    expected = program.stdout("render", DIMENSIONS, "-f", "dot", "--at", "s19=5,s99=7").decode()
    assert collection.render("dot", at=at) == collection.render("dot", at={"x": torch.zeros(5, 4), "words_ids_0": (5, 7)}) == expected
    assert collection.render("dot") != expected


# Catalogs


def test_catalogs(tmp_path):
    file = tmp_path / "models.sqlite"
    both = [EXPORTED, SCRIPTED]
    made = fxtrace.catalog(both, file, jobs=1)
    counts = "SELECT path, nodes FROM models ORDER BY path"
    assert made.execute(counts).fetchall() == sqlite3.connect(file).execute(counts).fetchall() != []
    assert fxtrace.catalog(both).execute(counts).fetchall() == made.execute(counts).fetchall()  # in memory
    added = fxtrace.catalog(FAILING, file, control_flow="subgraph")
    assert [os.path.basename(row[0]) for row in added.execute(counts)] == sorted(map(os.path.basename, [*both, FAILING]))
    folder = fxtrace.catalog(tmp_path, include="*.sqlite", no_recursive=True)
    assert folder.execute("SELECT error IS NOT NULL FROM models").fetchall() == [(1,)]
    assert fxtrace.catalog(tmp_path).execute(counts).fetchall() == []
    for each in (made, added, folder):
        each.close()


def test_what_is_in_no_catalog(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<html>")
    with pytest.warns(fxtrace.FxtraceWarning, match="2 files: 1 read, 1 could not be read") as caught:
        fxtrace.catalog([page, EXPORTED])
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(fxtrace.InputError, match="page.html: this is"):
        fxtrace.catalog(page, strict=True)
    for paths in (4, [4], None):
        with pytest.raises(fxtrace.UsageError, match="models expects a path or several"):
            fxtrace.catalog(paths)
    with pytest.raises(fxtrace.InputError, match="no such file"):
        fxtrace.catalog("none")
    with pytest.raises(TypeError, match=r"catalog\(\) got an unexpected keyword argument 'job'"):
        fxtrace.catalog(EXPORTED, job=1)


# Models in memory


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.recurrent = nn.LSTM(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.recurrent(torch.relu(self.linear(x)))[0]


TABLE = torch.rand(40, 6, 6)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.again = self.first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.again(self.first(x))


class WithTable(Net):
    """A constant that is too large for the collection."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) @ TABLE[1]


class InTraced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.jit.trace(Net(), torch.rand(3, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.net(x))


X = torch.rand(3, 6)
MAKERS = {
    "exported": lambda: torch.export.export(WithTable(), (X,)),
    "traced": lambda: torch.jit.trace(WithTable(), X),
    "scripted": lambda: torch.jit.script(Net()),
    "traced in scripted": lambda: torch.jit.script(InTraced()),
    "frozen": lambda: torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(6, 200), nn.Linear(200, 6)).eval())),
    "function": lambda: torch.jit.script(lambda_of_tensors),
}


def lambda_of_tensors(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + 1


def result_of(model, x: torch.Tensor) -> torch.Tensor:
    return (model.module() if isinstance(model, torch.export.ExportedProgram) else model)(x)


@pytest.mark.parametrize("kind", MAKERS)
def test_models_in_memory_are_their_files(kind, tmp_path):
    model = MAKERS[kind]()
    path = tmp_path / ("archive.pt2" if kind == "exported" else "model.pt")  # records are named as the file is
    (torch.export.save if kind == "exported" else torch.jit.save)(model, str(path))
    for options in ({}, {"no_default_leaves": True}, {"max_depth": 1}):
        collection, of_file = fxtrace.trace(model, **options), fxtrace.trace(path, **options)
        assert collection.to_json()["graphs"] == of_file.to_json()["graphs"]
        assert collection.to_json()["parameters"] == of_file.to_json()["parameters"]
        module = collection.graph_module()
        assert torch.allclose(module(X), result_of(model, X), atol=1e-6)
    assert fxtrace.summary(model)["totals"] == fxtrace.summary(path)["totals"]
    assert not fxtrace.diff(model, path, only=["parameters", "nodes", "weights"])
    assert fxtrace.order(model).parameters == fxtrace.order(path).parameters
    assert fxtrace.check(model, no_failed=True).offences == fxtrace.check(path, no_failed=True).offences
    assert fxtrace.why(model).failures == fxtrace.why(path).failures


@pytest.mark.parametrize("kind", ["exported", "traced", "scripted"])
def test_the_model_is_kept(kind):
    """What a graph module has is the model's own; copies and parts have it, and a pickle has not."""
    model = MAKERS[kind]()
    collection = fxtrace.trace(model, max_depth=1)
    parameters = model.state_dict if kind == "exported" else dict(model.named_parameters())
    for each in (collection, copy.copy(collection), copy.deepcopy(collection), collection.run_passes("remove-noops")):
        module = each.graph_module()
        assert {each.data_ptr() for each in module.parameters()} <= {each.data_ptr() for each in parameters.values()}
    part = fxtrace.extract(model, "first") if kind == "traced" else fxtrace.extract(collection, "first")
    shown = part.graph_module()(X)
    shown = shown[0] if isinstance(shown, tuple) else shown
    first = Block()
    first.load_state_dict({name.removeprefix("first."): value for name, value in parameters.items() if name.startswith("first.")})
    assert torch.allclose(shown, first(X), atol=1e-6)
    with pytest.raises(fxtrace.RebuildError, match="the modules and parameters are missing"):
        pickle.loads(pickle.dumps(collection)).graph_module()
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.zero_()
    assert not collection.graph_module()(X).abs().sum()


def test_own_modules_in_the_place_of_what_is_kept():
    net = WithTable()
    for model in (torch.export.export(net, (X,)), torch.jit.script(Net())):
        with torch.no_grad():
            own = net if isinstance(model, torch.export.ExportedProgram) else Net()
            assert torch.allclose(fxtrace.trace(model).graph_module(own)(X), own(X), atol=1e-6)


def test_verify_in_memory():
    assert fxtrace.verify(MAKERS["exported"]())


@pytest.mark.parametrize(
    "use",
    [fxtrace.trace, fxtrace.summary, fxtrace.check, fxtrace.order, fxtrace.why, fxtrace.extract, fxtrace.verify, fxtrace.convert]
    + [lambda model: fxtrace.diff(model, EXPORTED), lambda model: fxtrace.diff(EXPORTED, model)],
)
def test_what_is_no_model(use):
    """A TypeError, and one of the package's errors."""
    for model in (Net(), torch.fx.symbolic_trace(nn.ReLU())):
        with pytest.raises(TypeError, match=r"got an nn.Module \(\w+\): give torch.export.export\(model, args\) or ") as caught:
            use(model)
        assert isinstance(caught.value, fxtrace.UsageError)
    for model in (4, None, ["model.pt"]):
        with pytest.raises(TypeError, match="expected a file, an ExportedProgram or a ScriptModule as the model, got ") as caught:
            use(model)
        assert caught.value.hints == ("torch.export.export and torch.jit.script make one of an nn.Module",)


def test_what_torch_cannot_write():
    class Holder(nn.Module):
        def forward(self, x):
            return x + 1

    program = torch.export.export(Holder(), (X,))
    program._example_inputs = ((lambda: 1,), {})  # torch writes them as well
    with pytest.raises(fxtrace.InputError, match=r"^torch.export.save cannot write this ExportedProgram: "):
        fxtrace.trace(program)


def test_torch_is_not_imported():
    code = (
        "import fxtrace, sys\n"
        f"fxtrace.trace({EXPORTED!r}), fxtrace.summary({EXPORTED!r}), str(fxtrace.trace({EXPORTED!r}))\n"
        "try: fxtrace.trace(4)\n"
        "except TypeError: print('torch' in sys.modules)\n"
    )
    assert in_python(code) == "False\n"


# Graph modules


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"class": nn.Linear(6, 6), "box": nn.Linear(6, 6)})
        self.register_parameter("lambda", nn.Parameter(torch.rand(6)))

    def forward(self, x, scale=None):
        x = x if scale is None else x * scale["if"]
        return {"class": self.heads["class"](x) * getattr(self, "lambda"), "box": self.heads["box"](x)}


@pytest.mark.parametrize("args", [(X,), (X, {"if": torch.rand(6)})], ids=["plain", "nested inputs"])
@pytest.mark.parametrize("options", [{}, {"no_default_leaves": True}, {"max_depth": 1}], ids=str)
def test_names_that_are_pythons_words_survive_a_pickle(args, options):
    module = fxtrace.trace(torch.export.export(Heads(), args), **options).graph_module()
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(module))))
    saved = io.BytesIO()
    torch.save(module, saved)
    saved.seek(0)
    for other in (twice, torch.load(saved, weights_only=False), copy.deepcopy(module)):
        assert harness.difference(module(*args), other(*args)) is None


def test_a_programs_nodes_are_listed_once(monkeypatch):
    """Not for each leaf, which takes time with the square of their number."""
    calls = []
    listed = _leaf.nodes_by_name
    monkeypatch.setattr(_leaf, "nodes_by_name", lambda module: calls.append(module) or listed(module))
    program = torch.export.export(nn.Sequential(*[nn.Linear(6, 6) for _ in range(9)]), (X,))
    module = fxtrace.trace(program).graph_module()
    assert len(calls) == 1 and torch.equal(module(X), program.module()(X))


# Programs


def test_convert(tmp_path):
    """Into a file or into memory, of a file or of what torch has in memory."""
    path, x = os.path.join(harness.SAMPLES, "attention_scripted.pt"), torch.randn(2, 6, 8)
    model = torch.jit.load(path)
    output = fxtrace.convert(path, tmp_path / "a.pt2", input={"x": x})
    assert output == str(tmp_path / "a.pt2")
    named = fxtrace.convert(model, input="float32[batch,6,8]", dim={"batch": (1, 64)}, hint={"batch": 3})
    assert list(named.range_constraints.values())[0].upper == 64
    with torch.no_grad():
        for program in (torch.export.load(output), fxtrace.convert(open(path, "rb"), input=[x]), named):
            assert torch.equal(program.module()(x), model(x))
        assert torch.equal(named.module()(x[:1]), model(x[:1]))
    assert named.example_inputs and fxtrace.convert(path, input=[x], sample_inputs="none").example_inputs is None
    assert not any(value.any() for value in fxtrace.convert(path, input=[x], no_weights=True).state_dict.values())
    with pytest.warns(fxtrace.FxtraceWarning, match="holds only where length"):
        fxtrace.convert(path, input="float32[2,length,8]")


def test_convert_quantized_and_kept_state():
    path, x = os.path.join(harness.SAMPLES, "quantized.pt"), torch.randn(1, 2, 4, 4)
    with pytest.warns(fxtrace.FxtraceWarning, match="quantized tensors become tensors of integers"):
        program = fxtrace.convert(path, input=[x])
    assert torch.allclose(program.module()(x), torch.jit.load(path)(x), atol=0.02)
    with pytest.raises(fxtrace.CannotConvert):
        fxtrace.convert(path, input=[x], quantized="refuse")
    path = os.path.join(harness.SAMPLES, "attributes.pt")
    with pytest.warns(fxtrace.FxtraceWarning, match="counter.count has the value of the file"):
        program = fxtrace.convert(path, input=[torch.randn(2, 4)], state="freeze", drop_output=[1])
    assert len(program.module()(torch.randn(2, 4))) == 2


def test_convert_parts_and_programs(tmp_path):
    """Options of the command that are keywords by other names; and programs of torch that are written anew."""
    x, path = torch.randn(2, 4), os.path.join(harness.SAMPLES, "methods.pt")
    model = torch.jit.load(path)
    keywords = {"input": {"x": "float32[rows,4]"}, "concrete": {"times": 3}}
    assert fxtrace.convert(path, tmp_path / "%s.pt2", method=["forward", "encode"], **keywords) == str(tmp_path / "%s.pt2")
    with torch.no_grad():
        assert torch.equal(torch.export.load(tmp_path / "encode.pt2").module()(x, 3), model.encode(x, 3))
        assert torch.equal(fxtrace.convert(path, method="encode", **keywords).module()(x, 3), model.encode(x, 3))
    with pytest.raises(fxtrace.UsageError, match="several programs"):
        fxtrace.convert(path, method=["forward", "encode"], **keywords)
    program = torch.export.load(EXPORTED)
    part = fxtrace.convert(program, module="stage.first", call=1)
    between = fxtrace.convert(EXPORTED, from_="linear", to="linear_1", dialect="aten")
    given = torch.randn(2, 8), torch.randn(2, 4)
    modules = torch.export.unflatten(program)
    assert torch.equal(part.module()(given[0]), modules.stage.first(given[0]))
    assert torch.equal(between.module()(given[1])[1], modules.stage.first.linear(modules.stem(given[1])))
    assert torch.equal(fxtrace.convert(program).module()(given[1]), program.module()(given[1]))


def test_what_convert_refuses(tmp_path):
    there = tmp_path / "there.pt2"
    there.write_text("mine")
    path = os.path.join(harness.SAMPLES, "attributes.pt")
    with pytest.raises(fxtrace.CannotConvert, match="the run assigns this attribute") as failure:
        fxtrace.convert(path, there, input="float32[2,4]")
    assert there.read_text() == "mine" and "counter.count" in failure.value.refusals[0]
    with pytest.raises(fxtrace.UsageError, match="no input has a dimension width"):
        fxtrace.convert(path, input="float32[2,4]", hint={"width": 3})
    with pytest.raises(fxtrace.InputError, match="no such directory"):
        fxtrace.convert(SCRIPTED, tmp_path / "none" / "a.pt2", input="float32[2,4]")
    with pytest.raises(fxtrace.UsageError, match="output expects the path of a file"):
        fxtrace.convert(SCRIPTED, "-", input="float32[2,4]")
    with pytest.raises(TypeError, match="unexpected keyword argument 'leaf'"):
        fxtrace.convert(SCRIPTED, leaf="torch.nn.Linear")


# Patterns


def test_patterns_are_those_of_check():
    """For every name that a model has, and what a user makes of it; paths of modules come in addition."""
    collection = fxtrace.trace(os.path.join(harness.SAMPLES, "vision_exported.pt2"), no_default_leaves=True)
    names = {node.target for node in collection.root if node.op == "call_function"}
    patterns = {pattern for name in names for pattern in (name, name.replace(".", "::", 1), *name.split(".")[1:2], name.rpartition(".")[0])}
    patterns |= {"aten.*", "aten.**", "*.relu*", "relu|conv2d", "rel?", "[r]elu", "ReLU|Conv2d", "torch.nn.ReLU"}
    for pattern in sorted(patterns):
        offences = fxtrace.check(collection, deny=pattern).offences
        denied = {place.node for offence in offences for place in offence.places if place.node is not None}
        assert {node.name for node in collection.root.find(target=pattern)} == denied, pattern


def test_a_path_hides_no_operator():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.Sigmoid()
            self.inner = nn.ModuleDict({"mlp": nn.Linear(6, 6)})

        def forward(self, x):
            return torch.relu(self.relu(self.inner["mlp"](x)))

    graph = fxtrace.trace(torch.export.export(Net(), (X,))).root
    assert [node.name for node in graph.find(target="relu")] == ["relu", "relu_1"]
    assert [node.name for node in graph.find(target="mlp")] == ["inner_mlp"] == [node.name for node in graph.find(target="inner.*")]
    assert [node.name for node in graph.find(target="aten.relu")] == ["relu_1"]
