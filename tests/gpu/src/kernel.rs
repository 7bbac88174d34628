//! The kernels: the launch of each, and the expected memory after it.

/// A kernel, and its size on a GPU.
pub struct Kernel {
    pub name: &'static str,
    /// The folder of its C source, from the root of the repository.
    pub source: &'static str,
    /// The unit of the throughput.
    pub unit: &'static str,
    pub blocks_per_multiprocessor: u32,
    pub threads: u32,
    pub rounds: u32,
    launch: fn(Size) -> Launch,
}

/// The size of a launch: a grid, and the work of each block.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// An even number, because some kernels pair blocks.
    pub blocks: u32,
    pub threads: u32,
    pub rounds: u32,
}

const EXAMPLES: &str = "examples/freestanding-c";
const WARP: &str = "tests/gpu/warp";

#[rustfmt::skip]
pub const KERNELS: [Kernel; 7] = [
    Kernel { name: "histogram",   source: EXAMPLES, unit: "bytes",      blocks_per_multiprocessor:  8, threads: 256, rounds: 256, launch: histogram },
    Kernel { name: "ticket_lock", source: EXAMPLES, unit: "increments", blocks_per_multiprocessor:  2, threads:  32, rounds:  32, launch: ticket_lock },
    Kernel { name: "ring",        source: EXAMPLES, unit: "items",      blocks_per_multiprocessor:  4, threads:  32, rounds: 256, launch: ring },
    Kernel { name: "scan",        source: EXAMPLES, unit: "words",      blocks_per_multiprocessor: 64, threads: 256, rounds:   1, launch: scan },
    Kernel { name: "message",     source: EXAMPLES, unit: "messages",   blocks_per_multiprocessor:  4, threads:  32, rounds: 512, launch: message },
    Kernel { name: "warp_release", source: WARP, unit: "rounds", blocks_per_multiprocessor: 32, threads: 32, rounds: 256, launch: warp_release },
    Kernel { name: "warp_acquire", source: WARP, unit: "rounds", blocks_per_multiprocessor: 32, threads: 32, rounds: 256, launch: warp_acquire },
];

impl Kernel {
    pub fn named(name: &str) -> Option<&'static Self> {
        KERNELS.iter().find(|kernel| kernel.name == name)
    }

    pub fn launch(&self, size: Size) -> Launch {
        (self.launch)(size)
    }

    /// The launch for measurements.
    pub fn on_gpu(&self, multiprocessors: u32) -> Launch {
        let blocks = (self.blocks_per_multiprocessor * multiprocessors).next_multiple_of(2);
        self.launch(Size { blocks, threads: self.threads, rounds: self.rounds })
    }
}

/// One launch.
pub struct Launch {
    pub blocks: u32,
    pub threads: u32,
    pub arguments: Vec<Argument>,
    /// The amount of work in units.
    pub work: u64,
}

pub enum Argument {
    Word(u32),
    /// Zero words of global memory that kernels only read.
    Room(u32),
    /// Words of global memory.
    Memory {
        name: &'static str,
        before: Vec<u32>,
        after: After,
    },
}

/// The expected memory after a correct launch.
pub enum After {
    Any,
    Words(Vec<u32>),
    /// Each number below the length exactly once, in any order.
    EachOnce,
}

use After::{Any, EachOnce, Words};
use Argument::{Room, Word};

fn memory(name: &'static str, before: Vec<u32>, after: After) -> Argument {
    Argument::Memory { name, before, after }
}

fn zeros(length: u32) -> Vec<u32> {
    vec![0; length as usize]
}

/// Numbers without a pattern that are the same in every run.
fn numbers(length: u32) -> Vec<u32> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(1), next).map(|state: u32| state ^ state >> 16).take(length as usize).collect()
}

fn histogram(Size { blocks, threads, rounds }: Size) -> Launch {
    let words = numbers(blocks * threads * rounds / 4);
    let mut bins = zeros(256);
    words.iter().flat_map(|word| word.to_le_bytes()).for_each(|byte| bins[byte as usize] += 1);
    let count = 4 * words.len() as u32;
    let arguments = vec![memory("bytes", words, Any), Word(count), memory("bins", zeros(256), Words(bins))];
    Launch { blocks, threads, arguments, work: count.into() }
}

