//! What the compiler says to users who make a mistake, word by word.

use std::process::Command;

/// The compiler whose words are written down in `ui/*.stderr`.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_do_not_compile_and_the_compiler_says_why() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(COMPILER) {
        println!("skipped: the messages are those of {COMPILER}*, and this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
