//! Products and convolutions on the first device against plain loops in double precision, for both kinds of device.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "tests of small extents"
)]

mod naive;

use std::sync::OnceLock;

use naive::{Geometry, Tensor};
use paracompile_frontend::import::onnx::{Attribute, Call, Elements};
use paracompile_frontend::ir::DataType;
use paracompile_plan::plan::OperatorRef;
use paracompile_runtime::lower::{
    Lowered, Operand, Phase, Site, Spec, Target, TargetKind, Task, Tuning, Wire, lower, lower_task,
};
use paracompile_runtime::opencl::devices;
use paracompile_runtime::solo::Solo;
use paracompile_runtime::tune;
use proptest::prelude::*;

struct Shared(Solo);

// SAFETY: OpenCL's handles may be used from every thread.
#[expect(unsafe_code, reason = "handles are raw pointers in type alone")]
unsafe impl Sync for Shared {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "handles are raw pointers in type alone")]
unsafe impl Send for Shared {}

fn solo() -> &'static Solo {
    static SOLO: OnceLock<Shared> = OnceLock::new();
    let shared = SOLO.get_or_init(|| Shared(Solo::new(&devices().unwrap()[0]).unwrap()));
    &shared.0
}

fn targets() -> [Target; 2] {
    let own = solo().target.clone();
    let gpu = Target {
        kind: TargetKind::Gpu,
        compute_units: 16,
        ..own.clone()
    };
    [own, gpu]
}

fn call(op_type: &str, attributes: &[(&str, Attribute)]) -> Call {
    let attributes = attributes.iter();
    Call {
        at: OperatorRef {
            node: 0,
            inside: Vec::new(),
            output: "out".to_owned(),
        },
        name: op_type.to_owned(),
        op_type: op_type.to_owned(),
        domain: String::new(),
        opset: 17,
        attributes: attributes
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        operands: Vec::new(),
        results: Vec::new(),
        padding: Vec::new(),
    }
}

fn spec(shape: &[usize]) -> Spec {
    Spec {
        dtype: DataType::Float,
        shape: shape.to_vec(),
    }
}

fn operand<'a>(tensor: &Tensor, is_constant: bool) -> Operand<'a> {
    Operand {
        spec: spec(&tensor.shape),
        is_constant,
        elements: None,
    }
}

fn run(lowered: &Lowered, operands: &[&Tensor], result: &[usize]) -> Tensor {
    let bytes: Vec<Vec<u8>> = operands.iter().map(|tensor| tensor.bytes()).collect();
    let operands: Vec<Option<&[u8]>> = bytes.iter().map(|bytes| Some(bytes.as_slice())).collect();
    let size = spec(result).bytes();
    let results = solo().run(lowered, &operands, &[Some(size)]).unwrap();
    Tensor::of_bytes(result, results[0].as_ref().unwrap())
}

/// Runs an operator on both kinds of device, with constant factors and without.
fn check(call: &Call, operands: &[&Tensor], expected: &Tensor) {
    check_on(&targets(), call, operands, expected);
}

fn check_on(targets: &[Target], call: &Call, operands: &[&Tensor], expected: &Tensor) {
    for target in targets {
        for is_constant in [false, true] {
            let constant = |position| is_constant && position > 0;
            let site = Site {
                call,
                operands: (0..operands.len())
                    .map(|position| Some(operand(operands[position], constant(position))))
                    .collect(),
                results: vec![Some(spec(&expected.shape))],
            };
            let lowered = lower(&site, target).unwrap();
            let found = run(&lowered, operands, &expected.shape);
            let what = format!("{} {:?} {:?}", call.op_type, target.kind, call.attributes);
            found.assert_close(expected, &what);
        }
    }
}

/// A product and convolutions that cross the edges of every tile.
fn check_edges(targets: &[Target]) {
    let (left, right) = (Tensor::random(&[139, 35], 1), Tensor::random(&[35, 150], 2));
    let expected = naive::matmul(&left, &right);
    check_on(targets, &call("MatMul", &[]), &[&left, &right], &expected);
    let image = Tensor::random(&[1, 9, 12, 13], 1);
    for (stride, features) in [(1, 21), (2, 21)] {
        let filter = Tensor::random(&[features, 9, 3, 3], 2);
        let plane = plane(stride, 1, 1);
        let expected = naive::conv(&image, &filter, &plane);
        let call = call("Conv", &attributes(&plane));
        check_on(targets, &call, &[&image, &filter], &expected);
    }
    let filter = Tensor::random(&[9, 1, 3, 3], 2);
    let plane = plane(2, 1, 9);
    let expected = naive::conv(&image, &filter, &plane);
    let call = call("Conv", &attributes(&plane));
    check_on(targets, &call, &[&image, &filter], &expected);
}

