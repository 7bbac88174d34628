//! Sizes of launches, how they are written, and what a GPU admits of them ('CUDA C++ Programming Guide', compute capabilities).

use ptx_execute::Dim3;
use ptx_isa::Head;

/// The sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub grid: Dim3,
    pub block: Dim3,
    pub cluster: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// Those that are said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub grid: Option<Dim3>,
    pub block: Option<Dim3>,
    pub cluster: Option<Dim3>,
    pub shared: Option<u32>,
}

/// Threads of a CTA where nothing says how many.
const THREADS: u32 = 128;
/// CTAs of a grid, or clusters, where nothing says how many.
const CTAS: u32 = 2;

/// The most threads of a CTA, and the most in each direction.
const MOST_THREADS: u64 = 1024;
const MOST_BLOCK: Dim3 = [1024, 1024, 64];
/// The most CTAs of a grid in each direction.
const MOST_GRID: Dim3 = [i32::MAX as u32, 65535, 65535];
/// The most CTAs of a cluster: where a kernel asks for it, and on every GPU.
const MOST_CLUSTER: u64 = 16;
const PORTABLE_CLUSTER: u64 = 8;
/// The most bytes of shared memory of a CTA.
const MOST_SHARED: u64 = 227 << 10;

/// Reads `256` or `16,16,4`.
pub fn dim3(text: &str) -> Result<Dim3, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|size| size.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([x]) => Ok([*x, 1, 1]),
        Some([x, y]) => Ok([*x, *y, 1]),
        Some([x, y, z]) => Ok([*x, *y, *z]),
        _ => Err("expected one to three sizes, as 256 or 16,16,4".into()),
    }
}

/// The same, of which none is zero.
pub fn positive(text: &str) -> Result<Dim3, String> {
    let sizes = dim3(text)?;
    if sizes.contains(&0) { Err("expected one to three sizes above zero".into()) } else { Ok(sizes) }
}

/// The sizes of a CTA, which has 1024 threads at most, and 64 in the third direction.
pub fn block(text: &str) -> Result<Dim3, String> {
    let sizes = positive(text)?;
    let threads = sizes.iter().try_fold(1u32, |all, size| all.checked_mul(*size));
    match threads {
        Some(..=1024) if sizes[2] <= 64 => Ok(sizes),
        _ => Err("expected at most 1024 threads, and at most 64 in the third direction".into()),
    }
}

/// Reads a number of bytes: `1024`, `48K`, `2M`, `8G`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a number of bytes, as 1024, 48K, 2M or 8G".into())
}

/// The same, of shared memory.
pub fn shared(text: &str) -> Result<u32, String> {
    bytes(text).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// As few numbers as say it.
pub fn shown(size: Dim3) -> String {
    match size {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x},{y}"),
        [x, y, z] => format!("{x},{y},{z}"),
    }
}

fn product(size: Dim3) -> u64 {
    size.iter().fold(1, |all, one| all.saturating_mul((*one).into()))
}

impl Wanted {
    /// What is said here, or else there.
    pub fn or(self, other: Self) -> Self {
        Self {
            grid: self.grid.or(other.grid),
            block: self.block.or(other.block),
            cluster: self.cluster.or(other.cluster),
            shared: self.shared.or(other.shared),
        }
    }

    /// The same, with what the kernel asks for.
    pub fn of_kernel(self, head: &Head) -> Self {
        self.or(Self { block: head.required_threads, cluster: head.required_ctas, ..Self::default() })
    }

    /// The sizes of a launch.
    pub fn complete(self, head: &Head) -> Sizes {
        let cluster = self.cluster.unwrap_or([1; 3]);
        let block = self.block.unwrap_or([head.most_threads.unwrap_or(THREADS).clamp(1, THREADS), 1, 1]);
        let grid = self.grid.unwrap_or([cluster[0].saturating_mul(CTAS), cluster[1], cluster[2]]);
        Sizes { grid, block, cluster, shared: self.shared.unwrap_or(0) }
    }

    /// What nobody has said of the sizes of a launch.
    pub fn chosen(self, sizes: &Sizes) -> Vec<String> {
        let Sizes { grid, block, cluster, shared } = *sizes;
        let all = [
            ("--block", self.block.is_none(), shown(block)),
            ("--grid", self.grid.is_none(), shown(grid)),
            ("--cluster", self.cluster.is_none() && cluster != [1; 3], shown(cluster)),
            ("--shared", self.shared.is_none() && shared > 0, shared.to_string()),
        ];
        let chosen = all.into_iter().filter(|(_, is_chosen, _)| *is_chosen);
        chosen.map(|(option, _, value)| format!("{option} {value}")).collect()
    }
}

