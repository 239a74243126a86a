"""Tests fxtrace check --program: every valid file passes, and each kind of damage is reported at its place."""

import copy
import glob
import json
import os
import struct
import subprocess
import zipfile
from typing import Any, Callable

import archive_edit
import convert_cases
import harness
import pytest
import test_check
import zoo

MODULES, COND, LOOP = "exported_modules.pt2", "exported_cond.pt2", "exported_while_loop.pt2"
SIZES, TIED, MUTATIONS = "exported_dimensions.pt2", "shared_tied_exported.pt2", "exported_mutations_decomposed.pt2"
JSON = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"


def report(program, *paths: str) -> dict:
    return test_check.report(program, "--program", *paths)


def damaged(name: str, folder: Any, edit: Callable[[dict, dict], None]) -> str:
    """A sample whose records and parsed JSON edit() has changed."""
    with open(os.path.join(harness.SAMPLES, name), "rb") as file:
        records = archive_edit.records(file.read())
    program = json.loads(records[JSON])
    edit(program, records)
    records[JSON] = json.dumps(program).encode()
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(archive_edit.archive(records))
    return path


def with_config(records: dict, edit: Callable[[dict], None]) -> None:
    config = json.loads(records[WEIGHTS])
    edit(config["config"])
    records[WEIGHTS] = json.dumps(config).encode()


def graph(program: dict) -> dict:
    return program["graph_module"]["graph"]


def node(program: dict, name: str) -> dict:
    return next(one for one in graph(program)["nodes"] if one["name"] == name)


def arg(program: dict, name: str, argument: str) -> dict:
    return next(one for one in node(program, name)["inputs"] if one["name"] == argument)


def signature(program: dict) -> dict:
    return program["graph_module"]["signature"]


def root_call(program: dict) -> dict:
    return program["graph_module"]["module_call_graph"][0]["signature"]


def body(program: dict, at: int) -> dict:
    """Of the first node with graphs among its arguments."""
    for one in graph(program)["nodes"]:
        graphs = [item["arg"]["as_graph"]["graph"] for item in one["inputs"] if "as_graph" in item["arg"]]
        if graphs:
            return graphs[at]
    raise AssertionError("no body")


def size(symbol: str) -> dict:
    return {"as_expr": {"expr_str": f"Symbol('{symbol}', positive=True, integer=True)", "hint": None}}


# --- records ---


def other_record(config: dict) -> None:
    config["halves.norm.weight"]["path_name"] = config["halves.norm.bias"]["path_name"]


def other_dtype(config: dict) -> None:
    config["halves.norm.weight"]["tensor_meta"]["dtype"] = 8
    config["halves.norm.weight"]["path_name"] = config["halves.linear.weight"]["path_name"]


def cut(program: dict, records: dict) -> None:
    records["data/weights/weight_0"] = records["data/weights/weight_0"][:-4]


