//! tiermark
fn main() {}