impl Sizes {
    /// What no GPU admits, and what the kernel does not. `fixed` is the shared memory that the kernel declares.
    pub fn wrong(&self, head: &Head, fixed: u64) -> Vec<String> {
        let Self { grid, block, cluster, shared } = *self;
        let mut wrong = Vec::new();
        let each = [("grid", grid, MOST_GRID), ("block", block, MOST_BLOCK), ("cluster", cluster, [u32::MAX; 3])];
        for (what, sizes, most) in each {
            for ((size, most), direction) in sizes.into_iter().zip(most).zip(["x", "y", "z"]) {
                if size == 0 {
                    wrong.push(format!("the {what} has no {direction}: each size is at least 1"));
                } else if size > most {
                    wrong.push(format!("the {what} is {size} in {direction}, and a GPU has at most {most}"));
                }
            }
        }
        let threads = product(block);
        if threads > MOST_THREADS {
            wrong.push(format!("the block has {threads} threads, and a GPU has at most {MOST_THREADS}"));
        }
        match head.required_threads {
            Some(required) if required != block => {
                wrong.push(format!("the block is {}, and .reqntid says {}", shown(block), shown(required)));
            }
            _ if head.most_threads.is_some_and(|most| threads > most.into()) => {
                let most = head.most_threads.unwrap_or_default();
                wrong.push(format!("the block has {threads} threads, and .maxntid admits {most}"));
            }
            _ => {}
        }
        let ctas = product(cluster);
        if ctas > MOST_CLUSTER {
            wrong.push(format!(
                "the cluster has {ctas} CTAs, and a GPU has at most {MOST_CLUSTER}, {PORTABLE_CLUSTER} unless the kernel asks for more"
            ));
        }
        if let Some(required) = head.required_ctas.filter(|required| *required != cluster) {
            wrong.push(format!("the cluster is {}, and .reqnctapercluster says {}", shown(cluster), shown(required)));
        }
        if cluster.iter().zip(grid).any(|(cluster, grid)| *cluster > 0 && grid % cluster > 0) {
            wrong.push(format!("the grid of {} is no multiple of the cluster of {}", shown(grid), shown(cluster)));
        }
        let all = fixed + u64::from(shared);
        if all > MOST_SHARED {
            wrong.push(format!("a CTA has {all} bytes of shared memory, and a GPU has at most {MOST_SHARED}"));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(grid: &str, block: &str, cluster: &str, shared: u32, head: &str, expected: &[&str]) {
        let size = |text| dim3(text).expect("sizes");
        let sizes = Sizes { grid: size(grid), block: size(block), cluster: size(cluster), shared };
        assert_eq!(sizes.wrong(&Head::read(head), 1024), expected, "{grid} {block} {cluster}");
    }

    #[test]
    fn launches() {
        check("4", "256", "1", 226 << 10, ".entry k", &[]);
        check("4", "32,2,2", "2", 0, ".entry k() .reqntid 32, 2, 2 .reqnctapercluster 2", &[]);
        check("1,65536", "1", "1", 0, "", &["the grid is 65536 in y, and a GPU has at most 65535"]);
        check("0", "1", "1", 0, "", &["the grid has no x: each size is at least 1"]);
        check(
            "1",
            "2048",
            "1",
            0,
            "",
            &[
                "the block is 2048 in x, and a GPU has at most 1024",
                "the block has 2048 threads, and a GPU has at most 1024",
            ],
        );
        check("1", "1,1,65", "1", 0, "", &["the block is 65 in z, and a GPU has at most 64"]);
        check("1", "32", "1", 0, ".entry k() .reqntid 64", &["the block is 32, and .reqntid says 64"]);
        check("1", "64", "1", 0, ".entry k() .maxntid 32", &["the block has 64 threads, and .maxntid admits 32"]);
        check("3", "1", "2", 0, "", &["the grid of 3 is no multiple of the cluster of 2"]);
        check(
            "32",
            "1",
            "32",
            0,
            "",
            &["the cluster has 32 CTAs, and a GPU has at most 16, 8 unless the kernel asks for more"],
        );
        check(
            "4",
            "1",
            "1",
            0,
            ".entry k() .reqnctapercluster 2",
            &["the cluster is 1, and .reqnctapercluster says 2"],
        );
        check("1", "1", "1", 227 << 10, "", &["a CTA has 233472 bytes of shared memory, and a GPU has at most 232448"]);
    }

    #[test]
    fn what_nobody_says() {
        let check = |wanted: Wanted, head: &str, expected: &str| {
            let said = wanted.of_kernel(&Head::read(head));
            let sizes = said.complete(&Head::read(head));
            let Sizes { grid, block, .. } = sizes;
            assert_eq!(format!("{} {} {}", shown(grid), shown(block), said.chosen(&sizes).join(" ")), expected);
        };
        check(Wanted::default(), ".entry k", "2 128 --block 128 --grid 2");
        check(Wanted::default(), ".entry k() .maxntid 64", "2 64 --block 64 --grid 2");
        check(Wanted::default(), ".entry k() .reqntid 8, 4 .reqnctapercluster 2, 2", "4,2 8,4 --grid 4,2");
        check(Wanted { grid: Some([1; 3]), block: Some([9, 1, 1]), ..Wanted::default() }, "", "1 9 ");
    }

    #[test]
    fn words() {
        assert_eq!((dim3("2"), dim3("2, 3"), dim3("2,3,4")), (Ok([2, 1, 1]), Ok([2, 3, 1]), Ok([2, 3, 4])));
        assert!(["", "x", "1,2,3,4", "-1", "1,"].iter().all(|text| dim3(text).is_err()));
        assert_eq!((bytes("7"), bytes("48K"), bytes("8G")), (Ok(7), Ok(49152), Ok(8 << 30)));
        assert!(["", "K", "1T", "-1", "99999999999999G"].iter().all(|text| bytes(text).is_err()));
    }
}
