//! tiermark-kernels
