//! The pool that large arrays' memory comes from and returns to.
//!
//! Fresh memory is slow: the system clears every page when it is first touched, which takes longer
//! than to copy into it. So the memory of core's own arrays of 256 KiB and more, 64-byte aligned and
//! in huge pages where the system has them, is kept when the array is dropped, and serves the next
//! array of about the same size.
//!
//! The pool keeps 512 MiB at most (memory of live arrays does not count), the most recently used.
//! [`set_limit`] changes that, [`release_cached`] empties the pool, as
//! [`release_cached_memory_all`](crate::release_cached_memory_all) does; it also empties itself when
//! the system has no memory left.
//!
//! ```
//! use arraybridge_core::{DType, HostArray, host_pool};
//!
//! drop(HostArray::zeros(DType::F32, &[1024, 1024])?);
//! assert!(host_pool::cached_bytes() >= 4 << 20);
//! assert!(host_pool::release_cached() >= 4 << 20);
//! # Ok::<(), arraybridge_core::Error>(())
//! ```

pub use crate::host::pool::{cached_bytes, limit, release_cached, set_limit};
