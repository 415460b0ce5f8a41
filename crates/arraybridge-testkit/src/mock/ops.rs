//! The one operation that mocks have: writing, by which the suite finds out what is shared.

use arraybridge_core::ops::ArrayOps;
use arraybridge_core::{AxisSlice, Element, Error, HostArray, with_element};

use super::array::Memory;
use super::{Character, Mock, MockArray, Storage};

impl<C: Character> ArrayOps<Mock<C>> for Mock<C> {
    fn assign(
        &self,
        data: &mut Option<MockArray<C>>,
        index: AxisSlice,
        values: &MockArray<C>,
    ) -> Result<MockArray<C>, Error> {
        let taken = || Error::already_taken("assign");
        let values = values.to_host()?;
        let target = data.as_mut().ok_or_else(taken)?;
        let device = target.device();
        // In place where nobody else has a handle, else on a copy.
        let in_place = target.memory_mut().as_exclusive().is_some_and(|host| {
            let row_major = host.layout().is_row_major() && host.is_aligned();
            row_major && host.as_mut_ptr().is_ok()
        });
        if in_place {
            let host = target.memory_mut().as_exclusive().ok_or_else(taken)?;
            with_element!(host.dtype(), T => write::<T>(host, index, &values))?;
            return data.take().ok_or_else(taken);
        }
        let mut host = target.to_host()?;
        with_element!(host.dtype(), T => write::<T>(&mut host, index, &values))?;
        data.take();
        let storage: Storage = C::TRAITS.storage;
        Ok(MockArray::from_memory(Memory::new(host, device, storage)?))
    }
}

/// Writes a part of the first axis of a row-major array.
fn write<T: Element>(
    host: &mut HostArray,
    index: AxisSlice,
    values: &HostArray,
) -> Result<(), Error> {
    let layout = host.layout().clone();
    let (part, _) = layout.slice(&[index])?;
    let values = values.broadcast_to(part.shape())?.gather()?;
    let values = values.as_slice::<T>()?;
    let (first, count, step) = index.resolve(layout.shape()[0])?;
    let plane = layout.shape()[1..].iter().product::<usize>();
    let target = host.as_slice_mut::<T>()?;
    for k in 0..count {
        let row = first.wrapping_add_signed(step.wrapping_mul(k as isize));
        let from = &values[k * plane..(k + 1) * plane];
        target[row * plane..(row + 1) * plane].copy_from_slice(from);
    }
    Ok(())
}