#[test]
fn vectors_of_every_width_are_right() {
    let widths = [4, 8].map(|vector_width| Target {
        vector_width,
        tuning: Tuning::of_width(vector_width),
        ..solo().target.clone()
    });
    check_edges(&widths);
}

#[test]
fn every_tile_that_the_tuner_knows_is_right() {
    let [cpu, gpu] = targets();
    let all = tune::candidates(cpu.vector_width);
    let registers = all.register_tiles.iter().map(|&tile| Target {
        tuning: Tuning {
            register_tiles: vec![tile],
            ..all.clone()
        },
        ..cpu.clone()
    });
    let groups = all.group_tiles.iter().map(|&tile| Target {
        tuning: Tuning {
            group_tiles: vec![tile],
            ..all.clone()
        },
        ..gpu.clone()
    });
    check_edges(&registers.chain(groups).collect::<Vec<_>>());
}

fn ints(values: &[usize]) -> Attribute {
    Attribute::Ints(values.iter().map(|&value| value as i64).collect())
}

fn check_matmul(left: &[usize], right: &[usize]) {
    let (left, right) = (Tensor::random(left, 1), Tensor::random(right, 2));
    let expected = naive::matmul(&left, &right);
    check(&call("MatMul", &[]), &[&left, &right], &expected);
}

#[test]
fn matrices_of_all_ranks_are_multiplied() {
    check_matmul(&[3], &[3]);
    check_matmul(&[5], &[5, 40]);
    check_matmul(&[40, 7], &[7]);
    check_matmul(&[2, 13, 7], &[7]);
    check_matmul(&[7], &[3, 7, 5]);
    check_matmul(&[13, 33], &[33, 65]);
    check_matmul(&[2, 3, 13, 9], &[2, 3, 9, 17]);
    check_matmul(&[2, 1, 13, 9], &[3, 9, 17]);
    check_matmul(&[4, 13, 9], &[9, 17]);
    check_matmul(&[13, 9], &[4, 9, 1]);
    check_matmul(&[0, 9], &[9, 5]);
    check_matmul(&[4, 0], &[0, 5]);
}

#[test]
fn large_products_cross_tiles_and_parts() {
    check_matmul(&[197, 300], &[300, 145]);
    check_matmul(&[1, 2048], &[2048, 100]);
    check_matmul(&[49, 1100], &[1100, 33]);
    check_matmul(&[260, 40], &[40, 270]);
}

fn flipped(tensor: &Tensor, is_transposed: bool) -> Tensor {
    if is_transposed {
        naive::transpose(tensor)
    } else {
        tensor.clone()
    }
}

#[test]
fn gemm_transposes_and_scales() {
    let (rows, depth, columns) = (14, 37, 35);
    for case in 0..16u32 {
        let (turns_left, turns_right) = (case & 1 != 0, case & 2 != 0);
        let (left, right) = (
            Tensor::random(&[rows, depth], 1),
            Tensor::random(&[depth, columns], 2),
        );
        let addend = match case / 4 {
            0 => Tensor::random(&[columns], 3),
            1 => Tensor::random(&[rows, 1], 3),
            2 => Tensor::random(&[1], 3),
            _ => Tensor::random(&[rows, columns], 3),
        };
        let (alpha, beta) = if case % 3 == 0 {
            (1.0, 1.0)
        } else {
            (0.5, -1.5)
        };
        let call = call(
            "Gemm",
            &[
                ("transA", Attribute::Int(i64::from(turns_left))),
                ("transB", Attribute::Int(i64::from(turns_right))),
                ("alpha", Attribute::Float(alpha)),
                ("beta", Attribute::Float(beta)),
            ],
        );
        let product = naive::matmul(&left, &right);
        let scaled = product.map(|value| value * f64::from(alpha));
        let expected = naive::broadcast(&scaled, &addend, |x, y| x + y * f64::from(beta));
        let (left, right) = (flipped(&left, turns_left), flipped(&right, turns_right));
        check(&call, &[&left, &right, &addend], &expected);
        check(&call, &[&left, &right], &scaled);
    }
}

