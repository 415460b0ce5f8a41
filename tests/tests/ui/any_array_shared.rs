// An array of any library is sent to another thread, never shared with it.

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{AnyArray, Error, HostArray};

fn main() -> Result<(), Error> {
    let array = NdArray::from_host(HostArray::from_slice(&[1.0f32, 2.0], &[2])?);
    let array = AnyArray::of::<Ndarray>(array);
    std::thread::scope(|scope| {
        scope.spawn(|| println!("{:?}", array.describe()));
    });
    Ok(())
}
