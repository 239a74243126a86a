"""All of an archive but its weights: which bytes those are, and a local file of the same size that has them."""

from __future__ import annotations

import bisect
import errno
import io
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, cast

from ._errors import InputError
from ._remote import Store, is_url
from ._script_attributes import plain_tensors

Range = tuple[int, int]  # from the first byte to the one behind the last

_AT_ONCE = 8  # requests
_PIECE = 16 << 20  # bytes of one request at most
_MOST_REQUESTS, _MOST_BYTES = 20_000, 1 << 30  # of a skeleton
_CLOSE = 16 << 10  # bytes between two ranges that are read rather than left out
_MOST_RANGES = 24  # beyond which ranges are joined while that costs little: 1/_LITTLE of the file
_LITTLE = 256

_MARK = b"fxtrace: not fetched"  # as in lib/archive/zip_archive.cpp
_SHORTEST_HOLE = 4  # bytes; of shorter ones nobody could see the mark
_SMALL = 64 << 10  # bytes of a record that is read whatever it is, unless it is a weight
_MOST_ARCHIVES = 8  # in an archive, of which each takes some requests
_MOST_OF_A_READ = 64_000_000  # bytes that zipfile reads at once, of a directory: as many as fxtrace reads
_SMALL_ARCHIVE = 256 << 10  # bytes of a record that is an archive, and is read whole
_LARGE = 16 << 20  # bytes beyond which a record that is no archive after all is left out
# Records of tensors: of TorchScript and torch.save, of torch.export, of torch.package.
_WEIGHT = re.compile(r"[^/]*/(?:data/\d+|data/weights/weight_\d+|\.data/\d+\.storage)")
_CONSTANT = re.compile(r"[^/]*/(?:constants/\d+|data/constants/tensor_\d+)")
_KNOWN = 16 << 10  # bytes of a tensor of 1,024 elements (kMaxConstantElements), of which a graph may have the values
_TEXT = re.compile(r".*\.(?:json|pkl|py|debug_pkl|txt|cpp|cu|h|md)")
_HEADER = 30  # bytes of a record's header in front of the name
_ALIGNMENT = 64  # of contents, by torch's writer
_31_BITS, _32_BITS = (1 << 31) - 1, (1 << 32) - 1


def fill(image: Image, read_headers: bool) -> tuple[list[Range], bytes]:
    """Read all of an archive but the weights. Return the holes, each of which begins with a mark, and the directory.

    Raises zipfile.BadZipFile for a file that is no archive, and InputError.
    """
    return _fill(image, 0, image.size, read_headers)


def check_is_whole(path: str) -> None:
    """Raise InputError for a URL and for a skeleton: torch would take the holes for weights."""
    if is_url(path) or (os.path.isfile(path) and _is_skeleton(path)):
        whole = f"fxtrace.fetch({path if is_url(path) else 'URL'!r}, FILE, whole=True)"
        raise InputError(f"{path}: the weights of this model are not here", [f"give the whole file: graph_module({whole})"])


def _is_skeleton(path: str) -> bool:
    with open(path, "rb") as file:
        source = LocalFile(file)
        return _has_hole(source, 0, source.size)


def _has_hole(source: LocalFile, start: int, end: int, around: str = "") -> bool:
    try:
        records = _records_of(source, start, end, around)[0]
        for record in records:
            if not around and record in _archives_of(records):
                found = _has_hole(source, *record.content(source), record.info.filename)
            elif found := record.is_weight() and record.info.compress_size >= _SHORTEST_HOLE:
                content = record.content(source)[0]
                found = _MARK.startswith(source.bytes_at(content, content + min(len(_MARK), record.info.compress_size)))
            if found:
                return True
    except zipfile.BadZipFile:
        pass  # torch says what is wrong with it
    return False


