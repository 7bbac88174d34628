#!/usr/bin/env python3
"""Compiles LLVM IR to PTX with NVIDIA's libNVVM 13.5, which scripts/install peers installs.

    scripts/libnvvm.py A.ll --arch compute_90 [--latest] [--no-verify] [--lower PATH] [--option=-ftz=1 …] [-o B.ptx]

With --lower, the ptx-atomics at PATH lowers the atomics first. As the compiler of the conformance suite:

    ptx-atomics conformance --mcpu sm_100 --mattr +ptx90 -- scripts/libnvvm.py {input} -o {output} --arch compute_{number} \\
        --lower ptx-atomics

libNVVM has two dialects: LLVM 7's (with typed pointers) up to compute_90, and LLVM 22's from compute_100 on. --latest
selects the newer dialect for older GPUs also. Its verifier is a separate call, which nvvmCompileProgram does not make.
"""

import argparse
import ctypes
import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLKIT = ROOT / ".tools/cuda-13.5/nvidia/cu13"


class Error(Exception):
    """An error of libNVVM: the name of its result, and its log."""


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


DATALAYOUT = (b"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-"
              b"v64:64:64-v128:128:128-n16:32:64")


def completed(ir):
    """Textual IR with its IR version, without which libNVVM assumes the first version, and with its data layout. The
    lines of the text keep their numbers."""
    if ir.startswith(b"BC"):
        return ir
    if b"target datalayout" not in ir:
        ir = b'target datalayout = "' + DATALAYOUT + b'" ' + ir
    if b"!nvvmir.version" not in ir:
        ir += b"\n!nvvmir.version = !{!4000000000}\n!4000000000 = !{i32 2, i32 0, i32 3, i32 1}\n"
    return ir


def compile_ir(ir, arch, verify=True, options=()):
    """Compiles LLVM IR, which is bytes of bitcode or text, to PTX text. Raises Error."""
    words = [f"-arch={arch}".encode(), *(option.encode() for option in options)]
    array = (ctypes.c_char_p * len(words))(*words)
    program = ctypes.c_void_p()
    check(program, library().nvvmCreateProgram(ctypes.byref(program)))
    try:
        check(program, library().nvvmAddModuleToProgram(program, ir, len(ir), b"module"))
        if verify:
            check(program, library().nvvmVerifyProgram(program, len(words), array))
        check(program, library().nvvmCompileProgram(program, len(words), array))
        return text(program, "CompiledResult")
    finally:
        library().nvvmDestroyProgram(ctypes.byref(program))


def lowered(ir, path, arch):
    """The IR after ptx-atomics lowered it for the newest PTX version that libNVVM and LLVM 22 support."""
    words = [path, "lower", "--emit", "llvm-ir", "--mcpu", arch.replace("compute", "sm"), "--mattr", "+ptx90"]
    done = subprocess.run(words, input=ir, capture_output=True)
    if done.returncode != 0:
        raise Error(f"{path} lower: {done.stderr.decode(errors='replace')}")
    return done.stdout


def within(ir, error):
    """The function of textual IR in which libNVVM's parser failed, from the line in the error."""
    at = re.search(r"\((\d+), \d+\): parse", str(error))
    above = ir.decode(errors="replace").splitlines()[: int(at[1])] if at else []
    names = re.findall(r"^define .*@([\w.$]+)\(", "\n".join(above), flags=re.M)
    return f"\nin function '{names[-1]}'" if names else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=pathlib.Path)
    parser.add_argument("--arch", default="compute_90")
    parser.add_argument("--latest", action="store_true", help="the dialect of LLVM 22 on every GPU")
    parser.add_argument("--no-verify", action="store_true", help="skip libNVVM's verifier")
    parser.add_argument("--lower", metavar="PATH", help="lower the atomics with this ptx-atomics first")
    parser.add_argument("-o", "--output", default="-")
    parser.add_argument("--option", action="append", default=[], help="another option of nvvmCompileProgram, such as --option=-opt=0")
    arguments = parser.parse_args()
    options = ["-nvvm-latest"] * arguments.latest + arguments.option
    ir = b""
    try:
        # Lowering keeps an existing layout.
        ir = completed(arguments.input.read_bytes())
        if arguments.lower:
            ir = lowered(ir, arguments.lower, arguments.arch)
        ptx = compile_ir(ir, arguments.arch, not arguments.no_verify, options)
    except (Error, OSError) as error:
        sys.exit(f"error: {error}{within(ir, error)}")
    if arguments.output == "-":
        print(ptx, end="")
    else:
        pathlib.Path(arguments.output).write_text(ptx)


if __name__ == "__main__":
    main()
