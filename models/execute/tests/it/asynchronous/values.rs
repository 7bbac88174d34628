//! The results of asynchronous operations and matrix instructions, compared with plain loops.

use std::{collections::BTreeSet, fmt::Write};

use half::f16;
use ptx_execute::{Argument, Launch, RunOptions, TensorMap, matrix::map::TensorElement};
use ptx_isa::FullSize;

use super::outcome;

const OUT: Argument = Argument::Bytes(Vec::new());

/// A launch of `kernel`, whose arguments are the output and then `arguments`.
fn launch(threads: u32, cluster: u32, arguments: Vec<Argument>) -> Launch {
    let mut all = vec![Argument::Bytes(vec![0])];
    all.extend(arguments.into_iter().filter(|argument| *argument != OUT));
    let cluster = [cluster, 1, 1];
    Launch::new("kernel", FullSize { grid: cluster, cluster, ..[threads, 1, 1].into() }, all)
}

fn kernel(threads: u32, target: &str, parameters: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry kernel(.param .u64 out{parameters})\n\
         .reqntid {threads}\n{{\n.reg .pred %p, %q;\n.reg .b32 %r<300>;\n.reg .f32 %f<300>;\n.reg .b64 %x<20>;\n\
         {body}\nret;\n}}\n"
    )
}

/// The words that the kernel writes. They are the same in every order, and there are no findings.
fn words(text: &str, launch: &Launch, inputs: &[&[u8]]) -> Vec<u32> {
    let mut all = (0..6).map(|seed| {
        let (bytes, findings) = outcome(text, launch, inputs, RunOptions::default().of_seed(seed));
        assert!(findings.is_empty(), "{findings:#?}");
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<u32>>()
    });
    let first = all.next().expect("a run");
    assert!(all.all(|other| other == first), "the order changes the written values");
    first
}

/// A matrix of small numbers.
fn matrix(rows: usize, columns: usize, seed: usize) -> Vec<f32> {
    (0..rows * columns).map(|i| ((i * 7 + seed * 13 + i / columns * 5) % 11) as f32 - 5.0).collect()
}

fn bytes(matrix: &[f32]) -> Vec<u8> {
    matrix.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
}

/// A times the transpose of B.
fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let cell = |i: usize| (0..k).map(|l| a[i / n * k + l] * b[i % n * k + l]).sum();
    (0..m * n).map(cell).collect()
}

/// A map of a matrix of 64 columns of f16 in the input with a number, in boxes of `rows` rows with a swizzle of 128
/// bytes.
fn map(input: u64, rows: u32) -> Argument {
    let mut map = TensorMap { element: TensorElement::F16, rank: 2, swizzle_mode: 3, ..TensorMap::default() };
    (map.address, map.sizes[0], map.sizes[1], map.strides[0]) = (input, 64, rows, 128);
    (map.box_sizes[0], map.box_sizes[1]) = (64, rows);
    map.element_strides = [1; 5];
    let (text, buffer) = (Box::new(map), super::any_buffer());
    Argument::TensorMap(text, buffer)
}

/// The beginning of a kernel in which one thread loads two tiles, and all threads wait for them.
fn loads(rows: [u32; 2], arrivals: u32) -> String {
    let [a, b] = rows.map(|rows| rows * 128);
    format!(
        ".shared .align 1024 .b8 a_tile[{a}];\n.shared .align 1024 .b8 b_tile[{b}];\n.shared .align 8 .b64 full;\n\
         .shared .align 8 .b64 done;\n.shared .align 4 .b32 columns;\nmov.u32 %r0, %tid.x;\nsetp.eq.u32 %p, %r0, 0;\n\
         mov.b32 %r1, a_tile;\nmov.b32 %r2, b_tile;\nmov.b32 %r3, full;\nmov.b64 %x0, a;\nmov.b64 %x1, b;\n\
         @%p mbarrier.init.shared::cta.b64 [full], {arrivals};\n@%p mbarrier.init.shared::cta.b64 [done], 1;\nbar.sync 0;\n\
         @%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {};\n\
         @%p cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%x0, {{0, 0}}], [%r3];\n\
         @%p cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%x1, {{0, 0}}], [%r3];\n\
         again:\nmbarrier.try_wait.parity.shared::cta.b64 %q, [full], 0;\n@!%q bra again;\n",
        a + b
    )
}

const MAPS: &str = ", .param .align 64 .b8 a[128], .param .align 64 .b8 b[128]";

