"""Makes a release or cuts a version; scripts/release runs it, and its first lines describe the options."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import artefacts
import cut
import libraries
import plugins
import program
from common import PINNED, ROOT, WORK, Failure, Step, in_parallel, run, say


def build_plugins(target: str) -> None:
    plugins.headers_of_gnu(target)  # made before several ask for them
    plugins.stubs(target)
    in_parallel([lambda version=version: plugins.build(target, version) for version in PINNED["torch"]])


def build(targets: list[str]) -> None:
    with Step("Debian's sources"):
        libraries.fetch()
    with Step("libraries"):  # most of it is waiting for configure scripts
        in_parallel([lambda target=target: libraries.build(target) for target in targets])
    for target in targets:
        if program.is_static(target):
            continue
        with Step(f"plugins for {target}"):
            build_plugins(target)
    artefacts.collect_licences()
    for target in targets:
        with Step(f"program for {target}"):
            program.build(target)


def compile_only(target: str) -> None:
    with Step("Debian's sources"):
        libraries.fetch()
    with Step("libraries"):
        libraries.build(target)
    with Step(f"program for {target}"):
        program.build(target, "fxtrace")
    say(f"{(program.folder_of(target) / 'bin' / 'fxtrace').relative_to(ROOT)} is compiled and linked; it is no part of a release")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/release")
    parser.add_argument("--native", action="store_true", help="for this machine's processor alone")
    parser.add_argument("--only-compile", choices=PINNED["only compiled"], help="the program for a system on which nothing is tested")
    parser.add_argument("--cut", metavar="VERSION", help="make what stands under Unreleased in CHANGELOG.md that version, and commit it")
    arguments = parser.parse_args()
    if arguments.cut:
        cut.cut(arguments.cut)
        return
    if arguments.only_compile:
        compile_only(arguments.only_compile)
        return
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    if run("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT).strip():
        say("some files differ from what is committed: the sources of this release are those of HEAD, the programs those of the files")
    # This processor's first: they write the manual pages, for all.
    targets = sorted(PINNED["targets"], key=lambda target: not program.is_native(target))
    if arguments.native:
        targets = [target for target in targets if program.is_native(target)]
    notes = artefacts.notes()
    build(targets)
    shutil.rmtree(artefacts.DIST, ignore_errors=True)
    artefacts.DIST.mkdir()
    with Step("artefacts"):
        sdist = artefacts.make_sdist(epoch)
        for target in targets:
            artefacts.make_wheel(target, sdist, epoch)
            if program.is_static(target):
                artefacts.make_static(target, epoch)
            else:
                artefacts.make_deb(target, epoch)
        artefacts.make_container()
        artefacts.make_pre_commit(epoch)
        artefacts.make_adapter(epoch)
        artefacts.make_recipes(sdist, epoch)
        artefacts.make_sbom(epoch)
        (artefacts.DIST / "release-notes.md").write_text(notes)
        artefacts.check_sizes()
        artefacts.write_checksums()
    date = datetime.fromtimestamp(epoch, timezone.utc).date()
    say(f"version {artefacts.version()} of {date} is in {artefacts.DIST.relative_to(ROOT)}/:")
    for path in artefacts.files_below(artefacts.DIST):
        print(f"{path.stat().st_size:>10}  {path.name}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        say(str(failure))
        say(f"what the commands wrote is in {WORK.relative_to(ROOT)}/*.log")
        sys.exit(1)
