//! tiermark-engine
