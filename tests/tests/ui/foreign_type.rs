// Neither the trait nor the type nor the library is local.

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{ConversionError, NativeArray};

impl NativeArray<Ndarray> for Vec<f32> {
    fn into_library(self) -> Result<NdArray, ConversionError<Self>> {
        unimplemented!()
    }

    fn from_library(_: NdArray) -> Result<Self, ConversionError<NdArray>> {
        unimplemented!()
    }
}

fn main() {}
