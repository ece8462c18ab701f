//! Numbers that are none, infinite or very large: what comes of them is what ONNX Runtime 1.32 gives, or NumPy where ONNX Runtime drops
//! what is not a number depending on its place (maxima over axes and windows).

use std::f32::consts::LN_2;

use super::*;

const INF: f32 = f32::INFINITY;

const NAN: f32 = f32::NAN;

const X: [f32; 18] = [
    NAN, INF, -INF, 0.0, -0.0, 1.0e30, -1.0e30, 2.5, -2.5, 100.0, -100.0, 0.5, -0.5, -8.0, 8.0,
    -5.0, 3.0, NAN,
];

const UNARY: [(&str, [f32; 18]); 16] = [
    (
        "Celu",
        [
            NAN, INF, -1.0, 0.0, 0.0, 1.0e30, -1.0, 2.5, -0.917_91, 100.0, -1.0, 0.5, -0.393_47,
            -0.999_66, 8.0, -0.993_26, 3.0, NAN,
        ],
    ),
    (
        "Elu",
        [
            NAN, INF, -1.0, 0.0, -0.0, 1.0e30, -1.0, 2.5, -0.917_91, 100.0, -1.0, 0.5, -0.393_47,
            -0.999_66, 8.0, -0.993_26, 3.0, NAN,
        ],
    ),
    (
        "HardSigmoid",
        [
            NAN, 1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.6, 0.4, 0.0, 1.0, 0.0, 1.0,
            NAN,
        ],
    ),
    (
        "HardSwish",
        [
            NAN, INF, NAN, 0.0, -0.0, 1.0e30, -0.0, 2.291_7, -0.208_33, 100.0, -0.0, 0.291_67,
            -0.208_33, -0.0, 8.0, -0.0, 3.0, NAN,
        ],
    ),
    (
        "LeakyRelu",
        [
            NAN, INF, -INF, 0.0, -0.0, 1.0e30, -1.0e28, 2.5, -0.025, 100.0, -1.0, 0.5, -0.005,
            -0.08, 8.0, -0.05, 3.0, NAN,
        ],
    ),
    (
        "Mish",
        [
            NAN,
            INF,
            NAN,
            0.0,
            -0.0,
            1.0e30,
            -0.0,
            2.471_4,
            -0.196_82,
            100.0,
            -0.0,
            0.375_25,
            -0.220_74,
            -0.002_683_3,
            8.0,
            -0.033_576,
            2.986_5,
            NAN,
        ],
    ),
    (
        "Relu",
        [
            NAN, INF, 0.0, 0.0, -0.0, 1.0e30, 0.0, 2.5, 0.0, 100.0, 0.0, 0.5, 0.0, 0.0, 8.0, 0.0,
            3.0, NAN,
        ],
    ),
    (
        "Selu",
        [
            NAN, INF, -1.758_1, 0.0, 0.0, 1.0507e30, -1.758_1, 2.626_8, -1.613_8, 105.07, -1.758_1,
            0.525_35, -0.691_76, -1.757_5, 8.405_6, -1.746_3, 3.152_1, NAN,
        ],
    ),
    (
        "Shrink",
        [
            0.0, INF, -INF, 0.0, 0.0, 1.0e30, -1.0e30, 2.5, -2.5, 100.0, -100.0, 0.0, 0.0, -8.0,
            8.0, -5.0, 3.0, 0.0,
        ],
    ),
    (
        "Sigmoid",
        [
            NAN,
            1.0,
            0.0,
            0.5,
            0.5,
            1.0,
            0.0,
            0.924_14,
            0.075_858,
            1.0,
            0.0,
            0.622_46,
            0.377_54,
            0.000_335_43,
            0.999_66,
            0.006_692_9,
            0.952_57,
            NAN,
        ],
    ),
    (
        "Sign",
        [
            NAN, 1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0,
            1.0, NAN,
        ],
    ),
    (
        "Softplus",
        [
            NAN,
            INF,
            0.0,
            LN_2,
            LN_2,
            1.0e30,
            0.0,
            2.578_9,
            0.078_89,
            100.0,
            0.0,
            0.974_08,
            0.474_08,
            0.000_335_41,
            8.000_3,
            0.006_715_3,
            3.048_6,
            NAN,
        ],
    ),
    (
        "Softsign",
        [
            NAN, NAN, NAN, 0.0, -0.0, 1.0, -1.0, 0.714_29, -0.714_29, 0.990_1, -0.990_1, 0.333_33,
            -0.333_33, -0.888_89, 0.888_89, -0.833_33, 0.75, NAN,
        ],
    ),
    (
        "Tanh",
        [
            NAN, 1.0, -1.0, 0.0, -0.0, 1.0, -1.0, 0.986_61, -0.986_61, 1.0, -1.0, 0.462_12,
            -0.462_12, -1.0, 1.0, -0.999_91, 0.995_05, NAN,
        ],
    ),
    (
        "ThresholdedRelu",
        [
            0.0, INF, 0.0, 0.0, 0.0, 1.0e30, 0.0, 2.5, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0,
            3.0, 0.0,
        ],
    ),
    (
        "Gelu",
        [
            NAN, INF, NAN, 0.0, -0.0, 1.0e30, -0.0, 2.484_5, -0.015_524, 100.0, -0.0, 0.345_73,
            -0.154_27, -0.0, 8.0, -1.5e-6, 2.996, NAN,
        ],
    ),
];

