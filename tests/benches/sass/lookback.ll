; The look-back of a one-pass scan. A word is a state (1: a block's sum, 2: that of all blocks to it) and a value.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @lookback(ptr noundef %words, ptr noundef %sums, ptr noundef %prefixes) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %idxprom = zext nneg i32 %0 to i64
  %arrayidx = getelementptr inbounds nuw i32, ptr %sums, i64 %idxprom
  %1 = load i32, ptr %arrayidx, align 4
  %arrayidx3 = getelementptr inbounds nuw i64, ptr %words, i64 %idxprom
  %conv = zext i32 %1 to i64
  %or = or disjoint i64 %conv, 4294967296
  store atomic i64 %or, ptr %arrayidx3 syncscope("device") release, align 8
  br label %for.cond

for.cond:
  %block.0 = phi i32 [ %0, %entry ], [ %dec, %do.end ]
  %prefix.0 = phi i32 [ 0, %entry ], [ %add, %do.end ]
  %dec = add nsw i32 %block.0, -1
  %cmp.not = icmp eq i32 %block.0, 0
  br i1 %cmp.not, label %cleanup12, label %do.body.preheader

do.body.preheader:
  %idxprom5 = zext i32 %dec to i64
  %arrayidx6 = getelementptr inbounds nuw i64, ptr %words, i64 %idxprom5
  br label %do.body

do.body:
  %2 = load atomic i64, ptr %arrayidx6 syncscope("device") acquire, align 8
  %shr = lshr i64 %2, 32
  %cmp8 = icmp eq i64 %shr, 0
  br i1 %cmp8, label %do.body, label %do.end

do.end:
  %conv9 = trunc i64 %2 to i32
  %add = add i32 %prefix.0, %conv9
  %cmp11.not = icmp eq i64 %shr, 2
  br i1 %cmp11.not, label %cleanup12, label %for.cond

cleanup12:
  %prefix.1 = phi i32 [ %add, %do.end ], [ %prefix.0, %for.cond ]
  %add13 = add i32 %prefix.1, %1
  %conv14 = zext i32 %add13 to i64
  %or15 = or disjoint i64 %conv14, 8589934592
  store atomic i64 %or15, ptr %arrayidx3 syncscope("device") release, align 8
  %arrayidx18 = getelementptr inbounds nuw i32, ptr %prefixes, i64 %idxprom
  store i32 %prefix.1, ptr %arrayidx18, align 4
  ret void
}
