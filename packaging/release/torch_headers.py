"""Downloads the headers of a torch version that pip finds; only these, if the server supports requests for parts of a file."""

from __future__ import annotations

import io
import json
import re
import shutil
import urllib.request
import zipfile
from pathlib import Path

from common import TOOLS, WORK, Failure, run

WANTED = re.compile(r"torch/(include/|version\.py$)")


def folder_of(version: str) -> Path:
    return WORK / "torch" / version


class Remote(io.RawIOBase):
    """A file of a server that is read in parts, the last of which is kept; one that sends only the whole is read at once."""

    def __init__(self, address: str) -> None:
        self.address, self.place, self.start, self.held = address, 0, 0, b""
        with self.ask("bytes=-1") as answer:
            said = re.search(r"/(\d+)$", answer.headers.get("Content-Range") or "")
            if said:
                self.length = int(said[1])
            else:
                self.held = answer.read()
                self.length = len(self.held)

    def ask(self, part: str):
        return urllib.request.urlopen(urllib.request.Request(self.address, headers={"Range": part}), timeout=300)

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = 0) -> int:
        self.place = offset + (0, self.place, self.length)[whence]
        return self.place

    def hold(self, start: int, end: int) -> None:
        if start < self.start or end > self.start + len(self.held):
            with self.ask(f"bytes={start}-{end - 1}") as answer:
                self.start, self.held = start, answer.read()

    def read(self, size: int = -1) -> bytes:
        end = self.length if size < 0 else min(self.place + size, self.length)
        if end <= self.place:
            return b""
        self.hold(self.place, end)
        part = self.held[self.place - self.start : end - self.start]
        self.place = end
        return part


def address_of(version: str) -> str:
    report = WORK / "torch" / f"{version}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    run(TOOLS / "bin" / "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--python-version", "3.12",
        "--platform", "manylinux_2_28_x86_64", "--target", WORK / "torch" / "nowhere", "--report", report, f"torch=={version}",
        env={"PIP_CONSTRAINT": "/dev/null"})
    return json.loads(report.read_text())["install"][0]["download_info"]["url"]


def fetch(version: str) -> Path:
    """The folder with torch/include and torch/version.py."""
    folder = folder_of(version)
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    remote = Remote(address_of(version))
    with zipfile.ZipFile(remote) as wheel:
        wanted = sorted((entry for entry in wheel.infolist() if WANTED.match(entry.filename)), key=lambda entry: entry.header_offset)
        if not wanted:
            raise Failure(f"the wheel of torch {version} has no headers")
        # Neighbours come with one request; between them there is little else.
        gap, begin = 1 << 20, 0
        ends = [entry.header_offset + entry.compress_size + 1024 for entry in wanted]
        for i, entry in enumerate(wanted):
            if i + 1 < len(wanted) and wanted[i + 1].header_offset - ends[i] < gap:
                continue
            remote.hold(wanted[begin].header_offset, min(ends[i], remote.length))
            for member in wanted[begin : i + 1]:
                wheel.extract(member, folder)
            begin = i + 1
    (folder / "done").touch()
    return folder
