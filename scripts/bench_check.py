"""The time of `ptx-atomics check` with every question, and the processor instructions of a quick check.

    scripts/bench --check [--old COMMAND] [FILE…]

Without files, it checks each example of examples/check and each kernel of tests/async. With an older command, its
`check` and its `check --races`, which were two commands before 0.1.0, alternate with ours, and ratios are printed.
Seconds are medians of three runs. valgrind counts instructions once; other work on the machine does not affect this
count.
"""

import argparse
import os
import re
import statistics
import subprocess
import time

from bench_tools import OURS, ROOT, build

RUNS = 3


def seconds(commands):
    """The total time of commands that run one after the other."""
    start = time.monotonic()
    for command in commands:
        subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def instructions(command):
    """The instructions of a command."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    said = subprocess.run(valgrind + command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return max(int(number.replace(",", "")) for number in re.findall(r"I +refs: +([0-9,]+)", said.stderr))


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench --check", description=__doc__.split("\n\n")[0])
    parser.add_argument("--old", metavar="COMMAND", help="an older ptx-atomics")
    parser.add_argument("--ours", metavar="COMMAND", help="an already built ptx-atomics")
    parser.add_argument("files", nargs="*", metavar="FILE")
    args = parser.parse_args(arguments)
    if args.ours is None:
        build()
    ours = args.ours or str(OURS)
    folders = ["examples/check", "tests/async"]
    files = args.files or [str(path) for folder in folders for path in sorted((ROOT / folder).glob("*.ptx"))]
    print("| file | every question | --quick | instructions of --quick |" + (" ratio to the old command |" if args.old else ""))
    print("| --- | --: | --: | --: |" + (" --: |" if args.old else ""))
    times, quick, ratios = [], [], []
    for file in files:
        whole, fast, old = [], [], []
        for _ in range(RUNS):
            whole.append(seconds([[ours, "check", file]]))
            fast.append(seconds([[ours, "check", "--quick", file]]))
            if args.old:
                old.append(whole[-1] / seconds([[args.old, "check", file], [args.old, "check", "--races", file]]))
        times.append(statistics.median(whole))
        quick.append(statistics.median(fast))
        counted = instructions([ours, "check", "--quick", "-j", "1", file]) / 1e6
        row = f"| `{os.path.relpath(file, ROOT)}` | {times[-1]:.2f} s | {quick[-1]:.2f} s | {counted:.0f} million |"
        if args.old:
            ratios.append(statistics.median(old))
            row += f" {ratios[-1]:.2f} |"
        print(row, flush=True)
    row = f"| median of {len(files)} | {statistics.median(times):.2f} s | {statistics.median(quick):.2f} s | |"
    print(row + (f" {statistics.median(ratios):.2f} |" if args.old else ""))
