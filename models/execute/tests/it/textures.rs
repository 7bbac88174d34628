//! Textures and surfaces. The expected values are the formulas of the CUDA C++ Programming Guide, "Texture Fetching".

use Addressing::{Border, Clamp, Mirror, Wrap};
use ptx_execute::{
    Addressing, Argument, Contents, Device, Fault, FaultKind, Image, Launch, RunOptions, Sampler, Texture,
};
use ptx_isa::{FullSize, Module, Type};

/// The sizes of the images.
const SIZES: [u32; 3] = [5, 4, 3];
/// The distance of rows. Rows have bytes after their last element.
const ROW: u64 = 96;

const POINT: Sampler = Sampler {
    addressing: [Clamp; 3],
    is_linear: false,
    is_normalized: false,
    gives_fractions: false,
    border: [9.0, 8.0, 7.0, 6.0],
};
const LINEAR: Sampler = Sampler { is_linear: true, ..POINT };
const NORMALIZED: Sampler = Sampler { is_normalized: true, ..POINT };

/// An image without an address.
fn image(channel: Type, channels: u32) -> Image {
    Image { address: 0, channel, channels, sizes: SIZES, has_layers: false, pitches: [ROW, ROW * 4] }
}

/// The bytes of an image: byte `i` is `i * 37 + 11`; an `f32` is the number of its word, and a quarter.
fn contents(channel: Type) -> Vec<u8> {
    let bytes = ROW * u64::from(SIZES[1] * SIZES[2]);
    match channel {
        Type::F32 => (0..bytes / 4).flat_map(|word| (word as f32 + 0.25).to_le_bytes()).collect(),
        _ => (0..bytes).map(|byte| (byte * 37 + 11) as u8).collect(),
    }
}

/// Runs a kernel in which each thread has the coordinates `%x0` to `%x3` as words, and the texture `%t`. It stores
/// `%d0` to `%d3`.
fn run(body: &str, texture: Texture, coordinates: &[[u32; 4]]) -> (Vec<[u32; 4]>, Vec<u8>, Vec<Fault>) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 t)\n\
         {{\n.reg .b32 %x<4>, %d<4>, %i;\n.reg .b16 %h<4>;\n.reg .b64 %p, %q, %t;\n.reg .pred %is;\n\
         ld.param.u64 %p, [p];\nld.param.u64 %q, [q];\nld.param.u64 %t, [t];\nmov.u32 %i, %tid.x;\n\
         mad.wide.u32 %p, %i, 16, %p;\nmad.wide.u32 %q, %i, 16, %q;\n\
         ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%q];\n{body}\n\
         st.global.v4.b32 [%p], {{%d0, %d1, %d2, %d3}};\nret;\n}}\n"
    );
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{text}{error}"));
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let words = |words: &[[u32; 4]]| words.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let results = device.allocate("p", Contents::Bytes(vec![0; coordinates.len() * 16]));
    let given = device.allocate("q", Contents::Bytes(words(coordinates)));
    let memory = device.allocate("image", Contents::Bytes(contents(texture.image.channel)));
    let image = Image { address: device.address(memory), ..texture.image };
    let handle = device.add_texture(Texture { image, ..texture });
    let arguments = vec![Argument::Buffer(results, 0), Argument::Buffer(given, 0), Argument::u64(handle)];
    let size = FullSize::from([coordinates.len() as u32, 1, 1]);
    let report = device.launch(&Launch::new("k", size, arguments)).expect("a launch");
    assert_eq!(report.notes, [], "{body}");
    let (words, _) = device.contents(results).as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (results, _) = words.as_chunks::<4>();
    (results.to_vec(), device.contents(memory).to_vec(), report.findings)
}

fn sampled(body: &str, image: Image, sampler: Sampler, coordinates: &[[u32; 4]]) -> Vec<[u32; 4]> {
    let (results, _, findings) = run(body, Texture { image, sampler: Some(sampler) }, coordinates);
    assert_eq!(findings, [], "{body}");
    results
}

