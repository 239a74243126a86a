"""Writes exported programs so that every machine gets the same bytes, and in layouts of older versions.

torch.export.save writes down where files are, where objects are in memory and what Python happened to call
things; here file names are cut as in generate.py, and such numbers become small ones, equal where they were.
"""

import io
import json
import re
import zipfile
from typing import Any

import torch


def write(programs: Any, layout: str, path: str) -> None:
    """`programs`: an ExportedProgram, or several by name.  layout: "", "one record" or "old"."""
    if not isinstance(programs, dict):
        programs = {"model": programs}
    if layout == "old":
        write_old_layout(programs["model"], path)
        return
    from torch.export.pt2_archive._package import package_pt2

    buffer = io.BytesIO()
    package_pt2(buffer, exported_programs=programs)
    reader = torch._C.PyTorchFileReader(buffer)
    records = {name: reader.get_record(name) for name in reader.get_all_records()}
    for name in programs:
        records[f"models/{name}.json"] = portable_json(records[f"models/{name}.json"])
        if layout == "one record":
            put_weights_in_one_record(records, name, programs[name])
    writer = torch._C.PyTorchFileWriter(path)
    writer.set_min_version(6)
    for name, content in records.items():
        if name not in (".data/version", ".data/serialization_id", "byteorder"):  # the writer makes these
            writer.write_record(name, content, len(content))
    writer.write_end_of_file()


def put_weights_in_one_record(records: dict, name: str, program: torch.export.ExportedProgram) -> None:
    """As some versions of torch 2.8 did, and torch.export.load still reads it."""
    for folder, values in (("weights", program.state_dict), ("constants", program.constants)):
        config = f"data/{folder}/{name}_{folder}_config.json"
        for path in {entry["path_name"] for entry in json.loads(records.pop(config))["config"].values()}:
            del records[f"data/{folder}/{path}"]
        records[f"data/{folder}/{name}.pt"] = saved(dict(values))


def write_old_layout(program: torch.export.ExportedProgram, path: str) -> None:
    """What torch.export.save of torch 2.7 does, but with the schema of today."""
    from torch._export.serde.schema import SCHEMA_VERSION
    from torch._export.serde.serialize import serialize

    artifact = serialize(program)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {
            "version": ".".join(str(number) for number in SCHEMA_VERSION).encode(),
            "serialized_exported_program.json": portable_json(artifact.exported_program),
            "serialized_state_dict.pt": artifact.state_dict,
            "serialized_constants.pt": artifact.constants,
            "serialized_example_inputs.pt": artifact.example_inputs,
        }.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def portable_json(text: bytes) -> bytes:
    program = json.loads(text)
    numbers: dict[str, str] = {}  # of modules in nn_module_stack: id() of an object, small number

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            metadata = value.get("metadata")
            if isinstance(metadata, dict):
                value["metadata"] = {key: portable_text(key, item, numbers) for key, item in metadata.items()}
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(program)
    return json.dumps(program).encode()


def portable_text(key: str, text: Any, numbers: dict) -> Any:
    from generate import portable

    if not isinstance(text, str):
        return text
    if key == "stack_trace":
        return re.sub(r'File "([^"]+)"', lambda found: f'File "{portable(found[1])}"', text)
    if key == "nn_module_stack":
        return re.sub(r"\d{9,}", lambda found: numbers.setdefault(found[0], str(100 + len(numbers))), text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x0", text)
    return re.sub(r'(graph_id\\*"+: )\d+', r"\g<1>0", text)
