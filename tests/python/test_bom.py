"""Holds fxtrace bom to the schemas of CycloneDX and SPDX, where the packages that bring them are installed, and to the files."""

import hashlib
import json
import pathlib
import re
import zipfile

import fxtrace
import harness
import pytest
import torch

SAMPLES = pathlib.Path(harness.ROOT) / "sample_models"
MODELS = [SAMPLES / name for name in ("nested_exported.pt2", "nested_scripted.pt")]


def bom(program, form: str, *models) -> dict:
    return json.loads(program.stdout("bom", f"--format={form}", *map(str, models)))


@pytest.fixture(scope="module")
def licensed(tmp_path_factory):
    """An exported program with licences among its extra files, and one without any."""
    path = tmp_path_factory.mktemp("bom") / "licensed.pt2"
    text = "Apache License\n  Version 2.0, January 2004\n"
    extra = {"LICENSE.txt": text, "card.json": json.dumps({"license": "CC-BY-4.0", "tags": []}), "COPYING": "Ask me.\nNo."}
    torch.export.save(torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(1, 2),)), path, extra_files=extra)
    return path


def test_content(program, licensed):
    document = bom(program, "cyclonedx", *MODELS, licensed)
    assert [component["name"] for component in document["components"]] == [path.name for path in (*MODELS, licensed)]
    for component, path in zip(document["components"], (*MODELS, licensed)):
        content = path.read_bytes()
        assert component["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]
        properties = {each["name"]: each["value"] for each in component["properties"]}
        assert properties["fxtrace:size"] == str(len(content))
        assert int(properties["fxtrace:operators:aten"]) > 0
    assert properties["fxtrace:producer"] == f"PyTorch {torch.__version__}"
    assert properties["fxtrace:operators:aten"] == "1"
    licences = [each["license"] for each in component["licenses"]]
    assert licences == [{"id": "Apache-2.0"}, {"name": "Ask me."}, {"id": "CC-BY-4.0"}]
    assert re.fullmatch("urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}", document["serialNumber"])
    spdx = bom(program, "spdx", MODELS[0], licensed)
    assert [package["licenseDeclared"] for package in spdx["packages"]] == ["NOASSERTION", "NOASSERTION"]  # one of three is unknown
    assert document == bom(program, "cyclonedx", *MODELS, licensed)


def test_files_without_a_program(program, tmp_path):
    torch.save({"w": torch.zeros(2)}, tmp_path / "weights.pt")
    (component,) = bom(program, "cyclonedx", tmp_path / "weights.pt")["components"]
    assert not any("operators" in each["name"] for each in component["properties"])
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("LICENSE", "SPDX-License-Identifier: MIT\n")
    (package,) = bom(program, "spdx", tmp_path / "x.zip")["packages"]
    assert package["licenseDeclared"] == "MIT"


def test_suffixes(program, tmp_path):
    for name, key in {"a.spdx.json": "spdxVersion", "a.cdx.json": "bomFormat", "a.json": "bomFormat"}.items():
        program.stdout("bom", str(MODELS[0]), "-o", str(tmp_path / name))
        assert key in json.loads((tmp_path / name).read_text())


def test_cyclonedx_schema(program, licensed):
    pytest.importorskip("cyclonedx")
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    for models in ([MODELS[0]], [*MODELS, licensed]):
        text = program.stdout("bom", *map(str, models))
        fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text if isinstance(text, str) else text.decode())
        assert fault is None, fault


def test_spdx_schema(program, licensed, tmp_path):
    pytest.importorskip("spdx_tools")
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    path = tmp_path / "models.spdx.json"
    program.stdout("bom", *map(str, [*MODELS, licensed]), "-o", str(path))
    assert validate_full_spdx_document(parse_file(str(path))) == []


def test_python(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    assert fxtrace.bom(MODELS[0]) == bom(program, "cyclonedx", MODELS[0])
    assert fxtrace.bom(MODELS[0], format="spdx")["spdxVersion"] == "SPDX-2.3"
    assert fxtrace.bom(*MODELS) == bom(program, "cyclonedx", *MODELS)
