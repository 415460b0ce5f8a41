//! A kernel of one's own on an image stack, between two conversions.

use std::time::Instant;

use anyhow::Result;
use arraybridge::ArrayLibrary;
use arraybridge::opencl::{ClContext, ClProgram, KernelArgument};
use arraybridge::prelude::*;
use arraybridge_examples::{read_stack, sample};
use ndarray::{Array3, ArrayView3};

/// The median of each pixel and its eight neighbours in the plane, edges repeated.
const MEDIAN: &str = "
    kernel void median(global const ushort* from, global ushort* to, uint rows, uint columns) {
        int column = get_global_id(0), row = get_global_id(1);
        size_t plane = get_global_id(2) * (size_t)rows * columns;
        ushort seen[9];
        int count = 0;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                int y = clamp(row + dy, 0, (int)rows - 1), x = clamp(column + dx, 0, (int)columns - 1);
                ushort pixel = from[plane + (size_t)y * columns + x];
                int place = count++;
                for (; place > 0 && seen[place - 1] > pixel; place--) seen[place] = seen[place - 1];
                seen[place] = pixel;
            }
        }
        to[plane + (size_t)row * columns + column] = seen[4];
    }";

fn main() -> Result<()> {
    let Some(&device) = OpenCl.devices()?.first() else {
        println!("skipped: opencl is {}", OpenCl.availability());
        return Ok(());
    };
    let stack = read_stack(&sample("nuclei3d.tif"))?;
    let expected = median(stack.view()?);
    let [planes, rows, columns] = *stack.host().shape() else { anyhow::bail!("not a stack") };

    let stack: ClArray = stack.convert_to::<OpenCl>(device)?;
    let program = ClProgram::compile(&ClContext::of(device)?, MEDIAN, "")?;
    let mut filtered = OpenCl::ones_like(&stack, None, stack.dtype())?;
    let started = Instant::now();
    let mut arguments = [
        KernelArgument::Read(&stack),
        KernelArgument::Write(&mut filtered),
        KernelArgument::U32(rows as u32),
        KernelArgument::U32(columns as u32),
    ];
    // SAFETY: a work item for each pixel reads pixels of its plane and writes its own one, both of
    // arrays of this shape and dtype.
    unsafe { program.run("median", &mut arguments, &[columns, rows, planes], None) }?;
    filtered.wait()?;
    println!("median of {planes} planes on {device}: {:?}", started.elapsed());

    // Operations go on where the array is; only the projection comes back.
    let projection = OpenCl::max(&filtered, 0)?;
    let projection: NdArray = projection.convert_to::<Ndarray>(HOST)?;
    let brightest = Ndarray::max(&projection, [0, 1])?;
    println!("brightest pixel of the projection: {}", brightest.host().as_slice::<u16>()?[0]);
    let filtered: Array3<u16> = filtered.convert_to::<Ndarray>(HOST)?.into_array()?;
    assert_eq!(filtered, expected, "the same as in Rust");
    Ok(())
}

/// The same filter in Rust.
fn median(stack: ArrayView3<u16>) -> Array3<u16> {
    let (_, rows, columns) = stack.dim();
    let near = |at: usize, step: usize, length: usize| (at + step).clamp(1, length) - 1;
    Array3::from_shape_fn(stack.dim(), |(plane, row, column)| {
        let around = |place: usize| {
            stack[[plane, near(row, place / 3, rows), near(column, place % 3, columns)]]
        };
        let mut seen: [u16; 9] = std::array::from_fn(around);
        seen.sort_unstable();
        seen[4]
    })
}
