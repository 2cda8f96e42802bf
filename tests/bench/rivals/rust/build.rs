// The compiler's version, for the line that the program prints.
use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap();
    let output = Command::new(compiler).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!(
        "cargo:rustc-env=COMPILER=rustc {}",
        text.split(' ').nth(1).unwrap_or("?")
    );
    println!("cargo:rerun-if-changed=build.rs");
}
