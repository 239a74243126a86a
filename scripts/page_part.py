"""The generated part of a page of Markdown, between two comments that name the program which writes it."""

import pathlib


def update(page: pathlib.Path, writer: str, part: str, *, check: bool) -> bool:
    """Write the part into the page, or, to check, say that it differs.  Return whether the page holds it."""
    begin, end = f"<!-- {writer} writes what follows -->\n", f"<!-- end of what {writer} writes -->\n"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    now = f"{before}{begin}{part}{end}{rest.partition(end)[2]}"
    if not check:
        page.write_text(now, encoding="utf-8")
    elif now != text:
        print(f"{page.name} is not what {writer} writes")
        return False
    return True
