//! Tells the program which source and compiler it was made of. Nothing here can fail a build.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = output(Command::new(rustc).arg("--version"));
    let version = version.as_deref().and_then(|v| v.split_whitespace().nth(1)).unwrap_or("");
    println!("cargo::rustc-env=TIERMARK_RUSTC={version}");
    println!("cargo::rustc-env=TIERMARK_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    let git = output(Command::new("git").args(["rev-parse", "--short=12", "HEAD"])).unwrap_or_default();
    println!("cargo::rustc-env=TIERMARK_GIT={git}");
    // HEAD names a branch; the branch's own file changes with each commit.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output(Command::new("git").args(["rev-parse", "--git-path", path])) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What a command prints, trimmed; `None` when there is no such command or it fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
