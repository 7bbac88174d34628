"""The programs of ZLUDA's tests, with the values that they must compute."""

import collections
import math
import re
import struct

from evidence_sets.common import Set, bullets, errors_of_run, measured, table

FOLDER = "ptx/src/test/spirv_run"
TEST = re.compile(r"^test_ptx(_warp|_with_32|)!\(\s*(\w+)\s*(.*?)\);", re.MULTILINE | re.DOTALL)
LIST = re.compile(r"\[(.*?)\](?=\s*(?:,|$))", re.DOTALL)
# Rust's types as formats of struct.
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i16": "h", "i32": "i", "i64": "q", "f16": "e", "f32": "f", "f64": "d"}
CONSTANTS = {
    "i32::MIN": ("i32", -(1 << 31)),
    "i32::MAX": ("i32", (1 << 31) - 1),
    "u32::MAX": ("u32", (1 << 32) - 1),
    "u64::max_value()": ("u64", (1 << 64) - 1),
    "f32::NAN": ("f32", math.nan),
    "f32::INFINITY": ("f32", math.inf),
    "f32::NEG_INFINITY": ("f32", -math.inf),
    "half::f16::NAN": ("f16", math.nan),
    "half::f16::NAN.to_bits()": ("u16", 0x7E00),
    "half::f16::NEG_INFINITY": ("f16", -math.inf),
    "std::f32::consts::PI": ("f32", math.pi),
    "std::f32::consts::PI / 2f32": ("f32", math.pi / 2),
}
BITS = re.compile(r"(?:half::)?(f\d+)::from_bits\((\w+)\)")
CONVERTED = re.compile(r"half::(f16)::from_f\d+\((.*)\)")
NUMBER = re.compile(r"(-?)(0x[\dA-Fa-f_]+|0b[01_]+|[\d_]+(?:\.\d+)?)([uif]\d+)?")

ABOUT = """The programs are of
[ZLUDA](https://github.com/vosen/ZLUDA), commit 8a7931be."""
NARROW = "32-bit addresses"
# The reasons of disagreements and findings, judged by hand.
WHY = {
    "32": "`run` rejects `.address_size 32`, as ptxas 13.5 does.",
    "reg_local": "It stores `temp + 1`. The manual has no such operand, and ptxas adds. `run` reports it as not supported.",
    "vector8_extract": "It has `mov.v8.u16`, which ptxas 13.5 rejects, too: \"Illegal vector size: 8\".",
    "vshr_clamp": "`run` does not support `vshr`.",
    "vote_ballot_nosync": "It has `vote` without `.sync` on sm_70, which ptxas rejects, too.",
    "ldmatrix": "True: 64 threads access arrays for 32, and no barrier is between their stores and `ldmatrix`, which reads rows of other threads.",
    "mma_m16n8k16_f32_bf16_bf16_f32_2x": "True: 64 threads store 32 bytes each, and the buffer of the test has 1,024 bytes.",
}