fn check_conv(image: &[usize], filter: &[usize], geometry: &Geometry) {
    let (image, filter) = (Tensor::random(image, 1), Tensor::random(filter, 2));
    let expected = naive::conv(&image, &filter, geometry);
    let call = call("Conv", &attributes(geometry));
    check(&call, &[&image, &filter], &expected);
    let bias = Tensor::random(&[expected.shape[1]], 3);
    let expected = naive::broadcast(&expected, &channels(&bias, &expected), |x, y| x + y);
    check(&call, &[&image, &filter, &bias], &expected);
}

/// A vector as one element a channel of an image.
fn channels(vector: &Tensor, image: &Tensor) -> Tensor {
    let ones = vec![1; image.shape.len() - 2];
    Tensor {
        shape: [vector.shape.as_slice(), &ones].concat(),
        values: vector.values.clone(),
    }
}

fn attributes(geometry: &Geometry) -> Vec<(&'static str, Attribute)> {
    let pads = [geometry.begin.as_slice(), geometry.end.as_slice()].concat();
    vec![
        ("strides", ints(&geometry.stride)),
        ("pads", ints(&pads)),
        ("dilations", ints(&geometry.dilation)),
        ("group", Attribute::Int(geometry.groups as i64)),
    ]
}

fn geometry(stride: &[usize], pad: &[usize], dilation: &[usize], groups: usize) -> Geometry {
    Geometry {
        stride: stride.to_vec(),
        begin: pad.to_vec(),
        end: pad.to_vec(),
        dilation: dilation.to_vec(),
        groups,
    }
}

fn plane(stride: usize, pad: usize, groups: usize) -> Geometry {
    geometry(&[stride, stride], &[pad, pad], &[1, 1], groups)
}

#[test]
fn convolutions_of_networks_are_computed() {
    check_conv(&[1, 3, 23, 29], &[13, 3, 7, 7], &plane(2, 3, 1));
    check_conv(&[1, 16, 17, 19], &[25, 16, 3, 3], &plane(1, 1, 1));
    check_conv(&[2, 16, 14, 14], &[25, 16, 3, 3], &plane(2, 1, 1));
    check_conv(&[1, 24, 15, 15], &[40, 24, 1, 1], &plane(1, 0, 1));
    check_conv(&[1, 24, 15, 15], &[40, 24, 1, 1], &plane(2, 0, 1));
    check_conv(&[1, 64, 7, 7], &[70, 64, 3, 3], &plane(1, 1, 1));
    check_conv(&[1, 300, 7, 7], &[70, 300, 1, 1], &plane(1, 0, 1));
    check_conv(&[1, 3, 33, 33], &[12, 3, 16, 16], &plane(16, 0, 1));
    check_conv(&[1, 150, 40, 3], &[7, 150, 3, 3], &plane(1, 1, 1));
}

#[test]
fn depthwise_and_grouped_convolutions_are_computed() {
    check_conv(&[2, 6, 21, 35], &[6, 1, 3, 3], &plane(1, 1, 6));
    check_conv(&[1, 6, 21, 35], &[12, 1, 5, 5], &plane(2, 2, 6));
    check_conv(&[1, 6, 21, 35], &[6, 1, 3, 3], &plane(3, 1, 6));
    check_conv(&[1, 8, 11, 11], &[12, 4, 3, 3], &plane(1, 1, 2));
    check_conv(&[2, 32, 9, 9], &[64, 16, 3, 3], &plane(1, 1, 2));
}

#[test]
fn convolutions_over_one_and_three_axes_are_computed() {
    check_conv(&[2, 5, 50], &[9, 5, 4], &geometry(&[2], &[3], &[2], 1));
    let cube = geometry(&[1, 2, 1], &[1, 0, 2], &[1, 1, 2], 1);
    check_conv(&[1, 4, 5, 9, 11], &[6, 4, 2, 3, 3], &cube);
    let depthwise = geometry(&[2, 1, 1], &[1, 1, 1], &[1, 1, 1], 4);
    check_conv(&[1, 4, 5, 9, 11], &[4, 1, 3, 3, 3], &depthwise);
}

fn check_transposed(image: &[usize], filter: &[usize], geometry: &Geometry, extra: &[usize]) {
    let (image, filter) = (Tensor::random(image, 1), Tensor::random(filter, 2));
    let expected = naive::conv_transpose(&image, &filter, geometry, extra);
    let mut attributes = attributes(geometry);
    attributes.push(("output_padding", ints(extra)));
    let call = call("ConvTranspose", &attributes);
    check(&call, &[&image, &filter], &expected);
}

