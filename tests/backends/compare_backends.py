#!/usr/bin/env python3
"""Asks backends which nodes of a program they take, to hold the sets of scripts/operator_sets against their answers.

    compare_backends.py ask OUT [--backends NAME ...] [--models NAME ...]
    compare_backends.py compare OUT [--fxtrace PATH] [--backends NAME ...] [--models NAME ...] [--most N]

`ask` is run by hand in an environment that scripts/operator_sets makes for the set (`--environments DIR`), with torchvision, timm and
transformers for the models of tests/python/zoo.py.  For each model and backend it writes OUT/MODEL.BACKEND.pt2, the program that the
backend was given (edge operators by the names that they have in ATen), and OUT/MODEL.BACKEND.json:

    {"model": "MODEL.BACKEND.pt2", "set": NAME, "taken": [node, ...], "left": {node: [target, reason]}}

Beside the zoo there are drawn calls of one operator each, on both sides of the conditions that a set has.

`compare` runs `fxtrace partition` on these programs and prints how far it agrees, by model and by operator.
"""

import argparse
import collections
import glob
import json
import logging
import operator
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable, Iterator

import torch
import torch._export.verifier

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import harness  # noqa: E402
import zoo  # noqa: E402

# --- programs ---

# Calls of one operator: T is an input, W a parameter, I an input of indices.  The first of each operator is drawn in several dtypes.
DRAWN = """
aten.abs.default T(2,3)
aten._softmax.default T(2,3), -1, False
aten._softmax.default T(2,3), 0, False
aten._softmax.default T(2,3,4,5), 3, False
aten._softmax.default T(2,3,4,5), 2, False
aten._log_softmax.default T(2,3), -1, False
aten.add.Tensor T(2,3), T(2,3)
aten.add.Tensor T(2,3), T(2,3), alpha=2
aten.add.Tensor T(2,3), W(3)
aten.add.Tensor T(2,3), 2.0
aten.add.Scalar T(2,3), 2.0
aten.sub.Tensor T(2,3), T(3), alpha=3
aten.sub.Tensor T(2,3), T(3)
aten.mul.Tensor T(2,3), T(2,3)
aten.mul.Scalar T(2,3), 3
aten.div.Tensor T(2,3), T(2,3)
aten.div.Tensor_mode T(2,3), T(2,3), rounding_mode="floor"
aten.addmm.default W(4), T(2,3), W(3,4)
aten.addmm.default T(4), T(2,3), W(3,4)
aten.addmm.default W(4), T(2,3), T(3,4)
aten.mm.default T(2,3), W(3,4)
aten.mm.default T(2,3), T(3,4)
aten.bmm.default T(2,3,4), T(2,4,5)
aten.bmm.default T(2,3,4), W(2,4,5)
aten.linear.default T(2,3), W(4,3)
aten.linear.default T(2,3), W(4,3), W(4)
aten.linear.default T(2,5,3), W(4,3), W(4)
aten.linear.default T(2,3), T(4,3), W(4)
aten.linear.default T(2,3), W(4,3), T(4)
aten.convolution.default T(1,3,8,8), W(4,3,3,3), None, [1,1], [0,0], [1,1], False, [0,0], 1
aten.convolution.default T(1,3,8,8), W(4,3,3,3), W(4), [1,1], [0,0], [1,1], False, [0,0], 1
aten.convolution.default T(1,3,8,8), T(4,3,3,3), None, [1,1], [0,0], [1,1], False, [0,0], 1
aten.convolution.default T(1,3,8,8), W(4,3,3,3), T(4), [1,1], [0,0], [1,1], False, [0,0], 1
aten.convolution.default T(1,3,8), W(4,3,3), None, [1], [0], [1], False, [0], 1
aten.convolution.default T(1,3,8,8,8), W(4,3,3,3,3), None, [1,1,1], [0,0,0], [1,1,1], False, [0,0,0], 1
aten.convolution.default T(1,4,8,8), W(4,3,3,3), None, [2,2], [0,0], [1,1], True, [0,0], 1
aten.convolution.default T(1,4,8,8), W(4,1,3,3), None, [1,1], [1,1], [1,1], False, [0,0], 4
aten.convolution.default T(1,3,90,90), W(4,3,70,70), None, [1,1], [0,0], [1,1], False, [0,0], 1
aten.avg_pool2d.default T(1,3,8,8), [2,2]
aten.avg_pool2d.default T(1,3,8,8), [2,2], [2,2], [1,1]
aten.avg_pool2d.default T(1,3,8,8), [2,2], [2,2], [1,1], False, False
aten.avg_pool2d.default T(1,3,8,8), [3,3], [2,2], [0,0], True
aten.avg_pool2d.default T(1,3,8,8), [2,2], [2,2], [0,0], False, True, 3
aten.max_pool2d.default T(1,3,8,8), [2,2]
aten.max_pool2d.default T(1,3,8,8), [2,2], [3,3]
aten.max_pool2d.default T(1,3,8,8), [3,3], [2,2], [1,1]
aten.max_pool2d.default T(1,3,8,8), [3,2], [2,1]
aten.max_pool2d.default T(1,3,9,9), [2,2], [2,2], [0,0], [1,1], True
aten.max_pool2d_with_indices.default T(1,3,8,8), [2,2]
aten._native_batch_norm_legit_no_training.default T(2,3,4,4), W(3), W(3), W(3), W(3), 0.1, 1e-5
aten._native_batch_norm_legit_no_training.default T(2,3,4), W(3), W(3), W(3), W(3), 0.1, 1e-5
aten._native_batch_norm_legit_no_training.default T(2,3), W(3), W(3), W(3), W(3), 0.1, 1e-5
aten._native_batch_norm_legit_no_training.default T(2,3,4,4,4), W(3), W(3), W(3), W(3), 0.1, 1e-5
aten._native_batch_norm_legit_no_training.default T(2,3,4,4), None, None, W(3), W(3), 0.1, 1e-5
aten._native_batch_norm_legit_no_training.default T(2,3,4,4), T(3), W(3), W(3), W(3), 0.1, 1e-5
aten._native_batch_norm_legit_no_training.default T(2,3,4,4), W(3), W(3), T(3), W(3), 0.1, 1e-5
aten.cat.default [T(2,3), T(2,3)], 1
aten.cat.default [T(2,3)], 1
aten.cat.default [T(2,3), T(2,3), T(2,3), T(2,3), T(2,3), T(2,3)], 0
aten.ceil.default T(2,3)
aten.clone.default T(2,3)
aten.clone.default T(1,3,4,4), memory_format=torch.channels_last
aten.clamp.default T(2,3), 0, 1
aten.clamp.default T(2,3), None, 1
aten.clamp.Tensor T(2,3), T(2,3), T(2,3)
aten.constant_pad_nd.default T(1,3,4,4), [1,1]
aten.constant_pad_nd.default T(1,3,4,4), [1,-1]
aten.constant_pad_nd.default T(1,3,4,4), [1,1,1,1,1,1], 2.0
aten.exp.default T(2,3)
aten.floor.default T(2,3)
aten.gelu.default T(2,3)
aten.gelu.default T(2,3), approximate="tanh"
aten.hardtanh.default T(2,3), 0, 6
aten.hardswish.default T(2,3)
aten.hardsigmoid.default T(2,3)
aten.leaky_relu.default T(2,3), 0.1
aten.elu.default T(2,3)
aten.silu.default T(2,3)
aten.log.default T(2,3)
aten.max.dim T(1,3,4,4), 1
aten.max.dim T(3,4), 1
aten.maximum.default T(2,3), T(2,3)
aten.minimum.default T(2,3), T(2,3)
aten.mean.dim T(1,3,4,4), [2,3], True
aten.mean.dim T(1,3,4,4), [3,2], True
aten.mean.dim T(1,3,4,4), [-1,-2], True
aten.mean.dim T(1,3,4,4), [-1], True
aten.mean.dim T(1,3,4,4), [2,3]
aten.mean.dim T(1,3,4,4), [1,2], True
aten.mean.dim T(3,4,4), [1,2], True
aten.neg.default T(2,3)
aten.permute.default T(2,3,4), [2,0,1]
aten.pow.Tensor_Scalar T(2,3), 2
aten.pow.Tensor_Scalar T(2,3), 2.0
aten.pow.Tensor_Scalar T(2,3), 3
aten.pow.Tensor_Tensor T(2,3), T(2,3)
aten.prelu.default T(2,3), W(3)
aten.prelu.default T(2,3), T(3)
aten.rsqrt.default T(2,3)
aten.sqrt.default T(2,3)
aten.relu.default T(2,3)
aten.sigmoid.default T(2,3)
aten.sin.default T(2,3)
aten.cos.default T(2,3)
aten.tanh.default T(2,3)
aten.slice.Tensor T(4,6), 1, 1, 3
aten.slice.Tensor T(4,6), 1, 0, 6, 2
aten.slice.Tensor T(4,6), 0, 0, 2, 1
aten.select.int T(4,6), 0, 1
aten.squeeze.dims T(4,1,6), [1]
aten.unsqueeze.default T(4,6), 2
aten.unsqueeze.default T(4,6), -1
aten.unsqueeze.default T(4,6), 1
aten.expand.default T(4,1), [4,3]
aten.view.default T(4,6), [2,12]
aten.view.default T(4,6), [2,-1]
aten.upsample_bilinear2d.vec T(1,3,4,4), [8,8], False, None
aten.upsample_bilinear2d.vec T(1,3,4,4), None, True, [2.0,2.0]
aten.upsample_nearest2d.vec T(1,3,4,4), [8,8], None
aten._to_copy.default T(2,3), dtype=torch.float16
aten._to_copy.default T(2,3), dtype=torch.float32
aten.where.self T(2,3) > 0, T(2,3), T(2,3)
aten.sum.dim_IntList T(2,3), [1]
aten.embedding.default W(5,3), I(2,3)
aten.native_layer_norm.default T(2,3), [3], W(3), W(3), 1e-5
aten.native_group_norm.default T(1,4,8), W(4), W(4), 1, 4, 8, 2, 1e-5
aten.full_like.default T(2,3), 1.0
aten.index.Tensor T(4,6), [I(2)]
aten.topk.default T(4,6), 2
aten.cumsum.default T(4,6), 1
aten.gather.default T(4,6), 1, I(4,6)
aten.erf.default T(2,3)
aten.scatter_add.default T(4,6), 1, I(4,6), T(4,6)
aten.roll.default T(4,6), [1], [0]
"""
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64)


