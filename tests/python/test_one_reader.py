"""Tests that archives in which miniz, Python's zipfile and fxtrace could find different files are refused by every command with
one error, and that files of real writers are not."""

import dataclasses
import io
import os
import random
import struct
import subprocess
import zipfile
import zlib

import harness
import pytest
import torch

SAMPLE = os.path.join(harness.SAMPLES, "nested_exported.pt2")
SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")
PROGRAM = "nested_exported/models/model.json"
MESSAGE = "this is a damaged zip archive, or one in which readers find different files: "


@dataclasses.dataclass
class Record:
    """With fields of its header and of its entry that say something else than is so."""

    name: bytes
    data: bytes
    method: int = 0
    header: dict = dataclasses.field(default_factory=dict)
    entry: dict = dataclasses.field(default_factory=dict)
    after: bytes = b""  # between its content and what follows

    def content(self) -> bytes:
        if self.method != 8:
            return self.data
        coder = zlib.compressobj(9, zlib.DEFLATED, -15)
        return coder.compress(self.data) + coder.flush()

    def fields(self, changed: dict) -> dict:
        made = {"flags": 0, "method": self.method, "crc": zlib.crc32(self.data), "compressed": len(self.content()), "size": len(self.data)}
        return {**made, "name": self.name, "extra": b"", "disk": 0, "attributes": 0, **changed}

    def local(self) -> bytes:
        of = self.fields(self.header)
        numbers = struct.pack("<HHHHHIIIHH", 20, of["flags"], of["method"], 0, 0x21, of["crc"], of["compressed"], of["size"], len(of["name"]), len(of["extra"]))
        return b"PK\3\4" + numbers + of["name"] + of["extra"] + self.content() + self.after

    def central(self, offset: int) -> bytes:
        of = {"offset": offset, **self.fields(self.entry)}
        numbers = struct.pack("<HHHHHHIIIHHH", 20, 20, of["flags"], of["method"], 0, 0x21, of["crc"], of["compressed"], of["size"], len(of["name"]), len(of["extra"]), 0)
        return b"PK\1\2" + numbers + struct.pack("<HHII", of["disk"], 0, of["attributes"], of["offset"]) + of["name"] + of["extra"]


def end(count: int, size: int, offset: int, comment: bytes = b"", disk: int = 0, here: int | None = None, length: int | None = None) -> bytes:
    here = count if here is None else here
    return b"PK\5\6" + struct.pack("<HHHHIIH", disk, disk, here, count, size, offset, len(comment) if length is None else length) + comment


def end64(count: int, size: int, offset: int, rest: int = 44) -> bytes:
    return b"PK\6\6" + struct.pack("<QHHIIQQQQ", rest, 45, 45, 0, 0, count, count, size, offset)


def locator(at: int, disks: int = 1) -> bytes:
    return b"PK\6\7" + struct.pack("<IQI", 0, at, disks)


def parts(records: list[Record], start: int = 0) -> tuple[bytes, bytes, int]:
    """Records and directory, and where that is."""
    body, entries = b"", b""
    for record in records:
        entries += record.central(start + len(body))
        body += record.local()
    return body, entries, start + len(body)


def archive(records: list[Record]) -> bytes:
    body, directory, at = parts(records)
    return body + directory + end(len(records), len(directory), at)


def records(source: str = SAMPLE, method: int = 0) -> list[Record]:
    with zipfile.ZipFile(source) as old:
        return [Record(name.encode(), old.read(name), method) for name in old.namelist()]


def changed(index: int, **fields) -> bytes:
    made = records()
    made[index] = dataclasses.replace(made[index], **fields)
    return archive(made)


def descriptor(record: Record, width: str, mark: bytes) -> bytes:
    return mark + struct.pack("<I" + width * 2, zlib.crc32(record.data), len(record.content()), len(record.data))


def with_descriptors(width: str, mark: bytes, method: int) -> bytes:
    left_out = {"flags": 8, "crc": 0, "compressed": 0, "size": 0}
    made = [dataclasses.replace(record, header=left_out, entry={"flags": 8}, after=descriptor(record, width, mark)) for record in records(method=method)]
    return archive(made)


def zip64(change_end: dict | None = None, at: int | None = None, rest: int = 44, disks: int = 1, more: bytes = b"", offset: int | None = None) -> bytes:
    made = records()
    body, directory, begin = parts(made)
    said = {"count": 0xFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF, **(change_end or {})}
    place = len(body) + len(directory)
    end_64 = end64(len(made), len(directory), begin if offset is None else offset, rest) + more
    return body + directory + end_64 + locator(place if at is None else at, disks) + end(said["count"], said["size"], said["offset"])


