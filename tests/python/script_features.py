"""Provides a module that uses the features of TorchScript: classes, interfaces, enums, NamedTuples, unions, fork, `with`, and
loops of all kinds."""

import torch, enum
from typing import *
from torch import Tensor, nn
class Color(enum.Enum):
    RED=1
    BLUE=2
class P(NamedTuple):
    a: Tensor
    b: int = 3
    c: Optional[str] = None
class Q(NamedTuple):
    p: P
    ps: List[P]
@torch.jit.interface
class I:
    def run(self, x: Tensor) -> Tensor:
        pass
@torch.jit.interface
class MI(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class Sub(nn.Module):
    def __init__(self): super().__init__(); self.w=nn.Parameter(torch.ones(2)); self.register_buffer('bf',torch.zeros(1))
    def forward(self,x: Tensor)->Tensor: return x*self.w+self.bf
@torch.jit.script
class Acc(object):
    def __init__(self, v: int):
        self.v = v
        self.items: List[Tensor] = []
    def run(self, x: Tensor) -> Tensor:
        self.items.append(x)
        self.v += 1
        return x + self.v
    def __len__(self) -> int: return len(self.items)
    def __getitem__(self, i: int) -> Tensor: return self.items[i]
    def __add__(self, o: int) -> int: return self.v + o
    def __contains__(self, o: int) -> bool: return self.v == o
    @property
    def twice(self) -> int: return self.v * 2
    @staticmethod
    def make(v: int) -> int: return v + 1
def helper(x: Tensor, u: Union[int, str, None]) -> Tensor:
    if isinstance(u, int):
        return x + u
    elif isinstance(u, str):
        return x + len(u)
    return x
@torch.jit.ignore
def ign(x: Tensor) -> Tensor: return x
class Net(nn.Module):
    c: Final[int]
    __constants__=['k','names']
    def __init__(self):
        super().__init__()
        self.sub: MI = Sub()
        self.subs=nn.ModuleList([Sub(),Sub()])
        self.d=nn.ModuleDict({'x':Sub(),'y':nn.ReLU()})
        self.seq=nn.Sequential(nn.Linear(2,2),nn.ReLU(),nn.Dropout(0.5))
        self.k=3; self.names=['a','b']; self.c=4
        self.table: Dict[str, List[int]] = {'a':[1,2],'b':[3]}
        self.opt: Optional[Tensor] = None
        self.col = Color.RED
        self.tup = (1, 2.5, 'x')
        self.dev = torch.device('cpu')
        self.dt = torch.float16
    def forward(self, x: Tensor, flag: bool = True, y: Optional[Tensor] = None, scale: float = 1.0) -> Tuple[Tensor, P]:
        acc = Acc(self.k)
        for mod in self.subs: x = mod(x)
        for nn_, mod2 in self.d.items(): x = mod2(x)
        for i, mod3 in enumerate(self.seq): x = mod3(x)
        for a in self.names: x = x + len(a)
        x = self.sub(x) + acc.run(x)
        if 3 in acc: x = x + acc[0] * len(acc) + (acc + 2) + acc.twice + Acc.make(2)
        p = P(x, b=4)
        q = Q(p, [p])
        q2 = P(x)
        z = q.p.a + q.ps[0].a.sum()
        if self.col == Color.BLUE: z = z + self.col.value
        c = Color.RED
        if c is Color.RED: z = z + 1
        if y is not None and flag: z = z + y
        elif self.opt is not None: z = z * 2
        z = helper(z, 3) + helper(z, "ab") + helper(z, None)
        u: Union[int, str] = 3
        if flag: u = "x"
        z = helper(z, u)
        l = [[1,2],[3]]
        e2: Dict[str, Optional[float]] = {'a': None}
        t: List[Tuple[int, Dict[str, Optional[float]]]] = [(1, e2)]
        e: Dict[int, List[Tensor]] = {}
        e[1] = [x]
        w = complex(1, 2)
        s = f"{flag} {scale}"
        s2 = "%s-%d" % (s, 3)
        s3 = "{:.3f}".format(scale)
        try_: Any = z
        if isinstance(try_, Tensor): z = z + try_
        with torch.no_grad():
            z = z * 2
            if flag: z = z + 1
        fut = torch.jit.fork(self.sub.forward, z)
        fut2 = torch.jit.fork(helper, z, 3)
        z = torch.jit.wait(fut) + torch.jit.wait(fut2)
        z = z.to(self.dt).to(self.dev, non_blocking=True)
        z = z[..., None, 0:1] if z.dim() > 3 else z[0:1, [0, 1]]
        r: List[float] = z.tolist()
        v: List[float] = torch.jit.annotate(List[float], [])
        for k2, v2 in self.table.items(): v.append(float(len(v2)))
        sl = l[0][::-1]
        m, n = sl[0], sl[1]
        b = not flag and (m < n or n == 3) and 'a' in self.table
        while b and m < 10:
            m += 1
            if m % 2 == 0: continue
            if m > 7: break
            for j in range(m, 0, -1):
                if j == n: return z, p
        assert m >= 0, f"bad {m}"
        print(z.shape, m)
        g = torch.Generator()
        th, tv = torch.max(z, 0)
        mx = max(m, n) + min(1.0, 2.0) + abs(-3) + round(2.5) + pow(2, 3) + divmod(7, 2)[0] + int("3") + sum([1,2]) + ord("a") + (2 if any([flag, b]) else 1)
        x2 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
        x3 = torch.arange(0, 3, device=z.device, dtype=z.dtype)
        x2[0, :] = 5
        x2[x2 > 2] = 0
        x2 += 1
        x2[0] -= 1
        del e[1]
        if m > 100: raise RuntimeError("too {}".format(m))
        return z * mx, P(x2, m, s)