class Call(torch.nn.Module):
    """A call of DRAWN."""

    def __init__(self, line: str, dtype: torch.dtype):
        super().__init__()
        target, _, text = line.partition(" ")
        self.target: Any = torch.ops
        for part in target.split("."):
            self.target = getattr(self.target, part)
        self.code = compile(f"call({text})", line, "eval")
        self.dtype = dtype
        self.inputs: list[torch.Tensor] = []
        self.weights = torch.nn.ParameterList()
        self.run(self.new_input, self.new_weight, lambda *sizes: self.new_input(*sizes, dtype=torch.int64), lambda *_, **__: None)

    def new_input(self, *sizes: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        self.inputs.append(torch.ones(sizes, dtype=dtype or self.dtype))
        return self.inputs[-1]

    def new_weight(self, *sizes: int) -> torch.Tensor:
        self.weights.append(torch.nn.Parameter(torch.ones(sizes, dtype=self.dtype), requires_grad=False))
        return self.weights[-1]

    def run(self, new_input: Callable, new_weight: Callable, new_indices: Callable, call: Callable) -> Any:
        return eval(self.code, {"T": new_input, "W": new_weight, "I": new_indices, "call": call, "torch": torch})

    def forward(self, *inputs: torch.Tensor) -> Any:
        given, weights = iter(inputs), iter(self.weights)
        result = self.run(lambda *_: next(given), lambda *_: next(weights), lambda *_: next(given), self.target)
        return result[0] if isinstance(result, tuple) else result  # several are only taken if the first alone is used


def drawn_programs() -> Iterator[tuple[str, torch.export.ExportedProgram]]:
    seen = set()
    for number, line in enumerate(DRAWN.strip().splitlines()):
        target = line.partition(" ")[0]
        dtypes = DTYPES[:1] if target in seen else DTYPES
        seen.add(target)
        for dtype in dtypes:
            try:
                call = Call(line, dtype)
                program = torch.export.export(call, tuple(call.inputs))
            except Exception:  # not of this dtype
                continue
            yield f"drawn_{number:03}_{str(dtype).removeprefix('torch.')}", program


def zoo_programs(wanted: list[str]) -> Iterator[tuple[str, torch.export.ExportedProgram]]:
    """Each model of the zoo, exported with fixed sizes, and with unknown ones where the zoo has those."""
    made = set()
    for entry in zoo.MAKERS:
        model, way = zoo.split(entry)
        name = entry if way == "exported_dynamic" else model
        if name in made or (wanted and name not in wanted):
            continue
        made.add(name)
        path = os.path.join(OUT, f"{name}.zoo.pt2")
        try:
            torch.manual_seed(0)
            module, inputs = zoo.MAKERS[entry]()  # registers what a saved program needs, too
            if not os.path.exists(path):
                if not isinstance(module, torch.nn.Module):
                    module = module(False)
                zoo.export(module.eval(), inputs, way if way == "exported_dynamic" else "exported", path)
            yield name, torch.export.load(path)
        except Exception as error:
            print(f"{name}: not exported: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)


# --- backends ---

Answer = tuple[torch.export.ExportedProgram, list[str], dict[str, list[str]]]


def calls(program: torch.export.ExportedProgram) -> list[torch.fx.Node]:
    return [node for node in program.graph.nodes if node.op == "call_function"]


class Done(Exception):
    """The partitioner has answered; what follows is not needed."""


def edge_program(program: torch.export.ExportedProgram, partitioner: Any) -> torch.export.ExportedProgram:
    from executorch.exir import to_edge_transform_and_lower

    return to_edge_transform_and_lower(program, partitioner=partitioner).exported_program()


def aten(target: Any) -> Any:
    """The operator of ATen that an edge operator is."""
    return target._op if type(target).__name__ == "EdgeOpOverload" else target


def name_as_aten(program: torch.export.ExportedProgram) -> None:
    """Gives edge operators the targets that a program of ATen has, which alone can be loaded."""
    for node in calls(program):
        node.target = aten(node.target)
    # The partitioner is given a program without values.
    for tensors in (program._state_dict, program._constants):
        for name, tensor in tensors.items():
            if isinstance(tensor, torch._subclasses.FakeTensor):
                zeros = torch.zeros(tensor.shape, dtype=tensor.dtype)
                tensors[name] = torch.nn.Parameter(zeros, False) if name in program.graph_signature.parameters else zeros
    program._verifiers = [torch._export.verifier.Verifier]  # the one of edge programs declines these


def target_of(node: torch.fx.Node) -> str:
    target = aten(node.target)
    return str(target) if isinstance(target, torch._ops.OpOverload) else f"{target.__module__}.{target.__name__}"


def ask_xnnpack(program: torch.export.ExportedProgram) -> Answer:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    reasons: dict[str, str] = {}

    class Reasons(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if hasattr(record.msg, "reason"):  # WhyNoPartition
                reasons.setdefault(record.msg.node.name, record.msg.reason)

    class Partitioner(XnnpackPartitioner):
        def partition(self, program: Any) -> Any:
            reasons.clear()  # of nodes that it was asked whether to decompose
            super().partition(program)
            self.program = program
            raise Done

    handler = Reasons()
    loggers = [logging.getLogger(f"executorch.backends.xnnpack.partition.config.{name}_configs") for name in ("gemm", "generic_node", "node")]
    loggers.append(logging.getLogger("executorch.backends.xnnpack.partition.config.xnnpack_config"))
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.handlers = [handler]
    partitioner = Partitioner()
    try:
        edge_program(program, [partitioner])
    except Done:
        pass
    edge = partitioner.program
    taken = [node.name for node in calls(edge) if "delegation_tag" in node.meta]
    left = {node.name: [target_of(node), reasons.get(node.name, "")] for node in calls(edge) if "delegation_tag" not in node.meta}
    name_as_aten(edge)
    return edge, taken, left


def ask_before_edge(program: torch.export.ExportedProgram) -> Answer:
    """XNNPACK's answer by the nodes of the program as exported: those whose edge nodes are all taken.  Nodes without any are in neither
    list."""
    edge, taken, _ = ask_xnnpack(program)
    nodes = {node.name: node for node in calls(program)}

    def origins(sources: Any) -> set[str]:
        found = set()
        for source in sources:
            node = nodes.get(source.name)
            itself = {source.name} if node is not None and str(node.target) == source.target else set()
            found |= origins(source.from_node) or itself  # what is decomposed gives names that other nodes had before
        return found

    parts: dict[str, list[torch.fx.Node]] = {}
    for node in calls(edge):
        for name in origins(node.meta.get("from_node", [])):
            parts.setdefault(name, []).append(node)
    left = {}
    for name, found in parts.items():
        lost = sorted({target_of(node) for node in found if node.name not in taken})
        if lost:
            left[name] = [target_of(nodes[name]), "has " + ", ".join(lost)]
    return program, [name for name in parts if name not in left], left


ANSWERS: dict[str, str] = {}  # to calls that were asked before


def constants_of(program: torch.export.ExportedProgram) -> set[str]:
    signature = program.graph_signature
    return {*signature.inputs_to_parameters, *signature.inputs_to_buffers, *signature.inputs_to_lifted_tensor_constants}


def has_tensors(node: torch.fx.Node) -> bool:
    """Whether the node gives tensors."""
    return isinstance(node.meta.get("val"), (torch.Tensor, list, tuple))


def why_not_run(node: torch.fx.Node, constants: set[str]) -> str:
    """What the runtime says when it runs the node by itself."""
    from executorch.exir import to_edge
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    for fill in (1, 0):  # zeros where ones are no indices
        call = OneCall(node, constants, fill)
        key = f"run {node.target} {call.call_args} {[(tensor.shape, tensor.dtype) for tensor in call.inputs]} {call.sources}"
        if key in ANSWERS:
            return ANSWERS[key]
        try:
            call(*call.inputs)
        except Exception:
            continue
        try:
            program = torch.export.export(call, tuple(call.inputs))
            buffer = to_edge(program).to_executorch().buffer  # must outlive the module
            module = _load_for_executorch_from_buffer(buffer)
            module.forward(call.inputs)
            ANSWERS[key] = ""
        except Exception as error:
            ANSWERS[key] = f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0]}"
        return ANSWERS[key]
    return ""


def ask_portable(program: torch.export.ExportedProgram) -> Answer:
    """Whether the runtime of the package has a kernel for what each node is called as, and that runs the node by itself."""
    from executorch.exir.operator.convert import to_out_variant
    from executorch.exir.passes.executorch_prim_ops_registry import _PYTHON_SYM_OPS_TO_EXECUTORCH_SYM_OPS, is_sym_op
    from executorch.extension.pybindings import portable_lib

    kernels = set(portable_lib._get_operator_names())
    edge = edge_program(program, None)
    constants = constants_of(edge)
    taken, left = [], {}
    for node in calls(edge):
        if node.target is operator.getitem:
            (taken.append(node.name) if node.args[0].name in taken else left.setdefault(node.name, [target_of(node), "of a node that is left"]))
            continue
        try:
            target = aten(node.target)
            if is_sym_op(target):
                called = _PYTHON_SYM_OPS_TO_EXECUTORCH_SYM_OPS.get(target, target)
            else:
                called = to_out_variant(target)[0]
            name = (called if isinstance(called, torch._ops.OpOverload) else called._op).name()
            name = name if name in kernels else name + ".out" if name + ".out" in kernels else name.replace("aten::sym_", "executorch_prim::et_sym_")
            reason = "" if name in kernels or is_sym_op(target) else f"no kernel {name}"
        except (RuntimeError, AssertionError, AttributeError, TypeError):
            reason = "no out variant"
        # Operators of ExecuTorch's own are made by its passes, and cannot be exported.
        if not reason and not is_sym_op(target) and target.namespace == "aten" and has_tensors(node):
            reason = why_not_run(node, constants)
        if reason:
            left[node.name] = [target_of(node), reason]
        else:
            taken.append(node.name)
    name_as_aten(edge)
    return edge, taken, left


class OneCall(torch.nn.Module):
    """The call of a node, with its constants as buffers and tensors like its inputs: Core ML has no inputs or outputs of booleans."""

    def __init__(self, node: torch.fx.Node, constants: set[str], fill: int = 1):
        super().__init__()
        self.target = aten(node.target)
        self.used = {user.args[1] for user in node.users if user.target is operator.getitem}
        self.inputs: list[torch.Tensor] = []
        self.sources: list[tuple[str, bool]] = []  # the name of a buffer or "", and whether it is of booleans

        def number(value: Any) -> Any:
            return value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value

        def placed(argument: torch.fx.Node) -> Any:
            value = argument.meta["val"]
            if not isinstance(value, torch.Tensor):
                return number(value)
            tensor = torch.full([number(size) for size in value.shape], fill, dtype=value.dtype)
            is_bool = tensor.dtype == torch.bool
            if argument.name in constants:
                self.sources.append((f"constant{len(self.sources)}", False))
                self.register_buffer(self.sources[-1][0], tensor)
            else:
                self.sources.append(("", is_bool))
                self.inputs.append(tensor.float() if is_bool else tensor)
            return Place(len(self.sources) - 1)

        self.call_args = torch.fx.map_arg((node.args, dict(node.kwargs)), placed)

    def forward(self, *inputs: torch.Tensor) -> Any:
        given = iter(inputs)
        tensors = [getattr(self, name) if name else next(given) > 0 if is_bool else next(given) for name, is_bool in self.sources]
        args, kwargs = torch.utils._pytree.tree_map(lambda value: tensors[value.index] if isinstance(value, Place) else value, self.call_args)
        results = self.target(*args, **kwargs)
        if isinstance(results, torch.Tensor):
            results, self.used = [results], {0}
        return [result.float() if result.dtype == torch.bool else result for index, result in enumerate(results) if index in self.used]


class Place:
    def __init__(self, index: int):
        self.index = index

    def __repr__(self) -> str:
        return "tensor"


def why_not_converted(node: torch.fx.Node, constants: set[str]) -> str:
    import coremltools

    call = OneCall(node, constants)
    key = f"{node.target} {call.call_args} {[(tensor.dim(), tensor.dtype) for tensor in call.inputs]} {call.sources}"
    if key not in ANSWERS:
        try:
            program = torch.export.export(call, tuple(call.inputs)).run_decompositions({})
            coremltools.convert(program, convert_to="milinternal", minimum_deployment_target=coremltools.target.iOS18)
            ANSWERS[key] = ""
        except Exception as error:
            ANSWERS[key] = f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0]}"
    return ANSWERS[key]


