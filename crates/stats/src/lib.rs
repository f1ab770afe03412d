//! tiermark-stats
