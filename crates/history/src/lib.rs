//! tiermark-history