fn vector(values: &[f32]) -> Tensor {
    Tensor::Floats(vec![values.len()], values.to_vec())
}

fn matrix(rows: usize, values: &[f32]) -> Tensor {
    Tensor::Floats(vec![rows, values.len() / rows], values.to_vec())
}

impl Case {
    /// Holds the first result against numbers, on both kinds of devices.
    fn gives(&self, expected: &[f32]) {
        for (kind, found) in self.firsts() {
            assert_eq!(found.len(), expected.len());
            for (index, (&found, &expected)) in found.iter().zip(expected).enumerate() {
                let is_same = found.to_bits() == expected.to_bits()
                    || (found.is_nan() && expected.is_nan())
                    || (found - expected).abs() <= 1e-6 + 1e-4 * expected.abs();
                assert!(
                    is_same,
                    "{} for {kind:?}: element {index} is {found}, not {expected}",
                    self.op_type
                );
            }
        }
    }
}

#[test]
fn activations_keep_what_is_not_a_number() {
    for (op_type, expected) in UNARY {
        let mut case = Case::new(op_type, vec![vector(&X)], &[18]);
        case.opset = 20;
        case.gives(&expected);
    }
}

#[test]
fn sines_of_denormal_numbers_are_the_numbers() {
    let mut x = X.map(|_| 1e-40);
    x[1] = -1e-40;
    for op_type in ["Sin", "Tan"] {
        Case::new(op_type, vec![vector(&x)], &[18]).gives(&x);
    }
}

#[test]
fn gelu_by_tanh_vanishes_far_below_zero() {
    let expected = [
        NAN, INF, NAN, 0.0, -0.0, 1.0e30, -0.0, 2.484_9, -0.015_084, 100.0, -0.0, 0.345_71,
        -0.154_29, -0.0, 8.0, -3.0e-7, 2.996_4, NAN,
    ];
    let mut case = Case::new("Gelu", vec![vector(&X)], &[18])
        .with("approximate", Attribute::Text("tanh".to_owned()));
    case.opset = 20;
    case.gives(&expected);
    // Where the sum of one and the hyperbolic tangent cancels: x / 2 (1 + tanh(…)) in double precision.
    let case = Case {
        operands: vec![vector(&[-6.0, -7.0, -9.0, -20.0, -1.0e9])],
        results: vec![vec![5]],
        ..case
    };
    for (found, expected) in
        case.firsts()[0]
            .1
            .iter()
            .zip([-8.4396e-11, -2.3154e-15, -1.3365e-28, 0.0, 0.0])
    {
        assert!(
            (found - expected).abs() <= 1e-3 * expected.abs(),
            "{found}, not {expected}"
        );
    }
}

