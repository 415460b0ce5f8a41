//! Array functions, payloads and stacks on real arrays.

use arraybridge_core::ops::Ops;
use arraybridge_core::{
    AnyArray, ArrayFunction, ArrayPayload, BoxError, DType, Error, HOST, HostArray, Library,
    OutputDtype, Outputs, stack_slices, unstack_slices,
};
use arraybridge_ndarray::{NdArray, Ndarray};

fn volume() -> Result<NdArray, Error> {
    let values: Vec<u8> = (0..24).collect();
    Ok(NdArray::from_host(HostArray::from_slice(&values, &[2, 3, 4])?))
}

fn elements(array: &NdArray) -> Result<Vec<u8>, Error> {
    Ok(array.host().to_contiguous()?.as_slice::<u8>()?.to_vec())
}

#[test]
fn a_function_normalizes_plane_by_plane() -> Result<(), BoxError> {
    let normalize = ArrayFunction::<Ndarray, _>::new("normalize", |image: &NdArray| {
        let mean = Ndarray::mean(image, [0, 1])?;
        let mean = mean.host().as_slice::<f64>()?[0];
        let scaled = Ndarray::normalize_planes(image, DType::F32, &[Some(mean.max(1.0)); 3])?;
        Ok::<_, Error>(Outputs::new(scaled, mean))
    })
    .output_dtype(OutputDtype::PreserveInput);
    let image = volume()?;
    let out = normalize.call_slices(&image)?;
    assert_eq!(out.extra, [5.5, 17.5]);
    assert_eq!((out.main.host().dtype(), out.main.host().shape()), (DType::U8, &[2, 3, 4][..]));
    // From 0 to 11 / 5.5 = 2, and from 12 / 17.5 to 23 / 17.5: one scale for the whole stack.
    let seen = elements(&out.main)?;
    assert_eq!((seen[0], seen[11], seen[12], seen[23]), (0, 255, 87, 167));
    assert_eq!(elements(&image)?, (0..24).collect::<Vec<u8>>(), "the input is as it was");
    Ok(())
}

#[test]
fn a_payload_keeps_its_context_through_a_function_with_arguments() -> Result<(), BoxError> {
    let mask = ArrayFunction::<Ndarray, _>::with_arguments(
        "mask",
        |image: &NdArray, (mask, invert): (&NdArray, bool)| {
            let mask =
                if invert { Ndarray::ones_like(mask, None, DType::U8)? } else { mask.clone() };
            Ndarray::logical_and(image, &mask)
        },
    )
    .output_dtype(OutputDtype::U8);
    let channel = ArrayPayload::new(volume()?, "nuclei");
    let zeros = NdArray::from_host(HostArray::zeros(DType::U8, &[2, 3, 4])?);
    let dark = mask.call_with(&channel, (&zeros, false))?;
    assert_eq!((elements(dark.array())?, *dark.context()), (vec![0; 24], "nuclei"));
    let lit = mask.call_with(&channel, (&zeros, true))?;
    assert_eq!(elements(lit.array())?.iter().map(|lit| u32::from(*lit)).sum::<u32>(), 23);
    Ok(())
}

#[test]
fn a_stack_is_cut_without_a_copy_and_put_together_again() -> Result<(), BoxError> {
    let library = Library::of::<Ndarray>();
    let image = volume()?;
    let start = image.host().address();
    let planes = unstack_slices(AnyArray::of::<Ndarray>(image), library, HOST)?;
    for (index, plane) in planes.iter().enumerate() {
        assert_eq!(plane.describe()?.address, start + 12 * index);
    }
    let again = stack_slices(planes, library, HOST)?;
    let again = again.into_array_of::<Ndarray>()?;
    assert_eq!(elements(&again)?, elements(&volume()?)?);
    Ok(())
}
