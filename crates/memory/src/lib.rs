//! Keeps the resident memory of a server small. The only unsafe code of the workspace is here: three calls of the C library.
//!
//! Most of what is resident of a small server is its own program file: the kernel maps 64 KiB around every page that is
//! used, and keeps them mapped. And the allocator of the C library keeps what a burst of calls freed. Both can be given back
//! once a server is idle, and less of the file is mapped once its mapping is cut into pieces. Not here: when memory is given
//! back (the server's `cli`).

#[cfg(target_os = "linux")]
mod linux;

/// Has the allocator keep little: four pools, so that threads that read skills at the start seldom wait for each other,
/// and no more than 64 KiB of free memory at the end of a pool. Call it before threads are started.
pub fn limit_pools() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux::limit_pools();
}

/// Gives back free memory of the allocator, and the pages of program and libraries: what is needed of them is mapped
/// again from the page cache when it is used next, in about a tenth of a millisecond. From the first time on, less is mapped
/// with it.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux::trim();
    #[cfg(target_os = "linux")]
    linux::unmap_code();
}