/// Stores the registers of each thread contiguously, and the threads in their order.
fn stores(registers: usize, prefix: &str) -> String {
    let mut text =
        format!("ld.param.u64 %x9, [out];\nmul.wide.u32 %x8, %r0, {};\nadd.u64 %x9, %x9, %x8;\n", registers * 4);
    for i in 0..registers {
        writeln!(text, "st.global.b32 [%x9+{}], {prefix}{i};", i * 4).expect("a text");
    }
    text
}

fn list(count: usize, prefix: &str) -> String {
    (0..count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_tile_of_tma_feeds_wgmma() {
    let (a, b) = (matrix(64, 64, 1), matrix(64, 64, 2));
    let mut body = loads([64, 64], 1);
    body += "shr.u32 %r4, %r1, 4;\ncvt.u64.u32 %x2, %r4;\nor.b64 %x2, %x2, 0x4000004000010000;\n\
             shr.u32 %r5, %r2, 4;\ncvt.u64.u32 %x3, %r5;\nor.b64 %x3, %x3, 0x4000004000010000;\n";
    (0..32).for_each(|i| writeln!(body, "mov.f32 %f{i}, 0f3f800000;").expect("a text"));
    body += "wgmma.fence.sync.aligned;\n";
    for step in 0..4 {
        writeln!(
            body,
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{}}}, %x2, %x3, 1, 1, 1, 0, 0;\nadd.u64 %x2, %x2, 2;\nadd.u64 %x3, %x3, 2; // {step}",
            list(32, "%f")
        )
        .expect("a text");
    }
    body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    body += &stores(32, "%f");
    let text = kernel(128, "sm_90a", MAPS, &body);
    let found = words(&text, &launch(128, 1, vec![map(1, 64), map(2, 64)]), &[&bytes(&a), &bytes(&b)]);
    let expected = product(&a, &b, [64, 64, 64]);
    for (index, word) in found[..128 * 32].iter().enumerate() {
        let (thread, i) = (index / 32, index % 32);
        let row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
        let column = thread % 4 * 2 + i % 2 + i / 4 * 8;
        assert_eq!(f32::from_bits(*word), expected[row * 64 + column] + 1.0, "row {row}, column {column}");
    }
    let without = text.replace("wgmma.wait_group.sync.aligned 0;", "");
    assert_eq!(super::verdict(&findings(&without, &[map(1, 64), map(2, 64)])), "race", "no wait");
    let without = text.replace("wgmma.fence.sync.aligned;", "");
    assert_eq!(super::verdict(&findings(&without, &[map(1, 64), map(2, 64)])), "race", "no fence");
}

fn findings(text: &str, maps: &[Argument]) -> Vec<ptx_execute::Fault> {
    let zeros = vec![0; 1 << 15];
    outcome(text, &launch(128, 1, maps.to_vec()), &[&zeros, &zeros], RunOptions::default()).1
}

#[test]
fn a_tile_of_tma_feeds_tcgen05() {
    let (a, b) = (matrix(128, 64, 3), matrix(64, 64, 4));
    let mut body = loads([128, 64], 1);
    body += "setp.lt.u32 %q, %r0, 32;\nmov.b32 %r6, columns;\n\
             @%q tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 64;\n\
             bar.sync 0;\nld.shared.b32 %r7, [columns];\n\
             shr.u32 %r4, %r1, 4;\ncvt.u64.u32 %x2, %r4;\nor.b64 %x2, %x2, 0x4000404000010000;\n\
             shr.u32 %r5, %r2, 4;\ncvt.u64.u32 %x3, %r5;\nor.b64 %x3, %x3, 0x4000404000010000;\n\
             mov.b32 %r8, 0x08100010;\n@!%p bra multiplied;\n";
    for step in 0..4 {
        writeln!(
            body,
            "setp.ne.u32 %q, {step}, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%r7], %x2, %x3, %r8, %q;\nadd.u64 %x2, %x2, 2;\nadd.u64 %x3, %x3, 2;"
        )
        .expect("a text");
    }
    body += "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];\nmultiplied:\n\
             mbarrier.try_wait.parity.shared::cta.b64 %q, [done], 0;\n@!%q bra multiplied;\n\
             tcgen05.fence::after_thread_sync;\nand.b32 %r9, %r0, 0x60;\nshl.b32 %r9, %r9, 16;\nadd.u32 %r9, %r9, %r7;\n";
    writeln!(body, "tcgen05.ld.sync.aligned.32x32b.x64.b32 {{{}}}, [%r9];", list(64, "%f")).expect("a text");
    body += "tcgen05.wait::ld.sync.aligned;\n";
    body += "bar.sync 0;\nsetp.lt.u32 %q, %r0, 32;\n@%q tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 64;\n";
    body += &stores(64, "%f");
    let text = kernel(128, "sm_100a", MAPS, &body);
    let found = words(&text, &launch(128, 1, vec![map(1, 128), map(2, 64)]), &[&bytes(&a), &bytes(&b)]);
    let expected = product(&a, &b, [128, 64, 64]);
    for (index, word) in found[..128 * 64].iter().enumerate() {
        assert_eq!(f32::from_bits(*word), expected[index], "row {}, column {}", index / 64, index % 64);
    }
    let maps = [map(1, 128), map(2, 64)];
    let without = text.replace("@%q tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 64;", "");
    assert_eq!(super::verdict(&findings(&without, &maps)), "leaks");
    let without = text.replace("mbarrier.try_wait.parity.shared::cta.b64 %q, [done], 0;\n@!%q bra multiplied;", "");
    assert_eq!(super::verdict(&findings(&without, &maps)), "race");
}

