; RUN: --mcpu sm_60
; A marker counts as no atomic of the text, and its place is that of its call in the source program.
target triple = "nvptx64-nvidia-cuda"
declare i128 @ptx_atomics$load$i128$acquire$device(ptr)
declare void @ptx_atomics$fence$acquire$device()
define i128 @kernel(ptr addrspace(1) %p, ptr %q) !dbg !4 {
  call void @ptx_atomics$fence$acquire$device()
  %a = load atomic i32, ptr addrspace(1) %p acquire, align 2
  %b = call i128 @ptx_atomics$load$i128$acquire$device(ptr %q), !dbg !7
  %c = load atomic i32, ptr addrspace(1) %p acquire, align 1
  ret i128 %b
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "tests/bad/debug_info.cu", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "kernel", file: !1, line: 2, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!7 = !DILocation(line: 3, column: 14, scope: !4)
