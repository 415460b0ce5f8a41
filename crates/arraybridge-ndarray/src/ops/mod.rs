//! The operations, by NumPy's rules, on the host arrays that `NdArray` wraps.
//!
//! Results are row-major and 64-byte aligned, views excepted: `reshape`, `broadcast_to`, `plane`
//! and `astype` to the same dtype share memory, which is copied when somebody writes it.

mod join;
mod math;
mod planes;
mod reduce;

use arraybridge_core::ops::{ArrayOps, Reduction, broadcast_pair, cast, scale};
use arraybridge_core::{AxisSlice, DType, Error, HostArray};

use crate::{NdArray, Ndarray};

impl ArrayOps<Ndarray> for Ndarray {
    fn reduce(&self, array: &NdArray, by: Reduction, axes: &[usize]) -> Result<NdArray, Error> {
        reduce::reduce(array.host(), by, axes).map(NdArray::from_host)
    }

    fn astype(&self, array: &NdArray, dtype: DType) -> Result<NdArray, Error> {
        cast::cast(array.host(), dtype).map(NdArray::from_host)
    }

    fn reshape(&self, array: &NdArray, shape: &[usize]) -> Result<NdArray, Error> {
        array.host().reshape(shape).map(NdArray::from_host)
    }

    fn broadcast_to(&self, array: &NdArray, shape: &[usize]) -> Result<NdArray, Error> {
        array.host().broadcast_to(shape).map(NdArray::from_host)
    }

    fn ones_like(&self, _: &NdArray, shape: &[usize], dtype: DType) -> Result<NdArray, Error> {
        math::ones(shape, dtype).map(NdArray::from_host)
    }

    fn assign(
        &self,
        data: &mut Option<NdArray>,
        index: AxisSlice,
        values: &NdArray,
    ) -> Result<NdArray, Error> {
        join::assign(data, index, values)
    }

    fn logical_and(&self, left: &NdArray, right: &NdArray) -> Result<NdArray, Error> {
        logical_and(left.host(), right.host()).map(NdArray::from_host)
    }

    fn stack(&self, arrays: &[&NdArray]) -> Result<NdArray, Error> {
        join::stack(arrays)
    }

    fn plane(&self, array: &NdArray, index: usize) -> Result<NdArray, Error> {
        array.host().index_axis(0, index).map(NdArray::from_host)
    }

    fn normalize_planes(
        &self,
        array: &NdArray,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<NdArray, Error> {
        planes::normalize(array.host(), dtype, scales).map(NdArray::from_host)
    }

    fn scale_dtype(&self, array: &NdArray, dtype: DType) -> Result<NdArray, Error> {
        scale::scale(array.host(), dtype).map(NdArray::from_host)
    }
}

fn logical_and(left: &HostArray, right: &HostArray) -> Result<HostArray, Error> {
    let shape = broadcast_pair("logical_and", left.shape(), right.shape())?;
    let truth = |array| cast::cast(array, DType::Bool)?.broadcast_to(&shape);
    let mut result = truth(left)?;
    // Copies what the caller holds or what is repeated; a cast of the same shape is written over.
    result.make_mut()?;
    let right = truth(right)?.to_contiguous()?;
    for (place, &other) in result.as_slice_mut::<bool>()?.iter_mut().zip(right.as_slice::<bool>()?)
    {
        *place &= other;
    }
    Ok(result)
}