DAMAGE = [
    # the file, the rule, words of the message, the node or record, the change
    (MODULES, "record", "no tensor or object", "weight_", lambda p, r: with_config(r, other_record)),
    (MODULES, "record", "has dtype float64 in the record of", "weight_0", lambda p, r: with_config(r, other_dtype)),
    (MODULES, "record", "needs 144 bytes, but its storage has 140", "weight_0", cut),
    (MODULES, "record", "does not have this record", "weight_1", lambda p, r: r.pop("data/weights/weight_1")),
    (MODULES, "record", "no tensor or object", "weight_99", lambda p, r: r.update({"data/weights/weight_99": b"1234"})),
    (MODULES, "record", "sizes or strides that no tensor can have", "weight_0", lambda p, r: with_config(r, lambda c: c["halves.linear.weight"]["tensor_meta"]["strides"].pop())),
    (MODULES, "record", "its storage has 144", "weight_0", lambda p, r: with_config(r, lambda c: c["halves.linear.weight"]["tensor_meta"]["storage_offset"].update(as_int=7))),
    (MODULES, "form", "negative", None, lambda p, r: with_config(r, lambda c: c["halves.linear.weight"]["tensor_meta"]["sizes"].insert(0, {"as_int": -1}))),
    # signature
    (MODULES, "signature", "the archive has no tensor 'halves.linear.weight'", "p_halves_linear_weight", lambda p, r: with_config(r, lambda c: c.pop("halves.linear.weight"))),
    (MODULES, "signature", "float32[6,6], but 'halves.linear.weight' in the archive is float32[3,12]", "p_halves_linear_weight",
     lambda p, r: with_config(r, lambda c: c["halves.linear.weight"]["tensor_meta"].update(sizes=[{"as_int": 3}, {"as_int": 12}], strides=[{"as_int": 12}, {"as_int": 1}]))),
    (MODULES, "signature", "in the archive is int32", "p_halves_linear_weight", lambda p, r: with_config(r, lambda c: c["halves.linear.weight"]["tensor_meta"].update(dtype=4))),
    (MODULES, "signature", "as a buffer", "p_halves_linear_weight", lambda p, r: with_config(r, lambda c: c["halves.linear.weight"].update(is_param=False))),
    (MODULES, "signature", "at its position", "b_combine_offset", lambda p, r: signature(p)["input_specs"][-1]["user_input"]["arg"]["as_tensor"].update(name="b_combine_offset")),
    (MODULES, "signature", "twice as an input", "x", lambda p, r: signature(p)["input_specs"][0]["parameter"]["arg"].update(name="x")),
    (MODULES, "signature", "'halves.linear.weight' is already the target of another input", "p_halves_linear_bias", lambda p, r: signature(p)["input_specs"][1]["parameter"].update(parameter_name="halves.linear.weight")),
    (MODULES, "signature", "at its position", "mul_4", lambda p, r: signature(p)["output_specs"].reverse()),
    (MODULES, "form", "found 14 entries", None, lambda p, r: signature(p)["input_specs"].pop()),
    (MODULES, "signature", "in_spec has 2 leaves, but the program has 1 inputs", None, lambda p, r: root_call(p).update(
        in_spec=root_call(p)["in_spec"].replace('{"type": null, "context": null, "children_spec": []}', '{"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}'))),
    (MODULES, "signature", "out_spec has 1 leaf, but the program has 2 outputs", None, lambda p, r: root_call(p).update(
        out_spec=root_call(p)["out_spec"].replace('{"type": null, "context": null, "children_spec": []}, ', "", 1))),
    (MODULES, "signature", "forward_arg_names has 0 names", None, lambda p, r: root_call(p).update(forward_arg_names=[])),
    (MODULES, "signature", "example of the input 'x'", "sample_inputs", lambda p, r: graph(p)["tensor_values"]["x"].update(dtype=8)),
    (MODULES, "signature", "example of the input 'x'", "sample_inputs", lambda p, r: graph(p)["tensor_values"]["x"]["sizes"].__setitem__(0, {"as_int": 77})),
    (MUTATIONS, "signature", "which is not an input of the program", None, lambda p, r: next(one for one in signature(p)["output_specs"] if "buffer_mutation" in one)["buffer_mutation"].update(buffer_name="no.such")),
    # metas
    (MODULES, "meta", "has 1 dimension, but it has 2", "linear", lambda p, r: [graph(p)["tensor_values"]["linear"][key].pop() for key in ("sizes", "strides")]),
    (MODULES, "meta", "2 sizes and 1 stride", "linear", lambda p, r: graph(p)["tensor_values"]["linear"]["strides"].pop()),
    (MODULES, "meta", "has the dtype float64, but it has float32", "linear", lambda p, r: graph(p)["tensor_values"]["linear"].update(dtype=8)),
    (MODULES, "meta", "has the size 9 in dimension 1", "linear", lambda p, r: graph(p)["tensor_values"]["linear"]["sizes"].__setitem__(1, {"as_int": 9})),
    (MODULES, "meta", "does not describe the value", "linear", lambda p, r: graph(p)["tensor_values"].pop("linear")),
    (MODULES, "meta", "which the graph does not have", "gone", lambda p, r: graph(p)["tensor_values"].update(gone=graph(p)["tensor_values"]["linear"])),
    (MODULES, "meta", "the symbol 's99', which has no range", "linear", lambda p, r: graph(p)["tensor_values"]["linear"]["sizes"].__setitem__(0, size("s99"))),
    (SIZES, "meta", "which has no range", None, lambda p, r: p["range_constraints"].clear()),
    (SIZES, "meta", "is empty", None, lambda p, r: next(iter(p["range_constraints"].values())).update(min_val=9, max_val=8)),
    (SIZES, "meta", "the guard cannot be parsed", None, lambda p, r: p.update(guards_code=["L['x'].size()[0] <"])),
    (SIZES, "meta", "the guard is about 'nothing'", None, lambda p, r: p.update(guards_code=["L['nothing'].size()[0] <= 3"])),
    (MODULES, "meta", "describes the value twice", "linear", lambda p, r: graph(p)["sym_int_values"].update(linear={"as_int": 3})),
    # names
    (MODULES, "form", "'relu' is defined twice", None, lambda p, r: node(p, "linear_1")["outputs"][0]["as_tensor"].update(name="relu")),
    (MODULES, "form", "'gone' is used before it is defined", None, lambda p, r: arg(p, "relu", "self")["arg"]["as_tensor"].update(name="gone")),
    (MODULES, "form", "used before it is defined", None, lambda p, r: graph(p)["nodes"].reverse()),
    (MODULES, "form", "two nodes have the name 'relu'", "relu", lambda p, r: node(p, "linear_1").update(name="relu")),
    (MODULES, "form", "the name 'a b' is not an identifier", "a b", lambda p, r: node(p, "linear_1").update(name="a b")),
    (MODULES, "form", "unknown dtype 99", None, lambda p, r: graph(p)["tensor_values"]["linear"].update(dtype=99)),
    # calls
    (MODULES, "call", "'weight' is a text, expected Tensor", "linear", lambda p, r: arg(p, "linear", "weight").update(arg={"as_string": "w"})),
    (MODULES, "call", "'dim' is a float, expected int", "chunk", lambda p, r: arg(p, "chunk", "dim").update(arg={"as_float": -1.0})),
    (MODULES, "call", "'dim' is a tensor, expected int", "chunk", lambda p, r: arg(p, "chunk", "dim").update(arg={"as_tensor": {"name": "x"}})),
    (MODULES, "call", "'normalized_shape' is a list (first item: a float), expected SymInt[]", "layer_norm", lambda p, r: arg(p, "layer_norm", "normalized_shape").update(arg={"as_floats": [6.0]})),
    (MODULES, "call", "'self' is None, expected Tensor", "relu", lambda p, r: arg(p, "relu", "self").update(arg={"as_none": True})),
    (MODULES, "call", "'self' is missing", "relu", lambda p, r: node(p, "relu")["inputs"].clear()),
    (MODULES, "call", "has no argument 'alpga'", "add", lambda p, r: node(p, "add")["inputs"].append({"name": "alpga", "arg": {"as_int": 1}, "kind": 2})),
    (MODULES, "call", "'self' is given twice", "relu", lambda p, r: node(p, "relu")["inputs"].append({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 2})),
    (MODULES, "call", "2 arguments are given by position, but the operator takes at most 1", "relu", lambda p, r: node(p, "relu")["inputs"].append({"name": "", "arg": {"as_int": 1}, "kind": 1})),
    (MODULES, "call", "at the position of 'weight' has the name 'bias'", "linear", lambda p, r: arg(p, "linear", "weight").update(name="bias")),
    (MODULES, "call", "2 results, but the operator returns 1", "relu", lambda p, r: (node(p, "relu")["outputs"].append({"as_tensor": {"name": "more"}}), graph(p)["tensor_values"].update(more=graph(p)["tensor_values"]["relu"]))),
    (MODULES, "call", "its result has the form 'as_tensors'", "relu", lambda p, r: node(p, "relu").update(outputs=[{"as_tensors": [{"name": "relu"}]}])),
    (MODULES, "call", "torch refuses this call", "linear", lambda p, r: arg(p, "linear", "weight")["arg"]["as_tensor"].update(name="p_combine_scale")),
    (MODULES, "call", "uses result number 2, but the operator returns 2", "chunk", lambda p, r: (node(p, "chunk")["outputs"][0]["as_tensors"].append({"name": "more"}), graph(p)["tensor_values"].update(more=graph(p)["tensor_values"]["getitem"]))),
    (COND, "call", "inputs of 'true_graph_0': 5 inside, but 6 outside", "cond", lambda p, r: body(p, 0)["inputs"].pop(1) and body(p, 0)["nodes"].clear() or body(p, 0).update(outputs=[{"as_tensor": {"name": "linear"}}] * 2, tensor_values={})),
    (COND, "call", "results of 'true_graph_0': 1 inside, but 2 outside", "cond", lambda p, r: body(p, 0)["outputs"].pop()),
    (COND, "call", "'self' is missing", ":true_graph_0", lambda p, r: next(one for one in body(p, 0)["nodes"] if one["name"] == "relu")["inputs"].clear()),
    (LOOP, "call", "does not return one value", "while_loop", lambda p, r: body(p, 0)["outputs"].append(body(p, 0)["outputs"][0])),
    # modules
    (MODULES, "form", "is not 'key,path,type'", None, lambda p, r: node(p, "relu")["metadata"].update(nn_module_stack="L__self__,")),
    (MODULES, "module", "the module is listed twice", None, lambda p, r: p["graph_module"]["module_call_graph"].append(copy.deepcopy(p["graph_module"]["module_call_graph"][-1]))),
    (MODULES, "module", "is not the root", None, lambda p, r: p["graph_module"]["module_call_graph"].reverse()),
]  # fmt: skip


