//! Outputs that appear whole or not at all.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Seek, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempDir};

/// Where something will be written. Until [`Output::commit`], nothing is made or touched.
pub enum Output {
    /// A regular file: the temporary one beside it takes its place.
    File { temporary: NamedTempFile, path: PathBuf },
    /// Standard output, or what is no regular file (`/dev/null`, a pipe): filled at the end.
    Stream { temporary: File, path: Option<PathBuf> },
    /// A folder: the files of the temporary one move there.
    Folder { temporary: TempDir, path: PathBuf },
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

    /// Whether a path means a folder: it is one, or ends with a slash.
    pub fn is_folder(path: &Path) -> bool {
        path.is_dir() || path.to_string_lossy().ends_with('/')
    }

    /// Opens a folder, which need not be there.
    pub fn folder(path: &Path) -> io::Result<Self> {
        let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let near = if path.is_dir() { path } else { beside };
        let temporary = tempfile::Builder::new().prefix(".ptx-atomics-").tempdir_in(near);
        let temporary = temporary.map_err(|error| io::Error::from(error.kind()))?;
        Ok(Self::Folder { temporary, path: path.to_owned() })
    }

    /// Writes a file of the folder. A child process may do this for its parent.
    ///
    /// # Errors
    /// Also if there is one of this name, or this is no folder.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Folder { temporary, .. } => File::create_new(temporary.path().join(name))?.write_all(bytes),
            _ => Err(io::Error::other("it is no folder")),
        }
    }

    /// Writes to the temporary file. A child process may do this for its parent.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File { temporary, .. } => temporary.as_file().write_all(bytes),
            Self::Stream { temporary, .. } => (&mut &*temporary).write_all(bytes),
            Self::Folder { .. } => Err(io::Error::other("it is a directory")),
        }
    }

    /// Makes what was written appear.
    pub fn commit(self) -> io::Result<()> {
        match self {
            Self::File { temporary, path } => temporary.persist(path).map(drop).map_err(|error| error.error),
            Self::Folder { temporary, path } => {
                fs::create_dir_all(&path)?;
                for entry in fs::read_dir(temporary.path())? {
                    let entry = entry?;
                    fs::rename(entry.path(), path.join(entry.file_name()))?;
                }
                Ok(())
            }
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