def _fill(image: Image, start: int, end: int, read_headers: bool, around: str = "") -> tuple[list[Range], bytes]:
    records, directory = _records_of(image, start, end, around)
    archives = [] if around else _archives_of(records)
    left_out = [record for record in records if record.is_left_out() and record not in archives]
    skipped = {*archives, *left_out}
    image.need((record.header, record.after) for record in records if record not in skipped)
    is_script = not around and any(record.info.filename.endswith("/constants.pkl") for record in records)
    plain = set() if not is_script else plain_tensors(cast("IO[bytes]", View(image, start, end)))
    image.need((record.header, record.after) for record in left_out if record.info.filename in plain and record.info.file_size <= _KNOWN)
    holes: list[Range] = []
    for record in archives:
        image.need([record.surely_before()])
        before, behind = record.frame(image)
        try:
            inside = (record.header + len(before), record.after - len(behind))
            holes += _fill(image, *inside, read_headers, record.info.filename)[0]
        except zipfile.BadZipFile:
            if record.info.file_size > _LARGE:
                left_out.append(record)
            else:
                image.need([(record.header, record.after)])
    known = [] if read_headers else [record for record in records if image.has(record.header, record.after)]
    frame_of = _frame_by_others(known, image)
    frames = {record: None if image.has(record.header, record.header + _HEADER) else frame_of(record) for record in left_out}
    image.need(record.surely_before() for record, frame in frames.items() if frame is None)
    image.need((record.header, record.after) for record in left_out if record.info.compress_size < _SHORTEST_HOLE)
    mark = _MARK + b": " + image.store.url.encode()[:900] + b"\n"
    for record, frame in frames.items():
        if image.has(record.header, record.after):
            continue
        before, behind = frame if frame is not None else record.frame(image)
        hole = (record.header + len(before), record.after - len(behind))
        image.put(record.header, before)
        image.put(hole[0], mark[: hole[1] - hole[0]])
        image.put(hole[1], behind)
        holes.append(hole)
    return holes, directory


def _archives_of(records: Iterable[_Record]) -> list[_Record]:
    """Return the records that are large archives, of which weights are left out."""
    return [record for record in records if record.is_archive()][:_MOST_ARCHIVES]


def _records_of(source: LocalFile, start: int, end: int, around: str = "") -> tuple[list[_Record], bytes]:
    """Return the records of an archive in the order of their places, and the directory; `around` is the record that the archive is."""
    try:
        with zipfile.ZipFile(View(source, start, end)) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
            directory = archive.start_dir
    except (NotImplementedError, struct.error, ValueError, OverflowError, OSError) as error:  # of damaged files
        raise zipfile.BadZipFile(str(error)) from None
    places = [info.header_offset for info in infos] + [directory]
    if places[0] != 0 or directory > end - start:
        raise zipfile.BadZipFile("something is in front of the first record")
    records = [_Record(info, start, start + after, "constants" in around) for info, after in zip(infos, places[1:])]
    return records, source.bytes_at(start + directory, end)


