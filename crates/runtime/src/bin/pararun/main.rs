//! `pararun`: runs plans of paracompile on OpenCL devices, and measures devices for its profiles.

fn main() {}
