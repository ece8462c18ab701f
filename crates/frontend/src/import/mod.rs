//! Readers of network descriptions; each ends in a [`crate::ir::VerifiedGraph`].

pub mod kernels;
pub mod onnx;