/// The `f32` of an image at indices.
fn element(x: i64, y: i64, z: i64) -> f32 {
    ((z * 4 + y) * (ROW as i64 / 4) + x) as f32 + 0.25
}

/// The guide's coordinate of an axis in elements, from the coordinate in a read.
fn addressed(at: f32, size: u32, addressing: Addressing, is_normalized: bool) -> f64 {
    let at = f64::from(at);
    let scale = if is_normalized { f64::from(size) } else { 1.0 };
    let fraction = at - at.floor();
    scale
        * match addressing {
            Wrap if is_normalized => fraction,
            Mirror if is_normalized && at.floor() % 2.0 == 0.0 => fraction,
            Mirror if is_normalized => 1.0 - fraction,
            _ => at,
        }
}

/// `tex(x, y, z)` of the guide, for an image of one `f32`.
fn expected(sampler: &Sampler, at: &[f32]) -> f32 {
    // By axis, both elements with their weights.
    let axes = [0, 1, 2].map(|axis: usize| {
        let Some(given) = at.get(axis) else { return [(Some(0), 1.0), (Some(0), 0.0)] };
        let (size, addressing) = (SIZES[axis], sampler.addressing[axis]);
        let at = addressed(*given, size, addressing, sampler.is_normalized);
        let last = i64::from(size) - 1;
        let inside = |index: f64| match (addressing, index as i64) {
            (Border, index) => Some(index).filter(|index| (0..=last).contains(index)),
            (Wrap, -1) if sampler.is_normalized => Some(last),
            (Wrap, index) if sampler.is_normalized && index > last => Some(0),
            (_, index) => Some(index.clamp(0, last)),
        };
        if !sampler.is_linear {
            return [(inside(at.floor()), 1.0), (Some(0), 0.0)];
        }
        let base = at - 0.5;
        let weight = ((base - base.floor()) * 256.0).round() / 256.0;
        [(inside(base.floor()), 1.0 - weight), (inside(base.floor() + 1.0), weight)]
    });
    let mut sum = 0.0;
    for (x, first) in axes[0] {
        for (y, second) in axes[1] {
            for (z, third) in axes[2] {
                let value = match (x, y, z) {
                    (Some(x), Some(y), Some(z)) => element(x, y, z),
                    _ => sampler.border[0],
                };
                sum += first * second * third * f64::from(value);
            }
        }
    }
    sum as f32
}

/// Coordinates inside and outside of all images.
fn coordinates() -> Vec<[f32; 3]> {
    let near = [-3.3f32, -0.6, -0.2, 0.1, 0.37, 0.7, 0.93, 1.6, 2.71, 4.9, 5.2, 11.4];
    (0..32).map(|index| [near[index % 12], near[(index * 5 + 1) % 12], near[(index * 7 + 3) % 12]]).collect()
}

#[test]
fn filters_and_addressing() {
    let check = |geometry: &str, place: &str, axes: usize, sampler: Sampler| {
        let body = format!("tex.{geometry}.v4.f32.f32 {{%d0, %d1, %d2, %d3}}, [%t, {place}];");
        let all = coordinates();
        let words: Vec<_> = all.iter().map(|at| [at[0], at[1], at[2], 0.0].map(f32::to_bits)).collect();
        let found = sampled(&body, image(Type::F32, 1), sampler, &words);
        for (at, found) in all.iter().zip(found) {
            let value = expected(&sampler, &at[..axes]);
            assert!(
                (f32::from_bits(found[0]) - value).abs() <= value.abs() * 1e-6,
                "{body} {sampler:?} {at:?} {value}"
            );
        }
    };
    for addressing in [Wrap, Clamp, Mirror, Border] {
        for base in [POINT, LINEAR, NORMALIZED, Sampler { is_normalized: true, ..LINEAR }] {
            let sampler = Sampler { addressing: [addressing; 3], ..base };
            check("1d", "{%x0}", 1, sampler);
            check("2d", "{%x0, %x1}", 2, sampler);
            check("3d", "{%x0, %x1, %x2, %x2}", 3, sampler);
        }
    }
    let mixed = Sampler { addressing: [Wrap, Border, Mirror], is_normalized: true, ..LINEAR };
    check("3d", "{%x0, %x1, %x2, %x2}", 3, mixed);
    check("level.2d", "{%x0, %x1}], 0f00000000; // [", 2, mixed);
    check("grad.2d", "{%x0, %x1}], {%x0, %x1}, {%x0, %x1}; // [", 2, mixed);
}

