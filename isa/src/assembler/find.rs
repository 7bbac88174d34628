//! The search for programs of NVIDIA's toolkit.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use itertools::Itertools;

/// The environment variable that lists the ptxas programs to use, separated like the folders in `PATH`. If it is set,
/// no other program is searched for.
pub const VARIABLE: &str = "PTX_ATOMICS_PTXAS";

/// The folders in which programs are searched for. A `*` is any part of a name, `$NAME` an environment variable, and
/// `...` the current folder and its ancestors.
pub const PLACES: [&str; 6] = [
    ".../.tools/*/nvidia/*/bin",
    "$VIRTUAL_ENV/lib/*/site-packages/nvidia/*/bin",
    "$CUDA_HOME/bin",
    "$CUDA_PATH/bin",
    "/usr/local/cuda*/bin",
    "$PATH",
];

/// An installation hint for users.
pub const HELP: &str = "NVIDIA's ptxas is in the Python package nvidia-cuda-nvcc: `pip install --no-deps --target \
                        .tools/ptxas nvidia-cuda-nvcc` installs it in a folder that is searched";

/// Each file with this name in [`PLACES`], once, with its canonical path.
pub fn programs(name: &str) -> Vec<PathBuf> {
    let folders = PLACES.iter().flat_map(|place| folders(place));
    let files = folders.map(|folder| folder.join(name)).filter(|file| file.is_file());
    files.filter_map(|file| file.canonicalize().ok()).unique().collect()
}

fn folders(place: &str) -> Vec<PathBuf> {
    if let Some(rest) = place.strip_prefix(".../") {
        let here = env::current_dir().unwrap_or_default();
        return here.ancestors().flat_map(|folder| matching(folder, rest)).collect();
    }
    let Some(rest) = place.strip_prefix('$') else { return matching(Path::new("/"), place.trim_start_matches('/')) };
    let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let value = env::var_os(name).unwrap_or_default();
    let roots = env::split_paths(&value).filter(|root| !root.as_os_str().is_empty());
    roots.flat_map(|root| matching(&root, rest)).collect()
}

/// The folders below `root` whose names match a pattern, part by part, in the order of their names.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = match part.split_once('*') {
            None => found.into_iter().map(|folder| folder.join(part)).filter(|folder| folder.is_dir()).collect(),
            Some((start, end)) => found.iter().flat_map(|folder| entries(folder, start, end)).collect(),
        };
    }
    found
}

fn entries(folder: &Path, start: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| name.strip_prefix(start)).is_some_and(|rest| rest.ends_with(end))
    });
    named.map(|entry| entry.path()).filter(|path| path.is_dir()).sorted().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["a/cuda-12/bin", "a/cuda-13/bin", "a/cuda-14/lib", "a/other/bin"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        fs::write(root.path().join("a/cuda-file"), "").expect("a file");
        let check = |pattern: &str, expected: &[&str]| {
            let expected = expected.iter().map(|folder| root.path().join(folder)).collect_vec();
            assert_eq!(matching(root.path(), pattern), expected, "{pattern}");
        };
        check("a/cuda*/bin", &["a/cuda-12/bin", "a/cuda-13/bin"]);
        check("a/*-14/*", &["a/cuda-14/lib"]);
        check("a/*", &["a/cuda-12", "a/cuda-13", "a/cuda-14", "a/other"]);
        check("b/*", &[]);
        check("", &[""]);
    }
}
