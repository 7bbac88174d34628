#!/usr/bin/env python3
"""Runs the test programs of a build, one for each core at a time, the largest first: run_tests.py MESSAGES

MESSAGES is the output of `cargo test --no-run --message-format=json`. The output of a program is printed when it has
ended.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time


def programs(messages):
    """Each test program with the folder of its crate."""
    for line in pathlib.Path(messages).read_text().splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            yield message["executable"], pathlib.Path(message["manifest_path"]).parent, message["target"]["name"]


def run(executable, folder, name):
    """The readable name and time of a program, its output, and whether it succeeds."""
    start = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder)}
    done = subprocess.run(
        executable, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    title = f"{folder.relative_to(pathlib.Path.cwd())} {name}, {time.monotonic() - start:.0f} s"
    return title, done.stdout, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("messages", metavar="MESSAGES")
    largest_first = sorted(programs(parser.parse_args().messages), key=lambda program: -os.path.getsize(program[0]))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        tasks = [workers.submit(run, *program) for program in largest_first]
        for count, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            title, output, succeeds = task.result()
            print(f"\n{title} (program {count} of {len(tasks)})", flush=True)
            sys.stdout.buffer.write(output)
            sys.stdout.flush()
            if not succeeds:
                failed.append(title)
    for title in failed:
        print(f"failed: {title}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
