//! For fuzzing: the parser of replies.

use crate::resp::Parser;

/// Parses replies from pieces of bytes, keeps so many bytes of each, and returns the number of replies
/// before the first error.
pub fn replies(keep: usize, pieces: &[&[u8]]) -> usize {
    let (mut parser, mut count) = (Parser::new(keep), 0);
    for piece in pieces {
        if parser.feed(piece, |_| count += 1).is_err() {
            break;
        }
    }
    count
}
