//! Expands the files of `kernels/` into the functions and rows that `src/files.rs` includes.

#[path = "build/declared.rs"]
mod declared;
#[path = "build/emit.rs"]
mod emit;
#[path = "build/expand.rs"]
mod expand;
#[path = "build/parse.rs"]
mod parse;

use std::env::var;
use std::path::Path;
use std::{fs, process};

use declared::Mistake;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=kernels");
    let arch = var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    match expanded(&arch) {
        Ok(text) => {
            let out = Path::new(&var("OUT_DIR").unwrap_or_default()).join("kernels.rs");
            fs::write(&out, text).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
        }
        Err(mistakes) => {
            for mistake in mistakes {
                println!("cargo::error=crates/kernels/{mistake}");
            }
            process::exit(1);
        }
    }
}

/// The kernels as Rust, for an architecture.
fn expanded(arch: &str) -> Result<String, Vec<Mistake>> {
    let sets = all("kernels/sets", "set", parse::set)?;
    let kernels = all("kernels", "kernel", parse::kernel)?;
    emit::build(&kernels, &sets).map(|built| emit::rust(&built, arch))
}

/// Every file of a folder with that extension, in the order of names.
fn all<T>(folder: &str, extension: &str, parse: fn(&str, &str) -> Result<T, Mistake>) -> Result<Vec<T>, Vec<Mistake>> {
    let failed =
        |file: &str, error: std::io::Error| vec![Mistake { file: file.to_owned(), line: 0, what: error.to_string() }];
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, error))?;
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(&format!(".{extension}")));
    names.sort_unstable();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for name in names {
        let file = format!("{folder}/{name}");
        let text = fs::read_to_string(&file).map_err(|error| failed(&file, error))?;
        match parse(&file, &text) {
            Ok(parsed) => good.push(parsed),
            Err(mistake) => bad.push(mistake),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}
