//! Which program this is.

use tiermark_model::Tool;

/// The program, as documents record it.
pub(crate) fn tool() -> Tool {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: known(env!("TIERMARK_GIT")),
        target: env!("TIERMARK_TARGET").to_owned(),
        rustc: known(env!("TIERMARK_RUSTC")),
        libc: libc().to_owned(),
    }
}

/// The C library this program is linked with.
fn libc() -> &'static str {
    match (cfg!(target_env = "musl"), cfg!(target_env = "gnu")) {
        (true, _) => "musl",
        (_, true) => "glibc",
        _ => "unknown libc",
    }
}

/// One line for people.
pub(crate) fn line() -> String {
    let tool = tool();
    let git = tool.git.as_deref().unwrap_or("no git");
    let rustc = tool.rustc.as_deref().unwrap_or("unknown");
    format!("tiermark {} ({git}, {}, rustc {rustc}, {})", tool.version, tool.target, tool.libc)
}
