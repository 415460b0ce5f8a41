//! The project's commands: `cargo xtask demo`, `test`, `setup`, `bench`, `check`.

fn main() {}
