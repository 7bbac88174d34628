"""The time of the memory model, compared with herd7, Dartagnan and a plain enumerator.

    scripts/bench --litmus

The times of the other tools were measured once, on two shared cores. Our times come from
`cargo bench -p ptx-memory-model` on this machine. The last row is a run of `ptx-atomics verify-mapping` on the 60
programs of mapping-sources.txt, if that file exists.
"""

import json
import re
import subprocess

from bench_tools import OURS, ROOT, build

SOURCES = ROOT / "../shared/litmus/mapping-sources.txt"

# Threads x events: herd7 7.58 with PTX in LISA (user time), one query of Dartagnan (warm), a plain enumerator of all outcomes.
ANCHORS = [
    ("3x4, 2 locations", "5.4-5.9 s", "45-52 ms", "9.5 ms"),
    ("4x3, 2 locations", "16-19 s", "29-38 ms", "2.6-3.1 ms"),
    ("4x4, 4 locations", "12.5-13.3 s", "31-55 ms", "122-166 ms"),
    ("4x4, 2 locations", "> 120 s (RC11)", "67-69 ms", "1.5-2.2 s"),
]


def main():
    bench = ["cargo", "bench", "--quiet", "-p", "ptx-memory-model", "--bench", "search"]
    text = subprocess.run(bench, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    # The name precedes the times in the same line, or is in the line before them.
    times = {}
    name = ""
    for line in text.splitlines():
        found = re.match(r"(.*?)\s*time:\s+\[\S+ \S+ (\S+ \S+) \S+ \S+\]", line)
        if found:
            times[found[1].strip() or name] = found[2]
        elif line.strip():
            name = line.strip()
    row = "{:20} {:>15} {:>11} {:>12}   {}".format
    print(row("", "herd7", "Dartagnan", "enumerator", "ours: weak, relaxed, release-acquire"))
    for shape, *others in ANCHORS:
        ours = [time for name, time in times.items() if name.startswith(shape + "/")]
        print(row(shape, *others, ", ".join(ours)))
    for name, time_ in times.items():
        if "/" not in name:
            print(f"{name:20} {time_}")
    if SOURCES.exists():
        build()
        command = [OURS, "verify-mapping", "--format", "json", SOURCES]
        [row_] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(f"{row_['programs']} programs, every strategy and target: {1e3 * row_['seconds']:.0f} ms")
