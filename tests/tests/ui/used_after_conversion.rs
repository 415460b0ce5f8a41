// A conversion consumes its array.

use arraybridge::ndarray::NdArray;
use arraybridge::{Convert, Error, HOST, HostArray};
use arraybridge_tests::Writer;

fn main() -> Result<(), Error> {
    let array = NdArray::from_host(HostArray::from_slice(&[1.0f32, 2.0], &[2])?);
    let _there = array.convert_to::<Writer>(HOST)?;
    println!("{:?}", array.host());
    Ok(())
}