#[test]
fn a_pair_of_ctas_multiplies_together() {
    // Each CTA has half of the rows of A and of B. The copies of both CTAs complete at the mbarrier of the first CTA.
    let (a, b) = (matrix(256, 64, 7), matrix(64, 64, 8));
    let mut body = String::from(
        "\
.shared .align 1024 .b8 a_tile[16384];
.shared .align 1024 .b8 b_tile[4096];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 4 .b32 columns;
.reg .b16 %h<2>;
mov.u32 %r0, %tid.x;
mov.u32 %r20, %cluster_ctarank;
setp.eq.u32 %p, %r0, 0;
mov.b32 %r1, a_tile;
mov.b32 %r2, b_tile;
mov.b32 %r3, full;
and.b32 %r3, %r3, 0xFEFFFFFF;
mov.b64 %x0, a;
mov.b64 %x1, b;
shl.b32 %r21, %r20, 7;
shl.b32 %r22, %r20, 5;
@%p mbarrier.init.shared::cta.b64 [full], 1;
@%p mbarrier.init.shared::cta.b64 [done], 1;
@%p fence.mbarrier_init.release.cluster;
setp.lt.u32 %q, %r0, 32;
mov.b32 %r6, columns;
@%q tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r6], 64;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
ld.shared.b32 %r7, [columns];
setp.eq.u32 %q, %r20, 0;
and.pred %q, %q, %p;
@%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 40960;
@%p cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%x0, {0, %r21}], [%r3];
@%p cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%x1, {0, %r22}], [%r3];
@!%q bra multiplied;
again:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0;
@!%q bra again;
shr.u32 %r4, %r1, 4;
cvt.u64.u32 %x2, %r4;
or.b64 %x2, %x2, 0x4000404000010000;
shr.u32 %r5, %r2, 4;
cvt.u64.u32 %x3, %r5;
or.b64 %x3, %x3, 0x4000404000010000;
mov.b32 %r8, 0x10100010;
",
    );
    for step in 0..4 {
        writeln!(
            body,
            "setp.ne.u32 %q, {step}, 0;\ntcgen05.mma.cta_group::2.kind::f16 [%r7], %x2, %x3, %r8, %q;\nadd.u64 %x2, %x2, 2;\nadd.u64 %x3, %x3, 2;"
        )
        .expect("a text");
    }
    body += "mov.b16 %h0, 3;\nmov.b32 %r10, done;\n\
             tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r10], %h0;\n\
             multiplied:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [done], 0;\n@!%q bra multiplied;\n\
             tcgen05.fence::after_thread_sync;\nand.b32 %r9, %r0, 0x60;\nshl.b32 %r9, %r9, 16;\nadd.u32 %r9, %r9, %r7;\n";
    writeln!(body, "tcgen05.ld.sync.aligned.32x32b.x64.b32 {{{}}}, [%r9];", list(64, "%f")).expect("a text");
    body += "tcgen05.wait::ld.sync.aligned;\nbarrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n\
             setp.lt.u32 %q, %r0, 32;\n@%q tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r7, 64;\n\
             add.u32 %r0, %r0, %r21;\n";
    body += &stores(64, "%f");
    let text = kernel(128, "sm_100a", MAPS, &body);
    let mut maps = vec![map(1, 128), map(2, 32)];
    for (map, rows) in maps.iter_mut().zip([256, 64]) {
        if let Argument::TensorMap(map, _) = map {
            map.sizes[1] = rows;
        }
    }
    let found = words(&text, &launch(128, 2, maps.clone()), &[&bytes(&a), &bytes(&b)]);
    let expected = product(&a, &b, [256, 64, 64]);
    for (index, word) in found[..256 * 64].iter().enumerate() {
        assert_eq!(f32::from_bits(*word), expected[index], "row {}, column {}", index / 64, index % 64);
    }
    // The CTAs of the pair allocate together, so a CTA that has seen its own allocation has seen both.
    let allocate = "@%q tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r6], 64;\n";
    let (load, lead) = ("ld.shared.b32 %r7, [columns];\n", "setp.eq.u32 %q, %r20, 0;\nand.pred %q, %q, %p;\n");
    let after = format!("setp.lt.u32 %q, %r0, 32;\n{allocate}bar.sync 0;\n{load}{lead}@!%q bra multiplied;\n");
    let late = text.replace(allocate, "").replace(load, "").replacen("@!%q bra multiplied;\n", &after, 1);
    let verdicts = |text: &str| -> BTreeSet<&str> {
        let of = |seed| {
            let options = RunOptions::default().of_seed(seed);
            super::verdict(&outcome(text, &launch(128, 2, maps.clone()), &[&bytes(&a), &bytes(&b)], options).1)
        };
        (0..6).map(of).collect()
    };
    assert_eq!(verdicts(&late), ["redundant"].into());
    let apart = late.replace("alloc.cta_group::2", "alloc.cta_group::1");
    assert!(verdicts(&apart).contains("race"), "each CTA allocates for itself");
}

