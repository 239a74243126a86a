"""Tests summary --on and --memory: least times and what has to fit on models that are counted here, and timelines of memory."""

import csv
import io
import json
import pathlib

import harness
import jsonschema_rs
import pytest
import torch
from test_costs_at import summarize
from torch import nn

TABLE = pathlib.Path(harness.ROOT) / "lib" / "summaries" / "devices.json"


class Decode(nn.Module):
    """One step of a decoder, whose cache is a buffer, an input or a result."""

    def __init__(self, cache: str) -> None:
        super().__init__()
        self.cache = cache
        self.q, self.kv = nn.Linear(64, 64), nn.Linear(64, 128)
        if cache == "buffer":
            self.register_buffer("keys", torch.zeros(1, 4, 32, 16))
            self.register_buffer("values", torch.zeros(1, 4, 32, 16))

    def forward(self, x, place, keys=None, values=None):
        q, k, v = (each.view(1, -1, 4, 16).transpose(1, 2) for each in (self.q(x), *self.kv(x).chunk(2, -1)))
        if self.cache == "buffer":
            self.keys.index_copy_(2, place, k)
            self.values.index_copy_(2, place, v)
            k, v = self.keys, self.values
        elif self.cache == "input":
            k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return (y, k, v) if self.cache == "result" else y


def exported(tmp_path, cache: str) -> str:
    inputs = [torch.randn(1, 1, 64), torch.tensor([3])]
    if cache == "input":
        inputs += [torch.randn(1, 4, 31, 16) for _ in range(2)]
    path = str(tmp_path / f"{cache}.pt2")
    torch.export.save(torch.export.export(Decode(cache).eval(), tuple(inputs)), path)
    return path


def test_devices_are_described():
    schema = json.loads((pathlib.Path(harness.ROOT) / "schemas" / "devices.schema.json").read_text())
    table = json.loads(TABLE.read_text())
    jsonschema_rs.validate(schema, table)
    names = [name for device in table["devices"] for name in (device["name"], *device.get("other_names", ()))]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("cache, held", [("buffer", 2 * 4 * 32 * 16 * 4), ("input", 2 * 4 * 31 * 16 * 4), ("result", 2 * 4 * 16 * 4)])
def test_least_time_and_fit(program, tmp_path, cache, held):
    path = exported(tmp_path, cache)
    root = summarize(program, path, "--columns", "weights")["modules"][0]
    found = summarize(program, path, "--on", "t4")
    device, inputs = found["device"], 64 * 4 + 8 + (held if cache == "input" else 0)
    if cache != "buffer":
        inputs -= 8  # place is not used
    assert device["compute_seconds"] == pytest.approx(2 * root["macs"] / 8.1e12)
    assert device["memory_seconds"] == pytest.approx((root["weights_read"] + root["activation_bytes"] + inputs) / 300e9)
    assert (device["bound"], device["least_seconds"]) == ("memory", device["memory_seconds"])
    assert device["cache_bytes"] == held
    assert device["needed_bytes"] == device["weight_bytes"] + device["activation_bytes"] and device["fits"]
    assert found["modules"][0]["least_seconds"] == device["least_seconds"]


def test_device_of_a_file(program, tmp_path):
    path = exported(tmp_path, "input")
    small = {"name": "small", "title": "A small one", "source": "its maker", "memory_bytes": 1000, "bandwidth": 1e12, "peaks": {"float32": 1e6}}
    file = tmp_path / "device.json"
    file.write_text(json.dumps({"devices": [small]}))
    device = summarize(program, path, "--on", str(file))["device"]
    assert (device["bound"], device["fits"]) == ("compute", False)
    text = program.stdout("summary", path, "--on", str(file)).decode()
    assert "does not fit" in text and "bound by compute" in text and "A small one" in text
    file.write_text(json.dumps({"devices": [small, small]}))
    assert "expected one device, and there are 2" in program.run("summary", path, "--on", str(file)).stderr.decode()
    del small["peaks"]["float32"]
    file.write_text(json.dumps({"devices": [small]}))
    assert summarize(program, path, "--on", str(file))["device"]["unknown_dtypes"] == ["float32"]


def test_memory(program, tmp_path):
    path = exported(tmp_path, "input")
    found = summarize(program, path, "--memory")
    memory = found["memory"]
    live = [step["live_bytes"] for step in memory["steps"]]
    assert memory["peak_bytes"] == found["totals"]["peak_bytes"] == max(live) == live[memory["peak_step"]]
    assert sum(tensor["bytes"] for tensor in memory["tensors"]) == memory["peak_bytes"]
    rows = list(csv.DictReader(io.StringIO(program.stdout("summary", path, "--memory", "--csv").decode())))
    assert [int(row["live_bytes"]) for row in rows] == live
    assert [row["node"] for row in rows[1:]] == [step["node"] for step in memory["steps"][1:]]
    events = json.loads(program.stdout("summary", path, "--perfetto"))["traceEvents"]
    assert [event["args"]["bytes"] for event in events if event["ph"] == "C"] == live
    assert {event["ph"] for event in events} == {"X", "C"} and len({event["ts"] for event in events}) == len(live)


def test_memory_of_named_sizes(program, tmp_path):
    path = str(tmp_path / "named.pt2")
    sizes = {"x": {0: torch.export.Dim("batch")}}
    torch.export.save(torch.export.export(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (torch.randn(2, 8),), dynamic_shapes=({0: sizes["x"][0]},)), path)
    memory = summarize(program, path, "--memory")["memory"]
    (name,) = {dim for dim in summarize(program, path)["inputs"][0]["shape"] if isinstance(dim, str)}
    assert memory["sizes"] == f"{name}=1"
    at = summarize(program, path, "--memory", "--at", f"{name}=3")
    assert at["memory"]["sizes"] is None and at["memory"]["peak_bytes"] == at["totals"]["peak_bytes"] == 3 * memory["peak_bytes"]
    torch.jit.save(torch.jit.script(nn.ReLU()), tmp_path / "plain.pt")
    unknown = summarize(program, str(tmp_path / "plain.pt"), "--memory")["memory"]
    assert unknown["peak_bytes"] is None and unknown["steps"] == []