#[test]
fn limits_keep_what_is_not_a_number() {
    let expected = [
        NAN, 6.0, -1.0, 0.0, -0.0, 6.0, -1.0, 2.5, -1.0, 6.0, -1.0, 0.5, -0.5, -1.0, 6.0, -1.0,
        3.0, NAN,
    ];
    let limits = |low: f32, high: f32| {
        [
            Tensor::Floats(vec![], vec![low]),
            Tensor::Floats(vec![], vec![high]),
        ]
    };
    let clip = |low, high| {
        Case::new(
            "Clip",
            [vec![vector(&X)], limits(low, high).to_vec()].concat(),
            &[18],
        )
    };
    clip(-1.0, 6.0).gives(&expected);
    let crossed = X.map(|x| if x.is_nan() { NAN } else { -1.0 });
    clip(6.0, -1.0).gives(&crossed);
    let mut by_attributes = Case::new("Clip", vec![vector(&X)], &[18])
        .with("min", Attribute::Float(-1.0))
        .with("max", Attribute::Float(6.0));
    by_attributes.opset = 6;
    by_attributes.gives(&expected);
}

#[test]
fn extremes_of_operands_keep_what_is_not_a_number() {
    let mut moved = X;
    moved.rotate_right(1);
    let largest = [
        NAN, NAN, INF, 0.0, 0.0, 1.0e30, 1.0e30, 2.5, 2.5, 100.0, 100.0, 0.5, 0.5, -0.5, 8.0, 8.0,
        3.0, NAN,
    ];
    let smallest = [
        NAN, NAN, -INF, -INF, 0.0, -0.0, -1.0e30, -1.0e30, -2.5, -2.5, -100.0, -100.0, -0.5, -8.0,
        -8.0, -5.0, -5.0, NAN,
    ];
    for (op_type, expected) in [("Max", largest), ("Min", smallest)] {
        Case::new(op_type, vec![vector(&X), vector(&moved)], &[18]).gives(&expected);
        Case::new(op_type, vec![vector(&moved), vector(&X)], &[18]).gives(&expected);
    }
}

#[test]
fn extremes_over_axes_keep_what_is_not_a_number() {
    // A number missing at either end, in the middle, and everywhere.
    let mut rows = vec![1.0; 4 * 40];
    (rows[0], rows[79], rows[100]) = (NAN, NAN, NAN);
    rows[120..].fill(NAN);
    rows[101] = INF;
    for op_type in ["ReduceMax", "ReduceMin"] {
        Case::new(op_type, vec![matrix(4, &rows)], &[4, 1])
            .with_ints("axes", &[1])
            .gives(&[NAN; 4]);
        let mut columns = vec![NAN; 40];
        Case::new(op_type, vec![matrix(4, &rows)], &[1, 40])
            .with_ints("axes", &[0])
            .gives(&columns);
        columns.fill(1.0);
        (columns[0], columns[20], columns[39]) = (NAN, NAN, NAN);
        columns[21] = if op_type == "ReduceMax" { INF } else { 1.0 };
        Case::new(op_type, vec![matrix(3, &rows[..120])], &[1, 40])
            .with_ints("axes", &[0])
            .gives(&columns);
    }
}

#[test]
fn largest_of_a_window_keeps_what_is_not_a_number() {
    let mut image = vec![0.0; 5 * 40];
    image[2 * 40 + 20] = NAN;
    image[0] = INF;
    let mut expected = vec![0.0; 5 * 40];
    for h in 1..4 {
        expected[h * 40 + 19..h * 40 + 22].fill(NAN);
    }
    for index in [0, 1, 40, 41] {
        expected[index] = INF;
    }
    let x = Tensor::Floats(vec![1, 1, 5, 40], image);
    pool("MaxPool", &x, 1, &[1, 1, 5, 40]).gives(&expected);
}

