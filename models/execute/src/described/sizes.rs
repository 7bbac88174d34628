//! The sizes of launches: their syntax, and the defaults for launches without a description.

use ptx_isa::{
    Dim3, FullSize, Head, LaunchSize,
    launch::{MOST_BLOCK, MOST_THREADS, count},
};

/// The default number of threads of a CTA.
const THREADS: u32 = 128;
/// The default number of clusters (or CTAs) of a grid.
const CTAS: u32 = 2;

/// Reads `256` or `16,16,4`.
pub fn dim3(text: &str) -> Result<Dim3, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|size| size.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([x]) => Ok([*x, 1, 1]),
        Some([x, y]) => Ok([*x, *y, 1]),
        Some([x, y, z]) => Ok([*x, *y, *z]),
        _ => Err("expected one to three sizes, such as 256 or 16,16,4".into()),
    }
}

/// Reads `256` or `16,16,4` with no zero.
pub fn positive(text: &str) -> Result<Dim3, String> {
    let sizes = dim3(text)?;
    if sizes.contains(&0) { Err("expected one to three sizes above zero".into()) } else { Ok(sizes) }
}

/// The sizes of a CTA, which has at most 1024 threads, and at most 64 in the third dimension.
pub fn block(text: &str) -> Result<Dim3, String> {
    let sizes = positive(text)?;
    let most = MOST_BLOCK[2];
    match count(sizes) <= MOST_THREADS.into() && sizes[2] <= most {
        true => Ok(sizes),
        false => Err(format!("expected at most {MOST_THREADS} threads, and at most {most} in the third direction")),
    }
}

/// Reads a number of bytes: `1024`, `48K`, `2M`, `8G`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a number of bytes, such as 1024, 48K, 2M or 8G".into())
}

/// Reads a number of bytes of shared memory.
pub fn shared(text: &str) -> Result<u32, String> {
    bytes(text).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// Completes the sizes of a launch with defaults.
pub fn complete(known: LaunchSize, head: &Head) -> FullSize {
    let cluster = known.cluster.unwrap_or([1; 3]);
    let block = known.block.unwrap_or([head.most_threads.unwrap_or(THREADS).clamp(1, THREADS), 1, 1]);
    let grid = known.grid.unwrap_or([cluster[0].saturating_mul(CTAS), cluster[1], cluster[2]]);
    FullSize { grid, block, cluster, shared: known.shared.unwrap_or(0) }
}

/// The default sizes of a launch, as options of `ptx-atomics run`.
pub fn chosen(known: LaunchSize, size: FullSize) -> Vec<String> {
    let LaunchSize { grid, block, cluster, shared } = size.plain();
    let block = LaunchSize { block: block.filter(|_| known.block.is_none()), ..LaunchSize::default() };
    let others = LaunchSize {
        grid: grid.filter(|_| known.grid.is_none()),
        block: None,
        cluster: cluster.filter(|_| known.cluster.is_none()),
        shared: shared.filter(|_| known.shared.is_none()),
    };
    block.named().chain(others.named()).map(|(option, value)| format!("--{option} {value}")).collect()
}

#[cfg(test)]
mod tests {
    use ptx_isa::launch::format_size;

    use super::*;

    #[test]
    fn missing_sizes_are_chosen() {
        let open = LaunchSize::default();
        let check = |wanted: LaunchSize, head: &str, expected: &str| {
            let head = Head::read(head);
            let known = wanted.or(LaunchSize::from_head(&head));
            let size = complete(known, &head);
            let said =
                format!("{} {} {}", format_size(size.grid), format_size(size.block), chosen(known, size).join(" "));
            assert_eq!(said, expected);
        };
        check(open, ".entry k", "2 128 --block 128 --grid 2");
        check(open, ".entry k() .maxntid 64", "2 64 --block 64 --grid 2");
        check(open, ".entry k() .reqntid 8, 4 .reqnctapercluster 2, 2", "4,2 8,4 --grid 4,2");
        check(LaunchSize { grid: Some([1; 3]), block: Some([9, 1, 1]), ..open }, "", "1 9 ");
    }

    #[test]
    fn words() {
        assert_eq!((dim3("2"), dim3("2, 3"), dim3("2,3,4")), (Ok([2, 1, 1]), Ok([2, 3, 1]), Ok([2, 3, 4])));
        assert!(["", "x", "1,2,3,4", "-1", "1,"].iter().all(|text| dim3(text).is_err()));
        assert_eq!((bytes("7"), bytes("48K"), bytes("8G")), (Ok(7), Ok(49152), Ok(8 << 30)));
        assert!(["", "K", "1T", "-1", "99999999999999G"].iter().all(|text| bytes(text).is_err()));
    }
}
