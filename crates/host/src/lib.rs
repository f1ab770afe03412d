//! tiermark-host
