// A type that is no library's array.

use arraybridge::ndarray::Ndarray;
use arraybridge::{Convert, HOST};

fn main() {
    let numbers: Vec<f32> = vec![1.0, 2.0];
    let _ = numbers.convert_to::<Ndarray>(HOST);
}
