//! Signals that would end this process where an error can be returned instead. Which signals ask the server to stop is in
//! `transport::shutdown`.

/// From here on a write over the operator's limit on file sizes (`ulimit -f`) fails with an error, as on a full disk, and no
/// longer ends this process. A signal that is handled does that as well as one that is ignored, and handling it needs no
/// unsafe code. Programs that this process starts are not affected: their handlers start from the default again.
#[cfg(unix)]
pub(super) fn outlive_file_size_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    // A handler is registered within a runtime and stays for as long as the process lives.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
        return;
    };
    let _entered = runtime.enter();
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

#[cfg(not(unix))]
pub(super) fn outlive_file_size_limit() {}
