; RUN: --mcpu sm_90
target triple = "nvptx64-nvidia-cuda"
@f = ifunc void (), ptr @resolver
define internal ptr @resolver() {
  ret ptr null
}