#[test]
fn transposed_convolutions_are_computed() {
    check_transposed(&[1, 5, 6, 7], &[5, 9, 3, 3], &plane(2, 1, 1), &[1, 0]);
    check_transposed(&[2, 4, 6, 7], &[4, 3, 2, 2], &plane(2, 0, 2), &[0, 0]);
    check_transposed(&[1, 16, 9, 9], &[16, 20, 3, 3], &plane(1, 1, 1), &[0, 0]);
    check_transposed(&[1, 4, 6, 7], &[4, 16, 4, 4], &plane(3, 2, 2), &[2, 1]);
    let line = geometry(&[2], &[1], &[2], 1);
    check_transposed(&[1, 4, 9], &[4, 3, 3], &line, &[0]);
}

#[test]
fn automatic_padding_is_what_the_standard_says() {
    let image = Tensor::random(&[1, 3, 10, 11], 1);
    let filter = Tensor::random(&[4, 3, 4, 4], 2);
    let cases = [
        ("SAME_UPPER", [1, 1], [1, 2]),
        ("SAME_LOWER", [1, 2], [1, 1]),
    ];
    for (auto_pad, begin, end) in cases {
        let geometry = Geometry {
            begin: begin.to_vec(),
            end: end.to_vec(),
            ..plane(2, 0, 1)
        };
        let expected = naive::conv(&image, &filter, &geometry);
        let attributes = [
            ("strides", ints(&[2, 2])),
            ("auto_pad", Attribute::Text(auto_pad.to_owned())),
        ];
        check(&call("Conv", &attributes), &[&image, &filter], &expected);
    }
}

#[test]
fn folded_padding_adds_to_the_own() {
    let image = Tensor::random(&[1, 3, 10, 11], 1);
    let filter = Tensor::random(&[4, 3, 3, 3], 2);
    let both = Geometry {
        begin: vec![3, 1],
        end: vec![1, 2],
        ..plane(1, 0, 1)
    };
    let expected = naive::conv(&image, &filter, &both);
    let mut call = call("Conv", &[("pads", ints(&[1, 1, 1, 1]))]);
    call.padding = vec![2, 0, 0, 1];
    check(&call, &[&image, &filter], &expected);
}

/// A convolution, a `Sub` from a residual, multiplications by a channel's and by one constant, and `Relu`.
#[test]
fn pointwise_operators_are_done_behind_a_convolution() {
    let image = Tensor::random(&[1, 8, 9, 9], 1);
    let filter = Tensor::random(&[20, 8, 3, 3], 2);
    let bias = Tensor::random(&[20], 3);
    let residual = Tensor::random(&[1, 20, 9, 9], 4);
    let scale = Tensor::random(&[20, 1, 1], 5);
    let factor = Tensor {
        shape: Vec::new(),
        values: vec![0.75],
    };
    let product = naive::conv(&image, &filter, &plane(1, 1, 1));
    let value = naive::broadcast(&product, &channels(&bias, &product), |x, y| x + y);
    let value = naive::broadcast(&value, &residual, |x, y| y - x);
    let value = naive::broadcast(&value, &scale, |x, y| x * y);
    let expected = value.map(|x| (x * 0.75).max(0.0));

    let calls = [
        call("Conv", &attributes(&plane(1, 1, 1))),
        call("Sub", &[]),
        call("Mul", &[]),
        call("Mul", &[]),
        call("Relu", &[]),
    ];
    let elements = Elements::Reals(vec![0.75]);
    let middle = operand(&expected, false);
    let constant = Operand {
        elements: Some(&elements),
        ..operand(&factor, true)
    };
    let operands = [
        vec![
            operand(&image, false),
            operand(&filter, true),
            operand(&bias, true),
        ],
        vec![operand(&residual, false), middle.clone()],
        vec![middle.clone(), operand(&scale, true)],
        vec![middle.clone(), constant],
        vec![middle],
    ];
    let sites = calls.iter().zip(operands).map(|(call, operands)| Site {
        call,
        operands: operands.into_iter().map(Some).collect(),
        results: vec![Some(spec(&expected.shape))],
    });
    let mut task = Task {
        sites: sites.collect(),
        operands: vec![
            vec![outside(0), outside(1), outside(2)],
            vec![outside(3), inside(0)],
            vec![inside(1), outside(4)],
            vec![inside(2), outside(5)],
            vec![inside(3)],
        ],
        results: vec![vec![None]; 5],
    };
    task.results[4][0] = Some(0);
    let operands = [&image, &filter, &bias, &residual, &scale, &factor];
    for target in targets() {
        let lowered = lower_task(&task, &target).unwrap();
        let found = run(&lowered, &operands, &expected.shape);
        found.assert_close(&expected, &format!("{:?}", target.kind));
    }
}

