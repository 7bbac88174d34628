#!/usr/bin/env python3
"""Compiles LLVM IR to PTX by NVIDIA's libNVVM 13.5, which scripts/install peers installs.

    scripts/libnvvm.py A.ll --arch compute_90 [--latest] [--no-verify] [--option=-ftz=1 …] [-o B.ptx]
    scripts/libnvvm.py --scoreboard sm_100 … [--every N] [--ours PATH]

The second form lowers the functions of scripts/scoreboard, or every Nth, to LLVM IR with ptx-atomics: libNVVM's verifier must
take all of it, `ptx-atomics check` must find each atomic kept in libNVVM's PTX, and ptxas must assemble that.

libNVVM has two dialects: that of LLVM 7 (typed pointers) up to compute_90, and that of LLVM 22 from compute_100, which
--latest selects for older GPUs too. Its verifier is a call of its own, and nvvmCompileProgram does not make it.
"""

import argparse
import ctypes
import functools
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLKIT = ROOT / ".tools/cuda-13.5/nvidia/cu13"


class Error(Exception):
    """What libNVVM says: the name of its result, and its log."""


@functools.cache
def library():
    lib = ctypes.CDLL(str(TOOLKIT / "lib/libnvvm.so.4"))
    lib.nvvmGetErrorString.restype = ctypes.c_char_p
    for name, *arguments in [
        ("nvvmCreateProgram", ctypes.c_void_p),
        ("nvvmDestroyProgram", ctypes.c_void_p),
        ("nvvmAddModuleToProgram", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p),
        ("nvvmVerifyProgram", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
        ("nvvmCompileProgram", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
        ("nvvmGetProgramLogSize", ctypes.c_void_p, ctypes.c_void_p),
        ("nvvmGetProgramLog", ctypes.c_void_p, ctypes.c_char_p),
        ("nvvmGetCompiledResultSize", ctypes.c_void_p, ctypes.c_void_p),
        ("nvvmGetCompiledResult", ctypes.c_void_p, ctypes.c_char_p),
    ]:
        getattr(lib, name).argtypes = arguments
    return lib


def text(program, what):
    """The program's log or its compiled result."""
    size = ctypes.c_size_t()
    getattr(library(), f"nvvmGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library(), f"nvvmGet{what}")(program, buffer)
    return buffer.value.decode(errors="replace")


def check(program, result):
    if result != 0:
        name = library().nvvmGetErrorString(result).decode()
        raise Error(f"{name}\n{text(program, 'ProgramLog')}".strip())


def versioned(ir):
    """Textual IR that says which IR it is, without which libNVVM takes it for its first version."""
    if ir.startswith(b"BC") or b"!nvvmir.version" in ir:
        return ir
    return ir + b"\n!nvvmir.version = !{!4000000000}\n!4000000000 = !{i32 2, i32 0, i32 3, i32 1}\n"


def compile_ir(ir, arch, verify=True, options=()):
    """PTX text of LLVM IR, which is bytes: bitcode or text. Raises Error."""
    words = [f"-arch={arch}".encode(), *(option.encode() for option in options)]
    array = (ctypes.c_char_p * len(words))(*words)
    program = ctypes.c_void_p()
    check(program, library().nvvmCreateProgram(ctypes.byref(program)))
    ir = versioned(ir)
    try:
        check(program, library().nvvmAddModuleToProgram(program, ir, len(ir), b"module"))
        if verify:
            check(program, library().nvvmVerifyProgram(program, len(words), array))
        check(program, library().nvvmCompileProgram(program, len(words), array))
        return text(program, "CompiledResult")
    finally:
        library().nvvmDestroyProgram(ctypes.byref(program))


def run(*words):
    """What a program says; ends the process if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {words[0]} {words[1]}: {done.stderr}")
    return done.stderr.strip()


def check_lowered(sm, every, ours, folder):
    """One GPU's functions through ptx-atomics and libNVVM."""
    board = runpy.run_path(str(ROOT / "scripts/scoreboard"), run_name="scoreboard")
    targets = {target.sm: target for target in board["TARGETS"] if target.number >= 75}
    if sm not in targets:
        sys.exit(f"error: not {sm}, but {', '.join(targets)}")
    target = targets[sm]
    source, lowered, ptx = (folder / name for name in ("in.ll", "lowered.ll", "out.ptx"))
    source.write_text(board["module"](board["cells"](target, 22)[::every], layout=True))
    run(ours, "lower", "--emit", "llvm-ir", "--mcpu", sm, "--mattr", f"+{target.ptx}", source, "-o", lowered)
    options = [] if target.number >= 100 else ["-nvvm-latest"]
    ptx.write_text(compile_ir(lowered.read_bytes(), f"compute_{target.number}", True, options))
    kept = run(ours, "check", "--ir", source, "--ptx", ptx)
    run(board["PTXAS_13"], f"-arch={sm}", ptx, "-o", os.devnull)
    print(f"{sm}: {kept}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=pathlib.Path, nargs="?")
    parser.add_argument("--arch", default="compute_90")
    parser.add_argument("--latest", action="store_true", help="the dialect of LLVM 22 on every GPU")
    parser.add_argument("--no-verify", action="store_true", help="do not ask libNVVM's verifier first")
    parser.add_argument("-o", "--output", default="-")
    parser.add_argument("--option", action="append", default=[], help="a further option of nvvmCompileProgram, as --option=-opt=0")
    parser.add_argument("--scoreboard", nargs="+", metavar="GPU", help="check what ptx-atomics lowers for these GPUs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of the scoreboard's functions, only every Nth")
    parser.add_argument("--ours", default=ROOT / "target/release/ptx-atomics", help="the command that lowers and checks")
    arguments = parser.parse_args()
    if bool(arguments.input) == bool(arguments.scoreboard):
        parser.error("give an input, or --scoreboard")
    if arguments.scoreboard:
        try:
            with tempfile.TemporaryDirectory() as folder:
                for sm in arguments.scoreboard:
                    check_lowered(sm, arguments.every, arguments.ours, pathlib.Path(folder))
        except (Error, OSError) as error:
            sys.exit(f"error: {error}")
        return
    options = ["-nvvm-latest"] * arguments.latest + arguments.option
    try:
        ptx = compile_ir(arguments.input.read_bytes(), arguments.arch, not arguments.no_verify, options)
    except (Error, OSError) as error:
        sys.exit(f"error: {error}")
    if arguments.output == "-":
        print(ptx, end="")
    else:
        pathlib.Path(arguments.output).write_text(ptx)


if __name__ == "__main__":
    main()