#[test]
fn copies_by_threads_feed_mma() {
    let (a, b) = (matrix(16, 16, 5), matrix(8, 16, 6));
    let body = format!(
        ".shared .align 16 .b8 tile[768];\nmov.u32 %r0, %tid.x;\nld.param.u64 %x0, [from];\nmov.b32 %r1, tile;\n\
         mul.wide.u32 %x1, %r0, 16;\nadd.u64 %x0, %x0, %x1;\nshl.b32 %r2, %r0, 4;\nadd.u32 %r2, %r1, %r2;\n\
         cp.async.cg.shared.global [%r2], [%x0], 16;\nsetp.lt.u32 %p, %r0, 16;\n\
         @%p cp.async.cg.shared.global [%r2+512], [%x0+512], 16;\n\
         cp.async.commit_group;\ncp.async.wait_group 0;\nbar.warp.sync -1;\n\
         and.b32 %r3, %r0, 15;\nshl.b32 %r3, %r3, 5;\nshr.u32 %r4, %r0, 4;\nshl.b32 %r4, %r4, 4;\n\
         add.u32 %r3, %r3, %r4;\nadd.u32 %r3, %r3, %r1;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r3];\n\
         and.b32 %r3, %r0, 7;\nshl.b32 %r3, %r3, 5;\nshr.u32 %r4, %r0, 3;\nand.b32 %r4, %r4, 1;\nshl.b32 %r4, %r4, 4;\n\
         add.u32 %r3, %r3, %r4;\nadd.u32 %r3, %r3, %r1;\n\
         ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r14, %r15}}, [%r3+512];\nmov.f32 %f9, 0f00000000;\n\
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f0, %f1, %f2, %f3}}, {{%r10, %r11, %r12, %r13}}, \
         {{%r14, %r15}}, {{%f9, %f9, %f9, %f9}};\n{}",
        stores(4, "%f")
    );
    let text = kernel(32, "sm_90a", ", .param .u64 from", &body);
    let input = [bytes(&a), bytes(&b)].concat();
    let found = words(&text, &launch(32, 1, vec![Argument::Bytes(vec![1])]), &[&input]);
    let expected = product(&a, &b, [16, 8, 16]);
    for (index, word) in found[..128].iter().enumerate() {
        let (lane, i) = (index / 4, index % 4);
        let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
        assert_eq!(f32::from_bits(*word), expected[row * 8 + column], "row {row}, column {column}");
    }
}

