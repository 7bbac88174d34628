//! The size of a launch: its grid, CTAs and clusters, and the maximum sizes on a GPU ('CUDA C++ Programming Guide',
//! compute capabilities).

use crate::declaration::Head;

/// Three sizes or coordinates: x, y, z.
pub type Dim3 = [u32; 3];

/// The maximum number of threads of a CTA.
pub const MOST_THREADS: u32 = 1024;
/// The maximum number of threads of a CTA in each direction.
pub const MOST_BLOCK: Dim3 = [1024, 1024, 64];
/// The maximum number of CTAs of a grid in each direction.
pub const MOST_GRID: Dim3 = [i32::MAX as u32, 65_535, 65_535];
/// The maximum number of CTAs of a cluster, if the kernel opts in.
pub const MOST_CLUSTER: u32 = 16;
/// The maximum number of CTAs of a cluster on every GPU.
pub const PORTABLE_CLUSTER: u32 = 8;
/// The maximum number of bytes of shared memory of a CTA.
pub const MOST_SHARED: u32 = 227 << 10;

/// The sizes of a launch, each `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchSize {
    /// The number of CTAs of the grid in each direction.
    pub grid: Option<Dim3>,
    /// The number of threads of a CTA in each direction.
    pub block: Option<Dim3>,
    /// The number of CTAs of a cluster in each direction.
    pub cluster: Option<Dim3>,
    /// The bytes of dynamic shared memory of each CTA.
    pub shared: Option<u32>,
}

/// The sizes of a launch, all known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FullSize {
    /// The number of CTAs of the grid in each direction.
    pub grid: Dim3,
    /// The number of threads of a CTA in each direction.
    pub block: Dim3,
    /// The number of CTAs of a cluster in each direction.
    pub cluster: Dim3,
    /// The bytes of dynamic shared memory of each CTA.
    pub shared: u32,
}

/// The product of the sizes in all directions.
pub fn count(size: Dim3) -> u64 {
    size.iter().fold(1, |all, one| all.saturating_mul((*one).into()))
}

/// The shortest text of a size: `256`, `16,4`.
pub fn format_size(size: Dim3) -> String {
    match size {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x},{y}"),
        [x, y, z] => format!("{x},{y},{z}"),
    }
}

impl LaunchSize {
    /// The sizes that a kernel requires: `.reqntid`, `.reqnctapercluster`.
    pub fn from_head(head: &Head) -> Self {
        Self { block: head.required_threads, cluster: head.required_ctas, ..Self::default() }
    }

