"""Tests that no control character and no mark for the direction of text reaches a reader, whatever a file contains."""

import copy
import json
import os
import pathlib
import re
import struct
import subprocess
import unicodedata

import hostile
import hostile_collections
import hostile_exported
import pytest

# A colour, the start of an escape sequence in one character, a title of the terminal, and text that runs backwards.
NASTY = "\x1b[31m\x9b5m\x1b]0;x\x07\u202etxet\u2066\u200f\u2028\ufeff\x7f"
SAMPLES = pathlib.Path(hostile.ROOT) / "sample_models"
FORMATS = (["trace", "-f", "text", "-v"], ["trace", "-f", "dot", "-v"], ["inspect", "-v"])


def check_printed(program, *arguments: object) -> str:
    """What it says on both streams."""
    done = subprocess.run([program.path, *map(os.fsencode, map(str, arguments))], capture_output=True, timeout=60)
    assert done.returncode in (0, 2, 3), done.stderr
    text = (done.stdout + done.stderr).decode()  # valid UTF-8
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\n\u200c\u200d"}
    assert not hidden, f"{arguments}: {sorted(map(hex, map(ord, hidden)))}"
    return text


def strings(value, path=()):
    """The paths of all texts in a document; one of each name of a field."""
    seen = set()

    def walk(value, path):
        if isinstance(value, str):
            kind = tuple(step for step in path if isinstance(step, str))
            if kind not in seen:
                seen.add(kind)
                yield path
        elif isinstance(value, dict | list):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield from walk(value[key], (*path, key))

    return list(walk(value, path))


def with_text(document, path, change):
    document = copy.deepcopy(document)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = change(place[path[-1]])
    return document


@pytest.mark.parametrize(("nasty", "least"), [(NASTY, 21), ("\udcff", 0)], ids=["controls", "no UTF-8"])
def test_exported(program, tmp_path, nasty, least):
    """`least`: of the printed texts, those that have the mark of NASTY, escaped."""
    model = tmp_path / "model.pt2"
    document = hostile_exported.program()
    escaped = 0
    for path in strings(document):
        text = json.dumps(with_text(document, path, lambda text: text + nasty), ensure_ascii=False)
        model.write_bytes(hostile_exported.packed(text.encode(errors="surrogateescape")))
        for command in FORMATS:
            escaped += "\\u202e" in check_printed(program, *command, model)
    assert escaped >= least


def test_name_everywhere(program, tmp_path):
    """The same change of one name wherever it stands: the file is sound."""
    model = tmp_path / "model.pt2"
    sound = json.dumps(hostile_exported.program())
    for name in ("lin", "linear", "net.Net", "torch.nn.modules.linear.Linear", "aten.relu.default", "net.py", "x"):
        model.write_bytes(hostile_exported.packed(sound.replace(name, name + json.dumps(NASTY)[1:-1])))
        for command in FORMATS:
            check_printed(program, *command, model)


def test_collections(program, tmp_path):
    saved = tmp_path / "saved.json"
    for name in (hostile_collections.SMALL, hostile_collections.WITH_SUBGRAPHS):
        document = hostile_collections.load(name)
        paths = strings(document)
        for path in paths:
            saved.write_text(json.dumps(with_text(document, path, lambda text: text + NASTY)))
            for form in ("text", "dot"):
                check_printed(program, "render", saved, "-f", form, "-v")
        saved.write_text(json.dumps({**document, "added" + NASTY: 1}))
        assert "ignored fields that a later fxtrace has written" in check_printed(program, "render", saved, "-f", "text")


def changed_pickle(data: bytes, number: int) -> bytes:
    """With something added to one of its texts."""
    texts = list(re.finditer(rb"X(....)", data, re.DOTALL))
    match = texts[number % len(texts)]
    (length,) = struct.unpack("<I", match[1])
    if length > 1000:
        return data
    text = data[match.end() : match.end() + length] + NASTY.encode()
    return data[: match.start()] + hostile.text(text) + data[match.end() + length :]


@pytest.mark.volume
def test_torchscript(program, tmp_path):
    model = tmp_path / "model.pt"
    source = str(SAMPLES / "constants_scripted.pt")
    records = hostile.sample_records(source)
    made = [hostile.archive({**records, "data.pkl": changed_pickle(records["data.pkl"], i)}) for i in range(0, 20, 2)]
    code = next(name for name in records if name.startswith("code/") and name.endswith(".py"))
    text = records[code].decode()
    for old in ("return ", "self.", "__torch__.", "torch.", "CONSTANTS.", "Tensor"):
        made.append(hostile.archive({**records, code: text.replace(old, old + NASTY, 1)}))
    made.append(hostile.archive({**records, "constants/" + NASTY: b"0", f"code/{NASTY}.py": "x"}))
    made.append(hostile.archive({**records, "version": NASTY}))
    made.append(hostile.archive({**records, ".data/version": "3\n" + NASTY}))
    for body in (
        f'    print("{NASTY}")\n    return x\n',
        f'    ops.prim.RaiseException("{NASTY}")\n    return x\n',
        '    ops.prim.RaiseException("\\033[31m\\u202e")\n    return x\n',
        f'    raise AssertionError("{NASTY}")\n    return x\n',
        f'    y = ops.my.op(x, "{NASTY}")\n    return y\n',
        f"    return ops.my.op{NASTY}(x)\n",
        "    if bool(x):  # \u202e\x9b\n      y = x\n    else:\n      y = x\n    return y\n",
    ):
        made.append(hostile.body_case(body)())
    for data in made:
        model.write_bytes(data)
        for command in FORMATS:
            check_printed(program, *command, model)


def test_file_names(program, tmp_path):
    model = tmp_path / f"model{NASTY.replace('/', '')}.pt2"
    model.write_bytes((SAMPLES / "attention_exported.pt2").read_bytes())
    for command in FORMATS:
        assert "\\u202e" in check_printed(program, *command, model)
    for command in ("trace", "inspect", "render"):
        assert "\\u202e" in check_printed(program, command, tmp_path / f"missing{NASTY}")
    for option in ("--leaf", "--method", "--config", "--input", "--pass", "-f", "--" + NASTY):
        check_printed(program, "inspect", model, option, NASTY)


def test_other_kinds_of_files(program, tmp_path):
    """What `inspect` and an error tell of them names their keys and types."""
    model = tmp_path / "model.pt"
    pickle = hostile.PROTO + hostile.dict_of({"key" + NASTY: hostile.NONE}) + hostile.STOP
    pickled_object = hostile.PROTO + hostile.module("pkg." + NASTY.replace("\n", ""), {}) + hostile.STOP
    for data in (pickle, pickled_object, NASTY.encode(), b"import " + NASTY.encode(), b"{" + NASTY.encode()):
        for content in (data, hostile.archive({"data.pkl": data, "version": NASTY})):
            model.write_bytes(content)
            for command in ("trace", "inspect", "render"):
                check_printed(program, command, model)


def test_ordinary_text_stays(program, tmp_path):
    """Names in languages of all kinds are shown as they are."""
    model = tmp_path / "модель نموذج 模型.pt2"
    names = {"lin": "größe", "act": "می\u200cخواهم"}
    text = json.dumps(hostile_exported.program())
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    model.write_bytes(hostile_exported.packed(text))
    for command in (["trace", "-f", "text"], ["inspect"]):
        printed = check_printed(program, *command, model)
        assert model.name in printed
        for new in names.values():
            assert new in printed, (command, printed)