#[test]
fn a_copy_is_cast_to_a_cluster() {
    let body = "\
.shared .align 16 .b8 tile[256];
.shared .align 8 .b64 full;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %cluster_ctarank;
setp.eq.u32 %p, %r0, 0;
@%p mbarrier.init.shared::cta.b64 [full], 1;
@%p fence.mbarrier_init.release.cluster;
@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
ld.param.u64 %x0, [from];
mov.b32 %r2, tile;
mov.b32 %r3, full;
mov.b16 %h0, 3;
setp.eq.u32 %q, %r1, 0;
and.pred %q, %q, %p;
@%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%x0], 256, [%r3], %h0;
again:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0;
@!%q bra again;
shl.b32 %r4, %r0, 2;
add.u32 %r5, %r2, %r4;
ld.shared.b32 %r6, [%r5];
ld.param.u64 %x1, [out];
mad.lo.u32 %r7, %r1, 256, %r4;
cvt.u64.u32 %x2, %r7;
add.u64 %x1, %x1, %x2;
st.global.b32 [%x1], %r6;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;";
    let text = kernel(64, "sm_90a", ", .param .u64 from", &format!(".reg .b16 %h<2>;\n{body}"));
    let input: Vec<u8> = (0..64u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    let found = words(&text, &launch(64, 2, vec![Argument::Bytes(vec![1])]), &[&input]);
    let expected: Vec<u32> = (0..128).map(|i| (i % 64) * (i % 64)).collect();
    assert_eq!(found[..128], expected);
    let wide = text.replace("multicast::cluster ", "multicast::cluster::32b ").replace("mov.b16 %h0", "mov.b32 %r9");
    let wide = wide.replace("%h0", "%r9").replace("sm_90a", "sm_107a");
    assert_eq!(words(&wide, &launch(64, 2, vec![Argument::Bytes(vec![1])]), &[&input])[..128], expected);
    let narrow = text.replace("try_wait.parity.acquire.cluster", "try_wait.parity.acquire.cta");
    let found = outcome(&narrow, &launch(64, 2, vec![Argument::Bytes(vec![1])]), &[&input], RunOptions::default()).1;
    assert_eq!(super::verdict(&found), "race", "the wait of the second CTA does not include the first");
}

#[test]
fn stores_and_reductions_reach_another_cta() {
    let body = "\
.shared .align 16 .b8 tile[256];
.shared .align 8 .b64 full;
.shared .align 8 .b64 told;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %cluster_ctarank;
setp.eq.u32 %p, %r0, 0;
@%p mbarrier.init.shared::cta.b64 [full], 1;
@%p mbarrier.init.shared::cta.b64 [told], 32;
shl.b32 %r4, %r0, 2;
mov.b32 %r2, tile;
add.u32 %r5, %r2, %r4;
st.shared.b32 [%r5+128], 1000;
@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
xor.b32 %r8, %r1, 1;
mapa.shared::cluster.u32 %r9, %r5, %r8;
mov.b32 %r3, full;
mapa.shared::cluster.u32 %r10, %r3, %r8;
mov.b32 %r11, told;
mapa.shared::cluster.u32 %r11, %r11, %r8;
mad.lo.u32 %r12, %r1, 100, %r0;
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r9], %r12, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r9+128], %r12, [%r10];
again:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0;
@!%q bra again;
ld.shared.b32 %r6, [%r5];
ld.shared.b32 %r7, [%r5+128];
add.u32 %r6, %r6, %r7;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];
wait:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [told], 0;
@!%q bra wait;
ld.param.u64 %x1, [out];
mad.lo.u32 %r7, %r1, 128, %r4;
cvt.u64.u32 %x2, %r7;
add.u64 %x1, %x1, %x2;
st.global.b32 [%x1], %r6;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;";
    let text = kernel(32, "sm_90a", "", body);
    let found = words(&text, &launch(32, 2, Vec::new()), &[]);
    let expected: Vec<u32> = (0..64).map(|i| 1000 + 2 * (if i < 32 { 100 } else { 0 } + i % 32)).collect();
    assert_eq!(found[..64], expected);
}

#[test]
fn reductions_in_bulk_add_up() {
    let body = "\
.shared .align 16 .b8 tile[128];
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
shl.b32 %r4, %r0, 2;
mov.b32 %r2, tile;
add.u32 %r5, %r2, %r4;
mad.lo.u32 %r6, %r1, 10, %r0;
st.shared.b32 [%r5], %r6;
fence.proxy.async.shared::cta;
bar.sync 0;
setp.eq.u32 %p, %r0, 0;
ld.param.u64 %x1, [out];
@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x1], [%r2], 128;
@%p cp.async.bulk.commit_group;
@%p cp.async.bulk.wait_group 0;";
    let text = kernel(32, "sm_90a", "", body);
    let mut launch = launch(32, 1, Vec::new());
    launch.size.grid = [4, 1, 1];
    let found = words(&text, &launch, &[]);
    let expected: Vec<u32> = (0..32).map(|i| 60 + 4 * i).collect();
    assert_eq!(found[..32], expected);
}
