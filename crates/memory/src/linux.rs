//! Linux: settings of the GNU C library's allocator, and the pages of mapped program files.

#![expect(unsafe_code, reason = "these calls of the C library have no safe form")]
#![expect(
    clippy::disallowed_methods,
    reason = "this file reads which files this process has mapped"
)]

use std::{fs, ops::Range, ptr::with_exposed_provenance_mut, sync::LazyLock};

#[cfg(target_env = "gnu")]
const MAX_POOLS: libc::c_int = 4;
#[cfg(target_env = "gnu")]
const MAX_FREE_BYTES: libc::c_int = 64 * 1024;

/// Of 4, 8, 16 and 32 KiB, the largest with which a server of 100 skills stays below 10 MB in a burst of calls.
const PIECE_BYTES: usize = 16 * 1024;

#[cfg(target_env = "gnu")]
pub(crate) fn limit_pools() {
    // SAFETY: `mallopt` takes two numbers, and sets numbers that the allocator reads under its own locks.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, MAX_POOLS);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MAX_FREE_BYTES);
    }
}

#[cfg(target_env = "gnu")]
pub(crate) fn trim() {
    // SAFETY: `malloc_trim` takes a number, gives back only memory that is free, and takes the allocator's locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

pub(crate) fn unmap_code() {
    for range in &*CODE {
        // A page that is used next is read again from the file, from which it is mapped.
        advise(range, libc::MADV_DONTNEED);
    }
}

/// The code of the program and of the libraries that it was started with, cut into pieces.
static CODE: LazyLock<Vec<Range<usize>>> = LazyLock::new(|| {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let code: Vec<_> = maps.lines().filter_map(code).collect();
    code.iter().for_each(cut);
    code
});

/// Cuts a mapping into pieces, because the kernel maps 64 KiB around a page that is used, but nothing beyond its mapping:
/// with the calls of a client spread over all of the code, most of those 64 KiB are never used. Neighbours that are alike
/// are one mapping, so every second piece is marked as no part of a core dump, of which code is no part anyway.
fn cut(range: &Range<usize>) {
    let first = range.start.next_multiple_of(PIECE_BYTES);
    for start in (first..range.end).step_by(2 * PIECE_BYTES) {
        advise(&(start..range.end.min(start + PIECE_BYTES)), libc::MADV_DONTDUMP);
    }
}

/// `range` lies in a mapping that [`code`] found, and `advice` is one of the two above.
fn advise(range: &Range<usize>, advice: libc::c_int) {
    // SAFETY: the range is part of a mapping of this process that is private, of a file, readable and executable but not
    // writable. The dynamic linker writes to no such mapping, so that its pages are the file's own and may be dropped: the
    // kernel reads the same bytes again. Only libraries are mapped in this way besides the program, and none of those that
    // it was started with is ever unmapped, so that nothing else can be at these addresses. The kernel refuses a range
    // that does not begin with a page, where pages are larger than a piece.
    unsafe {
        libc::madvise(with_exposed_provenance_mut(range.start), range.len(), advice);
    }
}

/// The addresses of a line of `/proc/self/maps`, where it is code from a file:
/// `7f25c0000000-7f25c0155000 r-xp 00026000 fe:00 1049085 /usr/lib/libc.so.6`.
fn code(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_code = words.next()? == "r-xp" && words.nth(3)?.starts_with('/');
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    is_code.then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_from_a_file_is_given_back() {
        let line = |rest: &str| code(&format!("1000-3000 {rest}"));
        assert_eq!(line("r-xp 00026000 fe:00 1049085    /usr/lib/libc.so.6"), Some(0x1000..0x3000));
        for other in [
            "rw-p 00026000 fe:00 1049085 /usr/lib/libc.so.6",
            // Relocated data, which a process has written before it was protected.
            "r--p 00026000 fe:00 1049085 /usr/lib/libc.so.6",
            "rwxp 00026000 fe:00 1049085 /usr/lib/libc.so.6",
            "r-xp 00000000 00:00 0 [vdso]",
            "r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_goes_on_after_its_code_was_cut_and_unmapped() {
        let resident = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let before = resident();
        crate::limit_pools();
        crate::give_back();
        assert!(resident() < before, "{} of {before} kB", resident());
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let largest = maps.lines().filter_map(code).map(|piece| piece.len()).max();
        assert_eq!(largest, Some(PIECE_BYTES));
        let words: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        assert_eq!(words.concat().len(), 2890);
    }
}
