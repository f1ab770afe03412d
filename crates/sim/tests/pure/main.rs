//! What simulated machines do is what was planted: through the engine's door to the machine.

mod interrupted;
mod made;
