"""The recipes of other packagers (conda-forge, Homebrew, nix) for a version, and their own tools, which look at them."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

from common import ROOT, Failure, run

RECIPES = ["conda/recipe.yaml", "homebrew/fxtrace.rb", "nix/package.nix"]


def filled(version: str, sha256: str) -> dict[str, str]:
    """The text of each, for the sources with that checksum."""
    texts = {name: (ROOT / "packaging" / name).read_text() for name in RECIPES}
    for name, text in texts.items():
        for word in ("@VERSION@", "@SHA256@"):
            if word not in text:
                raise Failure(f"packaging/{name} does not say {word}, which scripts/release fills in")
    return {name: text.replace("@VERSION@", version).replace("@SHA256@", sha256) for name, text in texts.items()}


# What conda-forge pins for all recipes.
CONDA_FORGE = {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"], "cxx_compiler": ["gxx"], "python": ["3.12"]}


def check_conda(file: Path) -> str:
    import rattler_build

    try:
        made = rattler_build.Stage0Recipe.from_file(file).render(rattler_build.VariantConfig(CONDA_FORGE))
    except rattler_build.RattlerBuildError as error:
        raise Failure(f"rattler-build does not render {file}: {error}") from error
    return f"rattler-build renders {', '.join(str(one) for one in made)}"


def check_homebrew(file: Path) -> str:
    run("ruby", "-c", file, log="recipes.log")
    if not shutil.which("brew"):
        return "parsed by ruby"
    run("brew", "style", file, log="recipes.log")
    return "parsed by ruby, and brew style says nothing"


def check_nix(file: Path) -> str:
    run("nix-instantiate", "--parse", file, log="recipes.log")
    return "parsed by nix"


# The tool of each, whether it is there, and what it says.
TOOLS: dict[str, tuple[str, Callable[[], bool], Callable[[Path], str]]] = {
    "conda/recipe.yaml": ("py-rattler-build", lambda: importlib.util.find_spec("rattler_build") is not None, check_conda),
    "homebrew/fxtrace.rb": ("ruby", lambda: shutil.which("ruby") is not None, check_homebrew),
    "nix/package.nix": ("nix-instantiate", lambda: shutil.which("nix-instantiate") is not None, check_nix),
}
