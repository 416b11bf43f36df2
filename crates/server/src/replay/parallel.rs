//! The same work for many files, on as many threads as there are processors, with a bar for people.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use trantor_runtime::threads;

/// Does `work` with each file, with a progress bar on a terminal; the results are in the order of the files.
pub(crate) fn for_each_file<T: Send + 'static>(
    files: &[PathBuf],
    work: impl Fn(&Path) -> T + Send + Sync + 'static,
) -> io::Result<Vec<T>> {
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(files.len().max(1)));
    let files: Arc<[PathBuf]> = files.into();
    let next = Arc::new(AtomicUsize::new(0));
    let results: Arc<Mutex<Vec<Option<T>>>> = Arc::new(Mutex::new(files.iter().map(|_| None).collect()));
    let bar = progress_bar(Some(files.len() as u64), "{bar:40} {pos}/{len} files, {eta} left");
    let work = Arc::new(work);
    let mut running = Vec::new();
    for worker in 0..workers {
        let (files, next, results) = (Arc::clone(&files), Arc::clone(&next), Arc::clone(&results));
        let (work, bar) = (Arc::clone(&work), bar.clone());
        running.push(threads::spawn(&format!("journal {worker}"), move || {
            while let Some(place) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < files.len())
            {
                let result = work(&files[place]);
                results.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(result);
                bar.inc(1);
            }
        })?);
    }
    for thread in running {
        thread.join().map_err(io::Error::other)?;
    }
    bar.finish_and_clear();
    let results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
    let results = results.into_iter();
    Ok(results
        .map(|result| result.expect("every file was taken by a thread that ended well"))
        .collect())
}

/// A progress line on standard error, if that is a terminal.
pub(crate) fn progress_bar(length: Option<u64>, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(ProgressStyle::with_template(template).expect("the template is well formed"))
}
