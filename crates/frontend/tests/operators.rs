//! Result shapes, classes and work of single operators, against values worked out by hand from the operators' definitions.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect, and printed figures need no 64 bits"
)]

use bytes::Bytes;
use paracompile_frontend::import::onnx::{ImportOptions, Imported, import_bytes};
use paracompile_frontend::ir::{OpKind, Work};
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, floats, integers, node, zeros,
};

use Attribute::{Floats, Int, Ints, Text};

/// One node whose operands are network inputs or constants.
struct Case<'a> {
    opset: i64,
    op_type: &'a str,
    inputs: Vec<&'a str>,
    activations: Vec<Message>,
    constants: Vec<Message>,
    outputs: usize,
    attributes: Vec<(&'a str, Attribute<'a>)>,
}

fn op<'a>(op_type: &'a str, inputs: &[&'a str]) -> Case<'a> {
    Case {
        opset: 17,
        op_type,
        inputs: inputs.to_vec(),
        activations: Vec::new(),
        constants: Vec::new(),
        outputs: 1,
        attributes: Vec::new(),
    }
}

impl<'a> Case<'a> {
    fn input(mut self, name: &str, dims: &[i64]) -> Self {
        self.activations.push(fixed(name, dtype::FLOAT, dims));
        self
    }

    fn typed(mut self, name: &str, dtype: i32, dims: &[i64]) -> Self {
        self.activations.push(fixed(name, dtype, dims));
        self
    }

    fn constant(mut self, constant: Message) -> Self {
        self.constants.push(constant);
        self
    }

    fn attribute(mut self, name: &'a str, attribute: Attribute<'a>) -> Self {
        self.attributes.push((name, attribute));
        self
    }

    fn opset(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    fn outputs(mut self, outputs: usize) -> Self {
        self.outputs = outputs;
        self
    }

    fn import(&self) -> Result<Imported, String> {
        let names: Vec<String> = (0..self.outputs).map(|index| format!("y{index}")).collect();
        let outputs: Vec<&str> = names.iter().map(String::as_str).collect();
        // A second operator, so that a view alone is a network too.
        let mut inputs = self.activations.clone();
        inputs.push(fixed("other", dtype::FLOAT, &[1]));
        let outputs_and_rest = outputs.iter().copied().chain(["rest"]);
        let graph = Graph {
            nodes: vec![
                node(self.op_type, &self.inputs, &outputs, &self.attributes),
                node("Relu", &["other"], &["rest"], &[]),
            ],
            constants: self.constants.clone(),
            inputs,
            outputs: outputs_and_rest
                .map(|name| Message::new().text(1, name))
                .collect(),
            declared: Vec::new(),
        };
        let bytes = Bytes::from(graph.model(self.opset));
        import_bytes("case", &bytes, &ImportOptions::default()).map_err(|error| error.to_string())
    }

    /// Class and results, such as `conv float [1, 2]`.
    fn is(&self, expected: &str) -> Work {
        let imported = self
            .import()
            .unwrap_or_else(|error| panic!("{}: {error}", self.op_type));
        let graph = &imported.graph;
        let op = &graph.ops.as_slice()[0];
        let class = match op.kind {
            OpKind::View => "view",
            OpKind::ConcatInPlace => "concat in place",
            OpKind::Compute(class) => class.name(),
        };
        let results: Vec<String> = graph.outputs[..self.outputs]
            .iter()
            .map(|&id| format!("{} {}", graph.tensors[id].dtype, graph.tensors[id].shape))
            .collect();
        assert_eq!(
            format!("{class} {}", results.join(", ")),
            expected,
            "{}",
            self.op_type
        );
        op.work
    }

    fn fails(&self, expected: &str) {
        let error = self.import().map(|_| ()).unwrap_err();
        assert_eq!(error, expected);
    }
}

#[test]
fn convolutions() {
    let image = |filter: &[i64]| {
        op("Conv", &["x", "w"])
            .input("x", &[2, 8, 32, 20])
            .constant(zeros("w", filter))
    };
    let work = image(&[16, 8, 3, 3]).is("conv float [2, 16, 30, 18]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (2 * 30 * 18, 16, 72, 1)
    );
    assert_eq!(work.macs, 2 * 30 * 18 * 16 * 72);
    image(&[16, 8, 3, 3])
        .attribute("pads", Ints(&[1, 0, 1, 2]))
        .attribute("strides", Ints(&[2, 3]))
        .is("conv float [2, 16, 16, 7]");
    image(&[16, 8, 3, 3])
        .attribute("dilations", Ints(&[2, 4]))
        .is("conv float [2, 16, 28, 12]");
    image(&[16, 8, 4, 4])
        .attribute("auto_pad", Text("SAME_UPPER"))
        .attribute("strides", Ints(&[3, 3]))
        .is("conv float [2, 16, 11, 7]");
    let work = image(&[16, 1, 3, 3])
        .attribute("group", Int(8))
        .is("depthwise_conv float [2, 16, 30, 18]");
    assert_eq!((work.columns, work.depth, work.groups), (2, 9, 8));
    image(&[16, 4, 1, 1])
        .attribute("group", Int(2))
        .is("conv float [2, 16, 32, 20]");
    op("Conv", &["x", "w"])
        .input("x", &[1, 4, 100])
        .constant(zeros("w", &[6, 4, 5]))
        .is("conv float [1, 6, 96]");
}

#[test]
fn wrong_convolutions() {
    let image = |filter: &[i64]| {
        op("Conv", &["x", "w"])
            .input("x", &[1, 8, 4, 4])
            .constant(zeros("w", filter))
    };
    image(&[16, 7, 3, 3]).fails(
        "node 0 (Conv): shapes [1, 8, 4, 4] and [16, 7, 3, 3] do not fit: the filter's second extent times `group` has to be the image's channels",
    );
    image(&[16, 8, 5, 5]).fails(
        "node 0 (Conv): the kernel with dilation is 5, but it has to fit into the padded input",
    );
    image(&[16, 8, 3, 3])
        .attribute("strides", Ints(&[0, 1]))
        .fails("node 0 (Conv): strides is [0, 1], but it needs one positive number a spatial axis");
    image(&[16, 8, 3, 3])
        .attribute("pads", Ints(&[1]))
        .fails("node 0 (Conv): pads is [1], but it needs a begin and an end for each spatial axis");
    image(&[16, 8, 3, 3])
        .attribute("strides", Int(2))
        .fails("node 0 (Conv): attribute `strides` is not a list of integers");
    op("Conv", &["x"])
        .input("x", &[1, 8, 4, 4])
        .fails("node 0 (Conv): operand 1 (`W`) is missing");
}

#[test]
fn transposed_convolutions() {
    let image = op("ConvTranspose", &["x", "w"])
        .input("x", &[1, 8, 5, 5])
        .constant(zeros("w", &[8, 4, 3, 3]));
    // stride * (in - 1) + output_padding + kernel - pads
    let work = image
        .attribute("strides", Ints(&[2, 2]))
        .is("conv_transpose float [1, 4, 11, 11]");
    assert_eq!(work.macs, 25 * 8 * 4 * 9);
    op("ConvTranspose", &["x", "w"])
        .input("x", &[1, 8, 5, 5])
        .constant(zeros("w", &[8, 4, 3, 3]))
        .attribute("strides", Ints(&[2, 2]))
        .attribute("pads", Ints(&[1, 1, 1, 1]))
        .attribute("output_padding", Ints(&[1, 1]))
        .is("conv_transpose float [1, 4, 10, 10]");
}

#[test]
fn pools() {
    let pool = |kind| {
        op(kind, &["x"])
            .input("x", &[1, 3, 7, 8])
            .attribute("kernel_shape", Ints(&[3, 3]))
    };
    let work = pool("MaxPool")
        .attribute("strides", Ints(&[2, 2]))
        .is("max_pool float [1, 3, 3, 3]");
    assert_eq!(work.window, 27 * 9);
    pool("MaxPool")
        .attribute("strides", Ints(&[2, 2]))
        .attribute("ceil_mode", Int(1))
        .is("max_pool float [1, 3, 3, 4]");
    // The last window would start in the padding behind the input: (3 - 1 + 1 + 1) / 2 rounds up to 3, and the third starts at 4 >= 4.
    op("MaxPool", &["x"])
        .input("x", &[1, 1, 3, 3])
        .attribute("kernel_shape", Ints(&[1, 1]))
        .attribute("pads", Ints(&[1, 1, 1, 1]))
        .attribute("strides", Ints(&[2, 2]))
        .attribute("ceil_mode", Int(1))
        .is("max_pool float [1, 1, 2, 2]");
    pool("AveragePool")
        .attribute("pads", Ints(&[1, 1, 1, 1]))
        .is("average_pool float [1, 3, 7, 8]");
    pool("MaxPool")
        .outputs(2)
        .is("max_pool float [1, 3, 5, 6], int64 [1, 3, 5, 6]");
    op("GlobalAveragePool", &["x"])
        .input("x", &[2, 3, 7, 8])
        .is("global_pool float [2, 3, 1, 1]");
}

#[test]
fn matrix_products() {
    let work = op("MatMul", &["a", "b"])
        .input("a", &[2, 1, 4, 5])
        .input("b", &[3, 5, 6])
        .is("matmul float [2, 3, 4, 6]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (4, 6, 5, 6)
    );
    let work = op("MatMul", &["a", "w"])
        .input("a", &[2, 7, 5])
        .constant(zeros("w", &[5, 6]))
        .is("gemm float [2, 7, 6]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (14, 6, 5, 1)
    );
    op("MatMul", &["a", "b"])
        .input("a", &[5])
        .input("b", &[5])
        .is("matmul float []");
    op("MatMul", &["a", "b"])
        .input("a", &[5])
        .input("b", &[2, 5, 3])
        .is("matmul float [2, 3]");
    let gemm = |transposed| {
        op("Gemm", &["a", "w", "c"])
            .input("a", &[4, 5])
            .constant(zeros("w", if transposed { &[6, 5] } else { &[5, 6] }))
            .constant(zeros("c", &[6]))
            .attribute("transB", Int(i64::from(transposed)))
    };
    assert_eq!(gemm(true).is("gemm float [4, 6]").other_flops, 24);
    gemm(false).is("gemm float [4, 6]");
    op("MatMul", &["a", "b"]).input("a", &[4, 5]).input("b", &[4, 5]).fails(
        "node 0 (MatMul): shapes [4, 5] and [4, 5] do not fit: the inner extents of a matrix product have to be equal",
    );
    op("MatMulInteger", &["a", "b"])
        .typed("a", dtype::UINT8, &[4, 5])
        .typed("b", dtype::INT8, &[5, 6])
        .is("matmul int32 [4, 6]");
}

#[test]
fn einstein_sums() {
    let work = op("Einsum", &["a", "b"])
        .input("a", &[2, 3, 4, 5])
        .input("b", &[2, 3, 6, 5])
        .attribute("equation", Text("bhid, bhjd -> bhij"))
        .is("matmul float [2, 3, 4, 6]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (4, 6, 5, 6)
    );
    op("Einsum", &["a", "b"])
        .input("a", &[7, 4, 5])
        .input("b", &[5, 6])
        .attribute("equation", Text("...ij,jk->...ik"))
        .is("matmul float [7, 4, 6]");
    op("Einsum", &["a"])
        .input("a", &[3, 4])
        .attribute("equation", Text("ij->ji"))
        .is("reduce float [4, 3]");
    // Without an arrow, letters that occur once in alphabetical order.
    op("Einsum", &["a", "b"])
        .input("a", &[3, 4])
        .input("b", &[4, 2])
        .attribute("equation", Text("zi,ia"))
        .is("matmul float [2, 3]");
    op("Einsum", &["a"])
        .input("a", &[3, 4])
        .attribute("equation", Text("ijk->i"))
        .fails("node 0 (Einsum): equation is `ijk->i`, but terms need one letter an axis");
}

#[test]
fn normalisations_and_activations_keep_the_shape() {
    op("Relu", &["x"])
        .input("x", &[1, 2, 3])
        .is("activation float [1, 2, 3]");
    op("Gelu", &["x"])
        .opset(20)
        .input("x", &[1, 2, 3])
        .is("activation float [1, 2, 3]");
    op("Softmax", &["x"])
        .input("x", &[4, 5])
        .is("softmax float [4, 5]");
    op("LRN", &["x"])
        .input("x", &[1, 2, 3, 3])
        .attribute("size", Int(5))
        .is("local_response_norm float [1, 2, 3, 3]");
    let norm = op("BatchNormalization", &["x", "s", "b", "m", "v"]).input("x", &[1, 4, 2, 2]);
    ["s", "b", "m", "v"]
        .iter()
        .fold(norm, |norm, name| norm.constant(zeros(name, &[4])))
        .is("batch_norm float [1, 4, 2, 2]");
    op("LayerNormalization", &["x", "s"])
        .input("x", &[2, 6, 8])
        .constant(zeros("s", &[8]))
        .outputs(3)
        .is("layer_norm float [2, 6, 8], float [2, 6, 1], float [2, 6, 1]");
    op("Clip", &["x", "", "high"])
        .input("x", &[4])
        .constant(floats("high", &[6.0]))
        .is("activation float [4]");
    op("PRelu", &["x", "s"])
        .input("x", &[1, 4, 2, 2])
        .constant(zeros("s", &[4, 1, 1]))
        .is("activation float [1, 4, 2, 2]");
}

#[test]
fn element_wise_operators_broadcast() {
    op("Add", &["a", "b"])
        .input("a", &[8, 1, 6, 1])
        .input("b", &[7, 1, 5])
        .is("elementwise float [8, 7, 6, 5]");
    op("Less", &["a", "b"])
        .input("a", &[3])
        .input("b", &[])
        .is("elementwise bool [3]");
    op("Where", &["c", "a", "b"])
        .typed("c", dtype::BOOL, &[3, 1])
        .input("a", &[1])
        .input("b", &[4])
        .is("elementwise float [3, 4]");
    let work = op("Sum", &["a", "b", "c"])
        .input("a", &[3])
        .input("b", &[3])
        .input("c", &[2, 3])
        .is("elementwise float [2, 3]");
    assert_eq!(work.other_flops, 12);
    op("Add", &["a", "b"])
        .input("a", &[2])
        .input("b", &[3])
        .fails(
            "node 0 (Add): shapes [2] and [3] do not fit: they cannot be broadcast to each other",
        );
    op("Add", &["a", "b"])
        .opset(6)
        .input("a", &[2, 3, 4, 5])
        .input("b", &[3, 4])
        .attribute("broadcast", Int(1))
        .attribute("axis", Int(1))
        .is("elementwise float [2, 3, 4, 5]");
}

#[test]
fn reductions() {
    op("ReduceMean", &["x"])
        .input("x", &[2, 3, 4])
        .attribute("axes", Ints(&[-1, 0]))
        .is("reduce float [1, 3, 1]");
    op("ReduceSum", &["x", "axes"])
        .input("x", &[2, 3, 4])
        .constant(integers("axes", &[1]))
        .attribute("keepdims", Int(0))
        .is("reduce float [2, 4]");
    op("ReduceMax", &["x"])
        .input("x", &[2, 3])
        .attribute("keepdims", Int(0))
        .is("reduce float []");
    op("ReduceSum", &["x"])
        .input("x", &[2, 3])
        .attribute("noop_with_empty_axes", Int(1))
        .is("view float [2, 3]");
    op("ArgMax", &["x"])
        .input("x", &[2, 9])
        .attribute("axis", Int(1))
        .is("reduce int64 [2, 1]");
    op("TopK", &["x", "k"])
        .input("x", &[2, 9])
        .constant(integers("k", &[5]))
        .outputs(2)
        .is("reduce float [2, 5], int64 [2, 5]");
    op("CumSum", &["x", "axis"])
        .input("x", &[2, 9])
        .constant(integers("axis", &[0]))
        .is("reduce float [2, 9]");
}

#[test]
fn joins_and_splits() {
    op("Concat", &["a", "b"])
        .input("a", &[1, 2, 3])
        .input("b", &[1, 5, 3])
        .attribute("axis", Int(1))
        .is("concat float [1, 7, 3]");
    op("Split", &["x"])
        .input("x", &[7, 2])
        .outputs(2)
        .is("split float [4, 2], float [3, 2]");
    op("Split", &["x", "parts"])
        .input("x", &[2, 7])
        .constant(integers("parts", &[1, 6]))
        .attribute("axis", Int(1))
        .outputs(2)
        .is("split float [2, 1], float [2, 6]");
    op("Split", &["x"])
        .opset(11)
        .input("x", &[6])
        .attribute("split", Ints(&[2, 4]))
        .outputs(2)
        .is("split float [2], float [4]");
    op("Pad", &["x", "pads"])
        .input("x", &[1, 3, 4, 4])
        .constant(integers("pads", &[0, 0, 1, 2, 0, 0, 3, -1]))
        .is("pad float [1, 3, 8, 5]");
    op("Pad", &["x", "pads"])
        .input("x", &[2])
        .constant(integers("pads", &[0, 0]))
        .is("view float [2]");
    op("Tile", &["x", "n"])
        .input("x", &[2, 3])
        .constant(integers("n", &[1, 4]))
        .is("pad float [2, 12]");
    op("Expand", &["x", "shape"])
        .input("x", &[3, 1])
        .constant(integers("shape", &[2, 1, 6]))
        .is("pad float [2, 3, 6]");
    op("Expand", &["x", "shape"])
        .input("x", &[3])
        .constant(integers("shape", &[1]))
        .is("view float [3]");
}

#[test]
fn slices_follow_python() {
    let slice = |starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]| {
        op("Slice", &["x", "starts", "ends", "axes", "steps"])
            .input("x", &[10, 4])
            .constant(integers("starts", starts))
            .constant(integers("ends", ends))
            .constant(integers("axes", axes))
            .constant(integers("steps", steps))
    };
    slice(&[2], &[7], &[0], &[2]).is("slice float [3, 4]");
    slice(&[-3], &[i64::MAX], &[0], &[1]).is("slice float [3, 4]");
    slice(&[-1], &[i64::MIN], &[0], &[-1]).is("slice float [10, 4]");
    slice(&[8], &[1], &[-2], &[-3]).is("slice float [3, 4]");
    slice(&[-100], &[100], &[0], &[4]).is("slice float [3, 4]");
    slice(&[100], &[-100], &[1], &[-1]).is("slice float [10, 4]");
    slice(&[0, 1], &[10, 3], &[0, 1], &[1, 1]).is("slice float [10, 2]");
    slice(&[0], &[i64::MAX], &[0], &[1]).is("view float [10, 4]");
    slice(&[0], &[1], &[0], &[0])
        .fails("node 0 (Slice): a step of the slice is 0, but it has to move");
    let work = slice(&[0], &[1], &[0], &[1]).is("slice float [1, 4]");
    assert_eq!(work.input_bytes.count(), 16, "a slice reads what it writes");
    op("Slice", &["x"])
        .opset(1)
        .input("x", &[10, 4])
        .attribute("starts", Ints(&[1]))
        .attribute("ends", Ints(&[-1]))
        .is("slice float [8, 4]");
}

#[test]
fn gathers() {
    op("Gather", &["x", "i"])
        .input("x", &[5, 6, 7])
        .typed("i", dtype::INT64, &[2, 3])
        .attribute("axis", Int(1))
        .is("gather float [5, 2, 3, 7]");
    let work = op("Gather", &["table", "i"])
        .constant(zeros("table", &[100, 8]))
        .typed("i", dtype::INT64, &[4])
        .is("gather float [4, 8]");
    assert_eq!(
        work.weight_bytes.count(),
        4 * 8 * 4,
        "rows that are not gathered are not read"
    );
    assert_eq!(work.input_bytes.count(), 4 * 8);
    op("GatherElements", &["x", "i"])
        .input("x", &[5, 6])
        .typed("i", dtype::INT64, &[5, 2])
        .is("gather float [5, 2]");
    op("GatherND", &["x", "i"])
        .input("x", &[2, 3, 4])
        .typed("i", dtype::INT64, &[2, 1])
        .attribute("batch_dims", Int(1))
        .is("gather float [2, 4]");
    op("ScatterND", &["x", "i", "u"])
        .input("x", &[4, 4])
        .typed("i", dtype::INT64, &[2, 1])
        .input("u", &[2, 4])
        .is("gather float [4, 4]");
    op("OneHot", &["i", "depth", "values"])
        .typed("i", dtype::INT64, &[3])
        .constant(integers("depth", &[10]))
        .constant(floats("values", &[0.0, 1.0]))
        .is("other float [3, 10]");
}

#[test]
fn permutations() {
    op("Transpose", &["x"])
        .input("x", &[2, 3, 4])
        .is("transpose float [4, 3, 2]");
    op("Transpose", &["x"])
        .input("x", &[2, 3, 4])
        .attribute("perm", Ints(&[1, 0, 2]))
        .is("transpose float [3, 2, 4]");
    op("Transpose", &["x"])
        .input("x", &[2, 3])
        .attribute("perm", Ints(&[0, 0]))
        .fails("node 0 (Transpose): perm is [0, 0] for [2, 3], but it has to name every axis once");
    op("DepthToSpace", &["x"])
        .input("x", &[1, 8, 3, 5])
        .attribute("blocksize", Int(2))
        .is("transpose float [1, 2, 6, 10]");
    op("SpaceToDepth", &["x"])
        .input("x", &[1, 2, 6, 10])
        .attribute("blocksize", Int(2))
        .is("transpose float [1, 8, 3, 5]");
}

#[test]
fn views_are_free() {
    let reshape = |shape: &[i64]| {
        op("Reshape", &["x", "shape"])
            .input("x", &[2, 3, 4])
            .constant(integers("shape", shape))
    };
    assert_eq!(reshape(&[0, -1]).is("view float [2, 12]"), Work::default());
    reshape(&[4, 6]).is("view float [4, 6]");
    reshape(&[5, -1]).fails("node 0 (Reshape): the new shape is [5, -1] for [2, 3, 4], but the extent -1 has no solution");
    reshape(&[-1, -1]).fails(
        "node 0 (Reshape): the new shape is [-1, -1] for [2, 3, 4], but one extent may be -1, and no other is negative",
    );
    reshape(&[5, 5]).fails("node 0 (Reshape): the new shape is [5, 5] for [2, 3, 4], but a view keeps the number of elements");
    op("Flatten", &["x"])
        .input("x", &[2, 3, 4])
        .is("view float [2, 12]");
    op("Flatten", &["x"])
        .input("x", &[2, 3, 4])
        .attribute("axis", Int(3))
        .is("view float [24, 1]");
    op("Squeeze", &["x"])
        .input("x", &[1, 3, 1])
        .is("view float [3]");
    op("Squeeze", &["x", "axes"])
        .input("x", &[1, 3, 1])
        .constant(integers("axes", &[-1]))
        .is("view float [1, 3]");
    op("Unsqueeze", &["x"])
        .opset(11)
        .input("x", &[3])
        .attribute("axes", Ints(&[0, 2]))
        .is("view float [1, 3, 1]");
    op("Unsqueeze", &["x", "axes"])
        .input("x", &[3])
        .constant(integers("axes", &[0, 0]))
        .fails("node 0 (Unsqueeze): axes is [0, 0], but an axis can be inserted once");
    op("Concat", &["x"])
        .input("x", &[3])
        .attribute("axis", Int(0))
        .is("view float [3]");
}

#[test]
fn resampling() {
    let image = |kind| op(kind, &["x", "", "scales"]).input("x", &[1, 3, 10, 10]);
    image("Resize")
        .constant(floats("scales", &[1.0, 1.0, 2.0, 1.55]))
        .is("resize float [1, 3, 20, 15]");
    op("Resize", &["x", "", "", "sizes"])
        .input("x", &[1, 3, 10, 10])
        .constant(integers("sizes", &[1, 3, 7, 9]))
        .is("resize float [1, 3, 7, 9]");
    op("Resize", &["x", "scales"])
        .opset(10)
        .input("x", &[1, 3, 10, 10])
        .constant(floats("scales", &[1.0, 1.0, 0.5, 0.5]))
        .is("resize float [1, 3, 5, 5]");
    op("Upsample", &["x"])
        .opset(7)
        .input("x", &[1, 3, 10, 10])
        .attribute("scales", Floats(&[1.0, 1.0, 2.0, 2.0]))
        .is("resize float [1, 3, 20, 20]");
    image("Resize")
        .constant(floats("scales", &[1.0, 1.0, f32::NAN, 1.0]))
        .fails(
            "node 0 (Resize): a scale is NaN, but the scaled extent has to be a sensible number",
        );
}

#[test]
fn types_convert() {
    op("Cast", &["x"])
        .input("x", &[3])
        .attribute("to", Int(10))
        .is("cast float16 [3]");
    op("Cast", &["x"])
        .input("x", &[3])
        .attribute("to", Int(1))
        .is("view float [3]");
    op("Cast", &["x"])
        .input("x", &[3])
        .attribute("to", Int(99))
        .fails("node 0 (Cast): element type 99 is unknown");
    op("QuantizeLinear", &["x", "scale"])
        .input("x", &[3])
        .constant(floats("scale", &[0.1]))
        .is("cast uint8 [3]");
    op("DequantizeLinear", &["x", "scale"])
        .typed("x", dtype::INT8, &[3])
        .constant(floats("scale", &[0.1]))
        .is("cast float [3]");
}

#[test]
fn recurrent_layers() {
    let layer = |kind, gates: i64| {
        op(kind, &["x", "w", "r"])
            .input("x", &[7, 2, 5])
            .constant(zeros("w", &[1, gates * 6, 5]))
            .constant(zeros("r", &[1, gates * 6, 6]))
            .attribute("hidden_size", Int(6))
    };
    let work = layer("LSTM", 4)
        .outputs(3)
        .is("recurrent float [7, 1, 2, 6], float [1, 2, 6], float [1, 2, 6]");
    assert_eq!(work.macs, 7 * 2 * 24 * 11);
    layer("GRU", 3).is("recurrent float [7, 1, 2, 6]");
    layer("RNN", 1)
        .outputs(3)
        .fails("node 0 (RNN): lists 3 results, but the operator has 2");
}

#[test]
fn what_needs_values_says_so() {
    op("Reshape", &["x", "s"]).input("x", &[4]).typed("s", dtype::INT64, &[1]).fails(
        "node 0 (Reshape): operand `shape` must be a constant, since its values decide the result's shape; simplify the model first (onnxsim)",
    );
    op("NonZero", &["x"]).input("x", &[4]).fails(
        "node 0 (NonZero): operand `X` must be a constant, since its values decide the result's shape; simplify the model first (onnxsim)",
    );
}

#[test]
fn random_tensors_are_not_folded() {
    op("RandomNormalLike", &["x"])
        .input("x", &[4])
        .is("other float [4]");
    op("RandomUniform", &[])
        .input("x", &[4])
        .attribute("shape", Ints(&[2, 2]))
        .is("other float [2, 2]");
}
