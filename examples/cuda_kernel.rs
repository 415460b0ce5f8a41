//! CUDA: operations queued on the device, and a kernel of one's own among them.

use anyhow::Result;
use arraybridge::ArrayLibrary;
use arraybridge::cuda::{Grid, Program};
use arraybridge::prelude::*;
use arraybridge_examples::{read_stack, sample};

/// `void invert(unsigned char *image, unsigned long long count)`, as PTX: the driver compiles it for
/// the GPU that is there. With NVIDIA's compiler library, `Program::from_source` takes CUDA C++.
const INVERT: &str = "
.version 6.0
.target sm_50
.address_size 64
.visible .entry invert(.param .u64 image, .param .u64 count)
{
    .reg .pred %p;
    .reg .b16 %h;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [image];
    ld.param.u64 %d2, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvt.u64.u32 %d3, %r1;
    setp.ge.u64 %p, %d3, %d2;
    @%p bra done;
    cvta.to.global.u64 %d1, %d1;
    add.s64 %d1, %d1, %d3;
    ld.global.u8 %h, [%d1];
    not.b16 %h, %h;
    st.global.u8 [%d1], %h;
done:
    ret;
}
";

fn main() -> Result<()> {
    let availability = Cuda.availability();
    if !availability.is_available() {
        println!("skipped: cuda is {availability}");
        return Ok(());
    }
    let gpu = Device::Accelerator(0);
    let stack = read_stack(&sample("nuclei3d.tif"))?;
    let expected = Ndarray::max(&stack, 0)?;

    // One upload; everything after it is queued, and nothing comes back in between.
    let stack: CudaArray = stack.convert_to::<Cuda>(gpu)?;
    let projection = Cuda::max(&stack, 0)?;
    let floats = Cuda::astype(&projection, DType::F32)?;
    let mut image = Cuda::scale_dtype(&floats, DType::U8)?; // lowest to 0, highest to 255

    let program = Program::from_ptx(gpu, INVERT)?;
    let invert = program.kernel("invert")?;
    let count = image.layout().len();
    let mut launch = invert.launch(Grid::for_count(count));
    launch.writes(&mut image)?.value(count as u64);
    // SAFETY: the kernel takes the address of bytes and their number, and stays within them.
    unsafe { launch.run() }?;

    let darkest = Cuda::to_host(&Cuda::min(&image, [0, 1])?)?;
    println!("the brightest pixel is {} after the kernel", darkest.as_slice::<u8>()?[0]);
    let projection: NdArray = projection.convert_to::<Ndarray>(HOST)?;
    assert_eq!(projection.host().as_bytes()?, expected.host().as_bytes()?);
    println!("the projection is ndarray's, to the bit");
    Ok(())
}
