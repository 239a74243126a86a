"""Tests `--dim` and `--concrete` for integers of exported programs: for the remaining sizes the graph computes the same as the
program, and its shapes and ranges are right."""

import json
import logging

import harness
import pytest
import shapes
import torch
from fxtrace import _exported
from torch import Tensor, nn
from torch.export import Dim


class Sizes(nn.Module):
    """Sizes in arguments, results, leaves, floating-point arithmetic and checks."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.conv = nn.Conv1d(3, 2, 3, stride=2)

    def forward(self, x: Tensor, y: Tensor, n: int) -> tuple[Tensor, Tensor, int]:
        batch, length = y.shape[0], y.shape[2]
        torch._check(batch * 2 <= 40)
        x = self.linear(x)[: max(batch - 2, 1) * n]
        y = self.conv(y).reshape(-1)[: (length + 1) // 3] * (length / 2)
        return x * n, torch.cat([y, torch.zeros(batch)]), length * 2 + n


class Data(nn.Module):
    """A size that data decides, with what is asserted of it."""

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        n = count.item()
        torch._check(n >= 1)
        torch._check(n * 2 <= x.shape[0])
        return x[:n] * 2, torch.arange(n + x.shape[0])


class Bodies(nn.Module):
    """Sizes inside of the bodies of operators."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, xs: Tensor) -> tuple[Tensor, Tensor]:
        def positive(x: Tensor) -> Tensor:
            return self.linear(x) / x.shape[0]

        def negative(x: Tensor) -> Tensor:
            return x.sum() + torch.ones(x.shape[0] * 2, 4)[x.shape[0] :]

        def step(carry: Tensor, item: Tensor) -> tuple[Tensor, Tensor]:
            carry = carry + item * item.shape[0]
            return carry, carry.clone()

        x = torch.cond(x.sum() > 0, positive, negative, (x,))
        return x, torch._higher_order_ops.scan(step, xs[0] * 0, xs)[1]


