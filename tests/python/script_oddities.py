"""Provides small modules and functions that use all features of TorchScript as people write them: names, texts, numbers, classes,
containers, state.

MODELS: name -> something for torch.jit.script, or what it gave.
"""

import enum
import math
import warnings
from typing import *

import torch
from torch import Tensor, nn
from torch.jit import Final

MODELS = {}
X = torch.ones(2, 3)


def model(*_):
    def add(module):
        MODELS[module.__name__] = module
        return module

    return add


def make(name, scripted):
    MODELS[name] = scripted


class Color(enum.Enum):
    RED="r"; BLUE="b"
class FE(enum.Enum):
    A=0.5; B=1.5
class IE(enum.IntEnum):
    A=1; B=2
class P(NamedTuple):
    a: Tensor
    b: int = 3
class Q(NamedTuple):
    p: P
    ps: List[P]
    d: Dict[str, P]
@torch.jit.script
class Counter:
    def __init__(self, start: int = 0, name: str = "c"):
        self.n = start
        self.name = name
        self.items: Dict[str, List[Tensor]] = {}
    def add(self, key: str, x: Tensor):
        if key not in self.items:
            self.items[key] = []
        self.items[key].append(x)
        self.n += 1
    @property
    def count(self) -> int:
        return self.n
    @count.setter
    def count(self, v: int):
        self.n = v
    def __len__(self) -> int: return self.n
    def __getitem__(self, k: str) -> List[Tensor]: return self.items[k]
    def __setitem__(self, k: str, v: List[Tensor]) -> None: self.items[k] = v
    def __delitem__(self, k: str) -> None: self.items.pop(k)
    def __contains__(self, k: str) -> bool: return k in self.items
    def __eq__(self, o: "Counter") -> bool: return self.n == o.n
    def __ne__(self, o: "Counter") -> bool: return self.n != o.n
    def __lt__(self, o: "Counter") -> bool: return self.n < o.n
    def __le__(self, o: "Counter") -> bool: return self.n <= o.n
    def __gt__(self, o: "Counter") -> bool: return self.n > o.n
    def __ge__(self, o: "Counter") -> bool: return self.n >= o.n
    def __neg__(self) -> int: return -self.n
    def __bool__(self) -> bool: return self.n > 0
    def __int__(self) -> int: return self.n
    def __float__(self) -> float: return float(self.n)
    def __str__(self) -> str: return self.name + str(self.n)
    def __iadd__(self, o: int): 
        self.n += o
        return self
    def __sub__(self, o: int) -> int: return self.n - o
    def __mul__(self, o: int) -> int: return self.n * o
    def __call__(self, x: Tensor) -> Tensor: return x + self.n
    def __enter__(self) -> int:
        self.n += 1
        return self.n
    def __exit__(self, t: Any, v: Any, tb: Any) -> None:
        self.n -= 1
