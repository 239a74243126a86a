"""Lists the commands of the program, as app/commands/commands.h declares them."""

import pathlib
import re

_HEADER = pathlib.Path(__file__).parents[2] / "app" / "commands" / "commands.h"
COMMANDS = re.findall(r"^Command make_(\w+)_command", _HEADER.read_text(encoding="utf-8"), re.MULTILINE)
