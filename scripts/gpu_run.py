"""Launches the litmus tests of gpu_litmus.py on the first GPU, and judges their outcomes by the memory model:

    gpu_run.py run FOLDER
    gpu_run.py plan FOLDER    prints the launches of `run`

It needs Python and libcuda.so.1 alone.
"""

import argparse
import collections
import ctypes
import datetime
import json
import pathlib
import subprocess
import sys
import time

from gpu_litmus import BITS, LINE, VARIABLES, WARP

# How often a CTA looks for the other CTAs of its group.
SPINS = 1024


def decode(bins, names):
    """The outcomes with their numbers of executions; an outcome is a tuple of values, in the order of the names."""
    values = lambda key: tuple(key >> BITS * number & 2**BITS - 1 for number in range(len(names)))
    return {values(key): count for key, count in enumerate(bins) if count}


class Driver:
    """The first GPU, through the driver API."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            name = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(name))
            raise OSError(f"{function}: {(name.value or b'unknown error').decode()}")

    def name(self):
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), 0)
        return name.value.decode()

    def module(self, path):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), path.read_bytes() + b"\0")
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def fill(self, address, byte, size):
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(byte), ctypes.c_size_t(size))

    def launch(self, function, ctas, threads, *arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        self.call("cuLaunchKernel", function, ctas, 1, 1, threads, 1, 1, 0, None, pointers, None)

    def read(self, address, count):
        values = (ctypes.c_uint64 * count)()
        self.call("cuMemcpyDtoH_v2", values, address, ctypes.c_size_t(ctypes.sizeof(values)))
        return list(values)


def execute(driver, folder, test, options):
    """The outcomes of a test with their numbers, after at least `executions` and, if these take less, `seconds`."""
    module = driver.module(folder / f"{test['name']}.ptx")
    kernel, collect = driver.function(module, "test"), driver.function(module, "collect")
    groups = options.instances // (options.rounds * test["instances"])
    count = groups * options.rounds * test["instances"]
    room, bins = VARIABLES * count, 1 << BITS * len(test["names"])
    sized = {"memory": room * LINE, "results": 4 * count * max(test["loads"], 1), "arrived": 4 * groups * options.rounds,
             "scratch": 4 * room, "bins": 8 * bins}
    at = {name: driver.allocate(size) for name, size in sized.items()}
    for name in "bins", "scratch":
        driver.fill(at[name], 0, sized[name])
    start, done = time.monotonic(), 0
    while done < options.executions or time.monotonic() - start < options.seconds:
        for name, byte in ("memory", 0), ("arrived", 0), ("results", 0xFF):
            driver.fill(at[name], byte, sized[name])
        numbers = [ctypes.c_uint32(number) for number in (done // count, options.rounds, groups, SPINS, room - 1)]
        places = [at[name] for name in ("memory", "results", "arrived", "scratch")]
        driver.launch(kernel, groups * test["ctas"], test["threads"], *places, *numbers)
        driver.launch(collect, count // WARP, WARP, at["memory"], at["results"], at["bins"], numbers[-1])
        driver.call("cuCtxSynchronize")
        done += count
    found = decode(driver.read(at["bins"], bins), test["names"])
    for address in at.values():
        driver.call("cuMemFree_v2", address)
    driver.call("cuModuleUnload", module)
    return found


Row = collections.namedtuple("Row", "test found executions shown forbidden")


def judge(test, found):
    """The row of a test: the executions with the outcome of its shape, and the outcomes that the model forbids."""
    has = lambda outcome: test["condition"].items() <= dict(zip(test["names"], outcome)).items()
    allowed = {tuple(outcome) for outcome in test["allowed"]}
    shown = sum(count for outcome, count in found.items() if has(outcome))
    return Row(test, found, sum(found.values()), shown, sorted(found.keys() - allowed))


def table(rows):
    """The rows as a table of Markdown."""
    yield "| test | threads | the model | executions | with its outcome | outcomes seen | allowed |"
    yield "| --- | --- | --- | --: | --: | --: | --: |"
    for row in rows:
        verdict = "forbids" if row.test["forbidden"] else "allows"
        columns = row.test["name"], row.test["placement"], verdict, f"{row.executions:,}", f"{row.shown:,}"
        yield f"| {' | '.join(columns)} | {len(row.found)} | {len(row.test['allowed'])} |"


def summary(rows):
    broken = [row for row in rows if row.forbidden]
    neighbours = [row for row in rows if not row.test["forbidden"]]
    yield f"{len(rows)} litmus tests, each with at least {min(row.executions for row in rows):,} executions."
    yield f"{len(broken)} tests showed an outcome that the model forbids."
    shown = sum(row.shown > 0 for row in neighbours)
    yield f"{shown} of {len(neighbours)} tests showed the outcome that the model allows after the last step."


def faults(rows):
    """Each forbidden outcome, with its test."""
    for row in rows:
        for outcome in row.forbidden:
            values = " ".join(f"{name}={value}" for name, value in zip(row.test["names"], outcome))
            yield f"error: {row.test['name']} showed {values} in {row.found[outcome]:,} executions; expected an allowed outcome"
            yield row.test["litmus"]


def driver_version():
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def page(gpu, rows, stages):
    """The page of the evidence; a stage is the title and the file of the output of another stage."""
    yield "# On hardware"
    yield ""
    yield f"Measured on {datetime.date.today()} on one {gpu} (driver {driver_version()}). This command measures again and writes the page:"
    yield ""
    yield "```console\n$ scripts/gpu\n```"
    yield ""
    yield "## Litmus tests"
    yield ""
    yield from (f"- {line}" for line in summary(rows))
    yield "- An outcome that no execution showed may still be allowed. No test was held back."
    yield ""
    yield "`scripts/gpu_litmus.py` says how the tests are chosen. The threads of a test are in one CTA, or each in its own."
    yield ""
    yield from table(rows)
    forbidden = [*faults(rows)]
    if forbidden:
        yield from ["", "## Forbidden outcomes", "", "```text", *forbidden, "```"]
    for stage in stages:
        title, _, file = stage.partition("=")
        yield from ["", f"## {title}", "", "```text", pathlib.Path(file).read_text().rstrip(), "```"]


def plan(folder, options):
    """Prints the launches of `run`."""
    tests = json.loads((folder / "plan.json").read_text())
    launches = -(-options.executions // options.instances)
    size = f"{options.instances:,} executions, in sum at least {options.executions:,}"
    print(f"{len(tests)} litmus tests, each with {launches} or more launches of {size}")
    print(f"together at least {2 * launches * len(tests):,} launches, and {options.seconds * len(tests):.0f} seconds")


def run(folder, options):
    """Whether every outcome is allowed."""
    tests = json.loads((folder / "plan.json").read_text())
    tests = [test for test in tests if not options.only or test["name"] in options.only]
    try:
        driver = Driver()
    except OSError as why:
        print(f"skipped: no GPU here: {why}")
        return True
    print(driver.name())
    rows = [judge(test, execute(driver, folder, test, options)) for test in tests]
    print("\n".join([*summary(rows), "", *table(rows), *faults(rows)]))
    if options.page:
        options.page.write_text("\n".join(page(driver.name(), rows, options.stage)) + "\n")
    return not any(row.forbidden for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["plan", "run"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--executions", type=int, default=10_000_000, help="of each test, at least")
    parser.add_argument("--seconds", type=float, default=2, help="of each test, at least")
    parser.add_argument("--instances", type=int, default=1 << 18, help="executions of a launch, a power of two")
    parser.add_argument("--rounds", type=int, default=8, help="executions of a thread in a launch")
    parser.add_argument("--page", type=pathlib.Path, help="the page to write")
    parser.add_argument("--stage", action="append", default=[], metavar="TITLE=FILE", help="output of another stage for the page")
    parser.add_argument("--only", nargs="*", help="the tests that run")
    options = parser.parse_args()
    if options.command == "run":
        sys.exit(not run(options.folder, options))
    plan(options.folder, options)


if __name__ == "__main__":
    main()