@model()
class ClassMagic(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        c = Counter(2); d = Counter(name="d")
        c.add("a", x)
        c["b"] = [x, x]
        if "a" in c: x = x + len(c)
        del c["b"]
        c.count = 7
        c.count += 1
        if c == d or c != d or c < d or c <= d or c > d or c >= d: x = x + 1
        x = x + c["a"][0] * (-c) + int(c) + float(d) + len(str(c)) + (c - 1) + c * 2
        c += 3
        if bool(c): x = c(x)
        with c as k: x = x + k
        with c: x = x * 2
        return x
@model()
class Enums(nn.Module):
    def __init__(self):
        super().__init__(); self.c = Color.RED; self.f = FE.A; self.l = [Color.RED, Color.BLUE]; self.d = {"a": FE.A}
    def forward(self, x: Tensor, c: Color = Color.BLUE) -> Tuple[Tensor, Color]:
        for e in Color: x = x + (1 if e == Color.RED else 2)
        if self.c == Color.RED and self.c is not Color.BLUE: x = x + self.f.value
        if c == self.l[0]: x = x + 1
        if self.d["a"] != FE.B: x = x * 2
        y = {c.value: 1}
        return x + y["b"] + len(c.name), c
@model()
class NestedNT(nn.Module):
    def forward(self, x: Tensor) -> Q:
        p = P(x); p2 = P(a=x, b=5)
        a, b = p
        q = Q(p, [p2, P(x + 1)], {"k": p})
        return Q(q.p, q.ps + [q.d["k"]], {"k": P(q.ps[0].a + b, q.p[1])})
@model()
class Properties(nn.Module):
    def __init__(self): super().__init__(); self.a = 2; self.lin = nn.Linear(3,3)
    @property
    def weight(self) -> Tensor: return self.lin.weight
    @property
    def value(self) -> int: return self.a
    @value.setter
    def value(self, v: int): self.a = v
    def forward(self, x: Tensor) -> Tensor:
        self.value = 4
        return x @ self.weight + self.value
class Leaf(nn.Module):
    def __init__(self, k: int = 1): super().__init__(); self.k = k
    def forward(self, x: Tensor) -> Tensor: return x + self.k
@torch.jit.interface
class Fwd(nn.Module):
    def forward(self, x: Tensor) -> Tensor: pass
@model()
class ListIndex(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.ModuleList([Leaf(1), Leaf(2)]); self.d = nn.ModuleDict({"a": Leaf(), "b": Leaf(2)}); self.s = nn.Sequential(Leaf(), nn.ReLU())
    def forward(self, x: Tensor, i: int = 1) -> Tensor:
        x = self.l[0](x); x = self.l[-1](x)
        m: Fwd = self.l[i]
        x = m.forward(x)
        k: Fwd = self.d["a"]
        x = k.forward(x)
        x = x + len(self.l) + len(self.d) + len(self.s)
        for j, m2 in enumerate(self.l): x = m2(x) + j
        for m3, m4 in zip(self.l, self.l): x = m3(m4(x))
        for n in self.d.keys(): x = x + len(n)
        for v in self.d.values(): x = v(x)
        for s in self.s: x = s(x)
        if "a" in self.d: x = x + 1
        if "z" in self.d: x = x + 100
        return self.s[1](x)
@model()
class ForkWait(nn.Module):
    def __init__(self): super().__init__(); self.lin = nn.Linear(3,3)
    def sub(self, x: Tensor, k: int) -> Tensor: return self.lin(x) + k
    def forward(self, x: Tensor) -> Tensor:
        fs: List[torch.jit.Future[Tensor]] = []
        for i in range(3): fs.append(torch.jit.fork(self.sub, x, i))
        g = torch.jit.fork(self.lin, x)
        out = torch.jit.wait(g)
        for f in fs: out = out + torch.jit.wait(f)
        return out
def fn(x: Tensor, k: int = 2, names: Optional[List[str]] = None) -> Tensor:
    if names is not None:
        for n in names: x = x + len(n)
    return x * k
@model()
class GlobalFn(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return fn(x) + fn(x, k=3, names=["a", "bc"]) + fn(x, names=None)
def rec_helper(x: Tensor, n: int) -> Tensor:
    if n > 3: return x
    y = x
    while n < 3:
        n += 1
        if n == 2: continue
        y = y + n
        if bool(y.sum() > 1000): break
    else_ = y
    return else_
@model()
class Loops(nn.Module):
    def forward(self, x: Tensor, n: int = 2) -> Tensor:
        for i in range(10, 0, -3): x = x + i
        for i in range(len([1,2,3])):
            if i == 1: continue
            for j in range(i):
                if j > 1: break
                x = x + j
        return rec_helper(x, n)
@model()
class Strings(nn.Module):
    def forward(self, x: Tensor, s: str = "Hello, World") -> Tensor:
        n = 0
        t = s.upper() + s.lower() + s.capitalize() + s.title() + s.swapcase()
        for w in s.split(","): n += len(w.strip())
        n += s.find("o") + s.rfind("o") + s.count("l") + s.index("W")
        if s.startswith("He") and s.endswith("ld"): n += 1
        if s.isdigit() or s.isalpha() or s.isspace() or s.isupper() or s.islower() or s.isalnum() or s.istitle() or s.isidentifier() or s.isnumeric() or s.isdecimal(): n += 2
        u = s.replace("l", "L").center(30, "*").ljust(40).rjust(50).zfill(60).expandtabs(4)
        a, b, c = s.partition(", ")
        v = "-".join([a, b, c]) + "{} {}".format(n, t) + f"{n} and {u}" + "%s %d" % (t, n)
        n += ord("a") + len(chr(65)) + len(hex(255)) + len(oct(8)) + len(bin(2))
        n += len(s[1:3]) + len(s[::-1]) + len(s[-1])
        x = x + float("1.5") + int("3") + len(v) + n
        for ch in s: x = x + len(ch)
        for l in s.splitlines(): x = x + len(l)
        return x + len(s.lstrip("H").rstrip("d")) + len(s.rsplit(" ")) + int("ab" < "b") + int("a" in s) + hash(3)
@model()
class Unicode(nn.Module):
    name: str
    def __init__(self): super().__init__(); self.name = "é\n\t\"'\\ \u4e2d \x00\x7f\x80 ok"
    def forward(self, x: Tensor) -> Tuple[Tensor, str]:
        s = "caf\u00e9 \u4e2d\u6587 \U0001f600 \\n \x01 \" ' \t"
        return x + len(s) + len(self.name), s + self.name
@model()
class Numbers(nn.Module):
    inf: float
    def __init__(self):
        super().__init__(); self.inf = float("inf"); self.nan = float("nan"); self.big = 2**62; self.neg = -(2**63); self.eps = 1e-300; self.c = 1+2j; self.lst = [1.0, float("-inf")]; self.z = -0.0
    def forward(self, x: Tensor) -> Tuple[Tensor, complex, float, int]:
        a = float("inf"); b = -float("inf"); c = float("nan"); d = math.inf; e = math.pi; f = 1e400; g = 123456789012345678; h = 0.1; k = 1e22; m = 5e-324
        q = 3 + 4j; r = complex(1.0, 2.0); s = q * r - 1j
        t = abs(q)
        i = 7 // 2 + -7 // 2 + 7 % 3 + -7 % 3 + int(2 ** 10) + (5 & 3) + (5 | 3) + (5 ^ 3) + (1 << 4) + (64 >> 2)
        u = math.sqrt(4.0) + math.floor(2.5) + math.ceil(2.5) + math.log(2.0) + math.log1p(1.0) + math.exp(1) + math.gcd(12, 8) + math.factorial(4) + math.fmod(5.0, 3.0) + math.copysign(1.0, -2.0) + math.pow(2, 3) + math.atan2(1.0, 2.0) + math.degrees(1.0) + math.modf(2.5)[0] + math.frexp(8.0)[1] + math.ldexp(1.0, 3) + math.isnan(c) + math.isinf(a) + math.isfinite(h)
        return x + a + b + d + e + f + h + k + m + self.inf + self.nan + self.eps + self.lst[1] + self.z + t + u, s + self.c, c, g + i + self.big + self.neg + int(round(2.5)) + divmod(7, 2)[0] + int(2.7) + max(1, 2, 3) + min([1, 2]) + sum([1, 2])
@model()
class Containers(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        l = [3, 1, 2]; l.sort(); l.sort(reverse=True); l.reverse(); l.insert(0, 9); l.extend([4, 5]); l.remove(9); p = l.pop(); p2 = l.pop(0); l2 = l.copy(); l.clear(); l2 += [1]; l2[0] = 7; del l2[0]
        n = l2.index(1) + l2.count(1) + len(l2 * 2) + int(3 in l2) + sorted(l2)[0] + p + p2
        d = {"a": 1, "b": 2}; d["c"] = 3; d.update({"d": 4}); del d["a"]; e = d.get("zz", 5); f = d.get("b"); g = d.pop("b"); h = d.setdefault("q", 8); ks = list(d.keys()); vs = list(d.values()); its = list(d.items()); d2 = d.copy(); d.clear()
        if f is not None: n += f
        for k, v in d2.items(): n += len(k) + v
        for (k2, v2) in its: n += v2
        t = (1, "a", (2.5, [x])); a, (b), c = t; q, r = c
        lc = [i * 2 for i in range(4)]; lc2 = [len(s) for s in ["a", "bb"]]; dc = {i: str(i) for i in [1, 2]}
        ld: Dict[int, Dict[str, List[Tensor]]] = {1: {"a": [x]}}
        ld[1]["a"].append(x)
        ll: List[List[int]] = [[1] for _ in range(2)]
        ll[0].append(1)
        od = dict([("a", 1)]); z = list(zip([1, 2], ["a", "b"])); en = list(enumerate(["a"])); rg = list(range(3))
        for (i, (j, k3)) in enumerate(zip([1, 2], [3, 4])): n += i + j + k3
        return x + n + e + g + h + len(ks) + len(vs) + a + len(b) + q + r[0] + lc[1] + lc2[0] + len(dc[1]) + ld[1]["a"][1] + len(ll) + od["a"] + z[0][0] + en[0][0] + rg[2] + int(all([True])) + int(any([False, True]))
@model()
class Slices(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.unsqueeze(0).expand(4, 2, 3).clone()
        y[0] = 5; y[1:3, :, 0] = 1.0; y[..., -1] = x; y[y > 3] = 0; y[0, 1] += 2; y[:, None, ::2]
        m = y[torch.tensor([0, 1])]; k = y[:, torch.tensor([0]), 1:]; t = (1, 2, 3, 4)[1:3]; u = y; v = y[None, ...]
        return m.sum() + k.sum() + t[0] + u.sum() + v[0, ..., 0].sum() + y[-1][-1][-1] + y[0:1, ...].mean() + y[1, :, :].max()
@model()
class Optionals(nn.Module):
    opt: Optional[Tensor]
    def __init__(self): super().__init__(); self.opt = None; self.o2: Optional[int] = 3; self.od: Dict[str, Optional[Tensor]] = {"a": None}; self.register_buffer("nb", None)
    def forward(self, x: Tensor, a: Optional[Tensor] = None, b: Optional[List[int]] = None, c: Optional[Dict[str, Tuple[int, str]]] = None) -> Optional[Tensor]:
        y = self.opt
        if y is None: y = x
        z = self.o2
        if z is not None and z > 2 and a is None: y = y + z
        w = y if a is None else a
        if b is not None:
            if len(b) > 0: return w + b[0]
            else: return None
        if not (c is None): y = y + c["a"][0]
        o = torch.jit._unwrap_optional(self.o2)
        v = self.od["a"]
        if v is not None: y = y + v
        return w + o
@model()
class AnyAttr(nn.Module):
    def __init__(self): super().__init__(); self.a = [1, 2]; self.t: Tuple[int, str, Tuple[float, bool]] = (1, "b", (2.5, True)); self.e: List[int] = []; self.ed: Dict[str, Tensor] = {}; self.et: Tuple[()] = ()
    def forward(self, x: Tensor, q: Any = 3) -> Any:
        r: Any = x
        if isinstance(q, int): r = x + q
        elif torch.jit.isinstance(q, List[int]): r = x + len(q)
        elif torch.jit.isinstance(q, Tuple[int, str]): r = x + q[0]
        elif isinstance(q, (str, float)): r = x
        return r
@model()
class DeviceDtype(nn.Module):
    def __init__(self):
        super().__init__(); self.dev = torch.device("cuda:1"); self.dt = torch.bfloat16; self.lay = torch.strided; self.mf = torch.channels_last; self.devs = [torch.device("cpu")]; self.odt: Optional[torch.dtype] = torch.int8
    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros(2, dtype=self.dt, layout=self.lay, device=x.device)
        z = x.to(self.odt) if self.odt is not None else x
        if x.device == torch.device("cpu") and x.dtype == torch.float32 and not x.is_cuda: z = z.to(dtype=torch.float32)
        if x.device.type == "cpu" and x.device.index is None: z = z + 1
        w = torch.empty_like(x, memory_format=torch.contiguous_format).contiguous(memory_format=torch.preserve_format) if False else z
        f = torch.finfo(torch.float32).max if False else 1.0
        return w.type_as(x) + y.float().sum() + f
class Sh(nn.Module):
    def __init__(self, inner): super().__init__(); self.inner = inner; self.other = inner
    def forward(self, x: Tensor) -> Tensor: return self.inner(x) + self.other(x)
@model()
class Shared(nn.Module):
    def __init__(self): super().__init__(); l = nn.Linear(3,3); self.a = Sh(l); self.b = Sh(l); self.c = self.a; self.w = l.weight
    def forward(self, x: Tensor) -> Tensor: return self.a(x) + self.b(x) + self.c(x) @ self.w
@model()
class Ignored(nn.Module):
    def __init__(self): super().__init__(); self.k = 3
    @torch.jit.unused
    def bad(self, x: Tensor) -> Tensor: return torch.from_numpy(x.numpy())
    @torch.jit.export
    def extra(self, x: Tensor, k: int) -> Tuple[Tensor, int]: return x + k, self.k
    def forward(self, x: Tensor) -> Tensor:
        if self.training: x = self.bad(x) if self.k > 5 else x
        if torch.jit.is_scripting(): return x + self.extra(x, 2)[0]
        return self.bad(x)
@model()
class Hooked(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(3, 3)
        def pre(self, input: Tuple[Tensor]) -> Tuple[Tensor]: return (input[0] + 1,)
        def post(self, input: Tuple[Tensor], output: Tensor) -> Tensor: return output * 2
        def post2(self, input: Tuple[Tensor], output: Tensor) -> None: print("x")
        self.l.register_forward_pre_hook(pre); self.l.register_forward_hook(post); self.l.register_forward_hook(post2)
    def forward(self, x: Tensor) -> Tensor: return self.l(x)
@model()
class Raises(nn.Module):
    def forward(self, x: Tensor, m: str = "a") -> Tensor:
        if m == "b": raise ValueError("bad " + m)
        elif m == "c": raise NotImplementedError
        elif m == "d": raise RuntimeError(f"no {x.size(0)}")
        assert x.dim() == 2, f"dim {x.dim()}"
        assert x.size(0) > 0
        if m == "a": y = x
        else: raise IndexError("x")
        return y
@model()
class EarlyReturns(nn.Module):
    def forward(self, x: Tensor, n: int = 5) -> Tensor:
        for i in range(n):
            if i == 3: return x + i
            while True:
                i += 1
                if i > 5: break
                if i == 4: return x
        if n > 2:
            if n > 3: return x * 2
        else:
            return x
        return x * 3
@model()
class Unions(nn.Module):
    u: Union[int, str, None]
    def __init__(self): super().__init__(); self.u = "s"
    def forward(self, x: Tensor, a: Union[int, float, Tensor] = 2, b: Union[List[int], Dict[str, int], None] = None) -> Union[Tensor, int]:
        if isinstance(a, Tensor): x = x + a
        elif isinstance(a, float): x = x * a
        else: x = x + a
        if torch.jit.isinstance(b, List[int]): return len(b)
        v = self.u
        if isinstance(v, str): return x + len(v)
        return x
@model()
class WithBlocks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            y = x * 2
            if y.dim() > 3: return y
        with torch.autograd.profiler.record_function("name") as r:
            y = y + 1
        z = y
        with torch.autocast("cpu"): w = torch.mm(y, y.t())
        return y + w.sum() + z
@model()
class OverloadMod(nn.Module):
    @torch.jit._overload_method
    def go(self, x: int) -> int: pass
    @torch.jit._overload_method
    def go(self, x: Tensor) -> Tensor: pass
    def go(self, x): return x + 1
    def forward(self, x: Tensor) -> Tensor: return self.go(x) + self.go(3)
@torch.jit._overload
def ov(x: int) -> int: pass
@torch.jit._overload
def ov(x: str) -> int: pass
def ov(x):
    if isinstance(x, int): return x + 1
    else: return len(x)
@model()
class OverloadFn(nn.Module):
    def forward(self, x: Tensor) -> Tensor: return x + ov(1) + ov("abc")
@model()
class FinalConst(nn.Module):
    k: Final[int]; names: Final[List[str]]; t: Final[Tuple[int, float]]
    __constants__ = ["m"]
    def __init__(self): super().__init__(); self.k = 3; self.names = ["a", "b"]; self.t = (1, 2.5); self.m = 2.5
    def forward(self, x: Tensor) -> Tensor:
        for n in self.names: x = x + len(n)
        if self.k > 2: x = x + self.k
        return x + self.t[1] + self.m
@model()
class StructInputs(nn.Module):
    def forward(self, t: Tuple[Tensor, Tuple[Tensor, Tensor]], l: List[Tensor], d: Dict[str, Tensor]) -> Dict[str, List[Tuple[Tensor, int]]]:
        a, (b, c) = t
        return {"k": [(a + b + c, 1), (l[0], 2), (d["a"], 3)]}
@model()
class StarArgs(nn.Module):
    def f(self, a: Tensor, b: int, c: Tensor) -> Tensor: return a + b + c
    def forward(self, x: Tensor) -> Tensor:
        t = (x, 2, x)
        return self.f(*t) + torch.cat([x, *[x, x][:1]] if False else [x, x]).sum()
@model()
class SetState(nn.Module):
    def __init__(self): super().__init__(); self.a = torch.ones(3); self.k = 2
    @torch.jit.export
    def __getstate__(self): return (self.a, self.k, self.training)
    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, int, bool]):
        self.a = state[0]; self.k = state[1]; self.training = state[2]
    def forward(self, x: Tensor) -> Tensor: return x + self.a * self.k
@model()
class Attrs(nn.Module):
    def __init__(self):
        super().__init__(); self.lt = [torch.ones(2), torch.zeros(3)]; self.dt = {"a": torch.ones(2)}; self.tt = (torch.ones(1), [1, 2]); self.lp = nn.ParameterList([nn.Parameter(torch.ones(3))]); self.i64 = torch.tensor(3); self.cplx = torch.ones(2, dtype=torch.complex64); self.half = torch.ones(2, dtype=torch.float16); self.bl = torch.tensor([True]); self.emp = torch.empty(0, 3); self.register_buffer("np", torch.ones(1), persistent=False); self.view = torch.arange(12.).reshape(3,4).t()[1:, ::2]; self.ex = torch.ones(1).expand(5); self.sp = torch.eye(3).to_sparse(); self.bf = torch.ones(2, dtype=torch.bfloat16)
    def forward(self, x: Tensor) -> Tensor:
        return x + self.lt[0].sum() + self.dt["a"].sum() + self.tt[0] + self.i64 + self.half.float().sum() + self.np + self.view.sum() + self.ex.sum() + self.sp.to_dense().sum() + self.bf.sum() + self.cplx.real.sum() + self.bl.sum() + self.emp.sum()
@model()
class BigConst(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        t = torch.tensor([[1.5, 2], [3, 4]]); u = torch.tensor([1, 2, 3], dtype=torch.int32, device="cpu"); v = torch.tensor(True); w = torch.tensor([[True, False]]); z = torch.full((2,), 1e-10); a = torch.arange(0, 10, 2); b = torch.linspace(0, 1, steps=5); c = torch.ones([2, 3], dtype=torch.float64); e = torch.tensor(x.size(0)); f = torch.as_tensor(3.0); g = torch.scalar_tensor(2)
        return x + t.sum() + u.sum() + v + w.sum() + z.sum() + a.sum() + b.sum() + c.sum() + e + f + g
@model()
class TensorProps(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, List[int], bool]:
        s = x.shape; n = x.ndim + x.dim() + x.numel() + len(x) + x.size(-1) + x.stride(0) + x.storage_offset() + x.element_size()
        r = x.requires_grad or x.is_floating_point() or x.is_contiguous() or x.is_sparse or x.is_quantized or x.is_complex() or x.is_meta or x.is_mkldnn or x.is_nested
        y = x.T + x.mT + x.H.T.T if x.dim() == 0 else x.T.t()
        g = x.grad
        if g is not None: y = y + g
        a, b = x.shape
        c, *d = x.shape if False else (1, 2, 3)
        k = x.tolist() if False else [1.0]
        it = x[0, 0].item()
        q = int(x[0, 0]) + float(x[0, 1]) + bool(x[1, 1])
        for row in x: y = y + row.sum()
        return y + n + a + b + c + q, list(s), r
@model()
class ToList(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        l: List[List[float]] = x.tolist()
        i: List[int] = torch.tensor([1, 2]).tolist()
        return x + l[0][0] + i[1]
class Gen(nn.Module):
    def __init__(self, dim): super().__init__(); self.p = nn.Parameter(torch.ones(dim))
    def forward(self, x: Tensor) -> Tensor: return x * self.p
@model()
class Deep(nn.Module):
    def __init__(self): super().__init__(); self.net = nn.Sequential(nn.Sequential(nn.Sequential(Gen(3), nn.ReLU()), nn.Sequential(Gen(3))), nn.ModuleDict({"a": Gen(3)})["a"])
    def forward(self, x: Tensor) -> Tensor: return self.net(x)
@model()
class Ternaries(nn.Module):
    def forward(self, x: Tensor, f: bool = True) -> Tensor:
        a = x if f else x + 1
        b = (1 if f else 2) if x.dim() > 1 else (3 if not f else 4)
        c = x.dim() > 1 and f or not f
        d = 1 < b <= 5 if False else (1 < b and b <= 5)
        return a + b + int(c) + int(d)
@model()
class Walrus(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = b = c = x
        d, e = f, g = (x, x + 1)
        (h, i), j = (x, x), x
        k, l = [x, x]
        del a
        pass
        global_ = 3
        b += 1; b -= 1; b *= 2; b /= 2; 
        n = 7; n |= 1; n &= 3; n ^= 1; n <<= 2; n >>= 1
        return b + c + d + e + f + g + h + i + j + k + l + n + global_
@model()
class Interfaces2(nn.Module):
    def __init__(self): super().__init__(); self.f: Fwd = Leaf(2); self.l = nn.ModuleList([Leaf(1), Leaf(2)])
    def pick(self, i: int) -> Fwd: 
        m: Fwd = self.l[i]
        return m
    def forward(self, x: Tensor) -> Tensor: return self.f.forward(x) + self.l[0](x)
@torch.jit.interface
class CI:
    def one(self, x: Tensor) -> Tensor: pass
    def two(self, k: int, s: str = "a") -> int: pass
@torch.jit.script
class Impl:
    def __init__(self): self.k = 1
    def one(self, x: Tensor) -> Tensor: return x + self.k
    def two(self, k: int, s: str = "a") -> int: return k + len(s)
def use_ci(c: CI, x: Tensor) -> Tensor: return c.one(x) + c.two(3, "b")
@model()
class ClassInterface(nn.Module):
    def forward(self, x: Tensor) -> Tensor: return use_ci(Impl(), x)
@model()
class ClassAttr(nn.Module):
    def __init__(self): super().__init__(); self.c = Counter(4, "z") if False else None
    def forward(self, x: Tensor) -> Tensor: return x
@model()
class DictKeys(nn.Module):
    def __init__(self): super().__init__(); self.a: Dict[int, str] = {1: "a"}; self.b: Dict[float, int] = {1.5: 2}; self.c: Dict[bool, int] = {True: 1}; self.d: Dict[str, Dict[str, List[Tuple[int, Optional[str]]]]] = {"q": {"r": [(1, None), (2, "x")]}}
    def forward(self, x: Tensor) -> Tensor:
        t: Dict[Tensor, int] = {x: 1}
        return x + len(self.a[1]) + self.b[1.5] + self.c[True] + self.d["q"]["r"][0][0] + len(t)
@model()
class Functional(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        F = torch.nn.functional
        y = F.relu(x); y = F.softmax(y, dim=-1); y = F.dropout(y, 0.5, self.training); y = F.layer_norm(y, [3]); y = F.gelu(y); y = F.interpolate(y[None, None], scale_factor=2.0, mode="bilinear", align_corners=False)[0, 0]; y = F.pad(y, (1, 1), "constant", 0.0); y = F.normalize(y, dim=1); y = F.one_hot(torch.tensor([0, 1]), 3).float() + y.sum(); y = F.cross_entropy(y, torch.tensor([0, 1])); z = F.max_pool2d(x[None, None], 2, return_indices=False); z = F.adaptive_avg_pool2d(z, (2, 1)); u = F.unfold(x[None, None], (1, 1)); v = F.grid_sample(x[None, None], torch.zeros(1, 1, 1, 2), align_corners=True)
        return y + z.sum() + u.sum() + v.sum() + F.mse_loss(x, x) + F.scaled_dot_product_attention(x[None], x[None], x[None]).sum()
@model()
class Recurrent(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.LSTM(3, 4, 2, bidirectional=True); self.g = nn.GRUCell(3, 4); self.t = nn.TransformerEncoderLayer(4, 2); self.m = nn.MultiheadAttention(4, 2); self.e = nn.EmbeddingBag(5, 3); self.b = nn.BatchNorm1d(3)
    def forward(self, x: Tensor) -> Tensor:
        o, (h, c) = self.l(x.unsqueeze(1))
        p = torch.nn.utils.rnn.pack_padded_sequence(x.unsqueeze(1), torch.tensor([2]), enforce_sorted=False)
        q, s = self.l(p)
        r, n = torch.nn.utils.rnn.pad_packed_sequence(q)
        return o.sum() + h.sum() + self.g(x).sum() + self.t(torch.ones(2, 1, 4)).sum() + self.m(torch.ones(2, 1, 4), torch.ones(2, 1, 4), torch.ones(2, 1, 4))[0].sum() + self.e(torch.tensor([[1]])).sum() + self.b(x).sum() + r.sum()
@model()
class Await(nn.Module):
    def g(self, x: Tensor) -> Tensor: return x + 1
    def forward(self, x: Tensor) -> Tensor:
        aw = torch.jit._awaitable(self.g, x)
        return torch.jit._awaitable_wait(aw)
@model()
class Prints(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        print(x, 1, "a", [1, 2], (1, "b"))
        warnings.warn("hey"); torch._assert(x.size(0) > 1, "z")
        return x
@model()
class Rpc(nn.Module):
    def forward(self, x: Tensor) -> Tensor: return torch.ops.aten.add(x, 2) + torch.ops.aten.mul.Tensor(x, x) if False else torch.ops.aten.add(x, 2)
@model()
class Quant(nn.Module):
    def __init__(self): super().__init__(); self.q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8); self.pc = torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.1, 0.2]), torch.tensor([0, 0]), 0, torch.qint8)
    def forward(self, x: Tensor) -> Tensor: return x + self.q.dequantize().sum() + self.pc.dequantize().sum() + torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).dequantize()
@model()
class ManyRet(nn.Module):
    def forward(self, x: Tensor):
        v, i = torch.max(x, dim=1); t = torch.topk(x, 1); u = torch.unique(x, return_counts=True); s = torch.split(x, 1); c = x.chunk(2); a, b = x.unbind(0); m = torch.meshgrid([x[0], x[0]], indexing="ij"); q, r = torch.linalg.qr(x @ x.t()); w = torch.where(x > 0); e = torch.einsum("ij,kj->ik", x, x); tv = t.values if False else t[0]; st = torch.sort(x, descending=True); return v + a.sum(), i, tv, u[0], s[0], c[1], m[0], q, w[0], e, st[1], torch.broadcast_tensors(x, x[0])[1], torch.atleast_2d(x), torch.block_diag(x, x), torch.cartesian_prod(x[0], x[1]), torch.cdist(x, x), torch.stft(torch.ones(1, 40), 8, return_complex=True, window=torch.ones(8)), torch.norm(x), torch.norm(x, p="fro", dim=[0]), torch.tensordot(x, x.t(), 1), torch.std_mean(x), torch.histc(x), torch.lu(x @ x.t())[0] if False else x
@model()
class ListOfModulesGetattr(nn.Module):
    def __init__(self): super().__init__(); self.add_module("0", Leaf(3)); self.add_module("for", Leaf(4)) if False else None; self.x1 = Leaf(1)
    def forward(self, x: Tensor) -> Tensor: return getattr(self, "0")(x) + getattr(self, "x1")(x) + (1 if hasattr(self, "zz") else 2)
@model()
class KwOnly(nn.Module):
    def forward(self, x: Tensor, k: int = 1, f: float = 2.0, t: Tuple[int, int] = (3, 4), s: Optional[str] = "a", b: bool = False, d: Optional[torch.device] = None, dt: Optional[torch.dtype] = None) -> Tensor: return x + k + f + t[1]
@model()
class BroadcastList(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x[None, None]
        return torch.nn.functional.avg_pool2d(y, 2).sum() + torch.nn.functional.conv2d(y, torch.ones(1, 1, 1, 1), stride=1, padding=0).sum() + x.sum(0).sum() + x.sum([0, 1]) + x.permute(1, 0).sum() + x.view(-1).sum() + x.reshape(3, -1).sum() + x.repeat(1, 2).sum() + x.expand(2, 3).sum() + torch.zeros(2, 3).sum() + torch.rand([2, 3]).sum() * 0 + x.flip(0).sum() + torch.roll(x, 1, 0).sum() + x.new_zeros(2).sum() + x.new_full((2,), 3.0).sum()
@model()
class GenericTypes(nn.Module):
    def forward(self, x: "Tensor", a: "Optional[List[Tuple[int, Dict[str, Tensor]]]]" = None) -> "Tensor": return x
@model()
class FutureAttr(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        d: Dict[str, torch.jit.Future[Tensor]] = {}
        d["a"] = torch.jit.fork(torch.relu, x)
        e: Tuple[torch.jit.Future[Tensor], int] = (d["a"], 1)
        o: Optional[torch.jit.Future[Tensor]] = None
        o = e[0]
        assert o is not None
        return torch.jit.wait(o) + d["a"].wait()
@model()
class Shadow(nn.Module):
    def __init__(self): super().__init__(); self.torch_ = Leaf(1); self.ops = Leaf(2); self.self_ = 3; self.len = 4; self.CONSTANTS = 5; self.annotate = 6; self.inf = 7.0
    def forward(self, x: Tensor, torch_: int = 1) -> Tensor:
        inf = 3.0; nan = 4; annotate = 2; int_ = 3; print_ = 1; fork = 5; CONSTANTS = 6; ops = 7; uninitialized = 8; __torch__ = 9
        return self.torch_(x) + self.ops(x) + self.len + self.CONSTANTS + inf + nan + annotate + fork + CONSTANTS + ops + uninitialized + self.inf + __torch__ + torch_
@model()
class KeywordNames(nn.Module):
    def __init__(self): super().__init__(); setattr(self, "lambda", 3); setattr(self, "a-b", 4); self.register_buffer("in_", torch.ones(1)); self.add_module("1a", Leaf(1)); pass
    def forward(self, x: Tensor) -> Tensor: return getattr(self, "1a")(x) + getattr(self, "lambda")
@model()
class Mangled(nn.Module):
    def __init__(self):
        super().__init__()
        def mk(k):
            class Inner(nn.Module):
                def forward(self, x: Tensor) -> Tensor: return x + 1
            return Inner()
        self.a = mk(1); self.b = mk(2)
    def forward(self, x: Tensor) -> Tensor: return self.a(x) + self.b(x)
@model()
class TraceInScript(nn.Module):
    def __init__(self): super().__init__(); self.t = torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), X); self.f = torch.jit.trace(lambda a: a * 2 + a.size(0), X) if False else None
    def forward(self, x: Tensor) -> Tensor: return self.t(x)
@model()
class Scalar(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        s = x.sum().item(); n = torch.add(x, 1.5, alpha=2); m = torch.clamp(x, min=0, max=2.5); p = torch.pow(2, x); q = x ** 2; r = 2 ** x; t = x // 2; u = x % 2; v = -x; w = ~(x > 0); z = x & 1 if False else x; d = torch.div(x, 2, rounding_mode="floor"); e = x.add_(1); f = torch.addmm(x, x, torch.ones(3, 3), beta=2, alpha=1.5); l = torch.lerp(x, x, 0.5)
        return n + m + p + q + r + t + u + v + d + e + f + l + s
@model()
class OldStyle(nn.Module):
    def forward(self, x):
        # type: (Tensor) -> Tuple[Tensor, List[int]]
        y = torch.jit.annotate(List[int], [])
        y.append(1)
        z = torch.jit.annotate(Optional[Tensor], None)
        if z is None: z = x
        return z, y
@model()
class Recursion(nn.Module):
    def __init__(self): super().__init__(); self.n = 3
    def helper(self, x: Tensor, n: int) -> Tensor:
        return x if n <= 0 else x + n
    def forward(self, x: Tensor) -> Tensor: return self.helper(self.helper(x, self.n), 0)
@model()
class EmptyMod(nn.Module):
    def forward(self) -> int: return 3
@model()
class NoneRet(nn.Module):
    def forward(self, x: Tensor) -> None: x.add_(1)
@model()
class TupleEmpty(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tuple[()], List[Tensor], Dict[str, int], Tuple[Tensor]]:
        e = (); l: List[Tensor] = []; d: Dict[str, int] = {}
        return e, l, d, (x,)
@model()
class BigText(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, str, List[str], Dict[str, str]]:
        return x, "é" + "plain", ["a", "ü", "b"], {"ö": "ä", "k": "v"}
@model()
class TextRaise(nn.Module):
    def forward(self, x: Tensor, s: str = "naïve") -> Tensor:
        if s == "naïve": return x
        raise ValueError("Größe: " + s)
@model()
class TextPrint(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        print("→", x.size(0)); torch._assert(x.dim() == 2, "дим")
        y = "{} ≤ {}".format(1, 2)
        return x + len(y)
@model()
class BoolOps(nn.Module):
    def forward(self, x: Tensor, a: bool = True, b: bool = False) -> Tensor:
        c = a and b or not a
        d = a == b; e = a != b; f = a is b if False else a; g = a & b; h = a | b; i = a ^ b; j = int(a) + int(b); k = bool(j); l = bool(0.5); m = bool("") if False else False; n = bool([1])
        return x + int(c) + int(d) + int(e) + int(f) + int(g) + int(h) + int(i) + j + int(k) + int(l) + int(m) + int(n)
@model()
class TupleOps(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        t = (1, 2.0, "a") + (x,); u = t[0:2]; v = t[-1]; w = t[::2]; n = len(t); q = (1, 2) == (1, 2); r = (1, 2) < (2, 3) if False else True
        s = tuple([1, 2]) if False else (1, 2); z = 1 in [1, 2]
        for i in t[1:3]: x = x + (1 if isinstance(i, float) else 2)
        for i, j in zip((1, 2), (x, x)): x = x + i + j
        for k in reversed([1, 2]) if False else [2, 1]: x = x + k
        return x + u[0] + v + w[0] + n + int(q) + int(r) + s[1] + int(z)
class Inner(nn.Module):
    def __init__(self): super().__init__(); self.k = 1; self.lin = nn.Linear(3, 3)
    def forward(self, x: Tensor, y: Optional[Tensor] = None, *, z: int = 3 if False else 3) -> Tensor: return self.lin(x)
class Base(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(3, 3)
    def forward(self, x: Tensor) -> Tensor: return self.l(x)
@model()
class Derived(Base):
    def forward(self, x: Tensor) -> Tensor: return torch.relu(self.l(x)) + self.sub(x)
    def sub(self, x: Tensor) -> Tensor: return x
    @torch.jit.export
    def other(self, x: Tensor, names: List[str]) -> Dict[str, Tensor]: return {n: x for n in names}
@model()
class Static(nn.Module):
    @staticmethod
    def st(x: Tensor, k: int) -> Tensor: return x * k
    def forward(self, x: Tensor) -> Tensor: return self.st(x, 2) + Static.st(x, 3) if False else self.st(x, 2)
@model()
class Complex(nn.Module):
    c: complex
    def __init__(self): super().__init__(); self.c = complex(float("inf"), float("nan")); self.l = [1j, 2 + 0j]; self.d: Dict[str, complex] = {"a": 1j}; self.t = (1j, 2)
    def forward(self, x: Tensor, k: complex = 2j) -> Tuple[Tensor, complex]:
        y = torch.view_as_complex(x[:, :2].contiguous()); z = torch.complex(x, x); w = z.real + z.imag + z.abs() + torch.angle(z) + torch.view_as_real(z).sum()
        return (z * k + self.c + (1+2j) + self.l[0] + self.d["a"] - 3.5j) + y.sum() + w, k ** 2 + complex(1, 2) + complex("1+2j") if False else k * k + complex(1, 2)
@model()
class Futures(nn.Module):
    def __init__(self): super().__init__(); self.m = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
    def forward(self, x: Tensor) -> List[Tensor]:
        fs = [torch.jit.fork(torch.sigmoid, x) for _ in range(3)]
        out: List[Tensor] = []
        for m in self.m: fs.append(torch.jit.fork(m, x))
        for f in fs: out.append(torch.jit.wait(f))
        return out
@torch.jit.script
class Pair:
    def __init__(self, a: Tensor, b: Optional[int] = None):
        self.a = a
        self.b = b
        self.l = [a]
        self.t = (1, "x")
    def get(self) -> Tensor:
        b = self.b
        if b is not None: return self.a + b
        return self.a
    @staticmethod
    def make(a: Tensor) -> "Pair": return Pair(a, 3)
    def clone(self) -> "Pair": return Pair(self.a, self.b)
@model()
class Classes2(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        p = Pair.make(x); ps = [p, p.clone(), Pair(x)]; d = {"a": p}; d["b"] = Pair(x, b=2); o: Optional[Pair] = None
        if x.dim() > 1: o = p
        if o is not None: x = x + o.get()
        p.a = x; p.b = 4; p.l.append(x); p.t = (2, "y"); p.b = None
        for q in ps: x = x + q.get()
        t = (p, 1); u, v = t
        return x + d["b"].get() + u.get() + p.l[0] + p.t[0] + v
class PairAttr(nn.Module):
    def __init__(self, p): super().__init__(); self.p = p
    def forward(self, x: Tensor) -> Tensor: return x + self.p.get()
@model()
class WhileElse(nn.Module):
    def forward(self, x: Tensor, n: int = 3) -> Tensor:
        i = 0
        while i < n and x.size(0) > 0:
            j = 0
            while True:
                if j >= i: break
                j += 1
                if j == 2: continue
                x = x + j
            i += 1
        for _ in range(n): x = x * 2
        for i in range(2, n): x = x + i
        for a, b in [(1, 2), (3, 4)]: x = x + a * b
        for k, v in {"a": 1}.items(): x = x + v
        for c in "abc": x = x + ord(c)
        for t in x: x = x + t
        for t in [x, x]: x = x + t
        for t in x.unbind(0): x = x + t
        return x
@model()
class DefaultsMod(nn.Module):
    def forward(self, x: Tensor, a: int = -1, b: float = -1e-5, c: str = "q\"'\n\\", d: Optional[float] = None, e: bool = True, g: Optional[str] = None, h: float = float("inf"), i: int = 2**40, t: Tuple[int, float, str, bool] = (1, 2.0, "a", True), n: Optional[Tuple[int, int]] = None) -> Tensor: return x + a + b + len(c) + h + i + t[0]
@model()
class InfLiterals(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        m = float("-inf"); n = float("nan"); l = [float("inf"), 1.0]
        return x.masked_fill(x > 0, float("-inf")).clamp(min=-float("inf"), max=float("inf")) + m + n + l[0] + 1e308 * 10
@model()
class NumToT(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = torch.tensor(3); b = torch.tensor([1.0, 2.0, 3.0]); i = int(a); f = float(a); s = a.item(); idx = x[int(a) - 3]; k = torch.zeros(int(a), int(a)); q = x[a - 3] if False else x[0]
        if a > 2: x = x + 1
        if bool(b.sum() > 3): x = x + 1
        for j in range(int(a)): x = x + j
        return x + i + f + s + idx + k.sum() + q + b
@model()
class Overl(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.add(x, x, alpha=2) + torch.sum(x) + torch.sum(x, 1).sum() + torch.sum(x, dim=[0]).sum() + x.mean((0, 1)) + torch.max(x) + torch.max(x, x) + torch.max(x, 1)[0].sum() + torch.where(x > 0, x, 0.0) + torch.where(x > 0, 1, 0) + torch.clamp(x, 0) + x.pow(2) + x.pow(x) + 2 - x + 1 / x + 3 // x.int() + x.to(x) + x.to(torch.float64) + x.to("cpu") + x.to(torch.device("cpu"), torch.float32, False, True) + x.type(torch.float32) + x.double().float().half().long().int().short().bool().char().byte().bfloat16() + torch.zeros_like(x, dtype=torch.int64) + x.norm(2) + torch.norm(x, 2, 1).sum() + x.std() + x.var(0).sum() + x.argmax() + x.argmax(-1).sum() + x.cumsum(0) + x.index_select(0, torch.tensor([0, 1])) + x.gather(1, torch.zeros(2, 3, dtype=torch.long)) + x.scatter(0, torch.zeros(1, 3, dtype=torch.long), 1.0) + x.scatter_add(0, torch.zeros(1, 3, dtype=torch.long), x) + torch.matmul(x, x.t()).sum() + x.mm(x.t()).sum() + torch.bmm(x[None], x.t()[None]).sum() + (x @ x.t()).sum() + x.split([1, 1])[0] + x.split(1, dim=1)[0].sum() + torch.stack([x, x]).sum() + torch.cat((x, x), 0).sum() + x.squeeze(0).sum() + x.transpose(0, 1).sum() + x.flatten(0).sum() + x.unfold(0, 1, 1).sum() + torch.nn.functional.pad(x, [1, 1]).sum() + x.new_tensor([1.0]) if False else x
make("TracedOnly", torch.jit.trace(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten()), torch.ones(1, 1, 5, 5)))
make("Frozen", torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval())))
make("RnnTraced", torch.jit.trace(nn.LSTM(3, 4, 2, batch_first=True), torch.ones(1, 2, 3)))
class Dyn(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Linear(3, 3); self.l = nn.LSTM(3, 3)
    def forward(self, x: Tensor) -> Tensor: return self.l(self.a(x)[None])[0]
make("DynQuant", torch.jit.script(torch.ao.quantization.quantize_dynamic(Dyn(), {nn.Linear, nn.LSTM, nn.GRUCell, nn.Embedding})))
class GC(nn.Module):
    def __init__(self): super().__init__(); self.g = nn.GRUCell(3, 3); self.r = nn.RNNCell(3, 3); self.l = nn.LSTMCell(3, 3)
    def forward(self, x: Tensor) -> Tensor: return self.g(x) + self.r(x) + self.l(x)[0]
make("DynCells", torch.jit.script(torch.ao.quantization.quantize_dynamic(GC(), {nn.GRUCell, nn.RNNCell, nn.LSTMCell})))
class EQ(nn.Module):
    def __init__(self): super().__init__(); self.e = torch.ao.nn.quantized.Embedding(4, 8); self.b = torch.ao.nn.quantized.EmbeddingBag(4, 8, mode="sum", include_last_offset=True)
    def forward(self, x: Tensor) -> Tensor: return self.e(torch.tensor([1])).sum() + self.b(torch.tensor([1]), torch.tensor([0, 1])).sum()
class SQ(nn.Module):
    def __init__(self): super().__init__(); self.q = torch.ao.quantization.QuantStub(); self.c = nn.Conv2d(1, 2, 3); self.r = nn.ReLU(); self.c1 = nn.Conv1d(2, 2, 1); self.c3 = nn.Conv3d(1, 1, 1); self.ct = nn.ConvTranspose2d(2, 2, 2); self.l = nn.Linear(4, 2); self.bn = nn.BatchNorm2d(2); self.d = torch.ao.quantization.DeQuantStub(); self.ln = nn.LayerNorm(2); self.hs = nn.Hardswish(); self.el = nn.ELU(); self.lk = nn.LeakyReLU(); self.ff = torch.ao.nn.quantized.FloatFunctional()
    def forward(self, x):
        x = self.q(x); x = self.bn(self.r(self.c(x))); x = self.ct(x); x = self.hs(x); x = self.el(x); x = self.lk(x); x = self.ff.add(x, x); x = self.ff.cat([x, x]); x = self.l(x.flatten(1)[:, :4]); x = self.ln(x)
        return self.d(x)
def sq():
    m = SQ().eval(); torch.backends.quantized.engine = "fbgemm"; m.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm"); m.c1.qconfig = None; m.c3.qconfig = None
    m = torch.ao.quantization.prepare(m); m(torch.ones(1, 1, 5, 5)); return torch.ao.quantization.convert(m)
@model()
class ListCmp(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = [1, 2] == [1, 2]; b = [1.0] != [2.0]; c = ["a"] == ["b"]; d = [1] + [2]; e = [x] + [x, x]; f = [True, False]; g = [0] * 3; i = max([1, 2]); j = min([1.0, 2.0]); k = sum([1.0, 2.0]); l = [[1], [2]][0]; m = {1: [x]}; o = [1, 2, 3][-2:]; p = ["a", "b"][::-1]; q = [1, 2, 3][0:3:2]
        return x + int(a) + int(b) + int(c) + d[0] + e[0] + int(f[0]) + g[0] + i + j + k + l[0] + m[1][0] + o[0] + len(p[0]) + q[1]
@model()
class IntMath(nn.Module):
    def forward(self, x: Tensor, i: int = 7, f: float = 2.5) -> Tensor:
        a = i // 2; b = i % 3; c = i ** 2; d = i / 2; e = f // 2; g = f % 2; h = f ** 2; j = -i; l = abs(-i); m = abs(-f); n = round(f); o = divmod(i, 2); p = divmod(f, 2.0); q = pow(2, 3); r = int(f); s = float(i); t = i << 1; u = i >> 1; v = min(i, 3); w = max(f, 1.0); y = math.floor(f); z = math.ceil(f); ab = i & 3 | 4 ^ 1; ac = i == 7 and f > 1; ae = int("12"); af = float("1e3"); ag = str(i) + str(f) + str(True) + str([1]) + str((1, "a")) + str(None)
        return x + a + b + c + d + e + g + h + j + l + m + n + o[0] + p[1] + q + r + s + t + u + v + w + y + z + ab + int(ac) + ae + af + len(ag)
@model()
class MutAttrs(nn.Module):
    l: List[Tensor]
    d: Dict[str, int]
    def __init__(self): super().__init__(); self.n = 0; self.l = []; self.d = {}; self.register_buffer("b", torch.zeros(3)); self.o = torch.jit.Attribute(None, Optional[Tensor]) if False else None
    def forward(self, x: Tensor) -> Tensor:
        self.n += 1; self.n = self.n * 2; self.l.append(x); self.d["a"] = 1; self.b += 1; self.b[0] = 3; self.b = self.b + 1
        if self.n > 1: self.n = 0
        while self.n < 3: self.n += 1
        return x + self.n + self.b + len(self.l) + self.d["a"]
@model()
class SeqNamed(nn.Module):
    def __init__(self):
        super().__init__()
        from collections import OrderedDict
        self.s = nn.Sequential(OrderedDict([("conv-1", nn.Linear(3, 3)), ("a b", nn.ReLU()), ("0x", nn.Identity()), ("forward_", nn.Sigmoid()), ("None_", nn.Tanh())]))
    def forward(self, x: Tensor) -> Tensor: return self.s(x)
@model()
class SparseCoo(nn.Module):
    def __init__(self): super().__init__(); self.coo = torch.eye(3).to_sparse(); self.register_buffer("hyb", torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (4, 3)))
    def forward(self, x: Tensor) -> Tensor: return (x @ self.coo.to_dense()) + self.hyb.to_dense().sum()
@model()
class ParamDict(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))])
    def forward(self, x: Tensor) -> Tensor:
        for p in self.l: x = x + p
        return x + self.l[0]
@model()
class ReassignTypes(nn.Module):
    def forward(self, x: Tensor, k: Optional[int] = None) -> Tensor:
        if k is None: k = 3
        b: Union[int, str] = 1
        if k > 1: b = "s"
        c: Any = 1
        c = "x"
        d: List[Any] = [1, "a", x]
        e: Dict[str, Any] = {"a": 1, "b": x}
        if isinstance(b, str): x = x + len(b)
        assert isinstance(c, str)
        return x + len(c) + len(d) + len(e)
class Acc:
    def __init__(self, k: int):
        self.k = k
    def go(self, x: Tensor) -> Tensor: return x * self.k
@model()
class UnscriptedClass(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = Acc(3)
        return a.go(x)
class NT2(NamedTuple):
    x: Tensor
    n: Optional[int] = None
    l: List[int] = [1]
    s: str = "a\"b"
    f: float = 1.5
@model()
class NTDefaults(nn.Module):
    def forward(self, x: Tensor) -> NT2:
        return NT2(x, s="q")
@model()
class NTInput(nn.Module):
    def forward(self, p: NT2, q: Optional[NT2] = None) -> Tensor:
        if q is not None: return q.x
        return p.x + p.f
@torch.jit.script
class Holder:
    def __init__(self, t: Tensor, names: List[str]):
        self.t = t
        self.names = names
        self.d: Dict[str, Tensor] = {"a": t}
    def get(self) -> Tensor: return self.t + len(self.names)
class HolderMod(nn.Module):
    def __init__(self, h): super().__init__(); self.h = h; self.k: Final[int] = 3 if False else 3
    def forward(self, x: Tensor) -> Tensor: return x + self.h.get()
def so():
    class M(nn.Module):
        h: Holder
        def __init__(self): super().__init__(); self.h = torch.classes if False else Holder(torch.ones(3), ["a", "ü"])
        def forward(self, x: Tensor) -> Tensor: return x + self.h.get()
    return M()
@model()
class TBClass(nn.Module):
    def __init__(self):
        super().__init__(); self.p = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.qint8), None); self.cp = torch.ops.quantized.conv2d_prepack(torch.quantize_per_tensor(torch.ones(2, 1, 1, 1), 0.1, 0, torch.qint8), None, [1, 1], [0, 0], [1, 1], 1)
    def forward(self, x: Tensor) -> Tensor:
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return torch.ops.quantized.linear(q, self.p, 0.1, 0).dequantize()
@model()
class PrepackInside(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        p = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.qint8), None)
        w, b = torch.ops.quantized.linear_unpack(p)
        return torch.ops.quantized.linear_dynamic(x, p) + w.dequantize().sum()
@model()
class GeneratorAttr(nn.Module):
    def forward(self, x: Tensor, g: Optional[torch.Generator] = None) -> Tensor: return torch.rand([2, 3], generator=g) + x + torch.randint(0, 3, [2, 3])
@model()
class StreamDev(nn.Module):
    def forward(self, x: Tensor, d: torch.device = torch.device("cpu"), t: int = 6) -> Tensor: return x.to(d).to(t)
@model()
class Einops(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        b, c = x.shape
        h: int = c // 3
        y = x.view(b, h, c // h).permute(0, 2, 1).contiguous().view(b, -1)
        z = torch.einsum("bi,bj->bij", y, y)
        return z.reshape(b, c, c)[:, :, -1].softmax(dim=-1)
@model()
class ExportMany(nn.Module):
    def forward(self, x: Tensor) -> Tensor: return x
    @torch.jit.export
    def a(self, x: Tensor, k: Optional[int] = None) -> Tensor: return self.b(x) if k is None else x + k
    @torch.jit.export
    def b(self, x: Tensor) -> Tensor: return self.c([x])[0]
    def c(self, xs: List[Tensor]) -> List[Tensor]: return [x + 1 for x in xs]
class NoForward(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(3, 3)
    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor: return self.l(x)
make("NoForward", torch.jit.script(NoForward()))
@model()
class Nested10(nn.Module):
    def __init__(self, d: int = 6):
        super().__init__(); self.d = d
        self.c = Nested10(d - 1) if d > 0 else nn.Linear(3, 3)
    def forward(self, x: Tensor) -> Tensor: return self.c(x) + self.d
@model()
class SharedLists(nn.Module):
    def __init__(self): super().__init__(); a = [1, 2]; self.a = a; self.b = a; self.c = {"x": a}; self.d = [a, a]; t = torch.ones(3); self.t = t; self.u = [t, t]; self.register_buffer("v", t); self.register_parameter("w", nn.Parameter(t))
    def forward(self, x: Tensor) -> Tensor:
        self.a.append(3)
        return x + len(self.b) + len(self.c["x"]) + len(self.d[0]) + self.t + self.u[0] + self.v + self.w
@model()
class ManyElems(nn.Module):
    def __init__(self): super().__init__(); self.l = list(range(3000)); self.s = [str(i) for i in range(500)]; self.f = [i / 7 for i in range(500)]; self.b = [i % 2 == 0 for i in range(500)]; self.d = {str(i): i for i in range(500)}; self.tt = [(i, str(i)) for i in range(200)]
    def forward(self, x: Tensor) -> Tensor:
        return x + self.l[2999] + len(self.s[3]) + self.f[2] + int(self.b[1]) + self.d["77"] + self.tt[3][0]
@model()
class LongStr(nn.Module):
    def __init__(self): super().__init__(); self.s = "x" * 70000
    def forward(self, x: Tensor) -> Tensor:
        return x + len(self.s) + len("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy")
@model()
class Consts2(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        t: Tuple[Tuple[int, str], List[int], Dict[str, Tuple[int]]] = ((1, "a"), [1], {"k": (3,)})
        n: Optional[Tuple[int, str]] = (1, "z")
        assert n is not None
        return x + t[0][0] + t[2]["k"][0] + n[0] + (1, 2, 3)[1] + [4, 5][1] + {"a": 6}["a"] + ((((1,),),),)[0][0][0][0]
@model()
class AutocastNested(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=True):
            y = x @ x.t()
            with torch.autocast("cpu", enabled=False):
                y = y.float() @ y.float()
        with torch.no_grad():
            for i in range(2):
                y = y + i
        return y
@model()
class IgnoreExport(nn.Module):
    @torch.jit.ignore(drop=True)
    def ig(self, x: Tensor) -> Tensor: return x
    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting(): x = self.ig(x)
        if torch.jit.is_tracing(): x = x + 1
        return x
@model()
class OptModule(nn.Module):
    def __init__(self): super().__init__(); self.m = None; self.n: Optional[nn.Module] = nn.Linear(3, 3); self.o: Optional[nn.Module] = None
    def forward(self, x: Tensor) -> Tensor:
        if self.m is not None: x = x + 1
        if self.n is not None: x = self.n(x)
        if self.o is not None: x = self.o(x)
        return x
@model()
class HookTypes(nn.Module):
    def __init__(self):
        super().__init__(); self.s = nn.Sequential(nn.Linear(3, 3))
        def pre(self, input: Tuple[Tensor]) -> Tensor: return input[0] * 2
        self.register_forward_pre_hook(pre)
        def post(self, input: Tuple[Tensor], output: Tuple[Tensor, int]): return output[0]
        self.register_forward_hook(post)
    def forward(self, x: Tensor) -> Tuple[Tensor, int]: return self.s(x), 1
make("TraceTuple", torch.jit.trace_module(nn.Linear(3, 3), {"forward": X}))
def tf(x, d): return {"a": x + d["b"], "c": x}
make("TraceDict", torch.jit.trace(tf, (X, {"b": X}), strict=False))
@torch.jit.script
def sfn(x: Tensor, k: int = 2) -> Tensor:
    for i in range(k): x = x + i
    return x
make("FnArchive", sfn)
class OneBuf(nn.Module):
    def __init__(self, t): super().__init__(); self.register_buffer("b", t)
    def forward(self, x: Tensor) -> Tensor: return x + self.b.size(0)
for dt in ("uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu uint16 uint32 uint64 float4_e2m1fn_x2 bits8 uint4".split()):
    d=getattr(torch,dt,None)
    if d is None: continue
    try: MODELS["Dtype_"+dt] = OneBuf(torch.empty(3, dtype=d))
    except Exception as e: print(dt,str(e)[:80])
MODELS["Conj"] = OneBuf(torch.ones(2,dtype=torch.complex64).conj())
MODELS["Neg"] = OneBuf(torch.ones(2,dtype=torch.complex64).conj().imag)
MODELS["Meta"] = OneBuf(torch.empty(5,4,device="meta"))
MODELS["Zero"] = OneBuf(torch.empty(0))
MODELS["Scalar0"] = OneBuf(torch.tensor(3.5))
MODELS["Huge"] = OneBuf(torch.zeros(1).expand(10**6,10**6))
MODELS["NegStrideLike"] = OneBuf(torch.arange(6).reshape(2,3).flip(0))
MODELS["ChannelsLast"] = OneBuf(torch.ones(1,2,3,4).to(memory_format=torch.channels_last))
MODELS["Offset"] = OneBuf(torch.arange(10)[3:7])
class ParamT(nn.Module):
    def __init__(self): super().__init__(); self.p = nn.Parameter(torch.ones(3), requires_grad=False); self.q = nn.Parameter(torch.ones(3, dtype=torch.float64)); self.register_parameter("n", None); self.register_buffer("m", None)
    def forward(self, x: Tensor) -> Tensor:
        if self.n is not None: x = x + 1
        return x + self.p + self.q
MODELS["ParamT"] = ParamT
@torch.jit.script
class StateClass:
    def __init__(self, k: int):
        self.k = k
    def __getstate__(self) -> int: return self.k
    def __setstate__(self, k: int) -> None: self.k = k + 1
class SCm(nn.Module):
    s: StateClass
    def __init__(self): super().__init__(); self.s = StateClass(3)
    def forward(self, x: Tensor) -> Tensor: return x + self.s.k
MODELS["StateClassAttr"] = SCm
class Deeper:
    def __init__(self, h: Tensor): self.h = h
@torch.jit.script
class Outer:
    def __init__(self, h: Tensor):
        self.h = h
        self.d = {"a": [h]}
    def get(self) -> Tensor:
        self.h = self.h + 1
        self.d["a"].append(self.h)
        return self.h + self.d["a"][0]
class OuterM(nn.Module):
    o: Outer
    os: List[Outer]
    od: Dict[str, Outer]
    def __init__(self): super().__init__(); self.o = Outer(torch.ones(3)); self.os = [Outer(torch.zeros(3))]; self.od = {"a": Outer(torch.zeros(3))}
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.o.get() + self.o.h + self.os[0].get() + self.od["a"].h
        return x
MODELS["OuterM"] = OuterM
class OuterSub(nn.Module):
    def __init__(self): super().__init__(); self.a = OuterM(); self.b = OuterM()
    def forward(self, x: Tensor) -> Tensor: return self.a(x) + self.b(x)
MODELS["OuterSub"] = OuterSub
class Call(nn.Module):
    def __init__(self, k): super().__init__(); self.k = k
    def forward(self, x: Tensor, scale: float = 1.0, k: int = 1) -> Tensor: return x
@model()
class SetGrad(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.detach().requires_grad_(True); z = (y * 2).sum(); g = torch.autograd.grad([z], [y])[0]
        return g if g is not None else x
@model()
class Inplace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.clone(); y[0, 0] = 1; y[:, 1].add_(2); y[y > 1] *= 2; y[0] += 1; y.mul_(2).sub_(1); y[..., 0:2] = torch.zeros(2, 2); y.index_fill_(0, torch.tensor([0]), 1.0); y.masked_fill_(y > 0, 3); torch.nn.functional.relu_(y); y.fill_(1); y.zero_(); y.copy_(x); y.t_(); y.squeeze_(); y.unsqueeze_(0); y.resize_(6) if False else y
        return y