#[expect(clippy::unnecessary_wraps, reason = "tasks list optional wires")]
fn outside(position: usize) -> Option<Wire> {
    Some(Wire::Outside(position))
}

#[expect(clippy::unnecessary_wraps, reason = "tasks list optional wires")]
fn inside(site: usize) -> Option<Wire> {
    Some(Wire::Inside { site, result: 0 })
}

/// What is read outside the task too has to be written, and what is not pointwise is a launch of its own.
#[test]
fn results_that_others_read_are_written() {
    let (left, right) = (Tensor::random(&[9, 20], 1), Tensor::random(&[20, 31], 2));
    let product = naive::matmul(&left, &right);
    let rectified = product.map(|x| x.max(0.0));
    let mut expected = naive::transpose(&rectified);
    expected = naive::broadcast(&expected, &naive::transpose(&product), |x, y| x + y);
    let calls = [
        call("MatMul", &[]),
        call("Relu", &[]),
        call("Transpose", &[]),
        call("Transpose", &[]),
        call("Add", &[]),
    ];
    let flat = operand(&product, false);
    let turned = operand(&expected, false);
    let operands = [
        vec![operand(&left, false), operand(&right, true)],
        vec![flat.clone()],
        vec![flat.clone()],
        vec![flat],
        vec![turned.clone(), turned],
    ];
    let shapes = [&product, &product, &expected, &expected, &expected];
    let sites = calls.iter().zip(operands).zip(shapes);
    let mut task = Task {
        sites: sites
            .map(|((call, operands), result)| Site {
                call,
                operands: operands.into_iter().map(Some).collect(),
                results: vec![Some(spec(&result.shape))],
            })
            .collect(),
        operands: vec![
            vec![outside(0), outside(1)],
            vec![inside(0)],
            vec![inside(1)],
            vec![inside(0)],
            vec![inside(2), inside(3)],
        ],
        results: vec![vec![None]; 5],
    };
    task.results[0][0] = Some(1);
    task.results[4][0] = Some(0);
    let bytes = [left.bytes(), right.bytes()];
    let bytes: Vec<Option<&[u8]>> = bytes.iter().map(|bytes| Some(bytes.as_slice())).collect();
    for target in targets() {
        let lowered = lower_task(&task, &target).unwrap();
        let size = spec(&product.shape).bytes();
        let found = solo()
            .run(&lowered, &bytes, &[Some(size), Some(size)])
            .unwrap();
        let tensor = |position: usize, shape: &[usize]| {
            Tensor::of_bytes(shape, found[position].as_ref().unwrap())
        };
        tensor(0, &expected.shape).assert_close(&expected, "the sum");
        tensor(1, &product.shape).assert_close(&product, "the product");
    }
}

/// In vectors and at the edges, an epilogue computes what the operator computes alone.
#[test]
fn activations_are_the_same_behind_a_product_as_alone() {
    let (left, right) = (Tensor::random(&[9, 20], 1), Tensor::random(&[20, 71], 2));
    let product = naive::matmul(&left, &right);
    let matmul = call("MatMul", &[]);
    let names = [
        "Elu",
        "Erf",
        "Gelu",
        "HardSwish",
        "LeakyRelu",
        "Mish",
        "Sigmoid",
        "Softplus",
        "Tanh",
    ];
    for name in names {
        let mut activation = call(name, &[]);
        activation.opset = 22;
        let behind = Site {
            call: &activation,
            operands: vec![Some(operand(&product, false))],
            results: vec![Some(spec(&product.shape))],
        };
        let task = Task {
            sites: vec![
                Site {
                    call: &matmul,
                    operands: vec![Some(operand(&left, false)), Some(operand(&right, true))],
                    results: vec![Some(spec(&product.shape))],
                },
                behind.clone(),
            ],
            operands: vec![vec![outside(0), outside(1)], vec![inside(0)]],
            results: vec![vec![None], vec![Some(0)]],
        };
        let [cpu, _] = targets();
        let fused = lower_task(&task, &cpu).unwrap();
        let mut launched = fused.steps.iter().map(|step| step.kernel);
        assert_eq!(launched.next_back(), Some("product"), "{name}");
        let found = run(&fused, &[&left, &right], &product.shape);
        let alone = run(&lower(&behind, &cpu).unwrap(), &[&product], &product.shape);
        found.assert_close(&alone, name);
    }
}

