"""Tests code as PyTorch 1.3 to 1.6 saved it: removed operators, old spellings, files that import others. The trace treats it as
today's torch.jit.load does."""

import archive_edit
import harness
import pytest
import tiers
import torch

NO_CONSTANTS = b"\x80\x02)."
ROOT = '''op_version_set = 1
{imports}class Root(Module):
  __parameters__ = []
  __buffers__ = []
{methods}  def forward(self: __torch__.Root,
    x: Tensor) -> Tensor:
{body}
'''


def archive(body: str, methods: str = "", imports: str = "") -> bytes:
    lines = "\n".join("    " + line for line in body.splitlines())
    code = ROOT.format(body=lines, methods=methods, imports=imports)
    return archive_edit.archive(
        {
            "version": b"1\n",
            "data.pkl": b"\x80\x02c__torch__\nRoot\n)\x81}b.",
            "constants.pkl": NO_CONSTANTS,
            "code/__torch__.py": code.encode(),
        }
    )


def replays(program, folder, content: bytes) -> list[str]:
    """The targets of the graph, which does what the archive does."""
    path = str(folder / "model.pt")
    with open(path, "wb") as file:
        file.write(content)
    torch.manual_seed(0)
    collection = program.trace(path)
    assert collection["summary"]["modules"]["failed"] == 0, collection["modules"]
    graph = collection["graphs"][0]
    harness.compare_runs(path, graph, "forward", (torch.rand(2, 3, 8, 8),), {})
    return [node["target"] for node in graph["nodes"][1:-1]]


POOL = "return torch.max_pool2d(x, {}, [1, 1], [0, 0], [1, 1], False)"
MATRIX = "torch.select(torch.select(x, 0, 0), 0, 0)"
CODE = {
    "one number for two": POOL.format("torch._pair(3)"),
    "two numbers": POOL.format("torch._pair([3, 2])"),
    "one number for three": "return torch.mul(x, (torch._triple(2.5))[2])",
    "sizes by default": "_0 = torch.list_with_default([2, 2], torch.size(x))\nreturn torch.adaptive_avg_pool2d(x, _0)",
    "what said nothing": '_0 = torch._assert_int_or_pair([1, 2], "kernel_size", "no")\nreturn torch.relu(x)',
    "an assertion": '_0 = torch._assert(torch.gt(torch.size(x, 0), 1), "small")\nreturn torch.relu(x)',
    "an assertion of a tensor": '_0 = torch._assert(torch.ge(torch.sum(x), 0), "negative")\nreturn torch.relu(x)',
    "shape": "return torch.mul(x, (ops.prim.shape(x))[1])",
    "ndim": "return torch.mul(x, ops.prim.ndim(x))",
    "T": f"return ops.prim.T({MATRIX})",
    "H": f"return ops.prim.H({MATRIX})",
    "mT": "return ops.prim.mT(x)",
    "mH": "return ops.prim.mH(x)",
    "a device by name": '_0 = torch.device(type="cpu")\nreturn torch.to(x, _0, 7, False, False, None)',
    "another dtype": "return torch.type(x, dtype=7, copy=True)",
    "text in text": 'if torch.__contains__("abc", "b"):\n  y = torch.relu(x)\nelse:\n  y = x\nreturn y',
}


@pytest.mark.parametrize("name", tiers.only(list(CODE)[:8], CODE))
def test_code_of_old(program, tmp_path, name):
    replays(program, tmp_path, archive(CODE[name]))


def test_what_is_gone_leaves_no_node_of_its_own(program, tmp_path):
    targets = replays(program, tmp_path, archive(CODE["sizes by default"]))
    assert targets[-1] == "aten.adaptive_avg_pool2d.default"
    assert not any("list_with_default" in target for target in targets)
    assert replays(program, tmp_path, archive(CODE["what said nothing"])) == ["aten.relu.default"]


@pytest.mark.parametrize("imports", ["import __torch__.a\nimport __torch__.b.c\n", "import a as b, c\n"])
def test_imports(program, tmp_path, imports):
    assert replays(program, tmp_path, archive("return torch.relu(x)", imports=imports)) == ["aten.relu.default"]


def test_what_is_no_none(program, tmp_path):
    methods = "  def own(self, k: Optional[Tensor]) -> Tensor:\n    return torch.relu(k.unchecked_unwrap_optional)\n"
    assert replays(program, tmp_path, archive("return (self).own(x, )", methods)) == ["aten.relu.default"]


def test_imaginary_infinity(program, tmp_path):
    """torch.fx has no name for it."""
    path = tmp_path / "model.pt"
    path.write_bytes(archive("return torch.mul(torch.mul(x, infj), nanj)"))
    torch.jit.load(path)
    nodes = program.trace(str(path))["graphs"][0]["nodes"]
    assert [node["args"][1] for node in nodes[1:3]] == [{"complex": [0.0, {"float": name}]} for name in ("inf", "nan")]


def test_one_number_for_a_list(program, tmp_path):
    for annotation in ("BroadcastingList2[int]", "_size_2_t"):
        methods = f"  def both(self, k: {annotation}) -> List[int]:\n    return k\n"
        replays(program, tmp_path, archive(POOL.format("(self).both(3, )"), methods))
