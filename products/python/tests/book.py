"""Runs the examples of a chapter: python book.py CHAPTER FOLDER.

Each block in Python is a file of the folder, with the name in its first line; a block without a name runs. Each block
`console` is a list of commands, with their output. If Triton is not installed, the blocks that need it are skipped,
with a message.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path


def blocks(text: str) -> "list[tuple[str, str]]":
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def main() -> None:
    chapter, folder = map(Path, sys.argv[1:3])
    has_triton = importlib.util.find_spec("triton") is not None
    ran = left = 0
    wrong = []
    for language, code in blocks(chapter.read_text(encoding="utf-8")):
        if language not in ("python", "console"):
            continue
        named = re.match(r"# (\w+\.py)\n", code)
        if named:
            folder.joinpath(named[1]).write_text(code, encoding="utf-8")
            continue
        if "pip install" in code or ("triton" in code and not has_triton):
            left += 1
            continue
        ran += 1
        if language == "python":
            script = folder / "example.py"
            script.write_text(code, encoding="utf-8")
            done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                wrong.append(f"{code}\n{done.stdout}{done.stderr}")
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.MULTILINE):
            # A system may have no `python`, and a comment names the requirements of a command.
            words = [sys.executable if word == "python" else word for word in command.partition("#")[0].split()]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
            said = (done.stdout + done.stderr).replace(str(folder) + "/", "")
            if not same(expected, said):
                wrong.append(f"$ {command}\n{said}\nis not\n{expected}")
    print(f"{ran} examples, {left} left out")
    if wrong or not ran:
        sys.exit("\n".join(wrong) or "no example")


def same(expected: str, said: str) -> bool:
    """Whether the output has each expected line, in order; a line `…` stands for any lines."""
    rest = iter(line.rstrip() for line in said.splitlines())
    return all(line.strip() == "…" or line.rstrip() in rest for line in expected.splitlines() if line.strip())


if __name__ == "__main__":
    main()
