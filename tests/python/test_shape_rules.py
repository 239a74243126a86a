"""Compares the shape rules with torch, call by call and without archives: torch's own samples of its operators, and the same
calls with other sizes, ranks, dtypes and numbers, many of which torch refuses."""

import pathlib
import random
import re
import subprocess
from collections import Counter

import op_samples
import pytest
import rule_calls
import tiers
import torch

# Of these rules do not tell every result: data decides, or what is left out on some paths only.
UNTOLD = {
    "Int", "ScalarImplicit", "numel", "size",  # no tensors
    "_unique2", "unique_consecutive", "unique_dim", "linalg_lstsq", "tensor_split", "to_sparse",
    "_batch_norm_with_update", "_native_batch_norm_legit", "native_batch_norm", "native_layer_norm", "embedding_bag",
    "_chunk_cat", "_softmax_backward_data", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
    "max_pool2d_with_indices_backward", "native_dropout_backward", "histogram", "histogramdd", "segment_reduce",
}  # fmt: skip
# Kernels that believe their arguments: with others they read what is not theirs.
UNCHECKED = {"_batch_norm_with_update", "linalg_ldl_solve", "linalg_lu_solve", "lu_solve", "lu_unpack", "native_batch_norm",
             "ormqr", "segment_reduce"}  # fmt: skip
# Of integers of 8 bits, and of rows of a multiple of 16 bytes: no call of those that are drawn.
NOT_DRAWN = {"_int_mm", "_grouped_mm"}
# Errors about values, which a shape does not tell.
OF_VALUES = re.compile(
    "singular|positive.definite|out of range for|out of bounds|ill-conditioned|converge|robabilit|sum to|index .* is out|"
    "Expected all|should be in|is out of range|ZeroDivision|out of range in self|tried to access index|DATA bounds|max index|"
    "Number of elements of source|indexing result of shape|without overflow"
)


# Types that the CPU has no kernel for, which other devices may have.
NO_KERNEL = re.compile("Could not run|not implemented for|not supported for|[Uu]nsupported dtype|INTERNAL ASSERT")


@pytest.fixture(scope="module")
def tool(program) -> str:
    return str(pathlib.Path(program.path).with_name("shape_calls"))


def has_text(call: rule_calls.Call) -> bool:
    try:
        call.text()
    except rule_calls.NoText:
        return False
    return True


def recorded(count: int, dtypes: tuple, part: slice = slice(None)) -> list[rule_calls.Call]:
    calls, seen = [], set()
    for sample in op_samples.samples(count, dtypes=dtypes, part=part):
        try:
            found = rule_calls.recorded(sample)
        except (rule_calls.NoText, RuntimeError):  # torch cannot trace it
            continue
        for call in found:
            if has_text(call) and call.text() not in seen:
                seen.add(call.text())
                calls.append(call)
    return calls


@pytest.fixture(scope="module")
def many_calls() -> list[rule_calls.Call]:
    calls = recorded(3, (torch.float32, torch.int64, torch.bool, torch.complex64))
    assert len({call.operator for call in calls}) > 550
    return calls


def compare(tool: str, calls: list[rule_calls.Call]) -> dict[str, list[str]]:
    """By what came of them: right, wrong, untold, refused by both, refused by the rules alone, missed by the rules."""
    kinds: dict[str, list[str]] = {kind: [] for kind in ("right", "wrong", "untold", "refused", "too strict", "missed")}
    texts = [call.text() for call in calls]
    for call, text, said in zip(calls, texts, rule_calls.answers(tool, texts)):
        assert not said.startswith("error"), f"{text}: {said}"
        try:
            results = call.run()
        except Exception as error:
            message = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            if NO_KERNEL.search(message) and not said.startswith("raises"):
                continue
            if not OF_VALUES.search(message):
                kind = "refused" if said.startswith("raises") or set(said) <= set("? ") else "missed"
                kinds[kind].append(f"{text}: {said}, but {message[:150]}")
            continue
        real = [rule_calls.text_or_question(result) for result in results]
        line = f"{text}: {said} is really {' '.join(real)}"
        if said.startswith("raises"):
            kinds["too strict"].append(line)
            continue
        parts = rule_calls.parts_of(said, " ")
        answers = [rule_calls.matches(part, result) for part, result in zip(parts, results)]
        right = len(parts) == len(results) and False not in answers
        kinds["wrong" if not right else "untold" if None in answers else "right"].append(line)
    return kinds


def base_name(line: str) -> str:
    return re.match(r"\w+", line).group()


def check_samples(tool: str, calls: list[rule_calls.Call]) -> None:
    kinds = compare(tool, calls)
    assert not kinds["wrong"] and not kinds["too strict"], "\n".join(kinds["wrong"] + kinds["too strict"])
    untold = [line for line in kinds["untold"] if base_name(line) not in UNTOLD]
    assert not untold, "\n".join(untold)


@pytest.mark.volume
def test_all_samples(tool, many_calls):
    check_samples(tool, many_calls)


@pytest.mark.parametrize("seed", tiers.rotating(range(8)))
def test_calls_drawn_from_signatures(tool, seed):
    """What a row says in its signature holds for calls that nobody wrote, and for the same ones made a little wrong."""
    rng = random.Random(seed)
    lines = subprocess.run([tool, "--signatures"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split(" ", 1) for line in lines if base_name(line.removeprefix("aten::")) not in NOT_DRAWN]
    calls = [call for name, signature in rows for _ in range(4) if (call := rule_calls.drawn(name, signature, rng)) is not None]
    assert len({call.operator for call in calls}) > 200
    check_samples(tool, calls)
    check_perturbed(tool, calls, seed)


def is_empty(call: rule_calls.Call) -> bool:
    return any(tensor.numel() == 0 for tensor in rule_calls.tensors_in(call.arguments))


def check_perturbed(tool: str, calls: list[rule_calls.Call], seed: int) -> None:
    rng = random.Random(seed)
    made = [rule_calls.perturbed(call, rng) for call in calls if call.operator.split(".")[0] not in UNCHECKED]
    made = [call for call in made if has_text(call)]
    # Of nothing, kernels find nothing wrong, and say what they would not else.
    kinds = compare(tool, [call for call in made if not is_empty(call)])
    counts = {kind: len(lines) for kind, lines in kinds.items()}
    print(counts, Counter(map(base_name, kinds["missed"])).most_common(20))
    assert not kinds["wrong"] and not kinds["too strict"], "\n".join(kinds["wrong"] + kinds["too strict"])
    untold = [line for line in kinds["untold"] if base_name(line) not in UNTOLD]
    assert len(untold) <= 0.01 * counts["right"], "\n".join(untold)
    assert counts["missed"] <= 2 + MISSED * (counts["missed"] + counts["refused"]), "\n".join(kinds["missed"])


MISSED = 0.06  # 2 % of many calls when this was written


# One after another they take a minute: a part of the operators is in the first tier.
PARTS = 6


@pytest.mark.parametrize("part", tiers.rotating(range(PARTS)))
def test_some_calls(tool, part):
    calls = recorded(1, (torch.float32,), slice(part, None, PARTS))
    assert len({call.operator for call in calls}) > 60
    check_samples(tool, calls)
    for seed in range(2):
        check_perturbed(tool, calls, seed)


@pytest.mark.volume
@pytest.mark.parametrize("seed", range(4))
def test_many_calls_that_are_a_little_wrong(tool, many_calls, seed):
    check_perturbed(tool, many_calls, seed)
