"""Tests costs for given sizes: --at and --cost in every command against torch.utils.flop_counter at these sizes."""

import csv
import io
import json
import os
import re

import harness
import jsonschema_rs
import pytest
import tiers
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

DYNAMIC = {"mobilenet_v3": [(1, 3, 96, 64), (1, 3, 224, 224)], "bert": [(2, 16), (3, 32)], "llama": [(2, 16), (3, 30)]}


def summarize(program, path: str, *options: str) -> dict:
    summary = json.loads(program.stdout("summary", path, "--json", *options))
    with open(os.path.join(harness.ROOT, "schemas", "summary.schema.json"), encoding="utf-8") as file:
        jsonschema_rs.validate(json.load(file), summary)
    return summary


def counted(model, *inputs, mapping=None) -> int:
    with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
            model(*inputs)
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("name", tiers.only(["bert_exported_dynamic"], [f"{name}_exported_dynamic" for name in DYNAMIC]))
def test_exported(program, zoo_archive, name):
    for sizes in DYNAMIC[name.removesuffix("_exported_dynamic")]:
        check_at(program, zoo_archive(name), sizes)


def check_at(program, path: str, sizes: tuple[int, ...]) -> None:
    sample = torch.load(os.path.splitext(path)[0] + ".inputs.pt", weights_only=False)
    tensor = sample[0] if isinstance(sample, (list, tuple)) else sample
    x = torch.zeros(sizes, dtype=tensor.dtype)
    symbolic = summarize(program, path)
    first = symbolic["inputs"][0]["name"]
    at = summarize(program, path, "--at", f"{first}={'x'.join(map(str, sizes))}")
    assert at["totals"]["macs"] == counted(torch.export.load(path).module(), x)
    assert at["totals"]["flops"] == 2 * at["totals"]["macs"]
    assert all(isinstance(at["totals"][key], int) for key in ("macs", "activation_bytes", "peak_bytes"))
    # The same by the names of the sizes, and of a trace that was saved.
    names = {str(dim): size for dim, size in zip(symbolic["inputs"][0]["shape"], sizes) if isinstance(dim, str)}
    by_name = summarize(program, path, "--at", ",".join(f"{dim}={size}" for dim, size in names.items()))
    assert by_name == at


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).mean((2, 3)))


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    folder = tmp_path_factory.mktemp("net")
    sizes = {0: torch.export.Dim("batch"), 2: torch.export.Dim("height", min=4), 3: torch.export.Dim("width", min=4)}
    exported = torch.export.export(Net().eval(), (torch.randn(2, 3, 16, 24),), dynamic_shapes=(sizes,))
    torch.export.save(exported, folder / "net.pt2")
    torch.jit.save(torch.jit.script(Net().eval()), folder / "net.pt")
    return folder


def page_data(page) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)[1])


def test_commands(program, net, tmp_path):
    path, script = str(net / "net.pt2"), str(net / "net.pt")
    at = ("--at", "x=5x3x31x40")
    macs = counted(Net(), torch.zeros(5, 3, 31, 40))
    peak = summarize(program, path, *at)["totals"]["peak_bytes"]
    assert program.run("check", path, *at, "--max-macs", str(macs), "--max-peak", str(peak)).returncode == 0
    assert program.run("check", path, *at, "--max-macs", str(macs - 1)).returncode == 1
    assert program.run("check", path, *at, "--max-peak", str(peak - 1)).returncode == 1
    order = json.loads(program.stdout("order", path, *at, "--json"))
    assert order["modules"][0]["macs"] == macs
    named = ("--input", "x=float32[b,3,h,w]", "--at", "b=5,h=31,w=40")
    assert summarize(program, script, *named)["totals"]["macs"] == macs
    diff = json.loads(program.stdout("diff", path, script, "--input", "x=float32[b,3,h,w]", *at, "--only", "costs", "--json"))
    assert {diff["before"]["macs"], diff["after"]["macs"]} == {macs}
    fixed = str(tmp_path / "fixed.pt2")
    torch.export.save(torch.export.export(Net().eval(), (torch.zeros(5, 3, 31, 40),)), fixed)
    names = [dim for dim in summarize(program, path)["inputs"][0]["shape"] if isinstance(dim, str)]
    sizes = ",".join(f"{name}={size}" for name, size in zip(names, (5, 31, 40)))
    for pair in ((path, fixed), (fixed, path)):
        diff = json.loads(program.stdout("diff", *pair, "--at", sizes, "--only", "costs", "--json"))
        assert diff["before"]["macs"] == diff["after"]["macs"] == macs and diff["equal"]
    page = tmp_path / "page.html"
    program.stdout("render", path, *at, "-o", str(page))
    data = page_data(page)
    assert f"[{macs}," in json.dumps(data["costs"], separators=(",", ":"))
    assert {"[5, 3, 31, 40]"} <= set(data["texts"]) and not [text for text in data["texts"] if names[0] in text]
    program.stdout("render", path, "-o", str(page))
    data = page_data(page)
    assert any(str(cost[0]).startswith(f"{names[0]}·") for cost in data["costs"])
    saved = tmp_path / "saved.json"
    program.stdout("trace", path, "--no-default-leaves", "-o", str(saved))
    assert summarize(program, str(saved), *at)["totals"]["macs"] == macs
    text = program.stdout("summary", path).decode()
    assert "…" not in text and "at most" in text and "--at gives other sizes" in text
    assert "…" not in program.stdout("summary", path, *at).decode()


