//! Outputs. A regular file appears whole or not at all; links are followed; pipes and devices are written to directly.
//!
//! Until [`publish`], no output is created or changed. A file is then filled without a name, and linked when it is
//! complete, so that no crash of this process leaves a partial file. To replace a file, Linux has only `rename`, for
//! which the new file needs a second name between two system calls. Signals are blocked meanwhile; only SIGKILL can
//! interrupt. If the file system has no unnamed files (`O_TMPFILE`), the second name exists while the file is written.

use std::{
    collections::HashSet,
    ffi::{CString, OsString},
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd, BorrowedFd, RawFd},
        unix::{
            ffi::OsStrExt,
            fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
        },
    },
    path::{Path, PathBuf},
};

use ptx_atomics::pass::Diagnostic;

use crate::render;

/// The destination of an output.
pub enum Output {
    /// A pipe, a device, or a descriptor that this process inherited. It is open from the start, so that its reader
    /// sees the end on an error, too.
    Stream(File),
    /// A regular file, which may not exist yet.
    File(PathBuf),
    /// A folder, which may not exist yet.
    Folder(PathBuf),
}

/// An output that cannot be written, by the name that the user gave.
pub type Unwritable = (PathBuf, io::Error);

impl Output {
    /// Opens an output; `-` is standard output. A path is a folder if the folder exists or the path ends with a slash.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return given(libc::STDOUT_FILENO);
        }
        match fs::metadata(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(found) if found.is_dir() => return Ok(Self::Folder(path.to_owned())),
            _ if path.as_os_str().as_bytes().ends_with(b"/") => return Ok(Self::Folder(path.to_owned())),
            _ => {}
        }
        // A link stays a link: its target is written.
        let mut path = path.to_owned();
        loop {
            if let Some(descriptor) = descriptor(&path) {
                return given(descriptor);
            }
            let Ok(to) = fs::read_link(&path).map(|to| folder(&path).join(to)) else { break };
            // Links below /proc may lead to files without the name that they show.
            if path.exists() && !to.exists() {
                break;
            }
            path = to;
        }
        if path.file_name().is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if path.exists() {
            let file = OpenOptions::new().write(true).open(&path)?;
            if is_stream(&path) {
                return Ok(Self::Stream(file));
            }
        }
        writable(folder(&path))?;
        Ok(Self::File(path))
    }

    /// Whether two outputs are the same file or pipe, which only one of them can use.
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |path: &Path| (fs::canonicalize(folder(path)).ok(), path.file_name().map(OsString::from));
        match (self, other) {
            (Self::File(one), Self::File(other)) => place(one) == place(other),
            (Self::Stream(one), Self::Stream(other)) => match (one.metadata(), other.metadata()) {
                (Ok(one), Ok(other)) => {
                    !one.file_type().is_char_device() && (one.dev(), one.ino()) == (other.dev(), other.ino())
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// The content of an output.
pub struct Content {
    /// The name of the output, as the user gave it.
    pub name: PathBuf,
    pub output: Output,
    pub bytes: Vec<u8>,
}

/// Writes all outputs. No file appears before all files are complete.
///
/// # Errors
/// The first output that fails.
pub fn publish(contents: Vec<Content>) -> Result<(), Unwritable> {
    let (mut files, mut streams) = (Vec::new(), Vec::new());
    let mut places = HashSet::new();
    for Content { name, output, bytes } in contents {
        match output {
            Output::Stream(stream) => streams.push((name, stream, bytes)),
            Output::Folder(_) => return Err((name, io::Error::other("it is a directory"))),
            Output::File(path) if !places.insert(path.clone()) => {
                return Err((name, io::Error::other("another output has the same name")));
            }
            Output::File(path) => match Unnamed::new(folder(&path)) {
                Some(file) => {
                    file.fill(&path, &bytes).map_err(|error| (name.clone(), error))?;
                    files.push((name, path, Whole::Unnamed(file)));
                }
                None => files.push((name, path, Whole::Bytes(bytes))),
            },
        }
    }
    for (name, mut stream, bytes) in streams {
        stream.write_all(&bytes).map_err(|error| (name, error))?;
    }
    let _undisturbed = Undisturbed::new();
    for (name, path, whole) in files {
        match whole {
            Whole::Unnamed(file) => file.appear(&path),
            Whole::Bytes(bytes) => replace(&path, &bytes),
        }
        .map_err(|error| (name, error))?;
    }
    Ok(())
}

/// Writes one output.
pub fn write(path: &Path, bytes: Vec<u8>) -> io::Result<()> {
    let output = Output::open(path)?;
    publish(vec![Content { name: path.to_owned(), output, bytes }]).map_err(|(_, error)| error)
}

/// Writes text to standard output, and reports an error. Returns whether the text was written.
pub fn print(text: &str) -> bool {
    match write(Path::new("-"), text.as_bytes().to_vec()) {
        Ok(()) => true,
        Err(error) => {
            // A reader that has closed the pipe needs no error.
            if error.kind() != io::ErrorKind::BrokenPipe {
                render::error(&Diagnostic::new(format!("cannot write to standard output: {error}")), None);
            }
            false
        }
    }
}

/// The complete content of a file that has not appeared.
enum Whole {
    Unnamed(Unnamed),
    /// For a file system that has no unnamed files.
    Bytes(Vec<u8>),
}

/// A file without a name.
struct Unnamed(File);

impl Unnamed {
    /// Creates an unnamed file that can get a name in this folder, if the system supports it.
    fn new(folder: &Path) -> Option<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).custom_flags(libc::O_TMPFILE).mode(0o666).open(folder).ok().map(Self)?;
        file.link().exists().then_some(file)
    }

    /// The path of the file among the descriptors.
    fn link(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    fn fill(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)?;
        keep_mode(&self.0, path)
    }

    /// Gives the file a name, and replaces an existing file of that name.
    fn appear(&self, path: &Path) -> io::Result<()> {
        match self.name(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let named = temporary_file().make_in(folder(path), |name| self.name(name))?;
                named.into_temp_path().persist(path).map_err(|error| error.error)
            }
            done => done,
        }
    }

    fn name(&self, path: &Path) -> io::Result<()> {
        let (from, to) =
            (CString::new(self.link().as_os_str().as_bytes())?, CString::new(path.as_os_str().as_bytes())?);
        // SAFETY: both pointers are strings that live during the call.
        let done = unsafe {
            libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Writes a file in the folder of its destination, and renames it to the destination.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = temporary_file().permissions(Permissions::from_mode(0o666)).tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    keep_mode(file.as_file(), path)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn temporary_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ptx-atomics-");
    builder
}

/// Gives a file the permissions of the file that it replaces.
fn keep_mode(file: &File, path: &Path) -> io::Result<()> {
    fs::metadata(path).map_or(Ok(()), |replaced| file.set_permissions(replaced.permissions()))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the path exists and is neither a file nor a folder.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The number of a descriptor of this process, if the path is its name, such as `/dev/fd/63`.
fn descriptor(path: &Path) -> Option<RawFd> {
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    let descriptor = path.file_name()?.to_str()?.parse::<u32>().ok()?.try_into().ok()?;
    (fs::canonicalize(folder(path)).ok()? == own).then_some(descriptor)
}

/// A descriptor that this process inherited. The copy keeps its position and its flags, which a second open would lose.
fn given(descriptor: RawFd) -> io::Result<Output> {
    // SAFETY: the descriptor is only copied; if it is not open, that fails.
    Ok(Output::Stream(unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?.into()))
}

/// Checks that a file can be made in a folder.
fn writable(folder: &Path) -> io::Result<()> {
    let name = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: the name lives during the call.
    let done = unsafe { libc::access(name.as_ptr(), libc::W_OK | libc::X_OK) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A guard that blocks signals. SIGKILL and SIGSTOP cannot be blocked.
struct Undisturbed(libc::sigset_t);

impl Undisturbed {
    fn new() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets are written before they are read.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        // SAFETY: the set is the previous signal mask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Write = fn(&Path, &[u8]) -> io::Result<()>;

    /// With and without unnamed files; for a new file and for an existing file.
    #[test]
    fn a_file_appears_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("out");
        for (mode, text) in [(None, "new"), (Some(0o604), "replaced")] {
            let unnamed: Write = |path, bytes| write(path, bytes.to_vec());
            for write_with in [replace as Write, unnamed] {
                let _ = fs::remove_file(&path);
                if let Some(mode) = mode {
                    fs::write(&path, "before")?;
                    fs::set_permissions(&path, Permissions::from_mode(mode))?;
                }
                write_with(&path, text.as_bytes())?;
                assert_eq!(fs::read_to_string(&path)?, text);
                assert!(mode.is_none_or(|mode| fs::metadata(&path).is_ok_and(|found| found.mode() & 0o777 == mode)));
                assert_eq!(fs::read_dir(folder.path())?.count(), 1);
            }
        }
        Ok(())
    }
}
