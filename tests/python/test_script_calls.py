"""lib/script carries operators out as LibTorch does: the same results, the same errors, or it says that it does not know."""

import pathlib
import re

import pytest
import script_calls
import torch

FOLDER = pathlib.Path(__file__).parents[2] / "lib" / "operators"
# Where LibTorch asserts, reads another argument than it was given, or does what C++ leaves open.
NOT_FOLLOWED = re.compile(
    r"aten::(\w+(\.Scalar(_Scalar)?)?"  # bools and complex numbers among Scalars, and integers beyond 64 bits
    r"|device\.with_index|divmod\.float_int|divmod\.int_float|floor\.int|promote_types|get_autocast_dtype|sum\.complex"
    r"|slice\.str|slice\.t|percentFormat)|prim::(min|max|abs\.Scalar)"
)
# Operators that parse_ir does not find by their types, as another overload comes first.
HIDDEN = {"aten::Float.int", "aten::pow.int_to_int", "aten::sort.any", "aten::sorted.any", "aten::device.with_index"}


def group(name: str) -> set[str]:
    table = re.search(rf"string_view {name}\[\] = \{{(.*?)\}};", (FOLDER / "facts.cpp").read_text(), re.DOTALL)
    assert table
    return set(re.findall(r'"([^"]+)"', table[1]))


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    text = (FOLDER / "registered.inc").read_text()
    return {name: schema.replace('\\"', '"') for name, schema in re.findall(r'\{"([^"]+)"sv, "(.*?)"sv,', text)}


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
    signatures = script_calls.signatures(rows, group("kPlainValues") | group("kElementMovers")) + script_calls.variadic()
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
