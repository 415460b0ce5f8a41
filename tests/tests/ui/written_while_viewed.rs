// An array is not written while somebody views it.

use arraybridge::{Error, HOST, HostArray, HostViewExt};
use arraybridge::{Convert, ndarray::NdArray};
use arraybridge_tests::Writer;

fn main() -> Result<(), Error> {
    let array = NdArray::from_host(HostArray::from_slice(&[1.0f32, 2.0], &[2])?);
    let mut array = array.convert_to::<Writer>(HOST)?;
    let view = array.host_view()?;
    array.fill(5.0);
    println!("{:?}", view.as_slice::<f32>()?);
    Ok(())
}
