"""Builds the wheel as scikit-build-core does, against a LibTorch that is there already where there is one.

That is the one in CMAKE_PREFIX_PATH, which scripts/setup has found, or the torch of the Python that pip runs in.  Where
there is none of these, pip gets torch for the build; with `-C cmake.define.FXTRACE_TORCHSCRIPT=OFF` it is not needed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from scikit_build_core import build as _build
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_TORCH = "2.13.0"  # as in scripts/setup
_CONFIG = "share/cmake/Torch/TorchConfig.cmake"
_FIND = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"

Settings = dict[str, Any] | None


def _candidates() -> Iterator[str]:
    for prefix in re.split("[:;]", os.environ.get("CMAKE_PREFIX_PATH", "")):
        if prefix:
            yield os.path.join(prefix, _CONFIG)
    if os.path.exists("build/setup.env"):
        with open("build/setup.env", encoding="utf-8") as file:
            found = re.search("^FXTRACE_TORCH_CONFIG=(.*)$", file.read(), re.MULTILINE)
        if found:
            yield re.sub(r"\\(.)", r"\1", found[1])  # written with printf %q
    # -I: pip hides the packages of its own Python from builds by PYTHONPATH.  Without it: what pip got for this build.
    for isolation in (["-I"], []):
        done = subprocess.run([sys.executable, *isolation, "-c", _FIND], capture_output=True, text=True)
        if done.returncode == 0:
            yield os.path.join(done.stdout.strip(), _CONFIG)


def _find_torch() -> str | None:
    """The TorchConfig.cmake of a torch of the right version."""
    for config in _candidates():
        version = config.replace("Config.cmake", "ConfigVersion.cmake")
        if os.path.exists(config) and os.path.exists(version):
            with open(version, encoding="utf-8") as file:
                if f'PACKAGE_VERSION "{_TORCH}"' in file.read():
                    return config
    return None


def _is_without_torchscript(settings: Settings) -> bool:
    value = str((settings or {}).get("cmake.define.FXTRACE_TORCHSCRIPT", "ON"))
    return value.upper() in ("OFF", "0", "FALSE", "NO", "N")


def _requirements(settings: Settings) -> list[str]:
    return [] if _is_without_torchscript(settings) or _find_torch() else [f"torch=={_TORCH}"]


def _with_torch(settings: Settings) -> dict[str, Any]:
    settings = dict(settings or {})
    config = _find_torch()
    if config is not None and not _is_without_torchscript(settings):
        settings.setdefault("cmake.define.FXTRACE_TORCH_CONFIG", config)
    return settings


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return _build.get_requires_for_build_wheel(config_settings) + _requirements(config_settings)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return _build.get_requires_for_build_editable(config_settings) + _requirements(config_settings)


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    return _build.build_wheel(wheel_directory, _with_torch(config_settings), metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    return _build.build_editable(wheel_directory, _with_torch(config_settings), metadata_directory)
