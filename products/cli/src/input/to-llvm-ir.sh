#!/usr/bin/env bash
# Compiles a kernel for NVIDIA GPUs to LLVM IR by installed compilers:
#   to-llvm-ir.sh INPUT.{rs,cu,c,cpp} OUTPUT.ll [FLAG...]
# The flags after the output are for the compiler. If a program is missing, the exit status is 127.
#   ROOT=FOLDER           the folder for `core` for the GPU; in this repository, the subfolder target
#   CPU=sm_90 PTX=ptx78   the target
#   OPT=2                 the optimization level; the default is 2, and 3 for Rust
#   SHOWN=.               the text that replaces ROOT in the names of source files
#   PLAIN=1               OUTPUT is the PTX that the compiler generates by itself
#   CC=nvcc               the compiler; the default is clang, NVPTX_RUSTC for Rust, and for CUDA's PTX the nvcc of CUDA_HOME,
#                         of CUDA_PATH or in the PATH, or any nvcc if clang is missing
#   CUDA_HOME=FOLDER      the folder of CUDA; the default is CUDA_PATH, /usr/local/cuda, NVIDIA's packages of a Python in
#                         the PATH, or .tools in ROOT
#   FLAGS=...             more flags for the compiler, separated by spaces
#   LLVM=23               the version of LLVM that the compilers are on; the default is 22
#   STAGES=2              the file descriptor for the names of slow stages
#   NVPTX_RUSTC=rustc     the rustc, or +NAME for a toolchain of rustup; the default is the first suitable one of
#                         --rustcs
# A Rust kernel may use `ptx_atomics_scope` in this repository. --find-rustc prints the rustc in use, --rustcs all
# candidates, --find-cuda the folder of CUDA, and --find-nvcc the nvcc of CUDA_HOME, of CUDA_PATH or in the PATH.
set -euo pipefail
root=${ROOT:?the folder for caches}
input=${1:?usage: scripts/to-llvm-ir INPUT OUTPUT [FLAG...]} output=${2:-}
flags=("${@:3}")
cpu=${CPU:-sm_90} ptx=${PTX:-ptx78}

# The Rust compilers on each LLVM, from Debian, from the default of rustup, or toolchains of rustup; and the toolchain
# to install.
llvm=${LLVM:-22}
case $llvm in
  22) rustcs="/usr/bin/rustc rustc" toolchain=1.98.0 ;;
  23) rustcs="+1.99.0 +nightly-2026-10-15" toolchain=1.99.0 ;;
  *) echo "error: expected LLVM=22 or LLVM=23, found '$llvm'" >&2; exit 2 ;;
esac

# missing PROGRAM ADVICE: prints the name of a missing program, and advice on its installation.
missing() {
  echo "error: the PATH has no $1; $2" >&2
  exit 127
}

# Prints a rustc on this LLVM with the sources of its `core`.
rustc_with_core() {
  local rustc
  for rustc in ${CC:-${NVPTX_RUSTC:-$rustcs}}; do
    case $rustc in +*) rustc=$(rustup which --toolchain "${rustc#+}" rustc 2>/dev/null) || continue ;; esac
    if [[ $("$rustc" -vV 2>/dev/null) == *"LLVM version: $llvm."* ]] &&
      [ -e "$("$rustc" --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs" ]; then
      echo "$rustc"
      return
    fi
  done
  missing "rustc on LLVM $llvm with the sources of its core" \
    "install one by \`rustup toolchain install $toolchain -c rust-src\`, and set NVPTX_RUSTC=+$toolchain"
}

