"""What the files of `fxtrace trace -f fx` define for their classes, each only where it is needed. The build embeds this file."""
import io
import math
import zipfile

import torch


def _check_libraries(given, needed):
    """Operators of other libraries may do anything: the caller must say that they may run."""
    missing = [name for name in needed if name not in given]
    if missing:
        raise NotImplementedError(
            f"the graph calls operators of {', '.join(missing)}, which may do anything: libraries={missing!r} if you trust them"
        )


def _sparse(function):
    """A function that makes a sparse tensor, with torch's check of the indices against the sizes."""

    def make(*args, **kwargs):
        with torch.sparse.check_sparse_tensor_invariants():
            return function(*args, **kwargs)

    return make


def _text(value):
    """The text that TorchScript's str() gives: "1000." for 1000.0."""
    if isinstance(value, float):
        if -(2.0**63) <= value < 2.0**63 and value == int(value):
            return f"{int(value)}."
        return ("-" if value != value and math.copysign(1, value) < 0 else "") + f"{value:.17g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_text, value)) + (",)" if len(value) == 1 else ")")
    return str(value)


_MISSING = object()


def _given(value, name):
    """An input without a default behind one that has a default, which Python does not allow."""
    if value is _MISSING:
        raise TypeError(f"forward() is missing the argument {name!r}")


def _part(value, key):
    """The item of an input at a key or position, or the field of a named tuple."""
    if isinstance(value, tuple) and isinstance(key, str):
        return value[value._fields.index(key)]
    return value[key]


def _check(value, fixed, guard):
    """Check that an input has the value that the graph was traced with."""
    if isinstance(fixed, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(value) == len(fixed)
        for one, other in zip(value, fixed) if same else ():
            _check(one, other, guard)
    else:
        same = value is None if fixed is None else value is not None and bool(value == fixed)
        same = same or (isinstance(value, float) and value != value and fixed != fixed)
    if not same:
        raise ValueError(f"the graph was traced with {guard}, which does not hold")


def _value(holder, name):
    """An attribute that a graph reads, which must not be a function, class or module of Python."""
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(holder, name)
    own = (torch.nn.Module, torch.jit.RecursiveScriptClass)
    if isinstance(value, type(torch)) or (callable(value) and not isinstance(value, own)):
        raise TypeError(f"{name} is not a module, tensor or other value")
    return value


def _find(model, path, separator="."):
    """The module, parameter, buffer or other value of the model with this qualified name."""
    value = model
    for name in path.split(separator):
        tables = (value._modules, value._parameters, value._buffers) if isinstance(value, torch.nn.Module) else ()
        found = [table[name] for table in tables if name in table]
        value = found[0] if found else _value(value, name)
    return value


def _method(module, name):
    """A method that a graph calls: one of TorchScript, or of the module's classes up to that which defines forward."""
    if isinstance(module, torch.jit.ScriptModule):
        is_own = module._c._has_method(name)
    else:
        is_own = False
        for base in type(module).__mro__:
            is_own = is_own or name in vars(base)
            if is_own or "forward" in vars(base):
                break
    if not is_own:
        raise TypeError(f"{name} is not a method that the module's forward could call")
    return getattr(module, name)


def _object_method(value, name):
    """A method of a script object."""
    if not isinstance(value, (torch.ScriptObject, torch.jit.RecursiveScriptClass)):
        raise TypeError(f"{name} is called on a value that is not a script object")
    return getattr(value, name)


def _assume(holds, guard):
    if not holds:
        raise ValueError(f"these inputs are not what the graph was traced for: {guard} does not hold")


def _constant(archive, record, dtype, shape, stride, offset):
    """A tensor in a record of the archive, which is a zip file."""
    with zipfile.ZipFile(archive) as file:
        (name,) = (name for name in file.namelist() if name.partition("/")[2] == record)
        storage = torch.frombuffer(bytearray(file.read(name)), dtype=dtype)
    return storage.as_strided(shape, stride, offset)


def _constant_object(archive, type_name, index):
    """A script object or a tensor of the archive's constants: TorchScript itself reads it, for a module that returns it."""
    code = f"""class Holder(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Holder) -> {type_name if type_name == "Tensor" else "__torch__." + type_name}:
    return CONSTANTS.c{index}
"""
    buffer = io.BytesIO()
    with zipfile.ZipFile(archive) as file, zipfile.ZipFile(buffer, "w") as holder:
        for name in file.namelist():
            record = name.partition("/")[2]
            if record in ("version", "constants.pkl", "byteorder") or record.startswith("constants/"):
                holder.writestr(f"holder/{record}", file.read(name))
        holder.writestr("holder/data.pkl", b"\x80\x02c__torch__\nHolder\n)\x81}b.")
        holder.writestr("holder/code/__torch__.py", code)
    buffer.seek(0)
    return torch.jit.load(buffer, map_location="cpu")()


class _Overloaded(torch.nn.Module):
    """A recurrent module. TorchScript compiles its forward twice, for a tensor and for a packed sequence."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, input, *args, **kwargs):
        call = self.module
        if hasattr(call, "forward__0"):
            call = call.forward__0 if isinstance(input, torch.Tensor) else call.forward__1
        return call(input, *args, **kwargs)


def _runs_bodies():
    """torch traces bodies of control flow under autograd, which fails where they have modules: then they just run."""
    return torch.is_grad_enabled() and not (
        torch.compiler.is_compiling()
        or torch.utils._python_dispatch._get_current_dispatch_mode() is not None
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def _cond(predicate, true_body, false_body, operands):
    if _runs_bodies():
        return (true_body if predicate else false_body)(*operands)
    return torch.ops.higher_order.cond(predicate, true_body, false_body, operands)


def _while_loop(goes_on, body, carried, operands):
    if not _runs_bodies():
        return torch.ops.higher_order.while_loop(goes_on, body, carried, operands)
    while goes_on(*carried, *operands):
        carried = body(*carried, *operands)
    return tuple(carried)