def with_zip64_fields(field: bytes = b"", **entry) -> bytes:
    made = records()
    first = made[0]
    extra = struct.pack("<HHQQQ", 1, 24, len(first.data), len(first.data), 0) if not field else field
    made[0] = dataclasses.replace(first, entry={"compressed": 0xFFFFFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF, "extra": extra, **entry})
    return archive(made)


def replaced(text: bytes) -> list[Record]:
    """Another program."""
    return [dataclasses.replace(record, data=record.data.replace(b"relu", text)) if record.name.decode() == PROGRAM else record for record in records()]


# --- what real writers make ---


def streamed() -> bytes:
    """Python's zipfile, into what cannot seek."""

    class Stream(io.RawIOBase):
        def __init__(self):
            self.bytes = bytearray()

        def writable(self):
            return True

        def write(self, data):
            self.bytes += data
            return len(data)

    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for record in records():
            new.writestr(record.name.decode(), record.data)
    return bytes(stream.bytes)


def written(compression: int, large: bool = False, comment: bytes = b"", folders: bool = False) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as new:
        if folders:
            new.mkdir("nested_exported/")
        for record in records():
            with new.open(record.name.decode(), "w", force_zip64=large) as file:
                file.write(record.data)
        new.comment = comment
    return buffer.getvalue()


def by_torch(crc: bool) -> bytes:
    buffer = io.BytesIO()
    writer = torch._C.PyTorchFileWriter(buffer, crc)
    for record in records():
        name = record.name.decode().split("/", 1)[1]
        if name != ".data/version" and not name.startswith(".data/serialization_id"):
            writer.write_record(name, record.data, len(record.data))
    writer.write_end_of_file()
    return buffer.getvalue()


REAL = {
    "as it is": lambda: archive(records()),
    "deflated": lambda: archive(records(method=8)),
    **{
        f"descriptors of {width} {mark!r} {method}": lambda width=width, mark=mark, method=method: with_descriptors(width, mark, method)
        for width in "IQ"
        for mark in (b"", b"PK\7\x08")
        for method in (0, 8)
    },
    "zip64": lambda: zip64(),
    "zip64, said twice": lambda: zip64({"count": len(records())}),
    "zip64 fields": lambda: with_zip64_fields(),
    "streamed": streamed,
    "zipfile": lambda: written(zipfile.ZIP_STORED),
    "zipfile, deflated": lambda: written(zipfile.ZIP_DEFLATED),
    "zipfile, large": lambda: written(zipfile.ZIP_DEFLATED, large=True),
    "a comment": lambda: written(zipfile.ZIP_STORED, comment=b"PK\5 made by hand" * 99),
    "folders": lambda: written(zipfile.ZIP_STORED, folders=True),
    "torch": lambda: by_torch(True),
    "torch, without checksums": lambda: by_torch(False),
    "padding": lambda: changed(0, header={"extra": b"FB\x05\0ZZZZZ"}),
    "directory in another order": lambda: reordered(),
    "UTF-8 twice": lambda: changed(0, entry={"flags": 0x800, "extra": unicode_path(records()[0].name)}),
}


def reordered() -> bytes:
    made = records()
    body, at, entries = b"", 0, []
    for record in made:
        entries.append(record.central(at))
        body += record.local()
        at = len(body)
    directory = b"".join(reversed(entries))
    return body + directory + end(len(made), len(directory), at)


def unicode_path(name: bytes, of: bytes | None = None) -> bytes:
    field = struct.pack("<BI", 1, zlib.crc32(records()[0].name if of is None else of)) + name
    return struct.pack("<HH", 0x7075, len(field)) + field


@pytest.fixture(scope="module")
def graphs(program):
    return program.trace(SAMPLE)["graphs"]


@pytest.mark.parametrize("label", REAL)
def test_what_writers_make_is_read(program, tmp_path, graphs, label):
    path = tmp_path / "model.pt2"
    path.write_bytes(REAL[label]())
    assert program.trace(str(path))["graphs"] == graphs


def test_archives_in_archives(program, tmp_path):
    """One in a record, which ends in the archive's last bytes."""
    inner = archive([Record(b"m/data.pkl", b"\x80\2]."), Record(b"m/version", b"3\n")])
    path = tmp_path / "model.pt2"
    for method in (0, 8):
        path.write_bytes(archive([*records(), Record(b"nested_exported/extra/inner.pt", inner, method)]))
        assert program.trace(str(path))["graphs"] == program.trace(SAMPLE)["graphs"]
    # What readers find different files in is refused there, too.
    path.write_bytes(archive([*records(), Record(b"nested_exported/extra/inner.pt", b"PK\3\4" + inner)]))
    done = run(program, "check", "--security", path)
    assert done.returncode == 1 and "readers find different files" in done.stdout