#[test]
fn logarithms_of_softmax_stay_exact_beside_large_numbers() {
    let x = matrix(
        3,
        &[1.0e8, 1.0e8, 0.0, 3.0e38, 1.0, 2.0, -3.0e38, -3.0e38, 1.0],
    );
    let case = Case::new("LogSoftmax", vec![x], &[3, 3]);
    case.gives(&[
        -LN_2, -LN_2, -1.0e8, 0.0, -3.0e38, -3.0e38, -3.0e38, -3.0e38, 0.0,
    ]);
    let x = matrix(
        3,
        &[1.0e8, 3.0e38, -3.0e38, 1.0e8, 1.0, -3.0e38, 0.0, 2.0, 1.0],
    );
    let case = Case::new("LogSoftmax", vec![x], &[3, 3]).with("axis", Attribute::Int(0));
    case.gives(&[
        -LN_2, 0.0, -3.0e38, -LN_2, -3.0e38, -3.0e38, -1.0e8, -3.0e38, 0.0,
    ]);
}

#[test]
fn elements_that_are_reduced_alone_are_still_mapped() {
    let x = [-2.0, 3.0, 0.5, 1.0, -4.0, 0.0];
    let cases: [(&str, [f32; 6]); 5] = [
        ("ReduceL1", [2.0, 3.0, 0.5, 1.0, 4.0, 0.0]),
        ("ReduceL2", [2.0, 3.0, 0.5, 1.0, 4.0, 0.0]),
        ("ReduceSumSquare", [4.0, 9.0, 0.25, 1.0, 16.0, 0.0]),
        ("ReduceLogSum", [NAN, 1.098_6, -LN_2, 0.0, NAN, -INF]),
        ("ReduceLogSumExp", x),
    ];
    for (op_type, expected) in cases {
        let mut case = Case::new(op_type, vec![matrix(2, &x)], &[2, 3])
            .with("noop_with_empty_axes", Attribute::Int(1));
        case.opset = 18;
        case.gives(&expected);
        case.operands.push(Tensor::Known(Vec::new()));
        case.gives(&expected);
    }
}

#[test]
fn what_padding_cuts_off_is_not_repeated() {
    // ONNX Runtime 1.32, `Pad` of 0, 1, 2, 3, 4, 5.
    let x = vector(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let cases: [(&str, [i64; 2], &[f32]); 6] = [
        ("wrap", [-2, 3], &[2.0, 3.0, 4.0, 5.0, 2.0, 3.0, 4.0]),
        ("wrap", [3, -2], &[1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]),
        ("edge", [-1, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0]),
        ("edge", [2, -3], &[0.0, 0.0, 0.0, 1.0, 2.0]),
        ("reflect", [-2, 2], &[2.0, 3.0, 4.0, 5.0, 4.0, 3.0]),
        ("reflect", [2, -2], &[2.0, 1.0, 0.0, 1.0, 2.0, 3.0]),
    ];
    for (mode, pads, expected) in cases {
        let mut case = Case::new(
            "Pad",
            vec![x.clone(), Tensor::Known(pads.to_vec())],
            &[expected.len()],
        )
        .with("mode", Attribute::Text(mode.to_owned()));
        case.opset = 19;
        case.gives(expected);
    }
}

#[test]
fn nothing_is_computed_of_nothing() {
    let empty = |shape: &[usize]| Tensor::Floats(shape.to_vec(), Vec::new());
    Case::new("ArgMax", vec![empty(&[0, 3])], &[0, 1])
        .with("axis", Attribute::Int(1))
        .gives(&[]);
    Case::new("ArgMin", vec![empty(&[2, 0])], &[1, 0]).gives(&[]);
    let channels = vec![empty(&[1, 0, 4]), empty(&[0]), empty(&[0])];
    Case::new("InstanceNormalization", channels, &[1, 0, 4]).gives(&[]);
}