def ask_coreml(program: torch.export.ExportedProgram) -> Answer:
    """Whether coremltools' reader of programs finds a translation of each node, and that translates the node by itself."""
    from coremltools.converters.mil.frontend.torch import ops  # noqa: F401: registers translations
    from coremltools.converters.mil.frontend.torch.internal_graph import InternalTorchIRNode

    program = program.run_decompositions({})
    constants = constants_of(program)
    taken, left = [], {}
    for node in calls(program):
        try:
            InternalTorchIRNode.from_exir_node(node)
            reason = ""
            if isinstance(node.target, torch._ops.OpOverload) and has_tensors(node):
                reason = why_not_converted(node, constants)
        except (NotImplementedError, KeyError) as error:
            reason = f"no translation of {str(error).rpartition(' ')[2]}"
        if reason:
            left[node.name] = [target_of(node), reason]
        else:
            taken.append(node.name)
    return program, taken, left


BACKENDS = {
    "xnnpack": ("xnnpack", ask_xnnpack),
    "xnnpack-exported": ("xnnpack", ask_before_edge),
    "portable": ("executorch-portable", ask_portable),
    "coreml": ("coreml", ask_coreml),
}


def ask(options: argparse.Namespace) -> None:
    global OUT
    OUT = os.path.abspath(options.out)
    os.makedirs(OUT, exist_ok=True)

    def programs() -> Iterator[tuple[str, torch.export.ExportedProgram]]:
        if options.models != ["drawn"]:
            yield from zoo_programs(options.models)
        if not options.models or "drawn" in options.models:
            yield from drawn_programs()

    for name, program in programs():
        for backend in options.backends:
            of_set, ask_backend = BACKENDS[backend]
            base = os.path.join(OUT, f"{name}.{backend}")
            if os.path.exists(f"{base}.json"):
                continue
            try:
                given, taken, left = ask_backend(program)
                torch.export.save(given, f"{base}.pt2")
            except Exception as error:
                reason = f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0]}"
                if not name.startswith("drawn_"):
                    print(f"{name}: {backend}: {reason}", flush=True)
                    continue
                given, taken, left = program, [], {node.name: [target_of(node), reason] for node in calls(program)}
                torch.export.save(given, f"{base}.pt2")
            with open(f"{base}.json", "w", encoding="utf-8") as file:
                json.dump({"model": f"{name}.{backend}.pt2", "set": of_set, "taken": taken, "left": left}, file)
            if not name.startswith("drawn_"):
                print(f"{name}: {backend}: takes {len(taken)} of {len(taken) + len(left)}", flush=True)