class _Record:
    """A record, with its places in the file."""

    def __init__(self, info: zipfile.ZipInfo, start: int, after: int, is_of_constants: bool = False):
        self.info = info
        self._is_of_constants = is_of_constants
        self.place = info.header_offset  # in its archive
        self.header = start + self.place
        self.after = after  # the header of the next record, or the directory
        self.kind = (info.create_system, info.create_version, info.flag_bits)  # a program's records are alike in this

    def content(self, source: LocalFile) -> Range:
        fixed = source.bytes_at(self.header, self.header + _HEADER)
        content = self.header + _HEADER + sum(struct.unpack("<HH", fixed[26:])) if len(fixed) == _HEADER else self.after
        if not fixed.startswith(b"PK\3\4") or content + self.info.compress_size > self.after:
            raise zipfile.BadZipFile(f"record {self.info.filename!r} has a wrong header")
        return content, content + self.info.compress_size

    def frame(self, image: Image) -> tuple[bytes, bytes]:
        """Return what is in front of the content and behind it, as the file has it."""
        content, end = self.content(image)
        return image.bytes_at(self.header, content), image.bytes_at(end, self.after)

    def surely_before(self) -> Range:
        """Return the range with all that is in front of the content."""
        return self.header, max(self.after - self.info.compress_size, self.header + _HEADER)

    def has_room(self) -> bool:
        return self.info.compress_size <= self.after - self.header

    def is_archive(self) -> bool:
        is_stored = self.info.compress_type == zipfile.ZIP_STORED
        return self.info.filename.endswith(".pt") and is_stored and self.info.file_size > _SMALL_ARCHIVE

    def is_weight(self) -> bool:
        name, size = self.info.filename, self.info.compress_size
        if _WEIGHT.fullmatch(name) is not None:
            return not self._is_of_constants or size > _KNOWN
        return _CONSTANT.fullmatch(name) is not None and size > _KNOWN

    def is_left_out(self) -> bool:
        return self.is_weight() or (self.info.file_size > _SMALL and _TEXT.fullmatch(self.info.filename) is None)


def _frame_of_torch(record: _Record) -> tuple[bytes, bytes] | None:
    """Return what torch's writer has around a record; None if that does not fit to the byte between its neighbours."""
    info, name = record.info, record.info.orig_filename.encode()
    if not record.has_room():
        return None
    wide = struct.pack("<QQ", info.file_size, 0) if info.file_size >= _32_BITS else b""
    wide += struct.pack("<Q", record.place) if record.place >= _32_BITS else b""
    wide = struct.pack("<HH", 1, len(wide)) + wide if wide else b""
    sizes = struct.pack("<QQ" if wide else "<LL", info.compress_size, info.file_size)
    behind = struct.pack("<4sL", b"PK\7\x08", info.CRC) + sizes
    least = _HEADER + len(name) + len(wide) + 4
    padding = -(record.place + least) % _ALIGNMENT
    if record.header + least + padding + info.compress_size + len(behind) != record.after:
        return None
    version = 0 if info.compress_type == zipfile.ZIP_STORED else 20
    fields = (version, info.flag_bits, info.compress_type, 0, 0, 0, 0, 0, len(name), len(wide) + 4 + padding)
    fixed = struct.pack("<4s5H3L2H", b"PK\3\4", *fields)
    return fixed + name + wide + struct.pack("<2sH", b"FB", padding) + b"Z" * padding, behind


def _frame_of_zipfile(record: _Record) -> tuple[bytes, bytes] | None:
    """Return what Python's zipfile has around a record, likewise."""
    if not record.has_room() or max(record.info.file_size, record.info.compress_size) >= _31_BITS:
        return None
    header = record.info.FileHeader(zip64=False)
    return (header, b"") if record.header + len(header) + record.info.compress_size == record.after else None


def _frame_by_others(known: list[_Record], image: Image) -> Callable[[_Record], tuple[bytes, bytes] | None]:
    """Return a function for frames of records that are not read: as that writer makes them that made all known records of their kind."""
    kinds: dict[tuple[int, int, int], list[_Record]] = {}
    for record in known:
        kinds.setdefault(record.kind, []).append(record)

    def writer_of(same: list[_Record]) -> Callable[[_Record], tuple[bytes, bytes] | None] | None:
        writers = (_frame_of_torch, _frame_of_zipfile)
        return next((writer for writer in writers if all(writer(each) == each.frame(image) for each in same)), None)

    writers = {kind: writer_of(same) for kind, same in kinds.items()}
    return lambda record: writer(record) if (writer := writers.get(record.kind)) is not None else None


class LocalFile:
    """A file that is read at any place."""

    def __init__(self, file: IO[bytes]):
        self._file = file.fileno()
        self.size = os.fstat(self._file).st_size

    def bytes_at(self, start: int, end: int) -> bytes:
        return os.pread(self._file, end - start, start)


