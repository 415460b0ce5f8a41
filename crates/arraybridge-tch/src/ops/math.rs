//! Arrays made of nothing.

use arraybridge_core::ops::{ArrayMath, cast as core_cast};
use arraybridge_core::roles::Accelerator;
use arraybridge_core::{DType, DTypeKind, Device, Error, HostArray};
use tch::Tensor;

use super::carrier::{arithmetic, as_dtype};
use super::cast;
use super::failure::{Failure, run};
use crate::torch::{self, Seen};
use crate::{Tch, dtype, exchange};

/// Makes a tensor of ones.
pub(super) fn ones(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor, Failure> {
    dtype::scalar_type(dtype, "ones")?;
    // Torch fills what it computes with.
    let carrier = if dtype == DType::U64 { DType::I64 } else { arithmetic(dtype) };
    let ones = torch::ones(shape, dtype::scalar_type(carrier, "ones")?, device)??;
    if carrier == dtype { Ok(ones) } else { cast::cast(&ones, carrier, dtype) }
}

impl ArrayMath<Tch> for Tch {
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
    ) -> Result<Tensor, Error> {
        dtype::scalar_type(dtype, "linspace")?;
        // Over no elements and over one, the step is of no consequence.
        let intervals = if endpoint { count.saturating_sub(1) } else { count }.max(1);
        // In halves, so that the distance between the largest doubles stays finite.
        let step = (stop / 2.0 - start / 2.0) / intervals as f64;
        let mut line = HostArray::scratch(DType::F64, &[count])?;
        let places = line.as_slice_mut::<f64>()?;
        for (place, number) in places.iter_mut().enumerate() {
            *number = start + step * place as f64 + step * place as f64;
        }
        // The end is met exactly, whatever the rounding of the step.
        if let Some(last) = places.last_mut().filter(|_| endpoint && count > 1) {
            *last = stop;
        }
        exchange::upload(&core_cast::cast(&line, dtype)?, self.current_device()?)
    }

    fn ones(&self, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let device = self.current_device()?;
        ones(shape, dtype, device).map_err(|failure| match failure {
            Failure::Torch(error) => exchange::failed("ones", device, None, error),
            Failure::Core(error) => error,
        })
    }

    fn outer(&self, left: &Tensor, right: &Tensor) -> Result<Tensor, Error> {
        let seen = Seen::of(left)?;
        let dtype = seen.dtype;
        run("outer", &seen, || {
            let (column, row) = (left.f_unsqueeze(1)?, right.f_unsqueeze(0)?);
            if dtype == DType::Bool {
                return Ok(column.f_logical_and(&row)?);
            }
            // Products of unsigned integers keep their low bits, whatever they are carried in.
            if dtype.kind() == DTypeKind::Unsigned && dtype.size() == 8 {
                let bits = as_dtype(&column, DType::I64)?.f_mul(&as_dtype(&row, DType::I64)?)?;
                return as_dtype(&bits, dtype);
            }
            let carrier = arithmetic(dtype);
            if carrier == dtype {
                return Ok(column.f_mul(&row)?);
            }
            let (column, row) =
                (cast::cast(&column, dtype, carrier)?, cast::cast(&row, dtype, carrier)?);
            cast::cast(&column.f_mul(&row)?, carrier, dtype)
        })
    }

    fn floor(&self, value: f64) -> Result<Tensor, Error> {
        let floor = HostArray::from_slice(&[value.floor() as f32], &[])?;
        exchange::upload(&floor, self.current_device()?)
    }
}
