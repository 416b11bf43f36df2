//! A folder of a test's own, gone when the test is over.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("folder-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    #[allow(dead_code, reason = "every test program uses a part of it")]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, with the folders it lies in.
    #[allow(dead_code, reason = "every test program uses a part of it")]
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over does no harm, and the next build cleans it.
        let _gone = std::fs::remove_dir_all(&self.path);
    }
}
