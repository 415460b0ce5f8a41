// An observer's guard belongs to the thread that installed it.

use std::sync::Arc;

use arraybridge::{ConversionRecord, install};

fn main() {
    let guard = install(Arc::new(|_: &ConversionRecord<'_>| {}));
    std::thread::spawn(move || drop(guard));
}
