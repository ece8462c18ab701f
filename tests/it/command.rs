//! Runs the real binary in a folder of its own, with an environment that does not depend on the machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder to run in, removed at the end.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a run left behind.
pub(crate) struct Run {
    /// Exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Desk {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("temporary folders can be made");
        Self { folder }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file there.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("the folder can be written");
    }

    /// The bytes of a file there.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("the file was written")
    }

    /// Copies a committed model there, so that messages show its name alone.
    pub(crate) fn with_model(self, name: &str) -> Self {
        let bytes = std::fs::read(model(name)).expect("the model is committed");
        self.put(name, bytes);
        self
    }

    /// The command, not started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paracompile"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output();
        Run::of(output.expect("the binary starts"))
    }

    /// Every file below a directory with its bytes, by path.
    pub(crate) fn files(&self, directory: &str) -> Vec<(String, Vec<u8>)> {
        let root = self.path(directory);
        let mut open = vec![root.clone()];
        let mut files = Vec::new();
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).expect("the directory is there") {
                let path = entry.expect("entries can be read").path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(&root).expect("it lies below");
                    let bytes = std::fs::read(&path).expect("files can be read");
                    files.push((name.to_string_lossy().into_owned(), bytes));
                }
            }
        }
        files.sort();
        files
    }

    /// Names of everything that lies directly in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .expect("the folder is there")
            .map(|entry| entry.expect("entries can be read").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Run {
    /// Of a finished process; a signal has no code.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("output is text"),
            err: String::from_utf8(output.stderr).expect("messages are text"),
        }
    }

    /// The output of a run that must succeed.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// The picture of a run that must be refused with this code and print no result.
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        assert_eq!(self.out, "", "a refusal prints no result");
        self.err
    }
}

/// A committed model.
pub(crate) fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("models")
        .join(name)
}
