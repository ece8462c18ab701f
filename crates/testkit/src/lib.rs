//! x

pub mod onnx;