#[test]
fn formats_and_reads_as_fractions() {
    let bytes = contents(Type::U8);
    let check = |channel: Type, channels: u32, gives_fractions: bool| {
        let sampler = Sampler { gives_fractions, ..POINT };
        let found = sampled(
            "tex.1d.v4.u32.s32 {%d0, %d1, %d2, %d3}, [%t, {%x0}];",
            image(channel, channels),
            sampler,
            &[[3, 0, 0, 0]],
        );
        let size = (channel.bits() / 8) as usize;
        let gives_floats = gives_fractions || channel.is_float();
        let mut expected = [0, 0, 0, if gives_floats { 1f32.to_bits() } else { 1 }];
        for (index, expected) in expected.iter_mut().enumerate().take(channels as usize) {
            let at = (3 * channels as usize + index) * size;
            let own = &bytes[at..at + size];
            let (low, half) = (u32::from(own[0]), u16::from_le_bytes([own[0], own[size - 1]]));
            let word = u32::from_le_bytes([own[0], own[1 % size], own[2 % size], own[3 % size]]);
            *expected = match (channel, gives_fractions) {
                (Type::U8, false) => low,
                (Type::U8, true) => (low as f32 / 255.0).to_bits(),
                (Type::S8, false) => own[0] as i8 as u32,
                (Type::S8, true) => (f32::from(own[0] as i8) / 127.0).max(-1.0).to_bits(),
                (Type::U16, false) => half.into(),
                (Type::U16, true) => (f32::from(half) / 65535.0).to_bits(),
                (Type::S16, false) => half as i16 as u32,
                (Type::S16, true) => (f32::from(half as i16) / 32767.0).max(-1.0).to_bits(),
                (Type::F16, _) => {
                    let (exponent, digits) = (i32::from(half >> 10 & 31), f32::from(half & 1023));
                    let size = (1.0 + digits / 1024.0) * 2f32.powi(exponent - 15);
                    (if half >> 15 == 1 { -size } else { size }).to_bits()
                }
                _ => word,
            };
        }
        assert_eq!(found, [expected], "{channel} {channels} {gives_fractions}");
    };
    for channels in [1, 2, 4] {
        for channel in [Type::U8, Type::S8, Type::U16, Type::S16] {
            check(channel, channels, false);
            check(channel, channels, true);
        }
        [Type::F16, Type::U32, Type::S32].into_iter().for_each(|channel| check(channel, channels, false));
    }
}