def value(text):
    """A value of Rust with its type, or None for a number without a suffix."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if bits := BITS.fullmatch(text):
        unsigned = FORMATS[f"u{bits[1][1:]}"]
        return bits[1], struct.unpack(FORMATS[bits[1]], struct.pack(unsigned, int(bits[2], 0)))[0]
    if converted := CONVERTED.fullmatch(text):
        return converted[1], float(converted[2])
    number = NUMBER.fullmatch(text)
    if not number:
        raise SystemExit(f"expected a value of Rust, found `{text}`")
    digits = number[2].replace("_", "")
    magnitude = float(digits) if "." in digits else int(digits if digits[:2] in ("0x", "0b") else digits.lstrip("0") or "0", 0)
    return number[3] or ("f32" if "." in digits else None), -magnitude if number[1] else magnitude


def values(text):
    """The values of a list, with the format of all: Rust infers the type of a number without a suffix."""
    items = [value(item.strip()) for item in text.split(",") if item.strip()]
    kind = next((kind for kind, _ in items if kind), "i32")
    return f"<{len(items)}{FORMATS[kind]}", [item for _, item in items]


def tests(text):
    """The tests with values, and the names of the tests without."""
    text = re.sub(r"//.*", "", text)
    measured_tests, unmeasured = [], []
    for variant, name, rest in TEST.findall(text):
        lists = [values(found) for found in LIST.findall(rest)]
        if not lists:
            unmeasured.append(name)
            continue
        widths = [""] + ["32/"] * (variant == "_with_32")
        measured_tests += [(width + name, lists, 64 if variant == "_warp" else 1) for width in widths]
    return measured_tests, unmeasured


def rounded(form, numbers):
    """The numbers in the precision of their type."""
    return struct.unpack(form, struct.pack(form, *numbers))


def run(folder, name, lists, threads):
    """The values that a run computes, or None, and the kinds of its errors."""
    *inputs, (form, _) = lists
    arguments = [f"output:u8[{struct.calcsize(form)}]"]
    for input_form, numbers in inputs:
        (folder / "input.bin").write_bytes(struct.pack(input_form, *numbers))
        arguments.insert(0, f"input:u8[]={folder / 'input.bin'}")
    result = folder / "output.bin"
    result.unlink(missing_ok=True)
    options = ["--grid", 1, "--block", threads, "--shared", 1024, "--out", f"output={result}"]
    for argument in arguments:
        options += ["--arg", argument]
    errors = errors_of_run(folder / FOLDER / f"{name}.ptx", *options)
    return struct.unpack(form, result.read_bytes()) if result.exists() else None, sorted(errors or ())


def page(folder, date):
    tests_, unmeasured = tests((folder / FOLDER / "mod.rs").read_text())
    counts, differ, reported = collections.defaultdict(collections.Counter), collections.defaultdict(list), []
    for name, lists, threads in tests_:
        found, kinds = run(folder, name, lists, threads)
        form, expected = lists[-1]
        result = "no values" if found is None else "equal" if found == rounded(form, expected) else "other values"
        kind = NARROW if "/" in name else "one thread" if threads == 1 else f"{threads} threads"
        counts[kind][result] += 1
        why = WHY.get("32" if kind == NARROW else name, "Not explained.")
        if result != "equal":
            differ[f"{result}. {why}"].append(f"`{name}`")
        elif kinds:
            reported.append(f"`{name}`: {', '.join(kinds)}. {why}")
    equal = sum(count["equal"] for count in counts.values())
    results = ["equal", "other values", "no values"]
    rows = [[kind, count.total(), *(count[result] for result in results)] for kind, count in counts.items()]
    return f"""# The programs of ZLUDA's tests

`ptx-atomics run` computes the expected values of {equal} of {len(tests_)} programs of PTX that ZLUDA tests on GPUs.

{measured("zluda", date, ABOUT, "CHECKOUT")}
{table(["programs", "number", *results], rows)}
- The expected values are in ZLUDA's `mod.rs`, whose tests run on GPUs of AMD and of NVIDIA. Floating-point values are compared exactly.
- Of {len(unmeasured)} further programs, ZLUDA compares LLVM IR alone, and no values: {", ".join(f"`{name}`" for name in unmeasured)}. They are not counted.
- The set was run for the first time on 2026-11-30, and no program of it was seen before: a held-out set. In the first run, four programs had other
  values: `vector` and two programs with `mma` pass vector registers to functions, and `reg_local` stores `temp + 1`. The command was
  changed for these four.

## Disagreements

{bullets(f"{', '.join(names)}: {why}" for why, names in differ.items())}
## Findings in programs with equal values

{bullets(reported)}"""


SET = Set(
    "programs of ZLUDA's tests with the values that they must compute",
    page,
    "vosen/ZLUDA",
    "8a7931be87d758835776f54ea2e33d30621c74ce",
    (FOLDER,),
)