fn ticket_lock(Size { blocks, threads, rounds }: Size) -> Launch {
    let total = blocks * rounds;
    let lock = memory("lock", zeros(2), Words(vec![total; 2]));
    let arguments = vec![lock, Word(rounds), memory("counter", zeros(1), Words(vec![total]))];
    Launch { blocks, threads, arguments, work: total.into() }
}

fn ring(Size { blocks, threads, rounds }: Size) -> Launch {
    let items = blocks / 2 * rounds;
    let capacity = rounds.next_power_of_two();
    let arguments = vec![
        memory("ring", zeros(3), Words(vec![blocks, items, items])),
        memory("slots", (0..capacity).flat_map(|slot| [slot, 0]).collect(), Any),
        Word(capacity),
        Word(rounds),
        memory("taken", vec![u32::MAX; items as usize], EachOnce),
    ];
    Launch { blocks, threads, arguments, work: items.into() }
}

fn scan(Size { blocks, threads, .. }: Size) -> Launch {
    // The last tile is partly empty.
    let input = numbers(blocks * threads - threads / 3);
    let sums = input.iter().scan(0u32, |sum, word| {
        *sum = sum.wrapping_add(*word);
        Some(*sum)
    });
    let count = input.len() as u32;
    let sums = Words(sums.collect());
    let arguments = vec![
        memory("input", input, Any),
        Word(count),
        memory("output", zeros(count), sums),
        memory("started", zeros(1), Words(vec![blocks])),
        memory("tiles", zeros(3 * blocks), Any),
    ];
    Launch { blocks, threads, arguments, work: count.into() }
}

fn message(Size { blocks, threads, rounds }: Size) -> Launch {
    // The kernel resets both events, and the words hold the last message.
    let channel = [0, 0].into_iter().chain([rounds; 8]).collect::<Vec<_>>();
    let arguments = vec![
        memory("channels", zeros(blocks / 2 * 10), Words(channel.repeat(blocks as usize / 2))),
        memory("started", zeros(1), Words(vec![blocks])),
        Word(rounds),
        memory("stale", zeros(1), Words(vec![0])),
    ];
    Launch { blocks, threads, arguments, work: u64::from(blocks / 2 * rounds) }
}

fn warp_release(size: Size) -> Launch {
    warp(size, size.rounds * size.threads)
}

fn warp_acquire(size: Size) -> Launch {
    warp(size, size.rounds)
}

/// Pairs of blocks as in `tests/gpu/warp/pair.h`. The words of neighbouring lanes are in one cache sector, in the next
/// sector, in the next line, or in a later line, and some lanes write nothing. All other blocks keep the memory busy.
fn warp(Size { blocks, threads, rounds }: Size, full: u32) -> Launch {
    const STRIDES: [u32; 4] = [1, 8, 32, 64];
    const MOST_WORDS: u32 = 32 * 64;
    /// Far more than the size of a cache.
    const MOST_ROOM: u32 = 1 << 26;
    let writers = [threads, threads - 1, threads / 2];
    let pairs = (blocks / 8).max(1);
    let words = |full, empty, written| {
        let pair = move |pair: u32| {
            let stride = STRIDES[pair as usize % STRIDES.len()];
            let writers = writers[pair as usize % writers.len()];
            let word = move |word| if word % stride == 0 && word / stride < writers { written } else { 0 };
            [full, empty, stride, writers, 0].into_iter().chain((0..MOST_WORDS).map(word))
        };
        (0..pairs).flat_map(pair).collect()
    };
    let room = (blocks * threads * 1024).next_power_of_two().min(MOST_ROOM);
    let arguments = vec![
        memory("pairs", words(0, 0, 0), Words(words(full, rounds, rounds))),
        memory("launch", vec![0, 0, pairs, rounds, room], Words(vec![blocks, pairs, pairs, rounds, room])),
        Room(room),
        memory("stale", zeros(1), Words(vec![0])),
    ];
    Launch { blocks, threads, arguments, work: u64::from(pairs * rounds) }
}

