//! Reductions in two stages.

use arraybridge_core::ops::Reduction;
use arraybridge_core::{DType, DTypeKind, Error};

use super::QUOTIENT;
use super::element::{Element, real, widest};
use super::task::{REDUCE, Task};
use super::walk::Walk;
use crate::ClArray;
use crate::device::Hardware;
use crate::memory::Memory;
use crate::place::Place;

/// The fewest elements that are worth a piece.
const PIECE: usize = 4096;
/// The most work items that make one total together.
const GROUP: usize = 256;

/// What a reduction is, for the kernels.
struct Plan {
    name: &'static str,
    /// The dtype of the results.
    result: DType,
    /// The type that sums are made in, and whether it keeps what they lose.
    real: &'static str,
    compensated: bool,
    /// The size of a total in bytes.
    total: usize,
}

impl Plan {
    fn new(source: Element, by: Reduction, place: &Place) -> Plan {
        let dtype = source.dtype;
        match by {
            Reduction::Max | Reduction::Min => {
                // Not `max` and `min`, which drivers may define as macros.
                let name = if by == Reduction::Max { "maximum" } else { "minimum" };
                // Totals are numbers, of 8 bytes at most.
                let (real, compensated) = ("float", false);
                Plan { name, result: dtype, real, compensated, total: 8 }
            }
            Reduction::Sum if !is_real(dtype) => {
                let signed = dtype.kind() == DTypeKind::Signed;
                let (result, real) =
                    if signed { (DType::I64, "long") } else { (DType::U64, "ulong") };
                Plan { name: by.name(), result, real, compensated: false, total: 8 }
            }
            _ => {
                let result = if is_real(dtype) { dtype } else { QUOTIENT };
                let wide = widest(place);
                // Sums of elements that are narrower lose nothing that shows.
                let compensated = wide != DType::F64 || source.name == "f64";
                Plan { name: by.name(), result, real: real(wide), compensated, total: 16 }
            }
        }
    }
}

/// Returns whether a dtype is of real or complex numbers.
fn is_real(dtype: DType) -> bool {
    matches!(dtype.kind(), DTypeKind::Float | DTypeKind::Complex)
}

/// Reduces an array over axes.
pub(super) fn reduce(array: &ClArray, by: Reduction, axes: &[usize]) -> Result<ClArray, Error> {
    let place = array.place();
    let source = Element::of(array.dtype(), by.name(), place)?;
    let plan = Plan::new(source, by, place);
    let target = Element::of(plan.result, by.name(), place)?;
    let kept = |axis: &usize| !axes.contains(axis);
    let shape: Vec<usize> =
        (0..array.shape().len()).filter(kept).map(|axis| array.shape()[axis]).collect();
    let made = ClArray::allocate(place, plan.result, &shape)?;
    run(array, source, target.name, &plan, axes, &made)?;
    Ok(made)
}

/// Finds the lowest and the highest finite element, as two numbers of this precision: the highest
/// is below the lowest if there is none.
pub(super) fn finite_range(array: &ClArray, precision: DType) -> Result<ClArray, Error> {
    let place = array.place();
    let source = Element::of(array.dtype(), "finding the range", place)?;
    let real = real(precision);
    let plan = Plan { name: "range", result: precision, real, compensated: false, total: 16 };
    let made = ClArray::allocate(place, precision, &[2])?;
    let axes: Vec<usize> = (0..array.shape().len()).collect();
    let target = Element::of(precision, "finding the range", place)?;
    run(array, source, target.name, &plan, &axes, &made)?;
    Ok(made)
}

/// Queues both stages. `made` is new, and has room for the results.
fn run(
    array: &ClArray,
    source: Element,
    target: &str,
    plan: &Plan,
    axes: &[usize],
    made: &ClArray,
) -> Result<(), Error> {
    let place = array.place();
    let part = |chosen: bool| {
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        for axis in (0..array.shape().len()).filter(|axis| axes.contains(axis) == chosen) {
            shape.push(array.shape()[axis]);
            strides.push(array.layout().strides()[axis]);
        }
        (shape, strides)
    };
    let (kept_shape, kept_strides) = part(false);
    let (reduced_shape, reduced_strides) = part(true);
    let results: usize = kept_shape.iter().product();
    let count: usize = reduced_shape.iter().product();
    if results == 0 {
        return Ok(());
    }
    let kept = Walk::new(&kept_shape, &kept_strides)?;
    let reduced = Walk::new(&reduced_shape, &reduced_strides)?;
    let facts = &place.known.facts;
    let is_cpu = facts.hardware == Hardware::Cpu;
    let options = options(source, target, plan, is_cpu);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();

    // Enough results keep the device busy with an item each; few are given a work-group for each of
    // several pieces.
    let group = GROUP.min(facts.work_group);
    let busy = facts.compute_units * if is_cpu { 4 } else { 8 };
    let by_columns = results >= busy * 64 || count < 4 * group;
    let pieces = if by_columns { 1 } else { (busy / results).clamp(1, count.div_ceil(PIECE)) };
    let length = count.div_ceil(pieces).max(1);
    let pieces = count.div_ceil(length).max(1);
    let totals = match pieces {
        1 => None,
        _ => Some(Memory::allocate(place, pieces * results * source.parts * plan.total)?),
    };
    let kernel = if by_columns { "columns" } else { "rows" };
    let task = Task::new(place, &REDUCE, kernel, &options)?;
    let group = power_of_two(group.min(task.work_group()));
    let task = task
        .read(array)
        .value(kept)
        .value(reduced)
        .value(results as u64)
        .value(count as u64)
        .value(length as u64)
        // With one piece there are no totals, and the kernel does not touch this.
        .write(totals.as_ref().unwrap_or(made.memory()))
        .write(made.memory());
    if by_columns {
        let items = group.min(64);
        let global = [results.div_ceil(items) * items, pieces];
        // SAFETY: both walks are parts of the array's; there is room for a result each, and for a
        // total of each piece.
        unsafe { task.run(&global, Some(&[items, 1])) }?;
    } else {
        let task = task.local(group * plan.total);
        // SAFETY: as above; the shared memory has room for a total of each item.
        unsafe { task.run(&[results * group, pieces], Some(&[group, 1])) }?;
    }
    let Some(totals) = &totals else { return Ok(()) };
    let task = Task::new(place, &REDUCE, "finish", &options)?
        .read_memory(totals)
        .value(results as u64)
        .value(pieces as u64)
        .value(count as u64)
        .write(made.memory());
    // SAFETY: the first stage made a total of each piece of each result.
    unsafe { task.run_over(results) }
}

fn options(source: Element, target: &str, plan: &Plan, is_cpu: bool) -> Vec<String> {
    let mut options = vec![
        format!("REDUCTION={}", plan.name),
        format!("SOURCE={}", source.name),
        format!("PARTS={}", source.parts),
        format!("TARGET={target}"),
        format!("REAL={}", plan.real),
    ];
    if plan.compensated {
        options.push("COMPENSATED".into());
    }
    if is_real(source.dtype) {
        options.push("HAS_NAN".into());
    }
    if !is_cpu {
        options.push("INTERLEAVED".into());
    }
    options
}

fn power_of_two(at_most: usize) -> usize {
    1 << at_most.max(1).ilog2()
}
