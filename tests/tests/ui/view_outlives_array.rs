// A view borrows its array.

use arraybridge::{Error, HostArray, HostView};

fn view() -> Result<HostView<'static>, Error> {
    let array = HostArray::from_slice(&[1.0f32, 2.0], &[2])?;
    Ok(array.view())
}

fn main() {
    let _ = view();
}