#[test]
fn layers_cubes_and_gathers() {
    let check = |body: &str, sampler: Sampler, layers: Option<u32>, words: [u32; 4], expected: [f32; 4]| {
        let mut image = image(Type::F32, 1);
        if let Some(layers) = layers {
            image.sizes = [4, 4, layers];
            image.has_layers = true;
            image.pitches = [ROW / 2, ROW];
        }
        let found = sampled(body, image, sampler, &[words])[0].map(f32::from_bits);
        assert_eq!(found, expected, "{body} {words:x?}");
    };
    let x = |at: f32| at.to_bits();
    let only = |value: f32| [value, 0.0, 0.0, 1.0];
    let lines = "tex.a1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%x0, %x1}];";
    let planes = "tex.a2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%x0, %x1, %x2, %x2}];";
    // Rows of 12 words, and layers of 24 words.
    check(lines, POINT, Some(5), [2, x(3.5), 0, 0], only(51.25));
    check(planes, POINT, Some(5), [2, x(3.5), x(1.5), 0], only(63.25));
    // The index of a layer is clamped.
    check(planes, LINEAR, Some(5), [7, x(2.0), x(1.0), 0], only(96.0 + 1.5 + 6.25));
    let gather = |channel| format!("tld4.{channel}.2d.v4.f32.f32 {{%d0, %d1, %d2, %d3}}, [%t, {{%x0, %x1}}];");
    check(&gather("r"), POINT, None, [x(2.0), x(2.0), 0, 0], [49.25, 50.25, 26.25, 25.25]);
    check(&gather("a"), POINT, None, [x(2.0), x(2.0), 0, 0], [1.0; 4]);
    // Each face has 4 elements on each side. A direction through the middle of an element of each face.
    let cube = "tex.cube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%x0, %x1, %x2, %x2}];";
    for (face, direction) in [
        [2.0, -0.5, 0.5],
        [-2.0, -0.5, -0.5],
        [-0.5, 2.0, 0.5],
        [-0.5, -2.0, -0.5],
        [-0.5, -0.5, 2.0],
        [0.5, -0.5, -2.0],
    ]
    .iter()
    .enumerate()
    {
        let [a, b, c] = direction.map(f32::to_bits);
        // In each face, s = -0.25 and t = 0.25: column 1, row 2.
        check(cube, NORMALIZED, Some(6), [a, b, c, 0], only(face as f32 * 24.0 + 2.0 * 12.0 + 1.25));
    }
}

#[test]
fn queries() {
    let check = |query: &str, has_layers: bool, expected: u32| {
        let image = Image { has_layers, ..image(Type::F32, 1) };
        let found = sampled(&format!("{query} %d0, [%t];"), image, NORMALIZED, &[[0; 4]]);
        assert_eq!(found[0][0], expected, "{query}");
    };
    check("txq.width.b32", false, 5);
    check("suq.height.b32", false, 4);
    check("txq.depth.b32", false, 3);
    check("txq.array_size.b32", true, 3);
    check("txq.normalized_coords.b32", false, 1);
    check("txq.num_mipmap_levels.b32", false, 1);
}

