//! Loading libtorch's CUDA part.
//!
//! Linkers drop the dependency on `libtorch_cuda` from programs, because nothing in them calls it: it
//! registers itself with `libtorch_cpu` when it is loaded. So it is loaded here, from beside that,
//! if it is there; a program that was built with the CPU part alone then has CUDA as well.

use std::sync::OnceLock;

use arraybridge_core::Availability;

/// Returns whether libtorch's CUDA part is there and works, after loading it on the first call.
pub(crate) fn cuda_availability() -> &'static Availability {
    static LOADED: OnceLock<Availability> = OnceLock::new();
    LOADED.get_or_init(|| match load() {
        Ok(()) if super::device_count() > 0 => Availability::Available,
        Ok(()) => Availability::Broken {
            cause: "libtorch has its CUDA part, which finds no device: is there an NVIDIA driver?"
                .into(),
        },
        Err(None) => Availability::Absent {
            remedy: "install a libtorch built for CUDA (its `lib` has libtorch_cuda)".into(),
        },
        Err(Some(cause)) => Availability::Broken { cause },
    })
}

#[cfg(unix)]
fn load() -> Result<(), Option<String>> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

    // Before anything asks torch about CUDA: it remembers that there is none.
    let file = folder().map(|folder| folder.join("libtorch_cuda.so"));
    let file = file.filter(|file| file.exists()).ok_or(None)?;
    // SAFETY: the initialisers of libtorch's own part, which belongs to the part that is loaded.
    let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) };
    let library = library.map_err(|error| Some(error.to_string()))?;
    // It registered itself: it must stay.
    std::mem::forget(library);
    Ok(())
}

/// Returns the folder that `libtorch_cpu` was loaded from.
#[cfg(unix)]
fn folder() -> Option<std::path::PathBuf> {
    use std::ffi::{CStr, OsStr, c_void};
    use std::os::unix::ffi::OsStrExt;

    unsafe extern "C" {
        // Of libtorch_cpu, in every version of torch's stable C interface.
        fn aoti_torch_device_type_cpu() -> i32;
    }
    let function: unsafe extern "C" fn() -> i32 = aoti_torch_device_type_cpu;
    let address = function as *const c_void;
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call looks an address up and fills in the structure.
    let known = unsafe { libc::dladdr(address, found.as_mut_ptr()) } != 0;
    // SAFETY: all zero is a valid value of the structure, whatever was filled in.
    let found = unsafe { found.assume_init() };
    if !known || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of a library that stays loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    let file = std::path::Path::new(OsStr::from_bytes(name.to_bytes()));
    file.parent().map(std::path::Path::to_path_buf)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_cuda_part_is_looked_for_beside_the_other_parts() {
        let folder = folder().unwrap();
        assert!(
            folder.join("libtorch_cpu.so").exists() || folder.join("libtorch_cpu.dylib").exists()
        );
        let there = folder.join("libtorch_cuda.so").exists();
        match cuda_availability() {
            Availability::Absent { remedy } => assert!(!there && remedy.contains("libtorch_cuda")),
            _ => assert!(there),
        }
    }
}

#[cfg(not(unix))]
fn load() -> Result<(), Option<String>> {
    if super::device_count() > 0 { Ok(()) } else { Err(None) }
}