# --- what makes readers differ ---


def two_ends(first: list[Record], second: list[Record], is_comment: bool) -> bytes:
    """Two directories with an end record each, of which the first has the other in its comment, or not."""
    body, directory, at = parts(first)
    other_body, other, _ = parts(second, len(body))
    place = len(body) + len(other_body) + len(directory)
    if is_comment:
        last = other + end(len(second), len(other), place + 22)
        return body + other_body + directory + end(len(first), len(directory), len(body) + len(other_body), last)
    last = end(len(second), len(other), place)
    return body + other_body + directory + other + end(len(first), len(directory), len(body) + len(other_body), last) + b""


def hidden_between() -> bytes:
    made = records()
    made[0].after = Record(PROGRAM.encode(), b"{}").local()
    return archive(made)


def prefixed(shifts: bool) -> bytes:
    start = b"#!/bin/sh\nexit 0\n"
    made = records()
    body, directory, at = parts(made, len(start) if shifts else 0)
    return start + body + directory + end(len(made), len(directory), at)


def extended() -> bytes:
    """What Python's zipfile does not find: something between the end record of zip64 and what points to it."""
    return zip64(rest=44 + 12, more=b"\1\0\4\0\0\0" + bytes(6))


def with_record(name: bytes) -> bytes:
    return archive([*records(), Record(name, b"{}")])


def overlapping() -> bytes:
    made = records()
    made[1] = dataclasses.replace(made[1], entry={"offset": 0})
    return archive(made)


def ends(**said) -> bytes:
    made = records()
    body, directory, at = parts(made)
    return body + directory + end(**{"count": len(made), "size": len(directory), "offset": at, **said})


def script_and_program(folder: bytes) -> list[Record]:
    return [Record(folder + record.name.split(b"/", 1)[1], record.data) for record in records(SCRIPTED)]


