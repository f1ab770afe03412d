//! tiermark-machine
