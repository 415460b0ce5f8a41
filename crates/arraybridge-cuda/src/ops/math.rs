//! Arrays made of nothing.

use arraybridge_core::ops::ArrayMath;
use arraybridge_core::roles::Accelerator;
use arraybridge_core::{DType, Error, HostArray, Layout};

use super::arguments::{Linspace, carrier, code};
use super::cast::pair;
use super::task::Task;
use crate::{Cuda, CudaArray, exchange, runtime};

/// A line of numbers, by its first one, half the distance between two, and its end.
struct Line {
    start: f64,
    half_step: f64,
    /// The last number, where it is to be met exactly.
    stop: Option<f64>,
}

fn line(task: &Task, line: &Line, shape: &[usize], dtype: DType) -> Result<CudaArray, Error> {
    let target = task.make(dtype, shape)?;
    let count = target.layout().len();
    let arguments = Linspace {
        to: target.address(),
        count: count as u64,
        start: line.start,
        half_step: line.half_step,
        stop: line.stop.unwrap_or(0.0),
        to_code: code(dtype)?,
        endpoint: u32::from(line.stop.is_some()),
    };
    // SAFETY: `linspace` takes these, and writes the new array's elements.
    unsafe { task.run("linspace", &arguments, count) }?;
    Ok(target)
}

pub(super) fn ones(task: &Task, shape: &[usize], dtype: DType) -> Result<CudaArray, Error> {
    line(task, &Line { start: 1.0, half_step: 0.0, stop: None }, shape, dtype)
}

fn here() -> Result<Task, Error> {
    Task::new(&runtime::context(Cuda.current_device()?)?)
}

impl ArrayMath<Cuda> for Cuda {
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
    ) -> Result<CudaArray, Error> {
        // Over no elements and over one, the step is of no consequence.
        let intervals = if endpoint { count.saturating_sub(1) } else { count }.max(1);
        // In halves, so that the distance between the largest doubles stays finite.
        let half_step = (stop / 2.0 - start / 2.0) / intervals as f64;
        let numbers = Line { start, half_step, stop: endpoint.then_some(stop) };
        line(&here()?, &numbers, &[count], dtype)
    }

    fn ones(&self, shape: &[usize], dtype: DType) -> Result<CudaArray, Error> {
        ones(&here()?, shape, dtype)
    }

    fn outer(&self, left: &CudaArray, right: &CudaArray) -> Result<CudaArray, Error> {
        let shape = [left.shape()[0], right.shape()[0]];
        let column = Layout::new(&[shape[0], 1], &[left.layout().strides()[0], 1])?;
        let column = left.view(column, 0);
        let kernel = format!("multiply_{}", carrier(left.dtype()).name);
        pair(&Task::of(left)?, &kernel, (&column, right), &shape, left.dtype())
    }

    fn floor(&self, value: f64) -> Result<CudaArray, Error> {
        let floor = HostArray::from_slice(&[value.floor() as f32], &[])?;
        exchange::upload(&floor, self.current_device()?)
    }
}
