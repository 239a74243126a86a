"""Makes TorchScript archives from others by changing their records, to imitate what other machines and other versions write."""

import io
import struct
import zipfile
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
