//! The number of thread instructions per second, with and without race detection. Each pair is measured in the same
//! run, and their ratio is the result that matters.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_execute::{Argument, Contents, Device, Launch, RunOptions};
use ptx_isa::{FullSize, Module};

const HEAD: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 .ptr a, .param .u64 .ptr b, .param .u64 .ptr c)
{
.reg .pred %p;
.reg .b32 %x, %y, %i, %k, %r<8>;
.reg .f32 %f<4>;
.reg .b64 %a, %b, %c, %rd<8>;
.shared .align 16 .b8 left[1024];
.shared .align 16 .b8 right[1024];
ld.param.u64 %a, [a];
ld.param.u64 %b, [b];
ld.param.u64 %c, [c];
mov.u32 %x, %tid.x;
mov.u32 %y, %ctaid.x;
mad.lo.u32 %i, %y, 256, %x;
";

/// A product of matrices in tiles of 16x16. The kernel multiplies 16 pairs of tiles.
const TILES: &str = "\
mul.wide.u32 %rd0, %i, 4;
add.u64 %rd1, %a, %rd0;
add.u64 %rd2, %b, %rd0;
mov.u32 %r0, left;
mov.u32 %r1, right;
shl.b32 %r2, %x, 2;
add.u32 %r3, %r0, %r2;
add.u32 %r4, %r1, %r2;
and.b32 %r5, %x, 240;
shl.b32 %r5, %r5, 2;
add.u32 %r5, %r5, %r0;
and.b32 %r6, %x, 15;
shl.b32 %r6, %r6, 2;
add.u32 %r6, %r6, %r1;
mov.f32 %f0, 0f00000000;
mov.u32 %k, 0;
again:
ld.global.f32 %f1, [%rd1];
ld.global.f32 %f2, [%rd2];
st.shared.f32 [%r3], %f1;
st.shared.f32 [%r4], %f2;
bar.sync 0;
STEPS
bar.sync 0;
add.u64 %rd1, %rd1, 1024;
add.u64 %rd2, %rd2, 1024;
add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, 16;
@%p bra again;
add.u64 %rd3, %c, %rd0;
st.global.f32 [%rd3], %f0;
ret;
}
";

/// Each thread adds 64 numbers of a column.
const SUMS: &str = "\
mul.wide.u32 %rd0, %i, 4;
add.u64 %rd1, %a, %rd0;
mov.u32 %k, 0;
mov.u32 %r0, 0;
again:
ld.global.u32 %r1, [%rd1];
add.u32 %r0, %r0, %r1;
add.u64 %rd1, %rd1, 4096;
add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, 64;
@%p bra again;
add.u64 %rd3, %c, %rd0;
st.global.u32 [%rd3], %r0;
ret;
}
";

/// Each thread counts 64 numbers in bins of shared memory.
const BINS: &str = "\
mov.u32 %r0, left;
shl.b32 %r2, %x, 2;
add.u32 %r2, %r2, %r0;
st.shared.u32 [%r2], 0;
bar.sync 0;
mov.u32 %k, 0;
mov.u32 %r3, %i;
again:
mad.lo.u32 %r3, %r3, 1664525, 1013904223;
shr.u32 %r4, %r3, 22;
and.b32 %r4, %r4, 1020;
add.u32 %r4, %r4, %r0;
red.shared.add.u32 [%r4], 1;
add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, 64;
@%p bra again;
bar.sync 0;
ld.shared.u32 %r5, [%r2];
mul.wide.u32 %rd0, %x, 4;
add.u64 %rd1, %c, %rd0;
red.global.add.u32 [%rd1], %r5;
ret;
}
";

fn run(module: &Module, races: bool) -> u64 {
    let mut device = Device::new(module, RunOptions { races, ..RunOptions::default() }).expect("a device");
    let buffers = ["a", "b", "c"].map(|name| device.allocate(name, Contents::Grows(1 << 26)));
    let arguments = buffers.map(|buffer| Argument::Buffer(buffer, 0)).to_vec();
    let launch = Launch::new("kernel", FullSize { grid: [16, 1, 1], ..[256, 1, 1].into() }, arguments);
    let report = device.launch(&launch).expect("a launch");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    report.steps
}

fn rates(criterion: &mut Criterion) {
    let step = |at: u32| {
        let (row, column) = (at * 4, at * 64);
        format!("ld.shared.f32 %f1, [%r5+{row}];\nld.shared.f32 %f2, [%r6+{column}];\nfma.rn.f32 %f0, %f1, %f2, %f0;\n")
    };
    let tiles = TILES.replace("STEPS\n", &(0..16).map(step).collect::<String>());
    for (name, body) in [("tiles", &*tiles), ("sums", SUMS), ("bins", BINS)] {
        let module: Module = format!("{HEAD}{body}").parse().expect("PTX");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(run(&module, false)));
        for (name, races) in [("values", false), ("races", true)] {
            group.bench_function(name, |bencher| bencher.iter(|| run(black_box(&module), races)));
        }
        group.finish();
    }
}

criterion_group!(benches, rates);
criterion_main!(benches);