@pytest.mark.parametrize("name, rule, words, place, change", DAMAGE, ids=[f"{i}-{one[1]}" for i, one in enumerate(DAMAGE)])
def test_damage(program, tmp_path, name, rule, words, place, change):
    found = report(program, damaged(name, tmp_path, change))
    said = [offence for offence in found["offences"] if offence["rule"] == f"program-{rule}" and words in offence["message"]]
    assert said, found["offences"]
    assert not found["holds"]
    if place is not None:
        assert any(place in str(where.values()) for offence in said for where in offence["places"]), said
    if rule == "call":
        assert all(where["node"] for offence in said for where in offence["places"])


@pytest.mark.parametrize("name", [MODULES, COND, LOOP, SIZES, MUTATIONS, TIED])
def test_rewritten_samples_hold(program, tmp_path, name):
    """So what is found above is the damage."""
    assert report(program, damaged(name, tmp_path, lambda p, r: None))["holds"]


def test_samples(program):
    paths = sorted(glob.glob(os.path.join(harness.SAMPLES, "*.pt2")))
    run = subprocess.run([program.path, "check", "--program", *paths], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.count("all 6 rules hold") == len(paths), run.stdout


@pytest.mark.volume
@pytest.mark.parametrize("name", zoo.names("exported"))
def test_models(program, zoo_archive, name):
    assert report(program, zoo_archive(name))["offences"] == []


def test_contents(program, tmp_path):
    """A bit of a weight that is not the one that was written."""
    path = os.path.join(tmp_path, "bit.pt2")
    with open(os.path.join(harness.SAMPLES, MODULES), "rb") as file:
        content = bytearray(file.read())
    weight = archive_edit.records(bytes(content))["data/weights/weight_0"]
    content[content.index(weight) + 3] ^= 1
    with open(path, "wb") as file:
        file.write(content)
    found = report(program, path)
    assert [(offence["rule"], offence["places"][0]["record"].split("/", 1)[1]) for offence in found["offences"]] == [("program-record", "data/weights/weight_0")]


def test_only_programs(program, tmp_path):
    script = os.path.join(harness.SAMPLES, "nested_scripted.pt")
    run = subprocess.run([program.path, "check", "--program", script], capture_output=True, text=True)
    assert run.returncode == 3 and "expects a torch.export program" in run.stderr
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"program": True}]}))
    found = test_check.report(program, "--rules", str(rules), os.path.join(harness.SAMPLES, MODULES))
    assert found["holds"] and len(found["rules"]) == 6


@pytest.mark.parametrize("form", ["--sarif", "--junit", "--markdown"])
def test_forms(program, tmp_path, form):
    path = damaged(MODULES, tmp_path, lambda p, r: node(p, "relu")["inputs"].clear())
    run = subprocess.run([program.path, "check", "--program", form, path], capture_output=True, text=True)
    assert run.returncode == 1 and "is missing" in run.stdout and "program-call" in run.stdout


def test_what_convert_writes(program, tmp_path):
    """It holds, its nodes have a name each, and its records lie where they can be mapped."""
    for name in ("failing_nested.pt", "nested_traced.pt"):
        sample = next(one for one in harness.samples() if one["file"] == name)
        case = convert_cases.Converted(program, harness.sample_path(sample), tmp_path, *harness.make_inputs(sample["inputs"][0]))
        assert case.run.returncode == 0, case.run.stderr
        assert report(program, case.file)["holds"]
        with zipfile.ZipFile(case.file) as archive, open(case.file, "rb") as file:
            for record in archive.infolist():
                file.seek(record.header_offset + 26)
                lengths = struct.unpack("<HH", file.read(4))
                assert (record.header_offset + 30 + sum(lengths)) % 64 == 0
