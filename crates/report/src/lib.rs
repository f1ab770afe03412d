//! tiermark-report
