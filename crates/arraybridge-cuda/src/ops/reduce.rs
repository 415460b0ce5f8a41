//! Reductions, level by level: each thread folds a part of the elements of a result, and the parts
//! are folded again until one is left.

use arraybridge_core::ops::Reduction;
use arraybridge_core::{DType, DTypeKind, Error, Layout};

use super::arguments::{Carrier, F64, I64, Mean, Reduce, U64, carrier, code};
use super::cast::cast;
use super::task::Task;
use super::walk::{Walk, axes_of};
use crate::CudaArray;
use crate::library::NAME;

/// How many threads keep a large GPU busy.
const THREADS: usize = 1 << 18;
/// The fewest elements that a thread folds.
const SHORTEST: usize = 32;

/// Reduces over axes, which are in range, distinct and in order.
pub(super) fn reduce(
    task: &Task,
    array: &CudaArray,
    by: Reduction,
    axes: &[usize],
) -> Result<CudaArray, Error> {
    let dtype = array.dtype();
    let complex = dtype.kind() == DTypeKind::Complex;
    match by {
        Reduction::Max | Reduction::Min if complex => {
            Err(Error::DtypeUnsupported { library: NAME, operation: by.name(), dtype })
        }
        Reduction::Max | Reduction::Min => {
            let best = fold(task, array, by.name(), carrier(dtype), axes)?;
            cast(task, &best, dtype)
        }
        Reduction::Mean => mean(task, array, axes),
        _ => {
            let (carrier, result) = sum_of(dtype);
            let sum = fold(task, array, "sum", carrier, axes)?;
            cast(task, &sum, result)
        }
    }
}

/// What sums of a dtype are computed in, and the dtype that they have.
fn sum_of(dtype: DType) -> (Carrier, DType) {
    match dtype.kind() {
        DTypeKind::Signed => (I64, DType::I64),
        DTypeKind::Unsigned | DTypeKind::Bool => (U64, DType::U64),
        _ => (carrier(dtype), dtype),
    }
}

fn mean(task: &Task, array: &CudaArray, axes: &[usize]) -> Result<CudaArray, Error> {
    let dtype = array.dtype();
    let count: usize = axes.iter().map(|&axis| array.shape()[axis]).product();
    let (summed_in, _) = sum_of(dtype);
    let whole = matches!(summed_in, I64 | U64);
    // Sums of so many integers, or of wide ones, could overflow 64 bits.
    let summed_in = if whole && (dtype.size() == 8 || count >> 31 != 0) { F64 } else { summed_in };
    let result = if whole { DType::F32 } else { dtype };
    let sum = fold(task, array, "sum", summed_in, axes)?;
    let target = task.make(result, sum.shape())?;
    let arguments = Mean {
        from: sum.address(),
        to: target.address(),
        count: sum.layout().len() as u64,
        divisor: count as f64,
        to_code: u64::from(code(result)?),
    };
    let kernel = format!("mean_{}", summed_in.name);
    // SAFETY: `mean_*` takes these, of arrays of this task of as many elements.
    unsafe { task.run(&kernel, &arguments, sum.layout().len()) }?;
    Ok(target)
}

/// Folds by the kernel of this name in a carrier: the result is an array of it.
pub(super) fn fold(
    task: &Task,
    array: &CudaArray,
    kernel: &str,
    carrier: Carrier,
    axes: &[usize],
) -> Result<CudaArray, Error> {
    let kept: Vec<usize> = (0..array.shape().len()).filter(|axis| !axes.contains(axis)).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| array.shape()[axis]).collect();
    let results = Layout::row_major(&shape)?.len();
    if results == 0 {
        return task.make(carrier.dtype, &shape);
    }
    let kernel = format!("{kernel}_{}", carrier.name);
    let mut source = task.read(array)?;
    let plan = Plan::of(source.layout(), &kept, axes);
    let mut plan = if plan.fits() {
        plan
    } else {
        // Results first and what is folded last, in order: one axis each.
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        source = task.gather(&source.view(source.layout().permute(&order)?, 0))?;
        Plan::flat(results, source.layout().len() / results)
    };
    let mut elements = code(source.dtype())?;
    loop {
        let parts = parts(results, plan.count);
        let made = task.make(carrier.dtype, &[results, parts])?;
        let arguments = Reduce {
            kept: plan.kept.shape(),
            kept_strides: plan.kept.strides(0),
            reduced: plan.reduced_shape(),
            reduced_strides: plan.reduced.strides(0),
            from: source.address(),
            to: made.address(),
            parts: parts as u64,
            code: elements,
            parts_first: u32::from(plan.parts_first()),
        };
        // SAFETY: these kernels take these, of arrays of this task; the layouts are the source's, and
        // the new array has an element for each part of each result.
        unsafe { task.run(&kernel, &arguments, results * parts) }?;
        if parts == 1 {
            return Ok(made.view(Layout::row_major(&shape)?, 0));
        }
        (source, elements) = (made, code(carrier.dtype)?);
        plan = Plan::flat(results, parts);
    }
}

/// How many parts each result's elements are cut into.
fn parts(results: usize, count: usize) -> usize {
    let wanted = THREADS.div_ceil(results);
    wanted.min(count.div_ceil(SHORTEST)).max(1)
}

/// The axes that stay and those that are folded, as kernels walk them.
struct Plan {
    kept: Walk<1>,
    reduced: Walk<1>,
    count: usize,
}

impl Plan {
    fn of(layout: &Layout, kept: &[usize], axes: &[usize]) -> Plan {
        let (shape, strides) = axes_of(layout, kept);
        let kept = Walk::new(&shape, [&strides]);
        let (shape, strides) = axes_of(layout, axes);
        let count = shape.iter().product();
        Plan { kept, reduced: Walk::new(&shape, [&strides]), count }
    }

    /// Results in a row, each of `count` elements in a row.
    fn flat(results: usize, count: usize) -> Plan {
        let kept = Walk::new(&[results], [&[count as isize]]);
        Plan { kept, reduced: Walk::new(&[count], [&[1]]), count }
    }

    fn fits(&self) -> bool {
        self.kept.fits() && self.reduced.fits()
    }

    fn reduced_shape(&self) -> super::arguments::Shape {
        let shape = self.reduced.shape();
        super::arguments::Shape { count: self.count as u64, ..shape }
    }

    /// Returns whether the folded elements lie closer together than the results do.
    fn parts_first(&self) -> bool {
        let nearest = |walk: &Walk<1>| {
            walk.strides[0].iter().map(|stride| stride.unsigned_abs()).min().unwrap_or(usize::MAX)
        };
        nearest(&self.reduced) <= nearest(&self.kept)
    }
}
