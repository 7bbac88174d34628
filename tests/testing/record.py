#!/usr/bin/env python3
"""Records the answers of the command to every input of the repository and of ../shared: record.py COMMAND FOLDER [PART]

For a change of structure: record the parent commit and the change, each into a separate folder, and compare the folders
with `diff -r`. No time limit applies, so a difference comes from the code.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNLIMITED = ["--time-limit", "100000"]
# The seconds after which the record says that a command was given up. Both sides do the same work.
PATIENCE = 60
PTX = {
    "check": ["check", "--error-limit", "0", *UNLIMITED],
    "races": ["check", "--races", "--error-limit", "0", *UNLIMITED],
    "run": ["run", "--error-limit", "0"],
    "optimize": ["optimize", "--report"],
}
IR = {"lower": ["lower"], "check": ["check", "--only", "order", "--error-limit", "0"], "optimize": ["lower", "-O2"]}
COMMANDS = {".ptx": PTX, ".ll": IR, ".mlir": {"lower": ["lower"]}, ".litmus": {"litmus": ["litmus"]}}


def inputs(unpacked, every):
    """Each input with its name in the record. Of the inputs in archives, one in `every`."""
    folders = [(ROOT, ROOT), (ROOT.parent / "shared", ROOT.parent)]
    for archive in sorted((ROOT.parent / "shared").rglob("*.tar.gz")):
        name = str(archive.relative_to(ROOT.parent)).replace("/", "+").removesuffix(".tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(unpacked / name, filter="data")
    for folder, base in [*folders, (unpacked, unpacked)]:
        places = (file.relative_to(base) for file in sorted(folder.rglob("*")) if file.suffix in COMMANDS)
        places = [place for place in places if not place.parts[0].startswith((".", "target"))]
        for place in places[:: every if folder == unpacked else 1]:
            yield base / place, str(place).replace("/", "+")


def record(command, file, output, arguments):
    """Writes the whole output and the status of a command, without times."""
    try:
        done = subprocess.run(
            [command, *arguments, file.name], cwd=file.parent, stdin=subprocess.DEVNULL, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
        )
        text, status = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired:
        text, status = "", "given up"
    text = re.sub(r"\b[0-9.]+ (s|ms|seconds)\b", "TIME", text)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(f"{text}status {status}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", metavar="COMMAND", type=pathlib.Path)
    parser.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("part", metavar="PART", nargs="?", default="", help="a part of the names of the inputs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of the inputs in archives, one of so many")
    given = parser.parse_args()
    command, folder, part = str(given.command.resolve()), given.folder, given.part
    with tempfile.TemporaryDirectory() as unpacked, concurrent.futures.ThreadPoolExecutor(2) as workers:
        for file, name in inputs(pathlib.Path(unpacked), given.every):
            if part in name:
                for question, arguments in COMMANDS[file.suffix].items():
                    output = folder / question / name
                    if not output.exists():
                        workers.submit(record, command, file, output, arguments)
        workers.shutdown()


if __name__ == "__main__":
    main()