impl Launch {
    /// The difference between the memories after a launch, in the order of the arguments, and the expected memories.
    pub fn wrong(&self, after: &[Vec<u32>]) -> Option<String> {
        let memories = self.arguments.iter().filter_map(|argument| match argument {
            Word(_) | Room(_) => None,
            Argument::Memory { name, after, .. } => Some((name, after)),
        });
        let wrong = memories.zip(after).filter_map(|((name, expected), words)| match expected {
            Any => None,
            Words(expected) => differing(name, expected, words),
            EachOnce => not_each_once(name, words),
        });
        let wrong = wrong.collect::<Vec<_>>().join("; ");
        (!wrong.is_empty()).then_some(wrong)
    }
}

fn differing(name: &str, expected: &[u32], words: &[u32]) -> Option<String> {
    let mut different = expected.iter().zip(words).enumerate().filter(|(_, (expected, word))| expected != word);
    let (index, (expected, word)) = different.next()?;
    let more = different.count();
    Some(format!("{name}[{index}] is {word}, not {expected}, and {more} more words differ"))
}

fn not_each_once(name: &str, words: &[u32]) -> Option<String> {
    let mut times = vec![0u32; words.len()];
    let unknown = words.iter().filter(|word| times.get_mut(**word as usize).map(|times| *times += 1).is_none()).count();
    let lost = times.iter().filter(|times| **times == 0).count();
    let doubled = times.iter().filter(|times| **times > 1).count();
    (lost + doubled + unknown > 0).then(|| format!("{name}: {lost} lost, {doubled} doubled, {unknown} never put in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { blocks: 6, threads: 32, rounds: 5 };

    /// The memories after a correct launch.
    fn right(launch: &Launch) -> Vec<Vec<u32>> {
        let memory = |argument: &Argument| match argument {
            Word(_) | Room(_) => None,
            Argument::Memory { before, after: Any, .. } => Some(before.clone()),
            Argument::Memory { after: Words(words), .. } => Some(words.clone()),
            Argument::Memory { before, after: EachOnce, .. } => Some((0..before.len() as u32).rev().collect()),
        };
        launch.arguments.iter().filter_map(memory).collect()
    }

    #[test]
    fn right_words_pass_and_wrong_words_are_reported() {
        for kernel in &KERNELS {
            let launch = kernel.launch(SIZE);
            let memories = right(&launch);
            assert_eq!(launch.wrong(&memories), None, "{}", kernel.name);
            let checked = launch.arguments.iter().filter_map(|argument| match argument {
                Word(_) | Room(_) => None,
                Argument::Memory { after, .. } => Some(!matches!(after, Any)),
            });
            for (memory, checked) in checked.enumerate() {
                for index in 0..memories[memory].len() {
                    let mut broken = memories.clone();
                    broken[memory][index] ^= 1;
                    assert_eq!(launch.wrong(&broken).is_some(), checked, "{} {memory} {index}", kernel.name);
                }
            }
        }
    }

    #[test]
    fn before_a_launch_every_kernel_is_wrong() {
        for kernel in &KERNELS {
            let launch = kernel.launch(SIZE);
            let before = launch.arguments.iter().filter_map(|argument| match argument {
                Word(_) | Room(_) => None,
                Argument::Memory { before, .. } => Some(before.clone()),
            });
            assert!(launch.wrong(&before.collect::<Vec<_>>()).is_some(), "{}", kernel.name);
        }
    }

    #[test]
    fn references() {
        let words = |launch: &Launch, wanted: &str| -> Vec<u32> {
            let mut memories = launch.arguments.iter();
            let found = memories.find_map(|argument| match argument {
                Argument::Memory { name, after: Words(words), .. } if *name == wanted => Some(words.clone()),
                _ => None,
            });
            found.expect(wanted)
        };
        assert_eq!(words(&histogram(SIZE), "bins").iter().sum::<u32>(), 6 * 32 * 5);
        assert_eq!(words(&ticket_lock(SIZE), "counter"), [30]);
        let total = numbers(6 * 32 - 10).into_iter().fold(0, u32::wrapping_add);
        assert_eq!(words(&scan(SIZE), "output").last(), Some(&total));
        let said = "taken: 2 lost, 1 doubled, 1 never put in";
        assert_eq!(not_each_once("taken", &[0, 3, 3, 9, 2]).as_deref(), Some(said));
    }
}
