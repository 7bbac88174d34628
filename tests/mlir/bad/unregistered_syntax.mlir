// RUN:
module {
  tt.func public @f(%p: !tt.ptr<i32>) {
    tt.return
  }
}
