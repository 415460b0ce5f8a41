// A task that moves between threads must not keep a guard over an await.

use std::sync::Arc;

use arraybridge::{ConversionRecord, install};

fn spawn(_task: impl Future + Send) {}

fn main() {
    spawn(async {
        let _guard = install(Arc::new(|_: &ConversionRecord<'_>| {}));
        std::future::ready(()).await;
    });
}
