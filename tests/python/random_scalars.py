"""Generates small random programs on numbers, texts, lists and dicts, with values at the corners of their types."""

import math
import random
from dataclasses import dataclass

INTEGERS = (0, 1, -1, 2, 3, -5, 7, 63, 64, 255, 2**31, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 10**18)
FLOATS = (
    0.0, -0.0, 0.5, 1.0, -1.0, 2.5, 3.5, -2.5, 0.1, 1.005, 1000.0, -7.5, 1e10, 1e17, 1e20, 2.0**53, 2.0**63, -(2.0**63), 1e308, 5e-324, 710.0,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
TEXTS = ("", "a", "ab", "b", " a b ", "A1", "12", "-7", "1.5", "x,y,,z", "é", "aßc", "a\nb", "abcabc", "%", "{}")
KEYS = ("a", "b", "c")
# The parameters of every program.
PARAMETERS = {
    "i": "int", "j": "int", "x": "float", "y": "float", "f": "bool", "s": "str", "t": "str",
    "li": "List[int]", "lf": "List[float]", "ls": "List[str]", "lb": "List[bool]",
    "di": "Dict[str, int]", "df": "Dict[int, float]",
}  # fmt: skip
# Expressions by the type of their result; int, float, ... stand for expressions of these types. TorchScript divides integers
# without a check: by zero, and the least by -1, ends the process (in gcd, too).
EXPRESSIONS = {
    "int": (
        "int + int", "int - int", "int * int", "-int", "abs(int)", "int // 3", "int // -4", "int % 5", "int % -3", "int % 4611686018427387907",
        "int & int", "int | int", "int ^ int", "int << int", "int >> int", "int << 3", "int >> 2", "min(int, int)", "max(int, int)",
        "int(float)", "int(bool)", "int(str)", "math.floor(float)", "math.ceil(float)", "math.gcd(int, 12)", "len(str)", "ord(str)", "hash(int)",
        "len(List[int])", "len(List[float])", "len(Dict[str, int])", "sum(List[int])", "max(List[int])", "min(List[int])",
        "List[int].index(int)", "List[float].index(float)", "List[float].count(float)", "List[int].count(int)", "List[str].count(str)",
        "List[int][int]", "List[int].pop()", "List[int].pop(1)", "Dict[str, int][str]", "Dict[str, int].pop(str)", "Dict[str, int].pop(str, int)",
        "Dict[str, int].setdefault(str, int)", "Dict[str, int].get(str, int)", "str.find(str)", "str.rfind(str)", "str.count('a')", "divmod(int, 7)[0]",
        "divmod(int, -7)[1]", "math.factorial(int)", "math.floor(int)",
    ),
    "float": (
        "float + float", "float - float", "float * float", "float / float", "int / int", "float // float", "float % float", "float ** float",
        "int ** int", "int ** float", "float ** int", "int / float", "int // float", "int % float", "float // int", "float % 3", "float + int", "int * float",
        "-float", "abs(float)", "float(int)", "float(bool)", "float(str)", "min(float, float)", "max(float, float)", "min(int, float)", "max(float, int)",
        "divmod(float, float)[0]", "divmod(float, float)[1]", "divmod(int, float)[1]", "math.sqrt(float)", "math.sqrt(int)",
        "math.log(float)", "math.log(int)", "math.log(float, float)", "math.log10(float)", "math.log1p(float)", "math.exp(float)", "math.expm1(float)",
        "math.pow(float, float)", "math.pow(int, float)", "math.fmod(float, float)", "math.remainder(float, float)",
        "math.copysign(float, float)", "math.atan2(float, float)", "math.lgamma(float)", "math.gamma(float)", "math.erf(float)", "math.erfc(float)",
        "math.degrees(float)", "math.radians(float)", "math.sin(float)", "math.tan(float)", "math.acos(float)", "math.asinh(float)", "math.acosh(float)",
        "math.atanh(float)", "math.cosh(float)", "math.tanh(float)", "math.fabs(float)", "math.ldexp(float, 5)", "math.frexp(float)[0]",
        "math.modf(float)[0]", "round(float)", "round(int)", "sum(List[float])", "max(List[float])", "min(List[float])", "List[float][int]",
        "List[float].pop()", "Dict[int, float][int]", "Dict[int, float].pop(int, float)", "Dict[int, float].setdefault(int, float)",
        "Dict[int, float].get(int, float)",
    ),
    "bool": (
        "int < int", "int <= int", "int == int", "int != float", "int < float", "float >= int", "int == float", "float == float", "float > float", "not bool",
        "bool == bool", "bool & bool", "bool ^ bool", "bool(int)", "bool(float)", "math.isnan(float)", "math.isinf(float)", "math.isfinite(float)",
        "str == str", "str < str", "str in str", "int in List[int]", "float in List[float]", "str in List[str]", "str in Dict[str, int]",
        "int in Dict[int, float]", "List[int] == List[int]", "List[float] == List[float]", "List[float] != List[float]",
        "any(List[bool])", "all(List[bool])", "any(List[int])", "all(List[float])", "str.startswith(str)", "str.endswith(str)", "str.isdigit()",
        "str.isalpha()", "str.isupper()", "str.istitle()", "str.isspace()",
    ),
    "str": (
        "str(int)", "str(float)", "str(bool)", "str(List[float])", "str(List[int])", "str(List[str])", "str((int, float))", "'{} {}'.format(float, int)",
        "'%s:%d' % (float, int)", "'%s' % str", "str + str", "str.upper()", "str.lower()", "str.capitalize()", "str.title()", "str.swapcase()",
        "str.strip()", "str.lstrip('a')", "str.rstrip()", "str.replace('a', str)", "str.center(8)", "str.ljust(6, '*')", "str.zfill(5)",
        "str.expandtabs(4)", "str.join(List[str])", "hex(int)", "oct(int)", "bin(int)", "chr(int)", "str[int]", "str[1:3]", "List[str][int]",
        "str.split(',')[0]", "str.partition(',')[2]", "List[str].pop()",
    ),
    "List[int]": ("[int, int, int]", "List[int] + List[int]", "sorted(List[int])", "List[int][1:]", "List[int].copy()", "List[int] * 2", "list(List[int])",
                  "[n for n in List[int]]", "list(Dict[str, int].values())"),
    "List[float]": ("[float, float, float]", "List[float] + List[float]", "sorted(List[float])", "List[float][:2]", "List[float].copy()",
                    "list(Dict[int, float].values())"),
    "List[str]": ("[str, str]", "str.split(',')", "str.split()", "sorted(List[str])", "str.splitlines()", "str.rsplit('a')", "list(str)",
                  "list(Dict[str, int].keys())"),
    "List[bool]": ("[bool, bool]", "List[bool] + List[bool]", "sorted(List[bool])"),
    "Dict[str, int]": ("{'a': int, 'b': int}", "{str: int, 'a': int}", "Dict[str, int].copy()", "dict([('a', int), (str, int)])"),
    "Dict[int, float]": ("{1: float, int: float}", "Dict[int, float].copy()"),
}  # fmt: skip
STATEMENTS = (
    "List[int].append(int)", "List[int].insert(int, int)", "List[int].remove(int)", "List[int].sort()", "List[int].sort(reverse=True)", "List[int].reverse()",
    "List[int].clear()", "List[int].extend(List[int])", "List[int][1] = int", "del List[int][0]",
    "List[float].sort()", "List[float].remove(float)", "List[float].append(float)", "List[float][0] = float", "List[str].sort()", "List[str].remove(str)",
    "List[str].insert(1, str)", "List[bool].sort()", "List[bool].remove(bool)", "Dict[str, int][str] = int", "Dict[str, int].update(Dict[str, int])",
    "Dict[str, int].clear()", "del Dict[str, int][str]", "Dict[int, float][int] = float", "Dict[str, int].popitem()",
)  # fmt: skip
TYPES = sorted(EXPRESSIONS, key=len, reverse=True)


@dataclass
class Program:
    code: str
    inputs: list[tuple]


# Types that the inputs and the results of an exported program can have; a dict has texts as keys.
OF_PROGRAMS = ("int", "float", "bool", "List[int]", "List[float]", "List[bool]", "Dict[str, int]")


class Maker:
    def __init__(self, seed: int, is_for_export: bool = False):
        self.chance = random.Random(seed)
        self.is_for_export = is_for_export
        self.variables: dict[str, list[str]] = {}
        for name, kind in PARAMETERS.items():
            self.variables.setdefault(kind, []).append(name)

    def make(self) -> Program:
        chance = self.chance
        lines, results = [], []
        for number in range(chance.randint(1, 4)):
            if chance.random() < 0.3:
                lines.append(self.filled(chance.choice(STATEMENTS), literals=False))
                continue
            kind = chance.choice(("int", "int", "float", "float", "bool", "str", *EXPRESSIONS))
            lines.append(f"v{number}: {kind} = {self.filled(chance.choice(EXPRESSIONS[kind]))}")
            self.variables[kind].append(f"v{number}")
            if not self.is_for_export or kind in OF_PROGRAMS:
                results.append(f"v{number}")
        # What was changed, and what was computed, is returned as it is now.
        results += ["li", "lf", "di"] if self.is_for_export else ["li", "lf", "ls", "di"]
        inputs = [self.values() for _ in range(3)]
        names = list(PARAMETERS)
        if self.is_for_export:
            lines.insert(0, f"{names.pop()} = {{1: x, 2: y}}")
            inputs = [values[:-1] for values in inputs]
        body = "".join(f"    {line}\n" for line in lines)
        parameters = ", ".join(f"{name}: {PARAMETERS[name]}" for name in names)
        return Program(f"def f({parameters}):\n{body}    return ({', '.join(results)},)\n", inputs)

    def filled(self, text: str, depth: int = 0, literals: bool = True) -> str:
        """Puts values in place of the types in an expression."""
        result, at, previous = "", 0, ""
        while at < len(text):
            kind = next((kind for kind in TYPES if text.startswith(kind, at)), None)
            end = at + len(kind or "")
            is_name = kind is None or previous.isalnum() or text[end : end + 1] == "(" or previous == "'"
            if is_name or (text[end : end + 1].isalnum()):
                result += text[at]
                previous = text[at]
                at += 1
                continue
            assert kind is not None
            result += self.value(kind, depth, literals or not (at == 0 or text.startswith("del")))
            previous, at = " ", end
        return result

    def value(self, kind: str, depth: int, literals: bool = True) -> str:
        chance = self.chance
        if literals and depth < 2 and chance.random() < 0.25:
            return f"({self.filled(chance.choice(EXPRESSIONS[kind]), depth + 1)})"
        if literals and chance.random() < 0.25:
            literal = {
                "int": lambda: f"({chance.choice(INTEGERS[:-8])})",
                "float": lambda: f"({chance.choice(FLOATS[:16])!r})",
                "str": lambda: repr(chance.choice(KEYS + TEXTS[:10])),
                "bool": lambda: chance.choice(("True", "False")),
            }.get(kind)
            if literal is not None:
                return literal()
        return chance.choice(self.variables[kind])

    def values(self) -> tuple:
        chance = self.chance
        integer, real, text = lambda: chance.choice(INTEGERS), lambda: chance.choice(FLOATS), lambda: chance.choice(TEXTS + KEYS * 3)
        length = chance.randint(0, 4)
        return (
            integer(), integer(), real(), real(), chance.random() < 0.5, text(), text(),
            [integer() for _ in range(length)], [real() for _ in range(chance.randint(0, 4))], [text() for _ in range(chance.randint(0, 3))],
            [chance.random() < 0.5 for _ in range(chance.randint(0, 3))],
            {key: integer() for key in chance.sample(KEYS, chance.randint(0, 3))}, {chance.choice((0, 1, 2)): real() for _ in range(chance.randint(0, 2))},
        )  # fmt: skip


def make(seed: int, is_for_export: bool = False) -> Program:
    return Maker(seed, is_for_export).make()
