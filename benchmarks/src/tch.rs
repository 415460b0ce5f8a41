//! PyTorch: what a conversion costs beside tch's own ways, and copies beside torch's.

use anyhow::Result;
use arraybridge_core::ops::HostExchange;
use arraybridge_core::{
    Access, AnyArray, ArrayLibrary, ConversionCounters, Convert, CopyPolicy, DType, HOST,
    HostArray, Layout, Library, Owner,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::{Device, Kind, Tensor};
use arraybridge_xla::Xla;

use crate::pairs::Bench;

const SIDE: usize = 256;
const FLOATS: (Kind, Device) = (Kind::Float, Device::Cpu);

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    one_way(bench)?;
    there_and_back(bench)?;
    to_xla(bench)?;
    transposed(bench)
}

/// Memory that every array of these measurements lies in, one after the other.
struct Lent(Vec<f32>);

impl Lent {
    fn array(&mut self) -> Result<NdArray> {
        let layout = Layout::row_major(&[SIDE, SIDE])?;
        let (pointer, owner) = (self.0.as_mut_ptr().cast(), Owner::new(()));
        // SAFETY: `self` keeps the memory for longer than any array of it is used, and has one at a
        // time.
        let array =
            unsafe { HostArray::from_raw(owner, pointer, DType::F32, layout, Access::Exclusive) };
        Ok(NdArray::from_host(array?))
    }

    /// What libtorch's own way over the same memory is: nobody owns it, and nothing is checked.
    fn blob(&mut self) -> Tensor {
        let (sizes, strides) = ([SIDE as i64; 2], [SIDE as i64, 1]);
        let pointer = self.0.as_ptr().cast();
        // SAFETY: as above.
        unsafe { Tensor::from_blob(pointer, &sizes, &strides, Kind::Float, Device::Cpu) }
    }
}

fn lent() -> Lent {
    Lent(vec![1f32; SIDE * SIDE])
}

/// Into torch, the making of the ndarray array and the dropping of the tensor included.
fn one_way(bench: &mut Bench) -> Result<()> {
    let (mut memory, mut blob) = (lent(), lent());
    bench.compare(
        "ndarray to tch, typed",
        "tch's from_blob",
        || Ok(memory.array()?.convert_to::<Tch>(HOST)?),
        || Ok(blob.blob()),
    )?;
    let tch = Library::of::<Tch>();
    bench.compare(
        "ndarray to tch, erased",
        "tch's from_blob",
        || Ok(AnyArray::of::<Ndarray>(memory.array()?).convert_to(tch, HOST)?),
        || Ok(blob.blob()),
    )?;
    let slice = lent().0;
    bench.compare(
        "ndarray to tch, typed",
        "tch's from_slice, a copy of 256 KiB",
        || Ok(memory.array()?.convert_to::<Tch>(HOST)?),
        || Ok(Tensor::f_from_slice(&slice)?),
    )
}

fn there_and_back(bench: &mut Bench) -> Result<()> {
    let mut memory = lent();
    let (mut array, mut blob) = (Some(memory.array()?), lent());
    bench.compare(
        "ndarray to tch and back, typed (2 conversions)",
        "tch's from_blob",
        || {
            let Some(ours) = array.take() else { return Ok(()) };
            array = Some(ours.convert_to::<Tch>(HOST)?.convert_to::<Ndarray>(HOST)?);
            Ok(())
        },
        || Ok(blob.blob()),
    )?;
    let (ndarray, tch) = (Library::of::<Ndarray>(), Library::of::<Tch>());
    let mut erased = array.take().map(AnyArray::of::<Ndarray>);
    bench.compare(
        "ndarray to tch and back, erased (2 conversions)",
        "tch's from_blob",
        || {
            let Some(ours) = erased.take() else { return Ok(()) };
            erased = Some(ours.convert_to(tch, HOST)?.convert_to(ndarray, HOST)?);
            Ok(())
        },
        || Ok(blob.blob()),
    )?;
    drop(erased);
    let mut counted = Some(memory.array()?);
    let counters = ConversionCounters::new();
    bench.compare(
        "ndarray to tch and back, counted (2 conversions)",
        "tch's from_blob",
        || {
            let _guard = counters.install();
            let Some(ours) = counted.take() else { return Ok(()) };
            counted = Some(ours.convert_to::<Tch>(HOST)?.convert_to::<Ndarray>(HOST)?);
            Ok(())
        },
        || Ok(blob.blob()),
    )?;
    drop(counted);
    let (tensor, mut array) = (blob.blob(), Some(memory.array()?));
    let mut values = vec![0f32; SIDE * SIDE];
    bench.compare(
        "ndarray to tch and back, typed (2 conversions)",
        "tch's copy_data, 256 KiB",
        || {
            let Some(ours) = array.take() else { return Ok(()) };
            array = Some(ours.convert_to::<Tch>(HOST)?.convert_to::<Ndarray>(HOST)?);
            Ok(())
        },
        || Ok(tensor.f_copy_data(&mut values, SIDE * SIDE)?),
    )
}

fn to_xla(bench: &mut Bench) -> Result<()> {
    let availability = Xla.availability();
    if !availability.is_available() {
        eprintln!("skipped: xla is {availability}");
        return Ok(());
    }
    let tensor = || Tensor::f_empty([SIDE as i64, SIDE as i64], FLOATS);
    bench.compare(
        "tch to xla, a new tensor of 256 KiB",
        "making the tensor",
        || Ok(tensor()?.convert_with::<Xla>(HOST, CopyPolicy::Never)?),
        || Ok(tensor()?),
    )
}

fn transposed(bench: &mut Bench) -> Result<()> {
    for (kind, name) in [(Kind::Float, "float32"), (Kind::Uint8, "uint8")] {
        let tensor = Tensor::f_ones([4096, 4096], (kind, Device::Cpu))?.f_transpose(0, 1)?;
        bench.compare(
            &format!("transposed tensor 4096^2 {name} to a host array"),
            "torch's contiguous",
            || Ok(Tch::to_host(&tensor)?),
            || Ok(tensor.f_contiguous()?),
        )?;
    }
    let volume = Tensor::f_ones([64, 512, 512], FLOATS)?.f_permute([2, 1, 0])?;
    bench.compare(
        "permuted tensor (2,1,0) 64x512x512 float32 to a host array",
        "torch's contiguous",
        || Ok(Tch::to_host(&volume)?),
        || Ok(volume.f_contiguous()?),
    )
}
