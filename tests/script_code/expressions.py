def arithmetic(a: int, b: float, x: Tensor) -> Tensor:
    c = a + b
    d = a // 2 * -a ** 2 % 3
    e = c / b - d
    return x * e + x @ x - x // 2 + x % 3 + x ** 2 + (-x) + 2 * x + 1 - x + 3 / x

def comparisons(a: int, b: float, s: str, xs: List[int]) -> bool:
    c = (a < b) == (s == "a")
    d = a != 3
    e = 4 in xs
    f = s not in ["a", "b"]
    g = a >= b
    return c & d & e & f & g & (b <= 2.5) & (not c)

def bits(a: int, b: int, x: Tensor) -> Tensor:
    c = a & b | a ^ b
    d = a << 2 >> b
    return ~((x & x | x ^ x) << d >> c)

def strings(s: str, n: int) -> str:
    t = "a" "b\n" + s
    u = "%s %d" % (s, n)
    v = "{} {}".format(t, n)
    w = t[1:] + u[0] + v[-1]
    return w.upper().join(["x", "y"]).replace("x", str(n))

def lists(n: int) -> List[int]:
    a = [1, 2, 3]
    b: List[int] = []
    b.append(n)
    b += a
    b[0] = 5
    b[1] += 2
    c = [n * 2, n]
    for i in range(n):
        c[i] -= i
    del b[0]
    return a + b[1:] + c[:-1] + a[::2] + sorted(a)

def dicts(n: int) -> Dict[str, int]:
    a = {"a": 1, "b": n}
    b: Dict[str, int] = {}
    b["x"] = 2
    b["a"] = a["a"]
    b["x"] += 3
    del a["a"]
    e = len(a) + len(b.items())
    a["e"] = e
    return {"b": b["x"], "e": e, "a": a["e"]}

def tuples(x: Tensor) -> Tuple[Tensor, int, str]:
    a = (x, 1, "s")
    b, c, d = a
    e = a[0] + a[-2]
    (f, g), h = (b, c), d
    i, *j = (1, 2, 3)
    k = a[1:]
    m = j[0] + i + k[0]
    return e + f, g + m, h

def subscripts(x: Tensor, i: int, idx: Tensor, xs: List[Tensor]) -> Tensor:
    a = x[0]
    b = x[i, 1:, None, ...]
    c = x[..., -1]
    d = x[:, idx]
    e = x[idx]
    f = x[1:i:2, ::2]
    g = x[None]
    h = xs[i][0:1]
    k = x[[0, 1]]
    x[0] = 1
    x[1:, 0] = a
    x[idx] = 2.5
    x[0] += 1
    x[idx] *= 2
    x[0, 1], y = a, b
    return a

def casts(x: Tensor, n: int) -> float:
    a = int(x)
    b = float(x) + float(n)
    c = bool(x) | bool(n) | bool([1]) | bool("a")
    d = str(n)
    y = x.float() + x.int() + x.long().double()
    return b + float(a) + float(d)

def implicit(x: Tensor, n: int) -> Tensor:
    y = torch.zeros(2, 3)
    z = torch.ones([n, 2], dtype=6, device="cpu") + torch.ones(2)
    w = x.view(-1, 4).permute(1, 0).reshape(2, n)
    u = torch.max_pool2d(x, 2).expand(2, -1, 3, 4)
    t = x.add_(1).size()[0] + x.shape[1] + x.dim() + x.numel() + len(x)
    s = torch.cat((x, y), 0) + torch.stack([x, y])
    r = x.to(4).to("cpu").type(6)
    if t > 2:
        r = x
    q = torch.max(x, 1)[0] + torch.max(x) + max(1, 2) + min([1, 2])
    p, o = torch.topk(x, 2)
    return u + w + s + r + q + p

def properties(x: Tensor) -> Tuple[int, bool]:
    y = x.T + x.mT
    a = (x.device.type == "cpu") & x.is_cuda & x.requires_grad
    return x.ndim + x.dtype, a

def builtin_calls(x: float, n: int) -> float:
    return abs(x) + round(x) + pow(x, 2) + sum([1, 2]) + ord("a") + len(chr(97)) + len(hex(n))

def prints(x: Tensor, n: int):
    print(x, n, "text")

def assigned_twice() -> int:
    a = b = 3
    a = 4
    return a + b

def optional_list(xs: Optional[List[int]]) -> int:
    ys: Optional[List[int]] = None
    zs: List[Optional[int]] = [None, 1]
    if xs is not None:
        ys = xs
    if ys is None:
        n = 1
    else:
        n = len(ys)
    return n

def keyword_only(x: Tensor, *, scale: float = 2.0, flag: bool = False) -> Tensor:
    return torch.add(input=x, other=x, alpha=scale)

def refined_here(x: Tensor, y: Optional[Tensor]) -> Tensor:
    if not y is None:
        x = x + y
    return x

def bools_as_numbers(b: bool, x: Tensor, n: number):
    y = x.new_full([2], b) + x.masked_fill(x > 0, b) + x[0:b].clamp(b, max=b)
    k = [3, 4][b] + max(b, 2) + (-b) + (b // 2) + (b << 1)
    r = b + 1.5 - (b ** 2.5) + b / 2 + float(b)
    c = (b < 3) | (b == 1) | (b != 2.5) | (b in [1]) | (1j == b) | (b > n)
    f: float = 2.5
    if c:
        f = b
    return y, k, r, c, f, x.select(0, b), x.sum(0, b), x + b, b * x, divmod(b, 2)

def tuples_in_a_row(a: Tuple[int, str], b: Tuple[Tensor], c: int):
    return a + b + (c, (c,) + (2, 3)), a + a
