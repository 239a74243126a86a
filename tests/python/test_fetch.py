"""Tests fxtrace.fetch: skeletons of models in stores are what tracing needs, whatever the server does, and are never taken for models."""

import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time
import zipfile

import archive_edit
import fxtrace
import harness
import numpy
import pytest
import torch
from fxtrace import _remote, _skeleton
from range_server import Served, serve

MARK = b"fxtrace: not fetched"
SECRET = "s3cr3t-word"


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(200, 200) for _ in range(4))
        self.register_buffer("steps", torch.tensor(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) + self.steps
        return x


def saved(save, what) -> bytes:
    buffer = io.BytesIO()
    save(what, buffer)
    return buffer.getvalue()


def rezipped(content: bytes, **options) -> bytes:
    """The archive as another program writes it: without torch's padding."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(buffer, "w", **options) as target:
        for info in source.infolist():
            with target.open(zipfile.ZipInfo(info.filename), "w", force_zip64=options.get("compression") is None) as out:
                out.write(source.read(info))
    return buffer.getvalue()


def nested(program_file: bytes) -> bytes:
    """An exported program as torch 2.6 saves it, weights in an archive of their own."""
    model = Tower()
    state = saved(torch.save, {**dict(model.named_parameters()), **dict(model.named_buffers())})
    records = {name: data for name, data in archive_edit.records(program_file).items() if "weights/" not in name}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in {**records, "data/weights/model.pt": state}.items():
            file.writestr(f"archive/{name}", data)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    torch.manual_seed(0)
    model, x = Tower().eval(), torch.randn(2, 200)
    exported = saved(torch.export.save, torch.export.export(model, (x,)))
    scripted = archive_edit.save(torch.jit.script(model))
    appended = io.BytesIO(scripted)
    with zipfile.ZipFile(appended, "a") as file:
        file.writestr("archive/extra/note.txt", "by another program")
    return {
        "exported.pt2": exported,
        "scripted.pt": scripted,
        "appended.pt": appended.getvalue(),
        "state.pth": saved(torch.save, model.state_dict()),
        "rezipped.pt": rezipped(scripted),
        "zip64.pt": rezipped(scripted, allowZip64=True),
        "deflated.pt": rezipped(scripted, compression=zipfile.ZIP_DEFLATED),
        "nested.pt2": nested(exported),
    }


def outside(content: bytes, holes) -> list[bytes]:
    at, parts = 0, []
    for start, end in sorted(holes):
        parts.append(content[at:start])
        at = end
    return [*parts, content[at:]]


def contents(path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# What a skeleton is


@pytest.mark.parametrize("read_headers", [False, True])
@pytest.mark.parametrize(
    "name", ["exported.pt2", "scripted.pt", "appended.pt", "state.pth", "rezipped.pt", "zip64.pt", "deflated.pt", "nested.pt2"]
)
def test_all_but_the_weights_is_there(program, files, name, read_headers, tmp_path):
    content = files[name]
    whole = tmp_path / name
    whole.write_bytes(content)
    with serve({f"/{name}": Served(content)}) as url, fxtrace.fetch(f"{url}/{name}", read_headers=read_headers) as skeleton:
        found = contents(skeleton)
        assert len(found) == len(content) and outside(found, skeleton.holes) == outside(content, skeleton.holes)
        for start, end in skeleton.holes:
            mark, length = found[start : min(end, start + len(MARK))], len(MARK) + 2 + len(skeleton.url) + 1
            assert len(mark) >= 4 and MARK.startswith(mark)
            bytes_there, bytes_whole = (numpy.frombuffer(each[start + length : end], numpy.uint8) for each in (found, content))
            assert ((bytes_there == 0) | (bytes_there == bytes_whole)).all()
        assert sum(end - start for start, end in skeleton.holes) > 4 * 150_000
        assert skeleton.bytes_read < 300_000
        if name in ("exported.pt2", "scripted.pt", "appended.pt", "state.pth") and not read_headers:
            assert skeleton.requests <= 6
        for command in ("trace", "summary", "inspect"):
            results = [subprocess.run([program.path, command, path], capture_output=True) for path in (whole, skeleton.path)]
            texts = [done.stdout.replace(os.fsencode(path), b"PATH") for done, path in zip(results, (whole, skeleton.path))]
            assert texts[0] == texts[1] and results[0].returncode == results[1].returncode


def test_numbers_beyond_32_bits(tmp_path):
    """Headers as torch.save writes them for tensors of 5 GB, and behind those: seen with torch 2.13, recorded here."""
    info = zipfile.ZipInfo("big/data/1")
    info.file_size = info.compress_size = 4_400_000_000
    info.CRC, info.flag_bits, info.header_offset = 0x1E7E8AE2, 0x808, 864
    record = _skeleton._Record(info, 0, 864 + 96 + 4_400_000_000 + 24)
    before, behind = _skeleton._frame_of_torch(record)
    assert before == bytes.fromhex("504b0304000008080000000000000000000000000000000000000a003800") + b"big/data/1" + (
        struct.pack("<HHQQ", 1, 16, 4_400_000_000, 0) + b"FB \0" + b"Z" * 32
    )
    assert behind == b"PK\7\x08" + struct.pack("<LQQ", 0x1E7E8AE2, 4_400_000_000, 4_400_000_000)
    assert _skeleton._frame_of_torch(_skeleton._Record(info, 0, record.after + 1)) is None


def test_random_ranges():
    chance = random.Random(7)
    for _ in range(300):
        size = 4_000_000
        draw = [sorted(chance.sample(range(size), 2)) for _ in range(chance.randrange(60))]
        wanted = [(start, min(end, start + chance.choice((1, 50, 30_000)))) for start, end in draw]
        there = _skeleton._joined((start, start + chance.randrange(40_000)) for start in chance.sample(range(size), 20))
        few = _skeleton._few(wanted, size)
        left = _skeleton._without(few, there)
        inside = lambda at, ranges: any(start <= at < end for start, end in ranges)  # noqa: E731
        for start, end in wanted:
            for at in (start, (start + end) // 2, end - 1):
                assert inside(at, few) and inside(at, left) != inside(at, there)
        assert all(before[1] < after[0] for before, after in zip(few, few[1:]))
        spread = sum(end - start for start, end in few) - sum(end - start for start, end in _skeleton._joined(wanted))
        assert spread <= len(wanted) * _skeleton._CLOSE + size // _skeleton._LITTLE


def test_files_that_are_small_or_no_archives(program, tmp_path):
    small = contents(os.path.join(harness.SAMPLES, "nested_exported.pt2"))
    text = contents_of_collection(program)
    legacy = saved(lambda value, out: torch.save(value, out, _use_new_zipfile_serialization=False), {"w": torch.zeros(200_000)})
    served = {"/m.pt2": Served(small), "/c.json": Served(text), "/old.pth": Served(legacy), "/empty.pt": Served(b"")}
    with serve(served) as url:
        for name, content in (("m.pt2", small), ("c.json", text), ("old.pth", legacy)):
            with fxtrace.fetch(f"{url}/{name}") as skeleton:
                assert contents(skeleton) == content and skeleton.holes == ()
        assert len(fxtrace.trace(f"{url}/m.pt2").root) == len(fxtrace.load(f"{url}/c.json").root) == 16
        with pytest.raises(fxtrace.InputError):
            fxtrace.trace(f"{url}/empty.pt")
    large = tmp_path / "large.bin"
    with open(large, "wb") as file:
        file.truncate(40 << 20)
    with serve({"/large.bin": Served(str(large))}) as url, pytest.raises(fxtrace.InputError, match="not a zip archive") as raised:
        fxtrace.fetch(f"{url}/large.bin")
    assert "--whole" in raised.value.hints[0]


def contents_of_collection(program) -> bytes:
    sample = os.path.join(harness.SAMPLES, "nested_exported.pt2")
    return subprocess.run([program.path, "trace", sample], capture_output=True, check=True).stdout


# Holes are no weights


def test_what_needs_weights_refuses_holes(program, files, tmp_path):
    for name in ("exported.pt2", "scripted.pt", "nested.pt2"):
        with serve({f"/{name}": Served(files[name])}) as url, fxtrace.fetch(f"{url}/{name}", tmp_path / name):
            pass
        copy = tmp_path / ("copy_" + name)  # without what stands beside the file
        shutil.copyfile(tmp_path / name, copy)
        for path in (tmp_path / name, copy):
            shape = ["--input", "x=float32[2,200]"] if name == "scripted.pt" else []
            commands = [["convert", *shape, "-o", str(tmp_path / "out.pt2")], ["verify", *shape], ["check", "--security"]]
            commands += [["check", "--program"]] if name != "scripted.pt" else []
            commands += [["check", "--verify-content"], ["diff", "--verify-content", str(path)]]
            commands += [["catalog", "--verify-content", "--strict", "-o", str(tmp_path / "c.sqlite")]]
            for command in commands:
                done = subprocess.run([program.path, *command, path], capture_output=True, text=True)
                assert done.returncode in (1, 3), (command, done)
                said = done.stdout + done.stderr
                assert "skeleton" in said or "checksum" in said, (command, said)
                if name != "nested.pt2" and command[0] not in ("check", "catalog"):
                    assert f"--whole -o FILE {url}/{name}" in said
            assert not (tmp_path / "out.pt2").exists()
            with pytest.raises(fxtrace.InputError, match="weights of this model are not here"):
                fxtrace.trace(path).graph_module()
    with serve({"/exported.pt2": Served(files["exported.pt2"])}) as url:
        collection = fxtrace.trace(f"{url}/exported.pt2")
        with pytest.raises(fxtrace.InputError, match="weights of this model are not here"):
            collection.graph_module()
        with pytest.raises(fxtrace.InputError, match=f"{url}/exported.pt2: the bytes of record"):
            fxtrace.convert(f"{url}/exported.pt2", tmp_path / "out.pt")
        fxtrace.fetch(f"{url}/exported.pt2", tmp_path / "whole.pt2", whole=True)
        assert contents(tmp_path / "whole.pt2") == files["exported.pt2"]
        assert collection.graph_module(tmp_path / "whole.pt2")(torch.randn(2, 200)).shape == (2, 200)


def test_what_stands_beside_a_skeleton(files, tmp_path):
    path = tmp_path / "m.pt2"
    served = Served(files["exported.pt2"])
    with serve({"/m.pt2": served}) as url:
        first = fxtrace.fetch(f"{url}/m.pt2?X-Signature={SECRET}", path)
        said = json.loads(contents(str(path) + ".skeleton.json"))
        assert (said["url"], said["size"], said["tag"]) == (f"{url}/m.pt2", len(files["exported.pt2"]), '"1"')
        assert tuple(map(tuple, said["holes"])) == tuple(sorted(first.holes)) and len(said["directory"]) == 64
        if hasattr(os, "getxattr"):
            try:
                assert json.loads(os.getxattr(path, "user.fxtrace.skeleton"))["url"] == f"{url}/m.pt2"
            except OSError:
                pass  # this file system has no attributes
        before = os.stat(path).st_ino
        again = fxtrace.fetch(f"{url}/m.pt2", path)  # one request tells that it is the same
        assert again.requests == 1 and os.stat(path).st_ino == before and set(again.holes) == set(first.holes)
        served.tag = '"2"'
        assert fxtrace.fetch(f"{url}/m.pt2", path).tag == '"2"' and os.stat(path).st_ino != before
        fxtrace.fetch(f"{url}/m.pt2", path, whole=True)
        assert sorted(os.listdir(tmp_path)) == ["m.pt2", "m.pt2.skeleton.json"]
        assert contents(path) == files["exported.pt2"] and fxtrace.fetch(f"{url}/m.pt2", path).requests == 1  # it is kept
        assert contents(path) == files["exported.pt2"]
        temporary = fxtrace.fetch(f"{url}/m.pt2")
        folder = os.path.dirname(temporary.path)
        assert os.path.exists(folder)
        del temporary
        assert not os.path.exists(folder)


def test_values_that_a_graph_has(program, tmp_path):
    """Small constants are no weights: the trace has their values."""
    torch.manual_seed(0)
    layers = [layer for _ in range(3) for layer in (torch.nn.Conv2d(64, 64, 3), torch.nn.BatchNorm2d(64), torch.nn.ReLU())]
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7), *layers, torch.nn.Flatten(), torch.nn.LazyLinear(10)).eval()
    x = torch.randn(1, 3, 32, 32)
    model(x)
    content = archive_edit.save(torch.jit.freeze(torch.jit.trace(model, x)))
    (tmp_path / "f.pt").write_bytes(content)
    expected = subprocess.run([program.path, "trace", tmp_path / "f.pt"], capture_output=True, check=True).stdout
    with serve({"/f.pt": Served(content)}) as url, fxtrace.fetch(f"{url}/f.pt") as skeleton:
        assert skeleton.bytes_read < len(content) / 2 and len(skeleton.holes) >= 3
        found = subprocess.run([program.path, "trace", skeleton.path], capture_output=True, check=True).stdout
        assert found.replace(os.fsencode(skeleton.path), b"P") == expected.replace(os.fsencode(tmp_path / "f.pt"), b"P")


class Anchors(torch.nn.Module):
    anchors: list[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(200, 200) for _ in range(4))
        self.anchors = [torch.tensor([2, 3]), torch.tensor([1.5])]
        self.times = torch.tensor(2)

    def forward(self, x):
        for _ in range(int(self.times) + int(self.anchors[0][1])):
            for layer in self.layers:
                x = layer(x)
        return x


def test_tensors_that_decide(program, tmp_path):
    """Plain attributes of a script are no weights either."""
    content = archive_edit.save(torch.jit.script(Anchors().eval()))
    (tmp_path / "a.pt").write_bytes(content)
    expected = subprocess.run([program.path, "trace", "--no-default-leaves", tmp_path / "a.pt"], capture_output=True, check=True).stdout
    with serve({"/a.pt": Served(content)}) as url, fxtrace.fetch(f"{url}/a.pt") as skeleton:
        assert sum(end - start for start, end in skeleton.holes) > 3 * 160_000
        found = subprocess.run([program.path, "trace", "--no-default-leaves", skeleton.path], capture_output=True, check=True).stdout
        assert found.replace(os.fsencode(skeleton.path), b"P") == expected.replace(os.fsencode(tmp_path / "a.pt"), b"P")


# What is written


def test_no_other_file_is_replaced(files, tmp_path):
    path = tmp_path / "m.pt2"
    path.write_bytes(files["exported.pt2"])
    with serve({"/m.pt2": Served(files["exported.pt2"])}) as url:
        for source in (f"{url}/m.pt2", path.as_uri()):
            with pytest.raises(fxtrace.InputError, match="has not written"):
                fxtrace.fetch(source, path)
        assert contents(path) == files["exported.pt2"] and os.listdir(tmp_path) == ["m.pt2"]
        with pytest.raises(fxtrace.InputError, match="is a directory"):
            fxtrace.fetch(f"{url}/m.pt2", tmp_path)
        with pytest.raises(fxtrace.InputError, match="No such file or directory"):
            fxtrace.fetch(f"{url}/m.pt2", tmp_path / "none" / "m.pt2")
        # At the same time.
        target, found = tmp_path / "both.pt2", []
        threads = [threading.Thread(target=lambda: found.append(fxtrace.fetch(f"{url}/m.pt2", target))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 3 and len(contents(target)) == len(files["exported.pt2"])
        assert sorted(os.listdir(tmp_path)) == ["both.pt2", "both.pt2.skeleton.json", "m.pt2"]
        assert len(fxtrace.trace(target).root) > 5


def test_whole_files_of_servers_without_ranges(files, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    cut = lambda number, handler: number == 1 and cut_off(number, handler)  # noqa: E731
    with serve({"/m.pt2": Served(files["exported.pt2"], ranges=False), "/cut.pt2": Served(files["exported.pt2"], misbehave=cut)}) as url:
        for name in ("m.pt2", "cut.pt2"):
            fxtrace.fetch(f"{url}/{name}", tmp_path / name, whole=True)
            assert contents(tmp_path / name) == files["exported.pt2"]


# Servers


def answer(status: int, content: bytes = b"", **headers: str):
    def misbehave(number, handler):
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)
        return True

    return misbehave


def cut_off(number, handler):
    """Says more than it gives."""
    handler.send_response(206)
    handler.send_header("Content-Length", "131072")
    handler.send_header("Content-Range", "bytes 0-131071/131072")
    handler.end_headers()
    handler.wfile.write(b"x" * 1000)
    handler.close_connection = True
    return True


def other_part(number, handler):
    return number > 0 and answer(206, b"x" * 1000, Content_Range="bytes 0-999/5000000")(number, handler)


def endless(number, handler):
    """Gives more than was asked for, for ever."""
    handler.send_response(206)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.send_header("Content-Range", "bytes 0-131071/131072")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
    except OSError:
        return True


def hidden_by(number, handler):
    """Ignores ranges after the first request."""
    return number > 0 and answer(200, b"x" * 2_000_000)(number, handler)


@pytest.mark.parametrize(
    "served, says",
    [
        (dict(ranges=False), "does not give parts of files"),
        (dict(misbehave=cut_off), "gave 1000 of 131072 bytes|payload is not completed|not enough data"),
        (dict(misbehave=other_part), "gave bytes 0 to 999 of 5000000 where"),
        (dict(misbehave=endless), "more bytes than it said"),
        (dict(misbehave=hidden_by), "does not give parts|the whole file where a part"),
        (dict(misbehave=answer(503)), "503"),
        (dict(misbehave=answer(429, Retry_After="0")), "429"),
        (dict(misbehave=answer(403)), "403"),
        (dict(misbehave=answer(500, b"<html>")), "500"),
        (dict(misbehave=answer(200, b"<html>sign in</html>")), "HTML page"),
        (dict(misbehave=answer(302, Location="/nowhere")), "no such file"),
        (dict(tag=lambda number: f'"{number}"'), "changed while it was read"),
        (dict(tag=""), None),
    ],
)
def test_servers_that_misbehave(files, monkeypatch, served, says, tmp_path):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with serve({"/m.pt": Served(files["state.pth"], **served)}) as url:
        if says is None:
            assert fxtrace.fetch(f"{url}/m.pt", tmp_path / "m.pt").holes
            assert fxtrace.fetch(f"{url}/m.pt", tmp_path / "m.pt").requests > 1  # nothing tells that it is the same
            return
        with pytest.raises(fxtrace.InputError, match=says) as raised:
            fxtrace.trace(f"{url}/m.pt?token={SECRET}")
        assert SECRET not in str(raised.value) + str(raised.value.hints)
        assert f"{url}/m.pt" in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_what_helps_is_tried_again(files):
    busy = lambda number, handler: number in (0, 2) and answer(503, Retry_After="0")(number, handler)  # noqa: E731
    served = Served(files["scripted.pt"], misbehave=busy)
    moved = Served(b"", misbehave=answer(302, Location="/m.pt"))
    with serve({"/m.pt": served, "/moved.pt": moved}) as url, fxtrace.fetch(f"{url}/moved.pt") as skeleton:
        assert outside(contents(skeleton), skeleton.holes) == outside(files["scripted.pt"], skeleton.holes)


@pytest.mark.parametrize(
    "given, public",
    [
        ("HTTP://h/x?token=S#S", "HTTP://h/x"),
        ("https://user:p@S@h/x@y", "https://h/x@y"),
        ("s3://KEY:S@bucket/a b.pt", "s3://bucket/a b.pt"),
        ("az://c/f?sig=S", "az://c/f"),
        ("abfs://container@account/f", "abfs://container@account/f"),
        ("filecache::HTTP://h/x?S", "filecache::HTTP://h/x"),
        ('memory://a/x"y\n\tä%20.pt', "memory://a/x%22y%0A%09ä%20.pt"),
    ],
)
def test_names_of_urls(given, public):
    assert _remote.is_url(given) and _remote.public_url(given) == public


def test_errors_have_no_other_errors_with_credentials(files):
    served = Served(b"", misbehave=answer(302, Location=f"/m.pt?token={SECRET}"))
    elsewhere = Served(b"", misbehave=answer(302, Location=f"ftp://h/{SECRET}"))
    with serve({"/m.pt": served, "/e.pt": elsewhere}) as url:
        for name, options in (("m.pt", {}), ("e.pt", {}), (f"m.pt?token={SECRET}", {"timeout": SECRET})):
            with pytest.raises((fxtrace.InputError, fxtrace.UsageError)) as raised:
                fxtrace.fetch(f"{url}/{name}", storage_options=options)
            error = raised.value
            while error is not None:
                assert SECRET not in str(error) + repr(error), name
                error = error.__context__ or error.__cause__


def test_credentials_stand_in_no_output(files, tmp_path):
    import aiohttp

    wanted = aiohttp.BasicAuth("reader", SECRET).encode()
    refuse = lambda number, handler: handler.headers.get("Authorization") != wanted and answer(401)(number, handler)  # noqa: E731
    served = Served(files["exported.pt2"], misbehave=refuse)
    with serve({"/m.pt2": served}) as url:
        with pytest.raises(fxtrace.InputError, match="401") as raised:
            fxtrace.fetch(f"{url}/m.pt2")
        assert "storage_options" in raised.value.hints[0]
        fxtrace.fetch(f"{url}/m.pt2", tmp_path / "m.pt2", {"headers": {"Authorization": wanted}})
        said = b"".join(contents(tmp_path / name) for name in os.listdir(tmp_path))
        assert SECRET.encode() not in said and wanted.encode() not in said
        for options in ({"headers": {"Authorization": wanted}}, {"client_kwargs": {"headers": {"Authorization": wanted}}}):
            with fxtrace.fetch(f"{url}/m.pt2", storage_options=options) as skeleton:
                said = repr(skeleton).encode() + contents(skeleton)
                assert SECRET.encode() not in said and wanted.encode() not in said
        with pytest.raises(fxtrace.InputError) as raised:
            fxtrace.fetch(url.replace("127.0.0.1", f"reader:{SECRET}@127.0.0.1") + "/none.pt2")
        assert SECRET not in str(raised.value)


def test_urls_that_cannot_be_read(tmp_path):
    for url, kind in (
        ("nosuch://bucket/m.pt", fxtrace.UsageError),
        ("memory://nothing/m.pt", fxtrace.InputError),
        ("http://127.0.0.1:9/m.pt", fxtrace.InputError),
    ):
        with pytest.raises(kind) as raised:
            fxtrace.fetch(url, storage_options={"key": SECRET} if url.startswith("nosuch") else None)
        assert url in str(raised.value) and SECRET not in str(raised.value)


# On the command line


def test_command(files, program, tmp_path):
    environment = {**os.environ, "PYTHONPATH": harness.PACKAGE}

    def run(*arguments):
        command = [sys.executable, "-m", "fxtrace", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    with serve({"/m.pt2": Served(files["exported.pt2"])}) as url:
        done = run("fetch", f"{url}/m.pt2", "-o", "m.pt2")
        assert done.returncode == 0 and "weights are left out" in done.stderr, done
        assert len(fxtrace.trace(tmp_path / "m.pt2").graphs) == len(fxtrace.trace(io.BytesIO(files["exported.pt2"])).graphs)
        done = run("fetch", "--whole", "-o", "whole.pt2", f"{url}/m.pt2")
        assert done.returncode == 0 and contents(tmp_path / "whole.pt2") == files["exported.pt2"]
        done = run("trace", f"{url}/m.pt2", "-o", "out.json")
        assert done.returncode == 0 and (tmp_path / "out.json").exists(), done
        done = run("fetch", f"{url}/none.pt2", "-o", "none.pt2")
        assert done.returncode == 3 and "fxtrace: error: " in done.stderr and not (tmp_path / "none.pt2").exists()
        for wrong in (["fetch"], ["fetch", f"{url}/m.pt2"], ["fetch", "m.pt2", "-o", "x"], ["fetch", f"{url}/m.pt2", "-o", "x", "--what"]):
            assert run(*wrong).returncode == 2, wrong
        assert "fetch URL -o FILE" in run("fetch", "--help").stdout
    done = subprocess.run([program.path, "trace", "s3://bucket/m.pt2"], capture_output=True, text=True)
    assert done.returncode == 3 and "python -m fxtrace fetch" in done.stderr


# Catalogs


def test_catalogs_of_stores(files, program, tmp_path):
    import fsspec

    names = ["exported.pt2", "scripted.pt", "nested.pt2"]
    store = fsspec.filesystem("memory")
    for name in names:
        store.pipe(f"/models/deep/{name}", files[name])
        (tmp_path / name).write_bytes(files[name])
    store.pipe("/models/broken.pt", b"no model")
    store.pipe("/models/notes.txt", b"no model")
    local = {os.path.basename(row[0]): row[1:] for row in fxtrace.catalog(tmp_path).execute(ROWS)}
    made = tmp_path / "c.sqlite"
    with pytest.warns(fxtrace.FxtraceWarning, match="1 could not be read"):
        found = {row[0]: row[1:] for row in fxtrace.catalog("memory://models", made).execute(ROWS)}
    assert found.keys() == {"memory:///models/broken.pt", *(f"memory:///models/deep/{name}" for name in names)}
    assert {name: found[f"memory:///models/deep/{name}"] for name in names} == {name: local[name] for name in names}
    # What has not changed is not fetched, unless all is read again.
    served = {f"/{name}": Served(files[name]) for name in names}
    with serve(served) as url:
        urls = [f"{url}/{name}?token={SECRET}" for name in names]
        with pytest.warns(fxtrace.FxtraceWarning, match="none.pt: no such file"):
            fxtrace.catalog([*urls, f"{url}/none.pt"], made)
        counts = {name: each.sent for name, each in served.items()}
        served["/scripted.pt"].tag = '"other"'
        rows = {row[0]: row[1:] for row in fxtrace.catalog(urls, made).execute(ROWS)}
        assert {name for name, each in served.items() if each.sent > counts[name] + 10} == {"/scripted.pt"}
        assert {name: rows[f"{url}/{name}"] for name in names} == {name: local[name] for name in names}
        assert "memory:///models/broken.pt" in rows and SECRET.encode() not in contents(made)
        rows = {row[0]: row for row in fxtrace.catalog(urls, made, leaf="torch.nn.Linear").execute(ROWS)}
        assert rows[f"{url}/exported.pt2"][3] != local["exported.pt2"][2]
        error = "SELECT error FROM models WHERE path = ?"
        assert "no such file" in fxtrace.catalog(urls, made).execute(error, (f"{url}/none.pt",)).fetchone()[0]
        with pytest.raises(fxtrace.InputError, match="^[^ ]*none.pt: no such file$"):
            fxtrace.catalog(f"{url}/none.pt", strict=True)
        with pytest.raises(fxtrace.InputError, match="several URLs have this name"):
            fxtrace.catalog([f"{url}/scripted.pt?a", f"{url}/scripted.pt?b"], made)
        environment = {**os.environ, "PYTHONPATH": harness.PACKAGE}
        command = [sys.executable, "-m", "fxtrace", "catalog", *urls, "-o", "cli.sqlite", "--export", "tables"]
        subprocess.run(command, check=True, env=environment, cwd=tmp_path, capture_output=True)
        assert (tmp_path / "tables" / "table=models").is_dir()
        query = [program.path, "query", tmp_path / "cli.sqlite", "SELECT count(*) AS n FROM models WHERE error IS NULL", "--csv"]
        assert subprocess.run(query, capture_output=True, text=True).stdout.split() == ["n", "3"]


def test_names_in_stores_name_no_other_files(files, tmp_path, monkeypatch):
    import fsspec

    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.pt").write_bytes(files["scripted.pt"])
    (tmp_path / "empty").mkdir()
    store = fsspec.filesystem("memory")
    small = contents(os.path.join(harness.SAMPLES, "nested_exported.pt2"))
    names = ["c\nsecret.pt", "a\tb.pt", "\U0001f600" * 60 + ".pt", "x y.pt", "x%20y.pt", "-o.pt", "../up.pt"]
    for name in names:
        store.pipe(f"/names/{name}", small)
    rows = fxtrace.catalog("memory://names").execute("SELECT path, error, type FROM models").fetchall()
    assert len(rows) == len(store.find("/names")) and {row[1:] for row in rows} == {(None, "nets.nested.Net")}
    assert fxtrace.catalog((tmp_path / "empty").as_uri()).execute("SELECT count(*) FROM models").fetchone() == (0,)
    both = fxtrace.catalog([(tmp_path / "empty").as_uri(), "secret.pt"])
    assert both.execute("SELECT path FROM models").fetchall() == [("secret.pt",)]


ROWS = "SELECT path, content, type, nodes, parameters, macs FROM models"