# --- comparison ---

# Not calls of a backend's operators, or ones that fxtrace puts to others: sizes and asserts.
NOT_COMPARED = ("_operator.", "operator.", "math.", "builtins.", "torch.sym_", "aten.sym_", "aten._assert")
# Changes least: programs that were exported have no dead code.  Without a pass the graph is made functional first.
PASS = "eliminate-dead-code"
# Says nothing of the set: fxtrace makes no region of views alone.
VIEWS = "nothing but views around it is taken"


def partition(fxtrace: str, model: str, of_set: str) -> tuple[dict[str, str], dict[str, str]]:
    """Runs fxtrace.  Returns the targets of the calls of the model's own graph, and for each why it is left, "" if it is taken."""
    with tempfile.TemporaryDirectory() as folder:
        traced = os.path.join(folder, "trace.json")
        run = [fxtrace, "trace", model, "--no-default-leaves", "--pass", PASS, "-o", traced]
        subprocess.run(run, check=True, capture_output=True, text=True)
        ops = os.path.join(harness.ROOT, "lib", "partition", "sets", f"{of_set}.json")  # not the one that the program was built with
        run = [fxtrace, "partition", model, "--ops", ops, "--pass", PASS, "--json"]
        report = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        with open(traced, encoding="utf-8") as file:
            nodes = json.load(file)["graphs"][0]["nodes"]
    targets = {node["name"]: node["target"] for node in nodes if node["op"] == "call_function"}
    verdicts = {node: "" for part in report["parts"] if part["set"] and part["graph"] == "" for node in part["nodes"]}
    verdicts |= {call["node"]: report["reasons"][call["reason"]]["text"] for call in report["left"] if call["graph"] == ""}
    return targets, verdicts


