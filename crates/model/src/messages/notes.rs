//! What findings say beside their number.

use super::rows::messages;

messages! {
    /// The distance that the firmware states between two nodes.
    Note at_distance(distance: u32): "at distance {distance}";
}
