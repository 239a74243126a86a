"""Safe output of names from untrusted files to a terminal."""


def printable(text: str) -> str:
    """Return the text in one line, without characters that move a cursor or change colours."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