def compare(options: argparse.Namespace) -> None:
    fxtrace = harness.find_program(options.fxtrace)
    if fxtrace is None:
        sys.exit("compare_backends: no fxtrace: give --fxtrace PATH")
    for backend in options.backends:
        counts: dict[str, collections.Counter] = {"zoo": collections.Counter(), "drawn": collections.Counter()}
        differences: dict[tuple[str, str, str], list[str]] = {}
        for path in sorted(glob.glob(os.path.join(glob.escape(options.out), f"*.{backend}.json"))):
            name = os.path.basename(path).removesuffix(f".{backend}.json")
            kind = "drawn" if name.startswith("drawn_") else "zoo"
            if options.models and kind not in options.models and name not in options.models:
                continue
            with open(path, encoding="utf-8") as file:
                answer = json.load(file)
            try:
                targets, ours = partition(fxtrace, path.removesuffix("json") + "pt2", answer["set"])
            except subprocess.CalledProcessError as error:
                print(f"{name}: {backend}: fxtrace exits with {error.returncode}: {error.stderr.strip()}", flush=True)
                continue
            theirs = {node: "" for node in answer["taken"]} | {node: why or "not in its tables" for node, (_, why) in answer["left"].items()}
            count = collections.Counter(models=1, lost=len(theirs.keys() - targets.keys()))
            for node in theirs.keys() & ours.keys() & targets.keys():
                if targets[node].startswith(NOT_COMPARED):
                    continue
                if ours[node] == VIEWS:
                    count["views"] += 1
                    continue
                count["calls"] += 1
                count["taken"] += not theirs[node]
                if (not ours[node]) == (not theirs[node]):
                    count["agree"] += 1
                else:
                    differences.setdefault((targets[node], verdict(ours[node]), verdict(theirs[node])), []).append(f"{name} %{node}")
            counts[kind] += count
            if kind == "zoo":
                print(f"{name}: {backend}: {agreement(count)}", flush=True)
        for kind, count in counts.items():
            if count:
                print(f"{backend}: {count['models']} {'models' if kind == 'zoo' else 'drawn calls'}: {agreement(count)}")
        for (target, of_fxtrace, of_backend), places in sorted(differences.items(), key=lambda item: (-len(item[1]), item[0]))[: options.most]:
            print(f"  {len(places):5} {target}: fxtrace {of_fxtrace}; {backend} {of_backend} ({min(places)})")


def verdict(reason: str) -> str:
    return f"leaves it: {reason}" if reason else "takes it"


def agreement(count: collections.Counter) -> str:
    lost = f", {count['lost']} are not in fxtrace's graph" if count["lost"] else ""
    lost += f", {count['views']} views are left alone" if count["views"] else ""
    return f"{count['agree']} of {count['calls']} calls agree ({count['agree'] / max(count['calls'], 1):.2%}), {count['taken']} are taken{lost}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (ask, compare):
        added = commands.add_parser(command.__name__)
        added.set_defaults(command=command)
        added.add_argument("out", metavar="OUT")
        added.add_argument("--backends", metavar="NAME", nargs="*", choices=BACKENDS, default=list(BACKENDS))
        added.add_argument("--models", metavar="NAME", nargs="*", default=[], help='of the zoo, and "drawn"; all if there is none')
        if command is compare:
            added.add_argument("--fxtrace", metavar="PATH", help="the program; else $FXTRACE, or the newest build")
            added.add_argument("--most", metavar="N", type=int, default=40, help="differences that are listed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.NOTSET)
    options.command(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
