//! The operations, as kernels compiled on first use and kept. Their source is in `kernels/`.

mod cast;
mod copy;
mod element;
mod reduce;
mod task;
mod walk;

use std::sync::Arc;

use arraybridge_core::ops::{ArrayMath, ArrayOps, Reduction, broadcast_pair, cast as rules};
use arraybridge_core::roles::Accelerator;
use arraybridge_core::{AxisSlice, DType, DTypeKind, Error, HostArray};

use crate::library::NAME;
use crate::place::Place;
use crate::{ClArray, OpenCl, device, exchange};
use element::{Element, real, widest};
use task::{LOGICAL, MADE, OUTER};
use walk::Walk;

pub(crate) use copy::gather;
pub(crate) use task::Task;

/// The dtype of integers' means and quotients.
const QUOTIENT: DType = DType::F32;

/// Refuses arrays of two contexts: they may be on one device all the same.
fn same_context(operation: &'static str, first: &ClArray, other: &ClArray) -> Result<(), Error> {
    if first.place().is(other.place()) {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        operation,
        message: "the arrays are of two OpenCL contexts; bring one to the other's with \
                  `ClContext::bring`"
            .into(),
    })
}

impl ArrayOps<OpenCl> for OpenCl {
    fn reduce(&self, array: &ClArray, by: Reduction, axes: &[usize]) -> Result<ClArray, Error> {
        let ordered = matches!(by, Reduction::Max | Reduction::Min);
        if ordered && array.dtype().kind() == DTypeKind::Complex {
            let (operation, dtype) = (by.name(), array.dtype());
            return Err(Error::DtypeUnsupported { library: NAME, operation, dtype });
        }
        reduce::reduce(array, by, axes)
    }

    fn astype(&self, array: &ClArray, dtype: DType) -> Result<ClArray, Error> {
        if array.dtype() == dtype { Ok(array.clone()) } else { cast::cast(array, dtype) }
    }

    fn reshape(&self, array: &ClArray, shape: &[usize]) -> Result<ClArray, Error> {
        match array.layout().reshape(shape)? {
            Some(layout) => array.relaid(layout, 0),
            None => {
                let gathered = copy::gather(array)?;
                gathered.relaid(arraybridge_core::Layout::row_major(shape)?, 0)
            }
        }
    }

    fn broadcast_to(&self, array: &ClArray, shape: &[usize]) -> Result<ClArray, Error> {
        array.relaid(array.layout().broadcast_to(shape)?, 0)
    }

    fn ones_like(
        &self,
        reference: &ClArray,
        shape: &[usize],
        dtype: DType,
    ) -> Result<ClArray, Error> {
        ones(shape, dtype, reference.place())
    }

    fn assign(
        &self,
        data: &mut Option<ClArray>,
        index: AxisSlice,
        values: &ClArray,
    ) -> Result<ClArray, Error> {
        if let Some(array) = data {
            same_context("assign", array, values)?;
        }
        copy::assign(data, index, values)
    }

    fn logical_and(&self, left: &ClArray, right: &ClArray) -> Result<ClArray, Error> {
        same_context("logical_and", left, right)?;
        let shape = broadcast_pair("logical_and", left.shape(), right.shape())?;
        let left = self.broadcast_to(&self.astype(left, DType::Bool)?, &shape)?;
        let right = self.broadcast_to(&self.astype(right, DType::Bool)?, &shape)?;
        let made = ClArray::allocate(left.place(), DType::Bool, &shape)?;
        let count = made.layout().len();
        let walk = |array: &ClArray| Walk::new(&shape, array.layout().strides());
        let task = Task::new(left.place(), &LOGICAL, "logical_and", &[])?
            .read(&left)
            .value(walk(&left)?)
            .read(&right)
            .value(walk(&right)?)
            .write(made.memory())
            .value(count as u64);
        // SAFETY: the walks are those of the arrays, and the new one has as many elements.
        unsafe { task.run_over(count) }?;
        Ok(made)
    }

