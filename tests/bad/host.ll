; RUN:
target triple = "x86_64-unknown-linux-gnu"
define void @f() {
  fence release
  ret void
}
