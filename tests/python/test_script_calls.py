"""Compares lib/torchscript's operators with LibTorch's: the results and errors are the same, or lib/torchscript reports that it
does not know them."""

import pathlib
import re

import pytest
import script_calls
import torch

ROOT = pathlib.Path(__file__).parents[2]
# Where LibTorch asserts, reads another argument than it was given, or does what C++ leaves open.
NOT_FOLLOWED = re.compile(
    r"aten::(\w+(\.Scalar(_Scalar)?)?"  # bools and complex numbers among Scalars, and integers beyond 64 bits
    r"|device\.with_index|divmod\.float_int|divmod\.int_float|floor\.int|promote_types|get_autocast_dtype|sum\.complex"
    r"|slice\.str|slice\.t|percentFormat)|prim::(min|max|abs\.Scalar)"
)
# Operators that parse_ir does not find by their types, as another overload comes first.
HIDDEN = {"aten::Float.int", "aten::pow.int_to_int", "aten::sort.any", "aten::sorted.any", "aten::device.with_index"}


def operators_with(*wanted: str) -> set[str]:
    """Those whose rows have one of the traits, or a value rule (".value")."""
    row = re.compile(r'^    \{((?:"[^"]*"\s*)+),\s*\{((?:[^{}]|\{[^{}]*\})*)\}\}', re.MULTILINE)
    found = set()
    for family in (ROOT / "lib" / "opinfo").rglob("*.cpp"):
        for names, facts in row.findall(family.read_text()):
            if set(wanted) & set(re.findall(r"\.?\w+", facts)):
                found.update(re.findall(r"[^\s\"]+", names))
    assert found
    return {name if "::" in name else f"aten::{name}" for name in found}


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    text = (ROOT / "schemas/operators/registered.txt").read_text()
    return dict(re.findall(r"^([^#(]+)(\(.*?)(?: # .*)?$", text, re.MULTILINE))


@pytest.fixture(scope="module")
def simple_executor():
    before = torch._C._jit_set_profiling_executor(False)
    yield
    torch._C._jit_set_profiling_executor(before)


def difference(answer: dict, reference: script_calls.Reference, arguments: tuple) -> str | None:
    if answer.get("missing"):
        return "there is no such operator"
    if answer.get("before"):
        return None  # LibTorch would end the process, or not end at all
    if answer.get("refusal") == "unsupported":
        return None if NOT_FOLLOWED.fullmatch(reference.signature.name) else answer["why"]
    try:
        expected_arguments, expected = reference(arguments)
    except UnicodeDecodeError:
        return None
    except Exception as error:
        said = script_calls.message(error)
        is_same = answer.get("refusal") == "raised" and script_calls.shown(answer["why"]) == said.encode().decode("latin-1")
        return None if is_same else f"raises {said!r}"
    if "refusal" in answer:
        return f"gives {expected}"
    if list(map(script_calls.from_json, answer["results"])) != expected:
        return f"gives {expected}"
    if list(map(script_calls.from_json, answer["arguments"])) != expected_arguments:
        return f"leaves {expected_arguments}"
    return None


@pytest.mark.parametrize("limit", [40, pytest.param(1500, marks=pytest.mark.volume)])
def test_plain_operators(program, rows, simple_executor, limit):
    signatures = script_calls.signatures(rows, operators_with("kPlain")) + script_calls.variadic()
    assert len(signatures) > 800
    calls, references, hidden = [], {}, set()
    for signature in signatures:
        try:
            reference = script_calls.Reference(signature)
        except RuntimeError:
            reference = None
        if reference is None or not reference.is_right:
            hidden.add(signature.name)
            continue
        references[signature] = reference
        calls += [(signature, arguments) for arguments in script_calls.calls(signature, limit)]
    assert hidden <= HIDDEN
    wrong = []
    for (signature, arguments), answer in zip(calls, script_calls.Tool(program.path).answers(calls)):
        found = difference(answer, references[signature], arguments)
        if found:
            wrong.append(f"{signature.name}{arguments}: LibTorch {found}, not {answer}")
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:20]])


# What floats have no exact answer for, and what nobody has written down.
NEVER_KNOWN = {
    *(f"aten::{name}" for name in "acos acosh angle asin asinh atan atan2 atanh cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2 polar sigmoid sin sinh tan tanh".split()),
    *(f"aten::Complex.{kinds}" for kinds in "Tensor_Tensor Tensor_bool Tensor_float Tensor_int bool_Tensor float_Tensor int_Tensor".split()),
    *(f"aten::{name}" for name in "ComplexImplicit copy count.Tensor dict eq.Tensor_list frexp.Tensor gcd index.Tensor_hacked_twin index.list_Tensor ldexp.Tensor".split()),
    *(f"aten::{name}" for name in "linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor narrow.Tensor ne.Tensor_list result_type.Scalar result_type.Scalar_Tensor result_type.Tensor round.decimals sorted.Tensor to.prim_other values".split()),
}  # fmt: skip


@pytest.mark.parametrize("limit", [100, pytest.param(2500, marks=pytest.mark.volume)])
def test_small_tensors(program, rows, simple_executor, limit):
    names = operators_with("kPlain", "kMakesTensor", ".value") - {"aten::is_contiguous", "aten::stride"}  # of strides, which calls have not
    calls, references = [], {}
    for signature in script_calls.tensor_signatures(rows, names):
        references[signature] = script_calls.Reference(signature)
        if references[signature].is_right:
            calls += [(signature, arguments) for arguments in script_calls.tensor_calls(signature, limit)]
    wrong, known = [], set()
    for (signature, arguments), answer in zip(calls, script_calls.Tool(program.path).answers(calls, small=True)):
        if answer.get("unknown"):
            continue
        known.add(signature.name)
        try:
            _, expected = references[signature](arguments)
        except Exception as error:
            if "view size is not compatible" in str(error):
                continue  # by strides, of which nothing is known here: whoever runs the graph is told
            wrong.append(f"{signature.name}{arguments}: LibTorch raises {script_calls.message(error)!r}, not {answer}")
            continue
        if list(map(script_calls.from_json, answer["results"])) != expected:
            wrong.append(f"{signature.name}{arguments}: LibTorch gives {expected}, not {answer}")
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:20]])
    if limit > 1000:
        assert {signature.name for signature, _ in calls} - known <= NEVER_KNOWN
