"""Tests fxtrace summary against torch and for consistency: parameters by module, columns that add up, formats, width."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios

import harness
import jsonschema_rs
import pytest
import torch
import torchinfo
import zoo
from fxtrace import _exported
from test_exported_zoo import prepare
from test_shapes import options_for
from torch import nn

SCHEMA = os.path.join(harness.ROOT, "schemas", "summary.schema.json")
NAMES = (
    "resnet18_scripted", "resnet50_traced", "mobilenet_v3_exported", "densenet_traced", "swin_scripted", "vit_traced",
    "bert_traced", "bert_exported", "gpt2_traced", "gpt2_exported", "t5_exported", "llama_exported", "llama_traced",
    "faster_rcnn_scripted", "lstm_scripted",
)  # fmt: skip


def summarize(program, path: str, *options: str) -> dict:
    summary = json.loads(program.stdout("summary", path, "--json", *options))
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema_rs.validate(json.load(file), summary)
    return summary


def tensors(path: str) -> dict[str, torch.Tensor]:
    """The parameters by all their names."""
    if path.endswith(".pt2"):
        exported = _exported.load(path)
        return {name: exported.state_dict[name] for name in exported.graph_signature.parameters}
    model = torch.jit.load(path)
    return {
        f"{module}.{name}".removeprefix("."): tensor
        for module, part in model.named_modules(remove_duplicate=False)
        for name, tensor in part.named_parameters(recurse=False)
    }


def total(parts: list[torch.Tensor]) -> tuple[int, int]:
    unique = {part.data_ptr(): part for part in parts}.values()
    return sum(part.numel() for part in unique), sum(part.numel() * part.element_size() for part in unique)


def children(rows: list[dict], index: int) -> list[dict]:
    found = []
    for row in rows[index + 1 :]:
        if row["depth"] <= rows[index]["depth"]:
            break
        if row["depth"] == rows[index]["depth"] + 1:
            found.append(row)
    return found


def counted(row: dict) -> int:
    return row["parameters"]["elements"] - row["parameters"]["shared_elements"]


@pytest.mark.volume
@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_torchs(program, zoo_archive, name):
    path = zoo_archive(name)
    prepare(name)
    named = tensors(path)
    rows = summarize(program, path)["modules"]
    for row in rows:
        if row["alias_of"] is not None:
            assert row["parameters"]["elements"] == 0
            continue
        start = row["path"] + "." if row["path"] else ""
        below = [tensor for key, tensor in named.items() if key.startswith(start)]
        own = [tensor for key, tensor in named.items() if key.rpartition(".")[0] == row["path"]]
        assert (row["parameters"]["elements"], row["parameters"]["bytes"]) == total(below), row["path"]
        assert (row["parameters"]["own_elements"], row["parameters"]["own_bytes"]) == total(own), row["path"]
    # Every module that has a parameter is there.
    shown = {row["path"] for row in rows}
    assert {key.rpartition(".")[0] for key in named} <= shown


@pytest.mark.volume
@pytest.mark.parametrize("name", NAMES)
def test_columns_add_up(program, zoo_archive, name):
    path = zoo_archive(name)
    rows = summarize(program, path)["modules"]
    for options in ((), ("--fold",), ("--depth", "2"), ("--fold", "--sort", "params")):
        summary = summarize(program, path, *options)
        shown = summary["modules"]
        assert counted(shown[0]) == summary["totals"]["parameters"]["elements"]
        assert shown[0]["macs"] == summary["totals"]["macs"]
        for index, row in enumerate(shown):
            below = children(shown, index)
            if not below:
                continue
            rest = counted(row) - sum(map(counted, below))
            assert 0 <= rest <= row["parameters"]["own_elements"], row["path"]
            macs = [part["macs"] for part in (row, *below)]
            if all(isinstance(number, int) for number in macs):
                assert macs[0] >= sum(macs[1:]), row["path"]
        if "--depth" not in options:  # the blocks that a row stands for
            assert sum(row["modules"] for row in shown) == len(rows)
        if "--sort" in options:
            for index in range(len(shown)):
                numbers = [counted(row) for row in children(shown, index)]
                assert numbers == sorted(numbers, reverse=True)


@pytest.mark.volume
def test_traced_and_exported_have_the_same_parameters(program, zoo_archive):
    for model in ("bert", "gpt2", "llama"):
        of = {
            way: {
                row["path"]: row["parameters"]
                for row in summarize(program, zoo_archive(f"{model}_{way}"))["modules"]
                if row["parameters"]["elements"]
            }
            for way in ("traced", "exported")
        }
        assert of["traced"] == of["exported"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16)) for _ in range(3))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


@pytest.fixture(scope="module")
def net(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("summary") / "net.pt2")
    torch.export.save(torch.export.export(Net().eval(), (torch.randn(2, 16),), strict=False), path)
    return path


def test_csv_says_what_json_says(program, net):
    rows = summarize(program, net)["modules"]
    text = program.stdout("summary", net, "--csv").decode()
    assert text.count("\r\n") == text.count("\n") == len(rows) + 1
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["path"] for row in table] == [row["path"] for row in rows]
    for left, right in zip(table, rows, strict=True):
        assert left["parameters"] == str(right["parameters"]["elements"])
        assert left["macs"] == ("" if right["macs"] is None else str(right["macs"]))
        assert left["type"] == (right["type"] or "")


def test_a_collection_and_its_model_have_the_same_summary(program, net, tmp_path):
    collection = str(tmp_path / "net.json")
    program.stdout("trace", net, "--no-default-leaves", "-o", collection)
    of_model, of_collection = summarize(program, net), summarize(program, collection)
    of_model["model"].pop("written_by"), of_collection["model"].pop("written_by")
    assert of_model == of_collection


def run_in_terminal(program, columns: int, *args: str, **environment: str) -> str:
    """What the program writes to a terminal of that width."""
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    plain = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "TERM")}
    process = subprocess.Popen(
        [program.path, *args], stdin=subprocess.DEVNULL, stdout=inside, stderr=subprocess.PIPE, env={**plain, **environment}
    )
    os.close(inside)
    written = b""
    while True:
        try:
            part = os.read(outside, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    os.close(outside)
    assert process.wait(60) == 0, process.stderr.read()
    process.stderr.close()
    return written.decode().replace("\r\n", "\n")


def table_of(text: str) -> list[str]:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("Module"))
    return lines[start : lines.index("", start)]


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_the_table_fits_the_terminal(program, net, columns):
    text = run_in_terminal(program, columns, "summary", net)
    assert "\x1b[" in text
    assert len(table_of(text)) > 5
    assert max(map(len, table_of(text))) <= columns
    plain = run_in_terminal(program, columns, "summary", net, NO_COLOR="1")
    assert "\x1b" not in plain
    assert run_in_terminal(program, columns, "summary", net, TERM="dumb") == plain
    help_text = run_in_terminal(program, columns, "summary", "--help").partition("Usage:")[2]  # examples are not broken
    assert max(map(len, help_text.splitlines())) <= max(columns, 80)
    narrow = run_in_terminal(program, 200, "summary", net, COLUMNS=str(columns))
    assert narrow == text


def test_no_terminal_no_colour(program, net, tmp_path):
    text = program.stdout("summary", net).decode()
    assert "\x1b" not in text
    assert "2 x" not in text and "3 x Sequential" in text
    file = str(tmp_path / "net.txt")
    assert run_in_terminal(program, 60, "summary", net, "-o", file) == ""
    with open(file, encoding="utf-8") as written:
        assert written.read() == text


def test_nothing_is_cut_in_a_pipe(program, net, tmp_path, monkeypatch):
    collection = json.loads(program.stdout("trace", net))
    long = "a_package." + "with_a_name." * 20 + "AndAType"
    collection["modules"][1]["type"] = long
    path = tmp_path / "long.json"
    path.write_text(json.dumps(collection))
    text = program.stdout("summary", str(path)).decode()
    assert "AndAType" in text and "…" not in text
    monkeypatch.setenv("COLUMNS", "40")
    assert program.stdout("summary", str(path)).decode() == text
    assert program.stdout("order", str(path)).decode().count("…") == program.stdout("order", net).decode().count("…")


def test_progress_of_a_pipe(program, net):
    """On a terminal, from the first second on, and nothing of it is left."""
    outside, inside = pty.openpty()
    with open(net, "rb") as file, subprocess.Popen(
        [program.path, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=inside
    ) as process:
        content = file.read()
        process.stdin.write(content[:-1])
        process.stdin.flush()
        assert select.select([outside], [], [], 60)[0]
        told = os.read(outside, 65536)
        process.stdin.write(content[-1:])
        process.stdin.close()
        assert process.wait(60) == 0
    told = (told + os.read(outside, 65536)).decode().removeprefix("fxtrace: waiting for stdin\r\n")  # on a busy machine
    os.close(inside)
    os.close(outside)
    assert told.startswith("\r\x1b[Kreading stdin: ") and told.endswith("\r\x1b[K")


# --- beside torchinfo ---

# Ten models, and modules of which an exported program does not know, because they do nothing.
TORCHINFO = {
    "resnet18_traced": (),
    "mobilenet_v3_exported": (),
    "densenet_traced": (),
    "efficientnet_traced": (),
    "squeezenet_traced": (),
    "regnet_traced": (),
    "swin_exported": ("StochasticDepth",),
    "vit_exported": ("Identity", "Dropout"),
    "gpt2_exported": (),
    "llama_exported": (),
}


def path_of(layer: torchinfo.layer_info.LayerInfo) -> str:
    names = []
    while layer.parent_info is not None:
        names.append(layer.var_name)
        layer = layer.parent_info
    return ".".join(reversed(names))


@pytest.mark.volume
@pytest.mark.parametrize("name", TORCHINFO)
def test_rows_are_torchinfos(program, zoo_archive, name):
    """Every module, its type, its parameters and what it gives.

    Its "mult-adds" are no reference: they leave attention out and take what is no matrix product for one."""
    path = zoo_archive(name)
    prepare(name)
    model, inputs = zoo.MAKERS[name]()
    if not isinstance(model, nn.Module):
        model = model(False)
    layers = torchinfo.summary(model.eval(), input_data=inputs, depth=100, verbose=0).summary_list
    options = options_for(inputs) if path.endswith(".pt") else []
    rows = {row["path"]: row for row in summarize(program, path, *options)["modules"]}
    compared = 0
    for layer in layers:
        if layer.is_recursive:
            continue
        row = rows.get(path_of(layer))
        if row is None:
            assert layer.class_name in TORCHINFO[name]
            continue
        compared += 1
        if layer.depth > 0 and row["type"] is not None:  # of containers a program does not say it
            assert row["type"].rpartition(".")[2] == layer.class_name
        if layer.is_leaf_layer:
            assert row["parameters"]["elements"] == layer.num_params
        outputs = row.get("outputs") or []
        if layer.executed and outputs:
            assert outputs[0]["shape"] == layer.output_size
    assert compared >= 20