class Image(LocalFile):
    """A local file of which parts are there; the others are read from the store when they are needed."""

    def __init__(self, store: Store, file: IO[bytes], size: int):
        os.truncate(file.fileno(), size)
        super().__init__(file)
        self.store = store
        self._left = _MOST_BYTES
        self._requests = 0
        self._there: list[Range] = []  # sorted and apart

    def put(self, start: int, content: bytes) -> None:
        """Write bytes that stand for themselves: from the store, or a mark of what is not there."""
        while content:
            written = os.pwrite(self._file, content, start)
            start, content = start + written, content[written:]

    def need(self, ranges: Iterable[Range]) -> None:
        """Read ranges from the store; those that are close together, or many, at once."""
        missing = _without(_few(_without(_joined(ranges), self._there), self.size), self._there)
        self._left -= sum(end - start for start, end in missing)
        self._requests += len(missing)
        if self._left < 0 or self._requests > _MOST_REQUESTS:
            raise InputError(
                f"{self.store.url}: what is no weight is too large, or in too many places",
                [self.store.whole_hint()],
            )
        pieces = [(at, min(at + _PIECE, end)) for start, end in missing for at in range(start, end, _PIECE)]
        if len(pieces) == 1:
            self.put(pieces[0][0], self.store.read(*pieces[0]))
        else:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                for _ in pool.map(lambda piece: self.put(piece[0], self.store.read(*piece)), pieces):
                    pass
        self.have(pieces)

    def have(self, ranges: Iterable[Range]) -> None:
        self._there = _joined([*self._there, *ranges])

    def has(self, start: int, end: int) -> bool:
        at = bisect.bisect(self._there, (start, self.size)) - 1
        return end <= start or (at >= 0 and end <= self._there[at][1])

    def bytes_at(self, start: int, end: int) -> bytes:
        if not self.has(start, end):
            self.need([(start, end)])
        return super().bytes_at(start, end)


class View(io.RawIOBase):
    """A part of a file as a file, for zipfile."""

    def __init__(self, source: LocalFile, start: int, end: int):
        self._source, self._start, self._size, self._at = source, start, end - start, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        at = (0, self._at, self._size)[whence] + offset
        if at < 0:
            raise OSError(errno.EINVAL, "before the beginning")
        self._at = at
        return at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        if end - self._at > _MOST_OF_A_READ:
            raise zipfile.BadZipFile("its directory is too large")
        content = self._source.bytes_at(self._start + self._at, self._start + end) if end > self._at else b""
        self._at += len(content)
        return content


def _joined(ranges: Iterable[Range], gap: int = 0) -> list[Range]:
    """Return ranges sorted, with those as one between which there are at most `gap` bytes."""
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if end <= start:
            continue
        if joined and start - joined[-1][1] <= gap:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _few(ranges: Iterable[Range], size: int) -> list[Range]:
    """Return few ranges that contain these, as far as what is read in vain is little of the file."""
    apart = _joined(ranges, _CLOSE)
    gaps = sorted(after[0] - before[1] for before, after in zip(apart, apart[1:]))
    allowed, left = _CLOSE, size // _LITTLE
    for gap in gaps[: max(0, len(apart) - _MOST_RANGES)]:
        left -= gap
        if left < 0:
            break
        allowed = max(allowed, gap)
    return _joined(apart, allowed)


def _without(ranges: list[Range], there: list[Range]) -> list[Range]:
    """Return the parts of sorted ranges that are not in `there`, which is sorted and apart."""
    left, at = [], 0
    for start, end in ranges:
        while at < len(there) and there[at][1] <= start:
            at += 1
        i = at
        while i < len(there) and there[i][0] < end:
            if start < there[i][0]:
                left.append((start, there[i][0]))
            start = max(start, there[i][1])
            i += 1
        if start < end:
            left.append((start, end))
    return left
