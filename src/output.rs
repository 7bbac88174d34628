//! Outputs that appear whole or not at all.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Seek, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Where something will be written. Until [`Output::commit`], nothing is made or touched.
pub enum Output {
    /// A regular file: the temporary one beside it takes its place.
    File { temporary: NamedTempFile, path: PathBuf },
    /// Standard output, or what is no regular file (`/dev/null`, a pipe): filled at the end.
    Stream { temporary: File, path: Option<PathBuf> },
}

impl Output {
    /// Opens an output; `-` is standard output.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stream { temporary: tempfile::tempfile()?, path: None });
        }
        // A link stays a link: what it points to is replaced.
        let existing = fs::canonicalize(path).ok();
        let path = existing.clone().unwrap_or_else(|| path.to_owned());
        if path.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let mut mode = 0o666;
        if existing.is_some() {
            OpenOptions::new().write(true).open(&path)?;
            let metadata = fs::metadata(&path)?;
            if !metadata.is_file() {
                return Ok(Self::Stream { temporary: tempfile::tempfile()?, path: Some(path) });
            }
            mode = metadata.permissions().mode();
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary = tempfile::Builder::new()
            .permissions(Permissions::from_mode(mode))
            .prefix(".ptx-atomics-")
            .tempfile_in(folder)
            // The error would name the temporary file.
            .map_err(|error| io::Error::from(error.kind()))?;
        Ok(Self::File { temporary, path })
    }

    /// Writes to the temporary file. A child process may do this for its parent.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File { temporary, .. } => temporary.as_file().write_all(bytes),
            Self::Stream { temporary, .. } => (&mut &*temporary).write_all(bytes),
        }
    }

    /// Makes what was written appear.
    pub fn commit(self) -> io::Result<()> {
        match self {
            Self::File { temporary, path } => temporary.persist(path).map(drop).map_err(|error| error.error),
            Self::Stream { mut temporary, path } => {
                let mut bytes = Vec::new();
                temporary.rewind()?;
                temporary.read_to_end(&mut bytes)?;
                match path {
                    Some(path) => OpenOptions::new().write(true).open(path)?.write_all(&bytes),
                    None => io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush()),
                }
            }
        }
    }
}
