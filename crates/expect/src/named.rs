//! What a comparison can name.

use tiermark_model::{CheckUnit, Note};

/// What a comparison can name.
pub trait Named: Sized {
    /// The name in a text, which begins at a character of the comparison.
    ///
    /// # Errors
    /// What is wrong with it, with the nearest name.
    fn read(text: &str, at: usize) -> Result<Self, Note>;

    /// Unit of its numbers.
    fn unit(&self) -> CheckUnit;

    /// Whether it stands for nothing but itself, as a text between quotes does.
    fn is_literal(&self) -> bool {
        false
    }
}