rust() {
  local rustc library
  command -v flock >/dev/null || missing flock "install the package util-linux"
  rustc=$(rustc_with_core)
  library=$("$rustc" --print sysroot)/lib/rustlib/src/rust/library
  export RUSTC_BOOTSTRAP=1
  local target=(--edition 2024 --target nvptx64-nvidia-cuda -C panic=abort --cap-lints allow)
  # Rust 1.99 and newer require a `core` for the same GPU. A single `core` suffices here, since no code in it depends on
  # the GPU.
  [ "$llvm" -lt 23 ] || target+=(-C unsafe-allow-abi-mismatch=target-cpu)
  local core
  core="${CARGO_TARGET_DIR:-$root/target}/nvptx-core/$("$rustc" -V | tr -c 'a-zA-Z0-9.\n' -)"
  mkdir -p "$core"
  exec 9>"$core/lock"
  flock 9
  if [ ! -e "$core/done" ]; then
    echo "compiling the core of $("$rustc" -V) for GPUs, which is done once" >&"${STAGES:-2}"
    local crate=(-C opt-level=3 --crate-type rlib -Zforce-unstable-if-unmarked --out-dir "$core" -L "$core")
    "$rustc" "${target[@]}" "${crate[@]}" --crate-name core "$library/core/src/lib.rs"
    # A crate that uses core needs compiler_builtins, but kernels use no function of it.
    echo '#![feature(compiler_builtins)] #![compiler_builtins] #![no_std]' |
      "$rustc" "${target[@]}" "${crate[@]}" --crate-name compiler_builtins -
    touch "$core/done"
  fi
  local scope=$core/libptx_atomics_scope.rlib
  if [ ! -d "$root/products/scope/src" ]; then
    scope=
  elif [ ! -e "$scope" ] || [ -n "$(find "$root/products/scope/src" "$root/products/scope/README.md" "$core/done" -newer "$scope")" ]; then
    "$rustc" "${target[@]}" -L "$core" --crate-type rlib --crate-name ptx_atomics_scope -o "$scope.new" \
      --remap-path-prefix "$root=." "$root/products/scope/src/lib.rs"
    mv "$scope.new" "$scope"
  fi
  exec 9>&-
  local emit=llvm-ir
  [ -z "${PLAIN:-}" ] || emit=asm
  # shellcheck disable=SC2086
  "$rustc" "${target[@]}" -C "opt-level=${OPT:-3}" -C "target-cpu=$cpu" -C "target-feature=+$ptx" -C codegen-units=1 \
    -C debuginfo=line-directives-only -L "$core" ${scope:+--extern "ptx_atomics_scope=$scope"} --crate-type lib --emit "$emit" -o "$output" \
    --remap-path-prefix "$root=${SHOWN:-.}" ${FLAGS:-} "${flags[@]}" "$(realpath "$input")" 2> >(grep -v '^warning: unstable feature' >&2)
}

# Prints a clang on this LLVM, by either name, or the clang that CC names.
clang_on_llvm() {
  local clang
  if [ -n "${CC:-}" ]; then
    command -v "$CC" || missing "'$CC'" "name another compiler by CC or --cc"
    return
  fi
  for clang in "clang-$llvm" clang; do
    if [[ $(command "$clang" --version 2>/dev/null) == *"clang version $llvm."* ]]; then
      echo "$clang"
      return
    fi
  done
  missing "clang $llvm" "install the package clang-$llvm of the distribution or of https://apt.llvm.org"
}

# Compiles with clang. The arguments are flags for the language.
clang() {
  local clang emit=(-emit-llvm)
  clang=$(clang_on_llvm)
  [ -z "${PLAIN:-}" ] || emit=()
  # shellcheck disable=SC2086
  command "$clang" "$@" "-O${OPT:-2}" -gline-directives-only -ffile-prefix-map="$root=${SHOWN:-.}" -S "${emit[@]}" -o "$output" ${FLAGS:-} \
    "${flags[@]}" "$(realpath "$input")"
}

# Prints the folders that may have CUDA: each has `include`. NVIDIA's packages for Python have a single folder for all
# of CUDA 13, and separate folders for the parts of CUDA 12.
cudas() {
  printf '%s\n' "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda
  local python
  for python in $(type -ap python3 python); do
    "$python" -c 'import nvidia; [print(path + part) for path in nvidia.__path__ for part in ("/cu13", "/cuda_runtime")]' 2>/dev/null || true
  done
  # The second folder is for nvcc, and lacks headers that clang needs.
  printf '%s\n' "$root/.tools/cuda-12.9/sdk" "$root/.tools/cuda-13.5/nvidia/cu13"
}

# cuda FILE: prints the first folder of CUDA that has the file.
cuda() {
  local folder
  while read -r folder; do
    if [ -n "$folder" ] && [ -r "$folder/$1" ]; then
      echo "$folder"
      return
    fi
  done < <(cudas)
  return 1
}

# Prints the nvcc that a user has chosen: the nvcc in a named folder of CUDA, or the nvcc in the PATH.
chosen_nvcc() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}"; do
    if [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ]; then
      echo "$folder/bin/nvcc"
      return
    fi
  done
  command -v nvcc
}

wheels="nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl nvidia-curand nvidia-cuda-nvcc nvidia-nvvm"

