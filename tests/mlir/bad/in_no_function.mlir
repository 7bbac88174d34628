// RUN:
llvm.fence acquire
nvvm.barrier
%two = arith.constant 2 : index
scf.parallel (%i) = (%two) to (%two) step (%two) {
  scf.reduce
}
module {
  %vector = arith.constant dense<1.0> : vector<2x2xf32>
  %flat = vector.shape_cast %vector : vector<2x2xf32> to vector<4xf32>
}
llvm.func @fine() {
  llvm.return
}
