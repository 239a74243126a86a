"""The generated part of a file, between two comments that name the program which writes it, or a whole file."""

import pathlib


def hold(page: pathlib.Path, text: str, writer: str, *, check: bool) -> bool:
    """Write the file, or, to check, say that it differs.  Return whether it holds the text."""
    if not check:
        page.write_text(text, encoding="utf-8")
    elif not page.exists() or text != page.read_text(encoding="utf-8"):
        print(f"{page.name} is not what {writer} writes")
        return False
    return True


def marks(writer: str) -> tuple[str, str]:
    return f"<!-- {writer} writes what follows -->\n", f"<!-- end of what {writer} writes -->\n"


def part(writer: str, text: str) -> str:
    """The text between its comments."""
    return text.join(marks(writer))


def update(page: pathlib.Path, writer: str, part: str, *, check: bool) -> bool:
    """Write the part into the file, or, to check, say that it differs.  Return whether the file holds it."""
    begin, end = marks(writer)
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return hold(page, f"{head}{begin}{part}{end}{rest.partition(end)[2]}", writer, check=check)