#[test]
fn constant_filters_are_packed_once() {
    let call = call("Conv", &[]);
    let site = |is_constant| Site {
        call: &call,
        operands: vec![
            Some(operand(&Tensor::random(&[1, 9, 5, 5], 1), false)),
            Some(operand(&Tensor::random(&[7, 9, 3, 3], 1), is_constant)),
        ],
        results: vec![Some(spec(&[1, 7, 3, 3]))],
    };
    let [cpu, _] = targets();
    for is_constant in [false, true] {
        let lowered = lower(&site(is_constant), &cpu).unwrap();
        let is_once = lowered.steps.iter().any(|step| step.phase == Phase::Setup);
        let lives_on = lowered.scratch.iter().any(|scratch| scratch.lives_on);
        assert_eq!((is_once, lives_on), (is_constant, is_constant));
    }
}

#[test]
fn other_types_and_impossible_groups_are_refused() {
    let [cpu, _] = targets();
    let refusal = |call: &Call, filter: Operand<'static>| {
        let site = Site {
            call,
            operands: vec![
                Some(operand(&Tensor::random(&[1, 9, 5, 5], 1), false)),
                Some(filter),
            ],
            results: vec![Some(spec(&[1, 7, 3, 3]))],
        };
        lower(&site, &cpu).unwrap_err().to_string()
    };
    let filter = operand(&Tensor::random(&[7, 9, 3, 3], 1), true);
    let mut double = filter.clone();
    double.spec.dtype = DataType::Double;
    assert!(refusal(&call("Conv", &[]), double).contains("Double"));
    let grouped = call("Conv", &[("group", Attribute::Int(2))]);
    assert!(refusal(&grouped, filter.clone()).contains("2 groups"));
    let strided = call("Conv", &[("strides", ints(&[0, 1]))]);
    assert!(refusal(&strided, filter).contains("strides [0, 1]"));
}

fn windows() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Geometry)> {
    let axis = (
        1..12usize,
        1..5usize,
        1..4usize,
        0..3usize,
        0..3usize,
        1..3usize,
    );
    let all = prop::collection::vec(axis, 1..4);
    let extents = (1..3usize, 1..4usize, 1..20usize, 1..15usize, all);
    extents.prop_map(|(batch, groups, channels, features, axes)| {
        let mut image = vec![batch, groups * channels];
        let mut filter = vec![groups * features, channels];
        let mut geometry = geometry(&[], &[], &[], groups);
        for (input, kernel, stride, begin, end, dilation) in axes {
            let reach = (kernel - 1) * dilation + 1;
            image.push(input.max(reach.saturating_sub(begin + end)));
            filter.push(kernel);
            geometry.stride.push(stride);
            geometry.begin.push(begin);
            geometry.end.push(end);
            geometry.dilation.push(dilation);
        }
        (image, filter, geometry)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn convolutions_of_any_geometry_are_computed((image, filter, geometry) in windows()) {
        check_conv(&image, &filter, &geometry);
    }

    #[test]
    fn transposed_convolutions_of_any_geometry_are_computed((image, filter, geometry) in windows()) {
        // A transposed filter's first axis counts the channels of the image.
        let mut turned = filter.clone();
        turned[0] = image[1];
        turned[1] = filter[0] / geometry.groups;
        let has_result = (0..image.len() - 2).all(|axis| {
            let reach = (turned[2 + axis] - 1) * geometry.dilation[axis] + 1;
            let full = (image[2 + axis] - 1) * geometry.stride[axis] + reach;
            full > geometry.begin[axis] + geometry.end[axis]
        });
        prop_assume!(has_result);
        check_transposed(&image, &turned, &geometry, &vec![0; image.len() - 2]);
    }

    #[test]
    fn products_of_any_extents_are_computed(
        batch in prop::collection::vec(1..3usize, 0..3),
        rows in 1..40usize, depth in 1..70usize, columns in 1..80usize,
    ) {
        let left = [batch.as_slice(), &[rows, depth]].concat();
        let right = [batch.as_slice(), &[depth, columns]].concat();
        check_matmul(&left, &right);
    }
}
