//! The operations, as kernels queued on this thread's stream.

mod arguments;
mod cast;
mod kernels;
mod math;
mod reduce;
mod task;
mod walk;

use arraybridge_core::ops::{ArrayOps, Reduction, broadcast_pair};
use arraybridge_core::{AxisSlice, DType, Error, Layout};

use crate::{Cuda, CudaArray};

pub(crate) use kernels::Kernels;
pub(crate) use task::Task;

impl ArrayOps<Cuda> for Cuda {
    fn reduce(&self, array: &CudaArray, by: Reduction, axes: &[usize]) -> Result<CudaArray, Error> {
        reduce::reduce(&Task::of(array)?, array, by, axes)
    }

    fn astype(&self, array: &CudaArray, dtype: DType) -> Result<CudaArray, Error> {
        cast::cast(&Task::of(array)?, array, dtype)
    }

    fn reshape(&self, array: &CudaArray, shape: &[usize]) -> Result<CudaArray, Error> {
        match array.layout().reshape(shape)? {
            Some(layout) => Ok(array.view(layout, 0)),
            None => {
                let gathered = Task::of(array)?.gather(array)?;
                Ok(gathered.view(Layout::row_major(shape)?, 0))
            }
        }
    }

    fn broadcast_to(&self, array: &CudaArray, shape: &[usize]) -> Result<CudaArray, Error> {
        Ok(array.view(array.layout().broadcast_to(shape)?, 0))
    }

    fn ones_like(
        &self,
        reference: &CudaArray,
        shape: &[usize],
        dtype: DType,
    ) -> Result<CudaArray, Error> {
        math::ones(&Task::of(reference)?, shape, dtype)
    }

    fn assign(
        &self,
        data: &mut Option<CudaArray>,
        index: AxisSlice,
        values: &CudaArray,
    ) -> Result<CudaArray, Error> {
        let target = data.as_mut().ok_or_else(|| Error::already_taken("assign"))?;
        let (part, offset) = target.layout().slice(&[index])?;
        let task = Task::of(target)?;
        let values = task.read(values)?;
        let values = values.view(values.layout().broadcast_to(part.shape())?, 0);
        let size = target.dtype().size();
        // Work that somebody outside queued is not known here, so such memory is not written.
        let outside = target.memory().is_exported();
        match target.exclusive().filter(|_| !outside) {
            Some(memory) => memory.write_on(&task.stream).map_err(task::failed)?,
            None => {
                let own = task.gather(target)?;
                let (part, offset) = own.layout().slice(&[index])?;
                let to = own.view(part, offset);
                // SAFETY: both are of this task, and the target is new.
                unsafe {
                    let from = (values.address(), values.layout());
                    task.copy(from, (to.address(), to.layout()), size)
                }?;
                data.take();
                return Ok(own);
            }
        }
        let to = target.view(part, offset);
        // SAFETY: both are of this task; nothing else reaches the target, which the stream may write.
        unsafe {
            let from = (values.address(), values.layout());
            task.copy(from, (to.address(), to.layout()), size)
        }?;
        data.take().ok_or_else(|| Error::already_taken("assign"))
    }

    fn logical_and(&self, left: &CudaArray, right: &CudaArray) -> Result<CudaArray, Error> {
        let shape = broadcast_pair("logical_and", left.shape(), right.shape())?;
        let task = Task::of(left)?;
        let left = cast::cast(&task, &task.read(left)?, DType::Bool)?;
        let right = cast::cast(&task, &task.read(right)?, DType::Bool)?;
        cast::pair(&task, "logical_and", (&left, &right), &shape, DType::Bool)
    }

    fn stack(&self, arrays: &[&CudaArray]) -> Result<CudaArray, Error> {
        let first = *arrays.first().ok_or_else(|| Error::already_taken("stack"))?;
        let task = Task::of(first)?;
        let mut shape = vec![arrays.len()];
        shape.extend_from_slice(first.shape());
        let stacked = task.make(first.dtype(), &shape)?;
        let size = first.dtype().size();
        for (index, array) in arrays.iter().enumerate() {
            let (layout, offset) = stacked.layout().index_axis(0, index)?;
            let place = stacked.view(layout, offset);
            let array = task.read(array)?;
            let from = (array.address(), array.layout());
            // SAFETY: both are of this task, and the target is new.
            unsafe { task.copy(from, (place.address(), place.layout()), size) }?;
        }
        Ok(stacked)
    }

    fn plane(&self, array: &CudaArray, index: usize) -> Result<CudaArray, Error> {
        let (layout, offset) = array.layout().index_axis(0, index)?;
        Ok(array.view(layout, offset))
    }

    fn normalize_planes(
        &self,
        array: &CudaArray,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<CudaArray, Error> {
        cast::normalize(&Task::of(array)?, array, dtype, scales)
    }

    fn scale_dtype(&self, array: &CudaArray, dtype: DType) -> Result<CudaArray, Error> {
        cast::rescale(&Task::of(array)?, array, dtype)
    }
}
