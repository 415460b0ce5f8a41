//! Kernels by name: those of `arraybridge-cuda`, compiled for the host, and a few of the tests' own.

use crate::memory::kernel_access;

/// A kernel that runs on the host.
pub(crate) enum Kernel {
    /// Of the C++ source: takes one structure by value.
    Compiled(extern "C" fn(*const u8, *const u32, *const u32)),
    /// Of the tests: takes the values of its parameters.
    Native(fn(&[Vec<u8>])),
}

impl Kernel {
    pub(crate) fn run(&self, values: &[Vec<u8>], grid: [u32; 3], block: [u32; 3]) {
        match self {
            Kernel::Compiled(run) => {
                // A copy that is aligned as the structure is.
                let value = values.first().map_or(&[][..], Vec::as_slice);
                let mut words = vec![0u64; value.len().div_ceil(8)];
                for (word, bytes) in words.iter_mut().zip(value.chunks(8)) {
                    let mut whole = [0; 8];
                    whole[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_ne_bytes(whole);
                }
                run(words.as_ptr().cast(), grid.as_ptr(), block.as_ptr());
            }
            Kernel::Native(run) => run(values),
        }
    }
}

#[cfg(not(no_kernels))]
unsafe extern "C" {
    /// Returns a kernel of the C++ source by its name.
    fn arraybridge_kernel(
        name: *const u8,
        length: usize,
    ) -> Option<extern "C" fn(*const u8, *const u32, *const u32)>;
}

/// Called by the kernels for every access to memory.
#[unsafe(no_mangle)]
extern "C" fn arraybridge_access(address: u64, size: usize, write: bool) -> *mut u8 {
    kernel_access(address, size, write)
}

pub(crate) fn find(name: &str) -> Option<Kernel> {
    #[cfg(not(no_kernels))]
    {
        // SAFETY: the name is read for that length.
        let compiled = unsafe { arraybridge_kernel(name.as_ptr(), name.len()) };
        if let Some(run) = compiled {
            return Some(Kernel::Compiled(run));
        }
    }
    match name {
        "double_f32" => Some(Kernel::Native(|values| each(values, |value: f32| value * 2.0))),
        // Those of `gpu-check` and of the example, so that both can be tried.
        "triple" => Some(Kernel::Native(|values| each(values, |value: f32| value * 3.0))),
        "invert" => Some(Kernel::Native(|values| each(values, |value: u8| !value))),
        _ => None,
    }
}

fn word(value: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..value.len().min(8)].copy_from_slice(&value[..value.len().min(8)]);
    u64::from_le_bytes(whole)
}

/// `void kernel(T *array, unsigned long long count)`, which changes each element.
fn each<T: Copy>(values: &[Vec<u8>], change: impl Fn(T) -> T) {
    let (array, count) = (word(&values[0]), word(&values[1]));
    let size = size_of::<T>();
    for place in 0..count {
        let element = kernel_access(array + place * size as u64, size, true).cast::<T>();
        // SAFETY: the access was checked, or leads to a place of no consequence; these elements are
        // numbers, of which every bit pattern is one.
        let value = unsafe { element.read_unaligned() };
        // SAFETY: as above.
        unsafe { element.write_unaligned(change(value)) };
    }
}
