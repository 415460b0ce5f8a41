//! What the registration line made possible.

use arraybridge::prelude::*;
use raster_backend::{Raster, Rasters};

#[test]
fn the_library_is_found_by_name() {
    assert!(library("raster").unwrap().is::<Rasters>());
    let plan = plan("raster", HOST, "ndarray", HOST).unwrap();
    assert_eq!(plan.mechanism(), Mechanism::SharedHostBuffer);
}

#[test]
fn rasters_cross_without_a_copy_and_stay_writable() {
    let array = HostArray::from_vec(vec![5.0f32, 4.0, 8.0], &[3]).unwrap();
    let address = array.address();
    let array = AnyArray::of::<Ndarray>(NdArray::from_host(array));
    let raster = array.convert_with(library("raster").unwrap(), HOST, CopyPolicy::Never).unwrap();
    let mut raster = raster.into_array_of::<Rasters>().unwrap();
    raster.subtract_background().unwrap();
    let back = raster.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(back.host().address(), address);
    assert_eq!(back.host().as_slice::<f32>().unwrap(), [1.0, 0.0, 4.0]);
}

#[test]
fn a_shared_array_is_copied_once_and_not_written_through() {
    let shared = NdArray::from_host(HostArray::from_vec(vec![5u8, 4, 8], &[3]).unwrap());
    let mut raster = shared.clone().convert_to::<Rasters>(HOST).unwrap();
    raster.subtract_background().unwrap();
    assert_eq!(shared.host().as_slice::<u8>().unwrap(), [5, 4, 8]);
    assert_eq!(raster.pixels::<u8>().unwrap(), [1, 0, 4]);
}

#[test]
fn a_dtype_without_pixels_is_an_error_that_gives_the_array_back() {
    let array = NdArray::from_host(HostArray::from_vec(vec![1i64, 2], &[2]).unwrap());
    let error = array.convert_to::<Rasters>(HOST).unwrap_err();
    assert_eq!(error.to_string(), "raster does not support dtype int64 for arrays");
    let array = error.into_array().unwrap();
    assert_eq!(array.host().as_slice::<i64>().unwrap(), [1, 2]);
    assert!(Raster::new(vec![true], &[1]).is_err());
}
