"""Tests convert --rename, --tap and --for-torch with what torch makes of the programs."""

import json
import subprocess
import zipfile

import pytest
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.act(self.first(x)) * 2)


X = torch.randn(3, 4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    net = Net().eval()
    torch.jit.script(net).save(str(folder / "net.pt"))
    torch.export.save(torch.export.export(net, (X,), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=64)},)), folder / "net.pt2")
    return net, folder


def convert(program, files, name, *options, code=0):
    given = ["--input", "x=float32[batch,4]", "--dim", "batch=2..64"] if name == "net.pt" else []
    out = files[1] / "out.pt2"
    done = subprocess.run([program.path, "convert", files[1] / name, "-o", out, *given, *options], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return out if code == 0 else done.stderr


@pytest.mark.parametrize("name", ["net.pt", "net.pt2"])
def test_rename(program, files, name):
    first = torch.export.load(convert(program, files, name))
    symbol = next(iter(first.range_constraints)).name
    result = first.graph_signature.user_outputs[0]
    out = convert(program, files, name, "--rename", f"{symbol}=rows,x=pixels", "--rename", f"{result}=scores")
    loaded = torch.export.load(out)
    assert [symbol.name for symbol in loaded.range_constraints] == ["rows"]
    assert loaded.graph_signature.user_inputs == ("pixels",)
    assert loaded.graph_signature.user_outputs == ("scores",)
    assert torch.equal(loaded.module()(X), files[0](X))
    assert torch.equal(torch.export.unflatten(loaded)(X), files[0](X))
    assert torch.equal(loaded.run_decompositions().module()(X), first.run_decompositions().module()(X))
    with pytest.raises(Exception):  # noqa: B017 - the kind is torch's matter; the guards have the new names
        loaded.module()(torch.randn(65, 4))
    shown = subprocess.run([program.path, "summary", out], capture_output=True, text=True, check=True).stdout
    assert "pixels" in shown and "rows" in shown and "Outputs  scores" in shown
    assert "\nscores " in subprocess.run([program.path, "inspect", out], capture_output=True, text=True, check=True).stdout
    graph = subprocess.run([program.path, "trace", out, "--no-default-leaves", "-f", "text"], capture_output=True, text=True, check=True).stdout
    assert "%scores = " in graph and "float32[rows, 2]" in graph
    assert "no dimension, input or result" in convert(program, files, name, "--rename", "pixls=a", code=2)


@pytest.mark.parametrize("name", ["net.pt", "net.pt2"])
@pytest.mark.parametrize("tap", ["act", "first", "mul"])
def test_tap(program, files, name, tap):
    net = files[0]
    inner = {"act": net.act(net.first(X)), "first": net.first(X), "mul": net.act(net.first(X)) * 2}
    loaded = torch.export.load(convert(program, files, name, "--tap", tap))
    result, tapped = loaded.module()(X)
    assert torch.equal(result, net(X))
    assert torch.equal(tapped, inner[tap])
    assert len(loaded.graph_signature.user_outputs) == 2


def test_tap_within_a_module(program, files):
    loaded = torch.export.load(convert(program, files, "net.pt2", "--tap", "relu", "--tap", "mul"))
    assert loaded.graph_signature.user_outputs[1:] == ("relu", "mul")
    assert "no node of that name, did you mean 'mul'" in convert(program, files, "net.pt2", "--tap", "mull", code=2)


@pytest.mark.parametrize("release, layout, minor", [("2.6", "serialized_state_dict.pt", 2), ("2.8", "model/data/weights/model.pt", 8), ("2.12", "model/data/weights/model_weights_config.json", 14)])
def test_for_torch(program, files, release, layout, minor):
    out = convert(program, files, "net.pt", "--for-torch", release, "--tap", "act", "--rename", "batch=rows")
    assert layout in zipfile.ZipFile(out).namelist()
    result, _ = torch.export.load(out).module()(X)  # newer releases read the layouts of older ones
    assert torch.equal(result, files[0](X))
    shown = json.loads(subprocess.run([program.path, "inspect", out, "--json"], capture_output=True, check=True).stdout)
    assert shown["producer_version"] == f"8.{minor}"
    assert int(shown["loads_with"]["since"].split(".")[1]) <= int(release.split(".")[1])
    assert "2.6 to 2.15" in convert(program, files, "net.pt", "--for-torch", "2.5", code=2)
