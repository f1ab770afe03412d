//! tiermark-probes
