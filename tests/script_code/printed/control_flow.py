def early_return(x: Tensor, n: int) -> Tensor:
    if n > 3:
        return x + n
    y = x * 2
    if n < 0:
        return y
    return y - 1

def return_in_loop(x: Tensor, n: int) -> int:
    for i in range(n):
        if bool(x.sum() > i):
            return i
        x = x + 1
    return -1

def break_and_continue(n: int) -> int:
    total = 0
    for i in range(n):
        if i == 3:
            continue
        if i == 7:
            break
        total += i
    return total

def while_with_break(n: int) -> Tuple[int, int]:
    i = 0
    j = 10
    while i < n and j > 0:
        i += 1
        if i % 2 == 0:
            continue
        j -= i
        if j < i:
            break
    return i, j

def nested(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(i, n, 2):
            if j > 5:
                break
            total += j
        else_total = total
        if else_total > 100:
            return else_total
    return total

def raises(x: Tensor, n: int) -> Tensor:
    if n == 0:
        raise AssertionError("no")
    elif n == 1:
        y = x
    else:
        assert n > 2, "n is {}".format(n)
        y = x.neg()
    return y

def always_raises(n: int) -> Tensor:
    raise AssertionError("never")

def no_result(x: Tensor):
    x.add_(1)

def refined(x: Optional[Tensor], y: Optional[int]) -> Tensor:
    if x is None:
        return torch.zeros(1)
    if y is not None and y > 3:
        x = x + y
    z = x if y is None else x * y
    return z

def any_is(x: Any) -> int:
    if isinstance(x, int):
        return x
    elif isinstance(x, str):
        return len(x)
    if not isinstance(x, (float, bool)):
        return 1
    return 0

def short_circuits(a: bool, b: int, c: Optional[int]) -> bool:
    d = a and b > 1 or not a
    e = (c is not None and c > 2) or b == 3
    return d or e and (a or b < 5)

def ternary(a: int, b: float) -> float:
    return b if a > 1 else float(a)

def only_in_some(n: int) -> int:
    if n > 1:
        a = 2
        b = 3
    else:
        a = 4
        c = 5
    return a

def in_all_that_go_on(n: int) -> int:
    if n > 1:
        a = 2
    else:
        raise AssertionError("x")
    return a

def with_a_loop_variable(xs: List[Tensor]) -> Tensor:
    total = torch.zeros(1)
    for i, x in enumerate(xs):
        total = total + x * i
    for a, b in zip(xs, xs):
        total = total + a * b
    for c in xs:
        if bool(c.sum() == 0):
            continue
        total = total + c
    return total