DYNAMIC = Dim.DYNAMIC
# Of each: the module, dynamic shapes, and inputs.
PROGRAMS = {
    "sizes": (
        Sizes(),
        ({0: Dim("rows", max=200)}, {0: DYNAMIC, 2: DYNAMIC}, DYNAMIC),
        [
            (torch.randn(20, 4), torch.randn(5, 3, 9), 3),
            (torch.randn(30, 4), torch.randn(2, 3, 14), 5),
        ],
    ),
    "data": (
        Data(),
        ({0: DYNAMIC}, None),
        [(torch.randn(9), torch.tensor(2)), (torch.randn(12), torch.tensor(6))],
    ),
    "bodies": (
        Bodies(),
        ({0: DYNAMIC}, {0: DYNAMIC, 1: DYNAMIC}),
        [(torch.randn(5, 4), torch.randn(3, 6)), (-torch.ones(2, 4), torch.randn(7, 4))],
    ),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> dict[str, str]:
    logging.getLogger("torch.export").setLevel(logging.ERROR)
    folder = tmp_path_factory.mktemp("dimensions")
    paths = {}
    for name, (module, dynamic, inputs) in PROGRAMS.items():
        paths[name] = str(folder / f"{name}.pt2")
        exported = torch.export.export(module.eval(), inputs[0], dynamic_shapes=dynamic, strict=False)
        torch.export.save(exported, paths[name])
    return paths


def nodes_of(graph: dict, op: str) -> list[dict]:
    return [node for node in graph["nodes"] if node["op"] == op]


def values_of(graph: dict, inputs: tuple) -> dict[str, int]:
    """What the named dimensions of the inputs are."""
    values = {}
    for node, value in zip(nodes_of(graph, "placeholder"), inputs, strict=True):
        meta = node["meta"]
        sizes = zip(meta["shape"], value.shape) if meta["shape"] is not None else [(meta.get("value"), value)]
        values.update({size: real for size, real in sizes if isinstance(size, str) and size.isidentifier()})
    return values


def choices(values: dict[str, int]) -> list[list[str]]:
    """Each dimension alone, and all of them."""
    return [[name] for name in sorted(values)] + [sorted(values)]


def without_conditions(graph: dict) -> dict:
    """shapes.Recorder compares tensors and integers."""
    keep = ("Tensor", "int")
    nodes = [
        {**node, "meta": node["meta"] if (node["meta"] or {}).get("type") in keep else None}
        for node in graph["nodes"]
    ]
    return {**graph, "nodes": nodes}


def expressions(graph: dict):
    """Of all values, those in bodies too."""
    for node in graph["nodes"]:
        meta = node["meta"] or {}
        yield from (size for size in [*(meta.get("shape") or ()), meta.get("value")] if isinstance(size, str))
    for body in graph["subgraphs"].values():
        yield from expressions(body)


@pytest.mark.parametrize("rules", harness.RULES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_at_one_size_the_graph_gives_what_the_program_gives(program, programs, name, rules):
    path = programs[name]
    loaded = _exported.load(path)
    whole = program.trace(path, *harness.RULES[rules])["graphs"][0]
    for inputs in PROGRAMS[name][2]:
        run = harness.ExportedRun(path, loaded, inputs, {})
        values = values_of(whole, inputs)
        for chosen in choices(values):
            dims = [word for dim in chosen for word in ("--dim", f"{dim}={values[dim]}")]
            collection = program.trace(path, *harness.RULES[rules], *dims)
            harness.check_collection(collection)
            graph = collection["graphs"][0]
            run.compare(graph)
            assert not {word for text in expressions(graph) for word in shapes.names_in(text)} & set(chosen)
            guards = [guard["expr"] for guard in graph["guards"]]
            assert all(f"{dim} == {values[dim]}" in guards for dim in chosen)
            if rules == "default" and not graph["subgraphs"]:
                check_shapes(path, graph, inputs, values, loaded)


def check_shapes(path: str, graph: dict, inputs: tuple, values: dict[str, int], loaded) -> None:
    rebuilt = harness.rebuild_exported(path, graph, loaded)
    recorder = shapes.Recorder(rebuilt, without_conditions(graph), values)
    with torch.no_grad():
        recorder.run(*inputs)
    assert not recorder.report.wrong and recorder.report.tensors > 0


def test_at_one_size_only_data_is_left(program, programs):
    path = programs["sizes"]
    graph = program.trace(path)["graphs"][0]
    values = values_of(graph, PROGRAMS["sizes"][2][0])
    assert len(values) == 4
    graph = program.trace(path, *(f"--dim={name}={value}" for name, value in values.items()))["graphs"][0]
    targets = [node["target"] for node in graph["nodes"]]
    assert targets == [
        *("x", "y", "n", "linear", "aten.slice.Tensor", "conv", "aten.reshape.default", "aten.slice.Tensor"),
        "aten.mul.Tensor",
        *("aten.mul.Tensor", "aten.zeros.default", "aten.cat.default", "output"),
    ]
    assert not list(expressions(graph))
    (output,) = nodes_of(graph, "output")
    assert output["args"][0]["tuple"][2] == 9 * 2 + 3


def test_asserts_stay_until_the_ranges_decide_them(program, programs):
    path = programs["data"]

    def asserts(*options: str) -> list[str]:
        graph = program.trace(path, *options)["graphs"][0]
        made = {
            node["name"]: node["meta"]["value"]
            for node in graph["nodes"]
            if node["op"] != "output" and (node["meta"] or {}).get("value")
        }
        found = [
            made[node["args"][0]["node"]] for node in graph["nodes"] if "_assert_scalar" in node["target"]
        ]
        assert set(found) <= {guard["expr"] for guard in graph["guards"]}
        return found

    (size,) = values_of(program.trace(path)["graphs"][0], PROGRAMS["data"][2][0])
    all_of_them = asserts()
    assert f"u0*2 <= {size}" in all_of_them and "u0 >= 1" in all_of_them
    # Of the data the program knows no more than it asserts.
    assert len(asserts("--dim", f"{size}=8..20")) == len(all_of_them)
    assert asserts("--dim", "u0=1..4") == [f"u0*2 <= {size}"]
    assert asserts("--dim", "u0=1..4", "--dim", f"{size}=8..") == []
    assert asserts("--dim", "u0=3", "--dim", f"{size}=4..") == [f"6 <= {size}"]


def test_a_size_that_data_decides(program, programs):
    path = programs["data"]
    inputs = PROGRAMS["data"][2][0]
    graph = program.trace(path, "--dim", "u0=2")["graphs"][0]
    assert "aten.item.default" not in [node["target"] for node in graph["nodes"]]
    assert "u0 == 2" in [guard["expr"] for guard in graph["guards"]]
    harness.ExportedRun(path, _exported.load(path), inputs, {}).compare(graph)


def test_concrete_integers_are_sizes_too(program, programs):
    path = programs["sizes"]
    x, y, n = PROGRAMS["sizes"][2][0]
    loaded = _exported.load(path)
    graph = program.trace(path, "--concrete", f"n={n}")["graphs"][0]
    assert [node["target"] for node in nodes_of(graph, "placeholder")] == ["x", "y"]
    with torch.no_grad():
        expected = loaded.module()(x, y, n)
        actual = harness.rebuild_exported(path, graph, loaded)(x, y)
    assert harness.difference(tuple(expected), tuple(actual)) is None
    names = {word for text in expressions(graph) for word in shapes.names_in(text)}
    fixed = [guard["expr"] for guard in graph["guards"] if guard["expr"].endswith(f" == {n}") and "(" not in guard["expr"]]
    assert len(fixed) == 1 and fixed[0].split()[0] not in names
    check_shapes(path, graph, (x, y), values_of(graph, (x, y)), loaded)


def holds(guards: list[dict], values: dict[str, int]) -> bool:
    texts = [guard["expr"] for guard in guards if "(" not in guard["expr"]]
    return all(eval(text, {}, values) for text in texts)


@pytest.mark.parametrize("bounds", [(None, None), (3, None), (None, 7), (3, 7), (0, 100), (5, 5), (18, 25)])
def test_narrowed_ranges(program, programs, bounds):
    """A size is allowed when the program allows it, and it is in the range that was asked for."""
    path = programs["sizes"]
    collection = program.trace(path)
    own = collection["graphs"][0]["guards"]
    values = values_of(collection["graphs"][0], PROGRAMS["sizes"][2][0])
    name = collection["graphs"][0]["nodes"][1]["meta"]["shape"][0]
    low, high = bounds
    text = "" if bounds == (None, None) else f"{'' if low is None else low}..{'' if high is None else high}"
    guards = program.trace(path, *([f"--dim={name}={text}"] if text else []))["graphs"][0]["guards"]
    for size in range(30):
        tried = {**values, name: size}
        in_range = (low is None or size >= low) and (high is None or size <= high)
        assert holds(guards, tried) == (holds(own, tried) and in_range), (size, guards)


def test_options_repeat_the_run(program, programs, tmp_path):
    path = programs["bodies"]
    names = sorted(values_of(program.trace(path)["graphs"][0], PROGRAMS["bodies"][2][0]))
    options = [
        f"--dim={names[0]}=5",
        f"--dim={names[1]}=3..9",
        f"--dim={names[1]}=..7",
        "--param-shapes-constant",
    ]
    first = program.stdout("trace", path, *options)
    asked = program.trace(path, *options)["options"]
    assert asked == {"dim": {names[0]: "5", names[1]: "3..7"}, "param_shapes_constant": True}
    config = tmp_path / "config.json"
    config.write_text(json.dumps(asked))
    assert program.stdout("trace", path, "--config", str(config)) == first


@pytest.mark.parametrize(
    "options, messages",
    [
        (["--dim", "z=1"], ["no dimension 'z'", "the dimensions are "]),
        (["--dim", "{rows}=201.."], ["does not overlap with 0..200, the range of {rows}"]),
        (["--dim", "{rows}=7", "--dim", "{rows}=8"], ["does not overlap with 7, the range of {rows}"]),
        (["--input", "z=float32[1,4]"], ["the program has no input 'z'", "the inputs are x, y, n"]),
        (["--input", "float32[1,2,3]"], ["the program's input has 2 dimensions"]),
        (["--input", "x=float32[1,2]"], ["size 1 is 4 in the program, fixed when it was exported"]),
        (["--input", "x=int64[1,4]"], ["the program's input has dtype float32"]),
        (["--input", "x=float32[batch,4]"], ["size 0 is {rows} in the program; give a number, or --dim a range"]),
        (["--input", "x=float32[300,4]"], ["does not overlap with 0..200, the range of {rows}"]),
        (["--input", "x=7"], ["the program's input is not an integer"]),
        (["--input", "n=float32[2]"], ["the program's input is not a tensor"]),
        (["--input", "x=float32[7,4]", "--dim", "{rows}=8"], ["does not overlap with 8"]),
        (["--dim", "{rows}"], ["--dim: expected NAME=LO..HI"]),
    ],
)
def test_errors(program, programs, options, messages):
    path = programs["sizes"]
    rows = program.trace(path)["graphs"][0]["nodes"][0]["meta"]["shape"][0]
    done = program.run("trace", path, *(option.format(rows=rows) for option in options))
    assert done.returncode == 2 and not done.stdout
    for message in messages:
        assert message.format(rows=rows) in done.stderr.decode()


def test_sizes_of_inputs(program, programs):
    """--input says what --dim and --concrete say."""
    path = programs["sizes"]
    x, y, n = (node["meta"] for node in program.trace(path)["graphs"][0]["nodes"][:3])
    rows, (batch, _, length) = x["shape"][0], y["shape"]
    graphs = program.trace(path, f"--dim={rows}=20", f"--dim={batch}=5", f"--dim={length}=9")["graphs"]
    asked = program.trace(path, "--input", "x=float32[20,4]", "--input", "1=f32[5,3,9]")
    assert asked["graphs"] == graphs and asked["options"] == {"input": {"x": "float32[20,4]", "1": "float32[5,3,9]"}}
    assert program.trace(path, "--input", f"x=float32[{rows},4]")["graphs"] == program.trace(path)["graphs"]
    assert program.trace(path, "--input", "n=3")["graphs"] != program.trace(path)["graphs"]


def test_one_where_the_exporter_took_two(program, programs):
    """For costs and pictures, and never for a graph that is to run."""
    path = programs["sizes"]
    collection = program.trace(path)
    batch = collection["graphs"][0]["nodes"][1]["meta"]["shape"][0]
    macs = json.loads(program.stdout("summary", path, "--json", f"--dim={batch}=2"))["totals"]["macs"]
    for options in ([f"--dim={batch}=1"], ["--input", f"y=float32[1,3,{collection['graphs'][0]['nodes'][1]['meta']['shape'][2]}]"]):
        done = program.run("summary", path, "--json", *options)
        assert done.returncode == 0 and f"{batch} is 1, but the program was exported for 2.." in done.stderr.decode()
        assert json.loads(done.stdout)["totals"]["macs"] != macs and batch not in str(json.loads(done.stdout)["totals"]["macs"])
        assert program.run("render", path, *options, "-f", "dot").returncode == 0
        done = program.run("trace", path, *options)
        assert done.returncode == 2 and b"does not overlap" in done.stderr
    # A range that somebody chose is not left.
    assert program.run("summary", path, f"--dim={batch}=0..1").returncode == 2
    bounded = programs["bodies"]
    name = program.trace(bounded)["graphs"][0]["nodes"][0]["meta"]["shape"][0]
    assert program.run("summary", bounded, f"--dim={name}=0").returncode == 0


def test_a_wrong_number_is_noticed(program, programs):
    path = programs["sizes"]
    inputs = PROGRAMS["sizes"][2][0]
    loaded = _exported.load(path)
    run = harness.ExportedRun(path, loaded, inputs, {})
    values = values_of(program.trace(path)["graphs"][0], inputs)
    graph = program.trace(path, *(f"--dim={name}={value}" for name, value in values.items()))["graphs"][0]
    node = next(node for node in graph["nodes"] if node["target"] == "aten.zeros.default")
    node["args"][0][0] = node["args"][0][0] + 1
    with pytest.raises(harness.Different):
        run.compare(graph)
