//! What an operator of a kernel graph launches, with tensors in place of buffers.

use std::collections::BTreeMap;

use paracompile_plan::Bytes;

use super::TensorId;

/// The launch of an OpenCL kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCall {
    /// File with the code, as the specification names it.
    pub file: String,
    /// Function in it.
    pub function: String,
    /// Macros that it is built with.
    pub defines: BTreeMap<String, String>,
    /// Work items along each dimension.
    pub global: Vec<u64>,
    /// Work items of a group; absent leaves them to the device.
    pub local: Option<Vec<u64>>,
    /// Arguments by position.
    pub arguments: Vec<KernelOperand>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelOperand {
    /// A buffer that is read.
    In(TensorId),
    /// A buffer that is written.
    Out(TensorId),
    /// A buffer that is changed in place: what it holds before and after are two tensors.
    InOut {
        /// Before.
        read: TensorId,
        /// After.
        written: TensorId,
    },
    /// A value.
    Scalar {
        /// Its type in OpenCL C.
        dtype: String,
        /// A decimal number that reads back as the same value.
        value: String,
    },
    /// Memory of a work group.
    Local(Bytes),
}