#[test]
fn surfaces() {
    let check = |body: &str, words: [u32; 4], results: [u32; 4], changed: &[(usize, u8)], kind: Option<FaultKind>| {
        let mut memory = contents(Type::U8);
        let (found, written, findings) = run(body, Texture { image: image(Type::U8, 4), sampler: None }, &[words]);
        let kinds: Vec<FaultKind> = findings.iter().map(|finding| finding.kind).collect();
        changed.iter().for_each(|(at, byte)| memory[*at] = *byte);
        assert_eq!((found[0], kinds), (results, kind.into_iter().collect()), "{body} {words:?} {findings:?}");
        assert!(written == memory, "{body} {words:?}");
    };
    let byte = |at: usize| (at * 37 + 11) as u8;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|index| byte(at + index)));
    let (row, plane) = (ROW as usize, ROW as usize * 4);
    let load = |form: &str, place: &str| format!("suld.b.{form} {{%d0}}, [%t, {place}];").replace("{%d0}", "%d0");
    check(&load("1d.b32.trap", "{%x0}"), [8, 0, 0, 0], [word(8), 0, 0, 0], &[], None);
    check(&load("2d.b32.trap", "{%x0, %x1}"), [8, 2, 0, 0], [word(8 + 2 * row), 0, 0, 0], &[], None);
    check(&load("3d.b32.trap", "{%x0, %x1, %x2, %x2}"), [8, 2, 1, 0], [word(8 + 2 * row + plane), 0, 0, 0], &[], None);
    check(&load("a1d.b32.trap", "{%x0, %x1}"), [2, 8, 0, 0], [word(8 + 2 * plane), 0, 0, 0], &[], None);
    check(&load("a2d.b32.trap", "{%x0, %x1, %x2, %x2}"), [2, 8, 1, 0], [word(8 + 2 * plane + row), 0, 0, 0], &[], None);
    let two = "suld.b.2d.v2.b16.clamp {%h0, %h1}, [%t, {%x0, %x1}];\ncvt.u32.u16 %d0, %h0;\ncvt.u32.u16 %d1, %h1;";
    let half = |at: usize| u32::from(u16::from_le_bytes([byte(at), byte(at + 1)]));
    check(two, [4, 1, 0, 0], [half(4 + row), half(6 + row), 0, 0], &[], None);
    // Coordinates outside: the last four bytes of the last row, zeros, an error.
    check(two, [400, 9, 0, 0], [half(16 + 3 * row), half(18 + 3 * row), 0, 0], &[], None);
    check(two, [-4i32 as u32, -1i32 as u32, 0, 0], [half(0), half(2), 0, 0], &[], None);
    check(&load("2d.b32.zero", "{%x0, %x1}"), [20, 0, 0, 0], [0; 4], &[], None);
    check(&load("2d.b32.trap", "{%x0, %x1}"), [0, 4, 0, 0], [0; 4], &[], Some(FaultKind::OutOfBounds));
    check(&load("2d.b32.trap", "{%x0, %x1}"), [2, 0, 0, 0], [word(2), 0, 0, 0], &[], Some(FaultKind::Misaligned));
    check("sust.b.2d.b8.trap [%t, {%x0, %x1}], %x2;", [3, 1, 0x1ff, 0], [0; 4], &[(3 + row, 0xff)], None);
    check("sust.b.2d.b32.zero [%t, {%x0, %x1}], %x2;", [20, 1, 5, 0], [0; 4], &[], None);
    check("sust.b.2d.b8.clamp [%t, {%x0, %x1}], %x2;", [99, 9, 5, 0], [0; 4], &[(19 + 3 * row, 5)], None);
    let four = "sust.b.3d.v4.b8.trap [%t, {%x0, 0, 1, 0}], {%x0, %x1, %x2, %x3};";
    check(four, [4, 1, 2, 3], [0; 4], &[(4 + plane, 4), (5 + plane, 1), (6 + plane, 2), (7 + plane, 3)], None);
    // A surface is not a texture.
    check("tex.1d.v4.u32.s32 {%d0, %d1, %d2, %d3}, [%t, {%x0}];", [0; 4], [0; 4], &[], Some(FaultKind::Misuse));
    check(
        "add.u64 %t, %t, 1;\nsuld.b.1d.b32.trap %d0, [%t, {%x0}];",
        [0; 4],
        [0; 4],
        &[],
        Some(FaultKind::OutOfBounds),
    );
    check("sured.b.add.1d.u32.trap [%t, {%x0}], 1;", [0; 4], [0; 4], &[], Some(FaultKind::Unsupported));
}

/// Reads and writes of textures and surfaces race as other accesses do.
#[test]
fn races() {
    let check = |body: &str, expected: &[FaultKind]| {
        let texture = Texture { image: image(Type::U32, 1), sampler: Some(POINT) };
        let (.., findings) = run(body, texture, &[[0; 4], [4, 0, 0, 0]]);
        let kinds: Vec<FaultKind> = findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, expected, "{body} {findings:?}");
    };
    let (read, write) = ("tex.1d.v4.u32.s32 {%d0, %d1, %d2, %d3}, [%t, {0}];", "sust.b.1d.b32.trap [%t, {%x0}], %i;");
    check(read, &[]);
    check(write, &[]);
    check(&format!("{write}\nbar.sync 0;\n{read}"), &[]);
    check(&format!("{read}\n{write}"), &[FaultKind::Race]);
    check("sust.b.1d.b32.trap [%t, {0}], %i;", &[FaultKind::Race]);
}