    /// The sizes of `self`, with unknown sizes taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            grid: self.grid.or(other.grid),
            block: self.block.or(other.block),
            cluster: self.cluster.or(other.cluster),
            shared: self.shared.or(other.shared),
        }
    }

    /// The number of threads of a CTA.
    pub fn threads(self) -> Option<u32> {
        u32::try_from(count(self.block?)).ok()
    }

    /// The names and values of the known sizes.
    pub fn named(self) -> impl Iterator<Item = (&'static str, String)> {
        let all = [
            ("grid", self.grid.map(format_size)),
            ("block", self.block.map(format_size)),
            ("cluster", self.cluster.map(format_size)),
            ("shared", self.shared.map(|bytes| bytes.to_string())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// A launch of one CTA of this size.
impl From<Dim3> for FullSize {
    fn from(block: Dim3) -> Self {
        Self { grid: [1; 3], block, cluster: [1; 3], shared: 0 }
    }
}

impl From<FullSize> for LaunchSize {
    fn from(FullSize { grid, block, cluster, shared }: FullSize) -> Self {
        Self { grid: Some(grid), block: Some(block), cluster: Some(cluster), shared: Some(shared) }
    }
}

impl FullSize {
    /// The sizes, without a cluster of one CTA and without an empty shared memory.
    pub fn plain(self) -> LaunchSize {
        let all = LaunchSize::from(self);
        LaunchSize {
            cluster: all.cluster.filter(|cluster| *cluster != [1; 3]),
            shared: all.shared.filter(|bytes| *bytes > 0),
            ..all
        }
    }

    /// The reasons why the sizes are invalid on every GPU or for this kernel. `fixed` is the size of the shared
    /// memory that the kernel declares.
    pub fn wrong(&self, head: &Head, fixed: u64) -> Vec<String> {
        let Self { grid, block, cluster, shared } = *self;
        let mut wrong = Vec::new();
        let each = [("grid", grid, MOST_GRID), ("block", block, MOST_BLOCK), ("cluster", cluster, [u32::MAX; 3])];
        for (what, sizes, most) in each {
            for ((size, most), direction) in sizes.into_iter().zip(most).zip(["x", "y", "z"]) {
                if size == 0 {
                    wrong.push(format!("the {what} is 0 in {direction}, and each size is at least 1"));
                } else if size > most {
                    wrong.push(format!("the {what} is {size} in {direction}, and a GPU has at most {most}"));
                }
            }
        }
        let threads = count(block);
        if threads > MOST_THREADS.into() {
            wrong.push(format!("the block has {threads} threads, and a GPU has at most {MOST_THREADS}"));
        }
        match (head.required_threads, head.most_threads) {
            (Some(required), _) if required != block => {
                wrong.push(format!(
                    "the block is {}, and .reqntid requires {}",
                    format_size(block),
                    format_size(required)
                ));
            }
            (_, Some(most)) if threads > most.into() => {
                wrong.push(format!("the block has {threads} threads, and .maxntid admits {most}"));
            }
            _ => {}
        }
        let ctas = count(cluster);
        if ctas > MOST_CLUSTER.into() {
            wrong.push(format!(
                "the cluster has {ctas} CTAs, and a GPU has at most {MOST_CLUSTER}, {PORTABLE_CLUSTER} unless the kernel asks for more"
            ));
        }
        if let Some(required) = head.required_ctas.filter(|required| *required != cluster) {
            wrong.push(format!(
                "the cluster is {}, and .reqnctapercluster requires {}",
                format_size(cluster),
                format_size(required)
            ));
        }
        if cluster.iter().zip(grid).any(|(cluster, grid)| *cluster > 0 && grid % cluster > 0) {
            wrong.push(format!(
                "the grid of {} is not a multiple of the cluster of {}",
                format_size(grid),
                format_size(cluster)
            ));
        }
        let all = fixed + u64::from(shared);
        if all > MOST_SHARED.into() {
            wrong.push(format!("a CTA has {all} bytes of shared memory, and a GPU has at most {MOST_SHARED}"));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(grid: Dim3, block: Dim3, [cluster, shared]: [u32; 2], head: &str, expected: &[&str]) {
        let size = FullSize { grid, block, cluster: [cluster, 1, 1], shared };
        assert_eq!(size.wrong(&Head::read(head), 1024), expected, "{size:?}");
    }

    #[test]
    fn limits() {
        let one = [1; 3];
        check([4, 1, 1], [256, 1, 1], [1, 226 << 10], ".entry k", &[]);
        check([4, 1, 1], [32, 2, 2], [2, 0], ".entry k() .reqntid 32, 2, 2 .reqnctapercluster 2", &[]);
        check([1, 65536, 1], one, [1, 0], "", &["the grid is 65536 in y, and a GPU has at most 65535"]);
        check([0, 1, 1], one, [1, 0], "", &["the grid is 0 in x, and each size is at least 1"]);
        check(
            one,
            [2048, 1, 1],
            [1, 0],
            "",
            &[
                "the block is 2048 in x, and a GPU has at most 1024",
                "the block has 2048 threads, and a GPU has at most 1024",
            ],
        );
        check(one, [1, 1, 65], [1, 0], "", &["the block is 65 in z, and a GPU has at most 64"]);
        let threads = |head, why| check(one, [64, 1, 1], [1, 0], head, &[why]);
        threads(".entry k() .reqntid 32", "the block is 64, and .reqntid requires 32");
        threads(".entry k() .maxntid 32", "the block has 64 threads, and .maxntid admits 32");
        check([3, 1, 1], one, [2, 0], "", &["the grid of 3 is not a multiple of the cluster of 2"]);
        let most = "the cluster has 32 CTAs, and a GPU has at most 16, 8 unless the kernel asks for more";
        check([32, 1, 1], one, [32, 0], "", &[most]);
        let required = "the cluster is 1, and .reqnctapercluster requires 2";
        check([4, 1, 1], one, [1, 0], ".entry k() .reqnctapercluster 2", &[required]);
        let shared = "a CTA has 233472 bytes of shared memory, and a GPU has at most 232448";
        check(one, one, [1, 227 << 10], "", &[shared]);
    }
}