def test_wrong_names(program, net):
    path = str(net / "net.pt2")
    for at, message in (("bach=1", "no size and no input is named 'bach'"), ("y=1x2", "'y'"), ("x=1x4x8x8", "is 3, not 4")):
        run = program.run("summary", path, "--at", at)
        assert run.returncode == 2 and message in run.stderr.decode(), run.stderr
    for cost, message in (
        ("aten::cov2d=1", "did you mean"),
        ("my::op=nummel(out)", "did you mean 'numel'"),
        ("my::op", "expected NS::OP=EXPR"),
    ):
        run = program.run("summary", path, "--cost", cost)
        assert run.returncode == 2 and message in run.stderr.decode(), run.stderr
    run = program.run("summary", path, "--columns", "weight")
    assert run.returncode == 2 and "did you mean 'weights'" in run.stderr.decode()


@pytest.fixture(scope="module")
def own_operator(tmp_path_factory):
    """Operators of the user's own: a product, and one with two results; at the top and in a leaf."""
    library = torch.library.Library("costs_at", "DEF")
    library.define("product(Tensor a, Tensor b, int times=1) -> Tensor")
    library.define("both(Tensor a) -> (Tensor, Tensor)")
    library.impl("product", lambda a, b, times=1: times * (a @ b), "CompositeExplicitAutograd")
    library.impl("both", lambda a: (a + 1, a[:1] + 2), "CompositeExplicitAutograd")

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 6))

        def forward(self, x):
            return torch.ops.costs_at.product(x, self.weight, times=3)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            a, b = torch.ops.costs_at.both(self.inner(x))
            return a + b

    x = torch.randn(4, 8)
    exported = torch.export.export(Outer(), (x,), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},))
    path = str(tmp_path_factory.mktemp("own") / "own.pt2")
    torch.export.save(exported, path)
    yield path, library, Outer(), x
    library._destroy()


@pytest.mark.parametrize("leaf", [(), ("--leaf", "@inner")], ids=["traced", "leaf"])
def test_own_operators(program, own_operator, tmp_path, leaf):
    path, _, model, x = own_operator
    mapping = {
        torch.ops.costs_at.product: lambda a, b, times=1, out_shape=None, **_: 2 * times * a[0] * a[1] * b[1],
        torch.ops.costs_at.both: lambda a, out_shape=None, **_: 2 * (a[0] * a[1] + 5),
    }
    costs = {"costs_at::product": "in2*numel(out)*in0.size(-1)", "costs_at::both": "numel(in0) + 5*len(out1)"}
    words = [word for name, text in costs.items() for word in ("--cost", f"{name}={text}")]
    summary = summarize(program, path, *words, *leaf, "--at", "x=4x8")
    assert summary["totals"]["macs"] == counted(model, x, mapping=mapping)
    assert not summary["totals"]["unknown_operators"]
    if not leaf:
        run = program.run("summary", path, "--cost", "costs_at::both=numel(in1)")
        assert run.returncode == 2 and "has no argument 'in1', did you mean 'in0'?" in run.stderr.decode()
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"cost": costs}))
    assert summarize(program, path, "--config", str(config), *leaf, "--at", "x=4x8") == summary
    if not leaf:
        saved = tmp_path / "saved.json"
        program.stdout("trace", path, "-o", str(saved), *words)
        assert summarize(program, str(saved), "--at", "x=4x8")["totals"] == summary["totals"]
        program.stdout("trace", path, "-o", str(saved))
        assert summarize(program, str(saved), *words, "--at", "x=4x8")["totals"] == summary["totals"]


class Grouped(nn.Module):
    """Attention with two heads of keys and values for eight of queries."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(64, 64), nn.Linear(64, 32), nn.Linear(64, 64)

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, 8, 8).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, 2, 8).unbind(2)
        k, v = (each.transpose(1, 2)[:, :, None].expand(batch, 2, 4, length, 8).reshape(batch, 8, length, 8) for each in (k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, 64))


def test_columns(program, tmp_path):
    path = str(tmp_path / "grouped.pt2")
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq")}
    torch.export.save(torch.export.export(Grouped(), (torch.randn(2, 7, 64),), dynamic_shapes=(sizes,)), path)
    options = ("--columns", "weights,kv-cache,intensity", "--at", "x=3x100x64")
    root = summarize(program, path, *options)["modules"][0]
    assert root["weights_read"] == sum(each.numel() * 4 for each in Grouped().parameters())
    assert root["kv_cache_bytes"] == 2 * 3 * 100 * 2 * 8 * 4
    moved = root["weights_read"] + root["activation_bytes"]
    assert root["arithmetic_intensity"] == pytest.approx(2 * root["macs"] / moved)
    row = next(csv.DictReader(io.StringIO(program.stdout("summary", path, *options, "--csv").decode())))
    assert (row["weights_read"], row["kv_cache_bytes"]) == (str(root["weights_read"]), str(root["kv_cache_bytes"]))
    for extra in ((), ("--markdown",)):
        text = program.stdout("summary", path, *options, *extra).decode()
        assert "Weights read" in text and "KV cache" in text and "37.5 KiB" in text
    assert "weights_read" not in summarize(program, path)["modules"][0]
