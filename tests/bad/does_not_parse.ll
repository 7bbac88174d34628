; RUN:
define void @f() {
  %x = add i32 1, 2.0
  ret void
}