MISLEADING = {
    "two end records": (lambda: two_ends(records(), replaced(b"tanh"), False), "end record"),
    "two end records, the other first": (lambda: two_ends(replaced(b"tanh"), records(), False), "end record"),
    "an end record in the comment": (lambda: two_ends(records(), replaced(b"tanh"), True), ""),
    "the mark in the comment": (lambda: ends(comment=b"PK\5\6 and so on"), "the comment of the end record contains a second end record"),
    "bytes behind": (lambda: archive(records()) + b"\n", "1 bytes follow the end record"),
    "many bytes behind": (lambda: archive(records()) + bytes(5000), "follow the end record"),
    "a comment that is cut off": (lambda: ends(length=5), "cut off"),
    "directory elsewhere": (lambda: ends(offset=17), "does not end where the end record begins"),
    "directory too short": (lambda: ends(size=46), "does not end where the end record begins"),
    "directory outside": (lambda: ends(offset=0xFFFFFFF0), "does not end where the end record begins"),
    "fewer records": (lambda: ends(count=1), "more records than the 1"),
    "more records": (lambda: ends(count=99), "the end record says 99"),
    "several disks": (lambda: ends(disk=1), "several disks"),
    "records on another disk": (lambda: ends(here=1), "several disks"),
    "a record on another disk": (lambda: changed(0, entry={"disk": 1}), "several disks"),
    "bytes before": (lambda: prefixed(True), "17 bytes come before the first record"),
    "bytes before, offsets without": (lambda: prefixed(False), "does not end where the end record begins"),
    "zip64 elsewhere": (lambda: zip64(at=0), "not right before its locator"),
    "zip64 says otherwise": (lambda: zip64({"count": 1}), "disagree on the directory"),
    "zip64 says otherwise of the place": (lambda: zip64({"offset": 0}), "disagree on the directory"),
    "zip64 with something behind": (extended, "not right before its locator"),
    "zip64 of several disks": (lambda: zip64(disks=2), "several disks"),
    "zip64 points elsewhere": (lambda: zip64(offset=0), "does not end where the end record begins"),
    "two of a name": (lambda: with_record(PROGRAM.encode()), f"two records are called '{PROGRAM}'"),
    "case": (lambda: with_record(PROGRAM.replace("model.json", "Model.JSON").encode()), "have one name for some readers"),
    "a leading slash": (lambda: with_record(b"/" + PROGRAM.encode()), "have one name for some readers"),
    "two slashes": (lambda: with_record(PROGRAM.replace("/", "//").encode()), "have one name for some readers"),
    "a dot": (lambda: with_record(b"./" + PROGRAM.encode()), "have one name for some readers"),
    "a backslash": (lambda: with_record(PROGRAM.replace("/", "\\").encode()), "have one name for some readers"),
    "a folder of that name": (lambda: archive([*records(), Record(PROGRAM.encode() + b"/", b"")]), "have one name for some readers"),
    "two models, one in capitals": (
        lambda: archive([Record(b"other/" + record.name.split(b"/", 1)[1].upper(), record.data) for record in records(SCRIPTED)] + records()),
        "for some readers",
    ),
    "a folder in capitals": (lambda: archive([Record(b"NESTED_exported/x", b"")] + records()), "for some readers"),
    "a zero byte": (lambda: with_record(PROGRAM.encode() + b"\0x"), "goes on behind a zero byte"),
    "a second name": (lambda: changed(0, entry={"extra": unicode_path(b"nested_exported/other")}), "has a second name"),
    "another name in the header": (lambda: changed(0, header={"name": b"x" * len(records()[0].name)}), "has another name than the directory"),
    "a longer name in the header": (lambda: changed(0, header={"name": records()[0].name + b"x"}), "has another name than the directory"),
    "another method in the header": (lambda: changed(0, header={"method": 8}), "another method"),
    "another size in the header": (lambda: changed(0, header={"size": 1}), "another size or checksum"),
    "another compressed size in the header": (lambda: changed(0, header={"compressed": 1}), "another size or checksum"),
    "another checksum in the header": (lambda: changed(0, header={"crc": 1}), "another size or checksum"),
    "two sizes of what is not compressed": (lambda: changed(0, entry={"size": 1}), "is not compressed, but has the sizes 1 and"),
    "encrypted": (lambda: changed(0, entry={"flags": 1}), "encrypted"),
    "encrypted in the header": (lambda: changed(0, header={"flags": 1}), "encrypted"),
    "masked": (lambda: changed(0, entry={"flags": 0x2000}), "encrypted"),
    "a folder with content": (lambda: changed(0, entry={"attributes": 0x10}), "is a folder, and has content"),
    "a folder by its name": (lambda: with_record(b"nested_exported/folder/"), "is a folder, and has content"),
    "something between": (hidden_between, "do not belong to a record"),
    "a descriptor nobody speaks of": (lambda: changed(0, after=descriptor(records()[0], "I", b"PK\7\x08")), "do not belong to a record"),
    "a descriptor that says otherwise": (
        lambda: changed(0, header={"flags": 8}, entry={"flags": 8}, after=descriptor(records()[1], "I", b"PK\7\x08")),
        "do not belong to a record",
    ),
    "overlapping": (overlapping, ""),
    "no header": (lambda: changed(0, entry={"offset": 3}), ""),
    "two zip64 fields": (lambda: with_zip64_fields(struct.pack("<HHQQQ", 1, 24, len(records()[0].data), len(records()[0].data), 0) * 2), "two fields"),
    "a short zip64 field": (lambda: with_zip64_fields(struct.pack("<HHQ", 1, 8, len(records()[0].data))), "no field with its size"),
    "no zip64 field": (lambda: changed(0, entry={"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF}), "no field with its size"),
    "an extra field that is cut off": (lambda: changed(0, entry={"extra": b"\1\0\xff\0"}), "is cut off"),
    "deflated, longer than it says": (lambda: resized(-1), "more bytes than its size says"),
    "deflated, shorter than it says": (lambda: resized(1), "fewer bytes than its size says"),
    "deflated, with more behind": (lambda: trailing(), "end too late"),
    "two models": (lambda: archive([*records(), *script_and_program(b"other/")]), "it has two models"),
    "two models, the other first": (lambda: archive([*script_and_program(b"other/"), *records()]), "it has two models"),
    "two layouts": (
        lambda: archive([*records(), Record(b"nested_exported/data.pkl", b"\x80\2]."), Record(b"nested_exported/constants.pkl", b"\x80\2).")]),
        "in two layouts",
    ),
    "a folder with an empty name": (lambda: archive(script_and_program(b"/")), "a folder with an empty name"),
    "a folder without a name first": (lambda: archive([*script_and_program(b"/"), *records()]), "a folder with an empty name"),
}


def resized(by: int) -> bytes:
    made = records(method=8)
    index = next(i for i, record in enumerate(made) if record.name.decode() == PROGRAM)
    size = {"size": len(made[index].data) + by}
    made[index] = dataclasses.replace(made[index], header=size, entry=size)
    return archive(made)


def trailing() -> bytes:
    made = records(method=8)
    index = next(i for i, record in enumerate(made) if record.name.decode() == PROGRAM)
    size = {"compressed": len(made[index].content()) + 5}
    made[index] = dataclasses.replace(made[index], header=size, entry=size, after=b"other")
    return archive(made)


def run(program, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([program.path, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def refused(done: subprocess.CompletedProcess, path: object, says: str = "") -> None:
    first, *hints = done.stderr.splitlines()
    assert done.returncode == 3, done
    assert first.startswith(f"fxtrace: error: {path}: {MESSAGE}") and says in first, first
    assert len(hints) == 1 and hints[0].startswith("hint: save the model again"), hints


@pytest.mark.parametrize("label", MISLEADING)
def test_what_readers_differ_in_is_refused(program, tmp_path, label):
    make, says = MISLEADING[label]
    path = tmp_path / "model.pt2"
    path.write_bytes(make())
    refused(run(program, "trace", path), path, says)


@pytest.mark.parametrize("label", ["two end records", "case", "bytes before", "something between"])
def test_every_command_refuses(program, tmp_path, label):
    path = tmp_path / "model.pt2"
    path.write_bytes(MISLEADING[label][0]())
    for command in ("inspect", "summary", "render", "why", "order", "check", "extract"):
        more = {"extract": ["--module", "a"]}.get(command, [])
        done = run(program, command, path, *more)
        if command in ("render", "extract") and "fxtrace trace" in done.stderr:
            continue  # they take collections
        refused(done, path)
    refused(run(program, "check", "--security", path), path)
    refused(run(program, "diff", SAMPLE, path), path)
    refused(run(program, "diff", path, SAMPLE), path)
    catalog = tmp_path / "catalog.sqlite"
    run(program, "catalog", path, "-o", catalog)
    assert "readers find different files" in run(program, "query", catalog, "SELECT error FROM models", "--csv").stdout


def seen(data: bytes) -> list[bytes | None]:
    """The program as Python's zipfile finds it, and as torch does; None where they find none."""
    found = []
    for reader in (lambda: zipfile.ZipFile(io.BytesIO(data)).read(PROGRAM), lambda: torch._C.PyTorchFileReader(io.BytesIO(data)).get_record("models/model.json")):
        try:
            found.append(reader())
        except Exception:
            found.append(None)
    return found


def test_misleading_archives_are_read_by_torch():
    """The cases above are no mere damage: many are read, and some as different programs."""
    results = [seen(make()) for make, _ in MISLEADING.values()]
    assert sum(any(result) for result in results) > len(results) / 2
    assert any(None not in result and result[0] != result[1] for result in results) or any(None in result and any(result) for result in results)


@pytest.mark.parametrize("count", [pytest.param(120, id="some"), pytest.param(3000, id="many", marks=pytest.mark.volume)])
def test_who_reads_a_changed_archive_reads_the_same(program, tmp_path, graphs, count):
    """Bytes of headers, directory and end, changed at random: what is still traced is what torch and zipfile read."""
    chance = random.Random(count)
    sound = {label: REAL[label]() for label in ("as it is", "zip64", "descriptors of I b'PK\\x07\\x08' 8", "zip64 fields", "torch")}
    original = next(record.data for record in records() if record.name.decode() == PROGRAM)
    accepted = 0
    path = tmp_path / "model.pt2"
    for _ in range(count):
        data = bytearray(sound[chance.choice(list(sound))])
        directory = data.index(b"PK\1\2")
        marks = [at for at in range(len(data) - 3) if data[at : at + 2] == b"PK" and data[at + 2 : at + 4] in (b"\3\4", b"\1\2", b"\5\6", b"\6\6", b"\6\7", b"\7\x08")]
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.choice(marks if chance.random() < 0.7 else [at for at in marks if at >= directory]) + chance.randrange(4, 46)
            if at < len(data):
                data[at] = chance.choice((0, 1, 8, 255, data[at] ^ (1 << chance.randrange(8)), chance.randrange(256)))
        path.write_bytes(data)
        done = run(program, "trace", path)
        assert done.returncode in (0, 3), done.stderr
        if done.returncode == 0:
            accepted += 1
            for found in seen(bytes(data)):
                assert found in (original, None)
    assert 0 < accepted < count
