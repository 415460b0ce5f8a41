// A type that is no library's array, by name.

use arraybridge::AnyArray;

fn main() {
    let _ = AnyArray::from_native(vec![1.0, 2.0]);
}