    fn stack(&self, arrays: &[&ClArray]) -> Result<ClArray, Error> {
        for array in arrays {
            same_context("stack", arrays[0], array)?;
        }
        copy::stack(arrays)
    }

    fn plane(&self, array: &ClArray, index: usize) -> Result<ClArray, Error> {
        let (layout, offset) = array.layout().index_axis(0, index)?;
        array.relaid(layout, offset)
    }

    fn normalize_planes(
        &self,
        array: &ClArray,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<ClArray, Error> {
        cast::normalize_planes(array, dtype, scales)
    }

    fn scale_dtype(&self, array: &ClArray, dtype: DType) -> Result<ClArray, Error> {
        let rescales = array.dtype().is_float() && dtype.is_integer();
        if rescales { cast::scale(array, dtype) } else { self.astype(array, dtype) }
    }
}

/// Makes an array of ones, of any dtype that has a one.
fn ones(shape: &[usize], dtype: DType, place: &Arc<Place>) -> Result<ClArray, Error> {
    let one = rules::cast(&HostArray::from_slice(&[1u8], &[1])?, dtype)?;
    copy::filled(place, dtype, shape, one.as_bytes()?)
}

impl OpenCl {
    /// The context of the device on which new arrays land on this thread.
    fn current_place(&self) -> Result<&'static Arc<Place>, Error> {
        device::known(self.current_device()?)?.place()
    }
}

impl ArrayMath<OpenCl> for OpenCl {
    fn default_float(&self) -> DType {
        DType::F32
    }

    fn linspace(
        &self,
        start: f64,
        stop: f64,
        count: usize,
        endpoint: bool,
        dtype: DType,
    ) -> Result<ClArray, Error> {
        let place = self.current_place()?;
        let target = Element::of(dtype, "linspace", place)?;
        let made = ClArray::allocate(place, dtype, &[count])?;
        // Over no elements and over one, the step is of no consequence.
        let intervals = if endpoint { count.saturating_sub(1) } else { count }.max(1);
        let step = (stop - start) / intervals as f64;
        let precision = widest(place);
        let options = [&*format!("TARGET={}", target.name), &*format!("REAL={}", real(precision))];
        let task =
            Task::new(place, &MADE, "linspace", &options)?.write(made.memory()).value(count as u64);
        let task = match precision {
            DType::F64 => task.value(start).value(stop).value(step),
            _ => task.value(start as f32).value(stop as f32).value(step as f32),
        };
        // SAFETY: the new array has as many elements.
        unsafe { task.value(u32::from(endpoint)).run_over(count) }?;
        Ok(made)
    }

    fn ones(&self, shape: &[usize], dtype: DType) -> Result<ClArray, Error> {
        ones(shape, dtype, self.current_place()?)
    }

    fn outer(&self, left: &ClArray, right: &ClArray) -> Result<ClArray, Error> {
        same_context("outer", left, right)?;
        let place = left.place();
        let element = Element::of(left.dtype(), "outer", place)?;
        let (rows, columns) = (left.shape()[0], right.shape()[0]);
        let made = ClArray::allocate(place, left.dtype(), &[rows, columns])?;
        let count = made.layout().len();
        let kind = match left.dtype().kind() {
            DTypeKind::Bool => "truth",
            DTypeKind::Signed | DTypeKind::Unsigned => "integer",
            _ => "real",
        };
        let options = [
            &*format!("SOURCE={}", element.name),
            &*format!("PARTS={}", element.parts),
            &*format!("KIND={kind}"),
        ];
        let task = Task::new(place, &OUTER, "outer", &options)?
            .read(left)
            .value(left.layout().strides()[0] as i64)
            .read(right)
            .value(right.layout().strides()[0] as i64)
            .write(made.memory())
            .value(count as u64)
            .value(columns as u64);
        // SAFETY: the strides are those of the two lines, and the new array has room for every pair.
        unsafe { task.run_over(count) }?;
        Ok(made)
    }

    fn floor(&self, value: f64) -> Result<ClArray, Error> {
        let floor = HostArray::from_slice(&[value.floor() as f32], &[])?;
        exchange::upload(&floor, self.current_place()?)
    }
}
