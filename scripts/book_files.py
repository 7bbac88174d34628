"""Pages of the book for files outside of docs/: book_files.py CHAPTERS BOOK.

Servers send a kernel as a download, and do not send a folder. So each link of a chapter to a file leads to a page with
its text, each link to a folder leads to a page with its files, and each link to a litmus test leads to the page that
runs it. A test in a chapter gets such a link below it. The script changes CHAPTERS, a copy of docs/, and also writes
`examples.json` and `kernels.json` there, the tests and kernels that pages offer.
"""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

FOLDERS = {"Shapes": "examples/litmus", "Threads of the host": "examples/litmus/host", "Asynchronous operations": "examples/litmus/async",
           "More": "models/memory-model/litmus", "More asynchronous operations": "models/memory-model/litmus/async"}
KERNELS = "examples/check"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>:root {{ color-scheme: light dark; font: 16px/1.5 sans-serif; }} body {{ margin: 1em; }} pre {{ overflow-x: auto; font-size: 14px; }}</style></head>
<body><header><a href="{up}docs/index.html">ptx-atomics</a></header>
<main><h1>{title}</h1>
{body}</main></body></html>
"""


def main(chapters, book):
    tests = {title: {str(file): file.read_text() for file in sorted(Path(folder).glob("*.litmus"))}
             for title, folder in FOLDERS.items()}
    (chapters / "examples.json").write_text(json.dumps(tests))
    kernels = {file.stem: file.read_text() for file in sorted(Path(KERNELS).glob("*.ptx"))}
    (chapters / "kernels.json").write_text(json.dumps(kernels))
    offered = {path for folder in tests.values() for path in folder}
    linked = set()

    def lead(found):
        path = Path(found[1])
        if str(path) in offered:
            return f"]({run(path)})"
        linked.add(path)
        return f"](../{address(path)}{found[2]})"

    paths = {text.strip(): path for folder in tests.values() for path, text in folder.items()}

    def opened(found):
        path = paths.get(found[1].strip())
        return f"{found[0]}\n[Run it here]({run(path) if path else f'litmus.html#text={quote(found[1], safe=str())}'})\n"

    for chapter in chapters.glob("*.md"):
        text = re.sub(r"\]\(\.\./([^)#]*)((?:#[^)]*)?)\)", lead, chapter.read_text())
        chapter.write_text(re.sub(r"^```ptx\n(PTX .*?)^```\n", opened, text, flags=re.M | re.S))
    tracked = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    shown = {path for file in map(Path, filter(None, tracked)) for path in [file, *file.parents]
             if linked & {path, *path.parents}}
    for path in shown:
        write(book, path, shown, offered)


def run(path):
    return f"litmus.html#example={path}"


def address(path):
    return f"{path}/index.html" if path.is_dir() else f"{path}.html"


def write(book, path, shown, offered):
    """The page of a file or folder."""
    up = "../" * (len(Path(address(path)).parts) - 1)
    if path.is_dir():
        links = [f'<li><a href="{html.escape(address(inner).removeprefix(f"{path}/"))}">{html.escape(inner.name)}</a></li>\n'
                 for inner in sorted(shown) if inner.parent == path]
        body = f"<ul>\n{''.join(links)}</ul>"
    else:
        body = f'<pre tabindex="0"><code>{html.escape(path.read_text(errors="replace"))}</code></pre>'
        if str(path) in offered:
            body = f'<p><a href="{up}docs/{run(path)}">Run it</a></p>\n{body}'
    page = book / address(path)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(PAGE.format(title=html.escape(str(path)), up=up, body=body))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
