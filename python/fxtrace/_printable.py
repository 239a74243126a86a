"""Names from strangers' files on a terminal."""


def printable(text: str) -> str:
    """The text in one line, in which nothing moves a cursor or changes colours."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
