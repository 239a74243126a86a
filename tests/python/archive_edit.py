"""Makes TorchScript archives from others by changing their records, to imitate what other machines and other versions write."""

import io
import struct
import zipfile
import zlib
from typing import Callable

import torch

Records = dict[str, bytes]  # by name, without the root folder


def save(module: torch.jit.ScriptModule) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return buffer.getvalue()


def records(archive: bytes) -> Records:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}


def archive(content: Records, root: str = "model") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in content.items():
            file.writestr(f"{root}/{name}", data)
    return buffer.getvalue()


def edited(source: bytes, edit: Callable[[str, bytes], bytes | None]) -> bytes:
    """Every record as `edit` gives it back; without those that it gives None for."""
    changed = {name: edit(name, data) for name, data in records(source).items()}
    return archive({name: data for name, data in changed.items() if data is not None})


def overwritten(archive: bytes, old: bytes, new: bytes) -> bytes:
    """The archive with other bytes in the place of a record's, whose checksum stays as it was."""
    assert len(old) == len(new) and archive.count(old) == 1
    return archive.replace(old, new)


def forged(data: bytes, crc: int) -> bytes:
    """The data with other last four bytes, so that it has this CRC-32."""
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0xEDB88320 if i & 1 else 0)
        table.append(i)
    place = {row >> 24: i for i, row in enumerate(table)}
    state = crc ^ 0xFFFFFFFF
    for _ in range(4):
        i = place[state >> 24]
        state = (state ^ table[i]) << 8 & 0xFFFFFFFF | i
    made = data[:-4] + (state ^ zlib.crc32(data[:-4]) ^ 0xFFFFFFFF).to_bytes(4, "little")
    assert zlib.crc32(made) == crc
    return made


def pickled(text: str) -> bytes:
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def on_device(source: bytes, device: str) -> bytes:
    """The archive as it would have been saved on `device`: tensors of modules and of the code, and the code itself."""

    def edit(name: str, data: bytes) -> bytes:
        if name in ("data.pkl", "constants.pkl"):
            return data.replace(pickled("cpu"), pickled(device))
        if name.endswith(".py"):
            return data.replace(b'torch.device("cpu")', f'torch.device("{device}")'.encode())
        return data

    return edited(source, edit)