# Compiles CUDA by clang. clang needs all headers in one folder, except the headers that -isystem names.
cuda_by_clang() {
  local folder part without=
  clang_on_llvm >/dev/null
  local language=(-x cuda --cuda-device-only "--cuda-gpu-arch=$cpu" "--cuda-feature=+$ptx" -std=c++17 -Wno-unknown-cuda-version
    --no-cuda-version-check)
  # If the user names a folder, the script uses no other folder.
  if [ -n "${CUDA_HOME:-}" ] && [ ! -r "$CUDA_HOME/include/cuda_runtime.h" ]; then
    echo "error: CUDA_HOME is '$CUDA_HOME', and $CUDA_HOME/include/cuda_runtime.h cannot be read; name another folder, or unset CUDA_HOME" >&2
    exit 127
  fi
  if folder=$(cuda include/cuda_runtime.h); then
    # clang includes a header of cuRAND that no kernel needs: an empty header replaces it if CUDA lacks it.
    empty=$(mktemp -d)
    trap 'rm -r "$empty"' EXIT
    touch "$empty/curand_mtgp32_kernel.h"
    language+=("--cuda-path=$folder" -idirafter "$empty")
    for part in "$folder"/include/cccl "${folder%/*}"/{cuda_nvcc,cuda_cccl,curand}/include; do
      [ ! -d "$part" ] || language+=(-isystem "$part")
    done
    [ -e "$folder/nvvm/libdevice/libdevice.10.bc" ] || without=-nocudalib
    clang "${language[@]}" $without
    return
  fi
  # Some kernels need none of CUDA's headers.
  local said
  if ! said=$(clang "${language[@]}" -nocudainc -nocudalib 2>&1); then
    [[ $said != "error: "* ]] || { echo "$said" >&2; exit 127; }
    missing_cuda "headers of CUDA"
  fi
}

missing_cuda() {
  echo "error: cannot find the $1 in CUDA_HOME, in /usr/local/cuda, or in a Python of the PATH; install them by \`python3 -m pip install $wheels\`" >&2
  exit 127
}

# Compiles CUDA by nvcc, which generates only PTX. nvcc needs a host compiler for the host's types in its headers.
cuda_by_nvcc() {
  local nvcc=${CC:-} folder
  if [ -z "$nvcc" ]; then
    nvcc=$(chosen_nvcc) || { folder=$(cuda bin/nvcc) && nvcc=$folder/bin/nvcc; } || missing nvcc "install it by \`python3 -m pip install $wheels\`"
  fi
  if [ -z "${PLAIN:-}" ]; then
    echo "error: nvcc generates no LLVM IR; name a clang on LLVM $llvm" >&2
    exit 127
  fi
  folder=$(dirname "$(dirname "$(realpath "$(command -v "$nvcc" || echo "$nvcc")")")")
  local cccl=()
  [ ! -d "$folder/include/cccl" ] || cccl=(-I "$folder/include/cccl")
  # shellcheck disable=SC2086
  command "$nvcc" -x cu "-arch=$cpu" -std=c++17 -lineinfo "${cccl[@]}" -ptx -o "$output" ${FLAGS:-} "${flags[@]}" "$(realpath "$input")"
}

# Chooses the compiler of CUDA.
cuda_by() {
  local cc=${CC:-}
  case ${cc##*/} in
    nvcc*) echo nvcc ;;
    ?*) echo clang ;;
    *) if [ -n "${PLAIN:-}" ] && { chosen_nvcc || ! (clang_on_llvm); } >/dev/null 2>&1; then echo nvcc; else echo clang; fi ;;
  esac
}

# The flags for libstdc++'s <atomic>. Up to C++17, it needs only glibc's headers about the word size of the host.
libstdcxx() {
  local version host
  command -v g++ >/dev/null || missing g++ "install the package g++, which also has <atomic>"
  version=$(g++ -dumpversion) host=$(g++ -dumpmachine)
  echo "-D__x86_64__ -isystem /usr/include/c++/$version -isystem /usr/include/$host/c++/$version -idirafter /usr/include/$host"
}

freestanding=(--target=nvptx64-nvidia-cuda "-march=$cpu" -Xclang -target-feature -Xclang "+$ptx" -ffreestanding)
case "$input" in
  --find-rustc) rustc_with_core ;;
  --find-cuda) cuda include/cuda_runtime.h ;;
  --find-nvcc) chosen_nvcc ;;
  --rustcs) printf '%s\n' $rustcs ;;
  *.rs) rust ;;
  *.cu) "cuda_by_$(cuda_by)" ;;
  *.c) clang "${freestanding[@]}" -std=gnu17 ;;
  *.cpp|*.cc)
    headers=$(libstdcxx)
    # shellcheck disable=SC2086
    clang "${freestanding[@]}" -std=gnu++17 -fno-exceptions -fno-rtti $headers
    ;;
  *) echo "error: expected a file .rs, .cu, .c, .cpp or .cc, found '$input'" >&2; exit 2 ;;
esac
