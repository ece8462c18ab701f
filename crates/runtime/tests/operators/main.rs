//! Operators on shapes that the standard's own tests are too small for: longer than a work item's share, not a multiple of a vector,
//! and in the middle of a larger buffer, lowered for CPUs and for GPUs.
//!
//! What is expected comes from plain loops in double precision.

#![expect(
    clippy::unwrap_used,
    reason = "a failure of the device is a failure of the test"
)]

mod special_values;

use std::collections::BTreeMap;

use paracompile_frontend::import::onnx::{Attribute, Call, Elements};
use paracompile_frontend::ir::DataType;
use paracompile_plan::plan::OperatorRef;
use paracompile_runtime::launch::{Place, Places, launches};
use paracompile_runtime::lower::{Lowered, Operand, Phase, Site, Spec, Target, TargetKind, lower};
use paracompile_runtime::opencl::devices;
use paracompile_runtime::solo::Solo;

/// Elements before every tensor in its buffer.
const AHEAD: usize = 5;

/// A tensor of an operator.
#[derive(Clone)]
enum Tensor {
    Floats(Vec<usize>, Vec<f32>),
    Integers(Vec<usize>, Vec<i64>),
    /// Integers that lowering has to know.
    Known(Vec<i64>),
}

struct Case {
    op_type: &'static str,
    opset: i64,
    attributes: BTreeMap<String, Attribute>,
    operands: Vec<Tensor>,
    results: Vec<Vec<usize>>,
}

impl Case {
    fn new(op_type: &'static str, operands: Vec<Tensor>, result: &[usize]) -> Self {
        Self {
            op_type,
            opset: 17,
            attributes: BTreeMap::new(),
            operands,
            results: vec![result.to_vec()],
        }
    }

    fn with(mut self, name: &str, attribute: Attribute) -> Self {
        self.attributes.insert(name.to_owned(), attribute);
        self
    }

    fn with_ints(self, name: &str, values: &[i64]) -> Self {
        self.with(name, Attribute::Ints(values.to_vec()))
    }

    fn lowered(&self, target: &Target) -> Lowered {
        let call = Call {
            at: OperatorRef {
                node: 0,
                inside: Vec::new(),
                output: "r".to_owned(),
            },
            name: self.op_type.to_owned(),
            op_type: self.op_type.to_owned(),
            domain: String::new(),
            opset: self.opset,
            attributes: self.attributes.clone(),
            operands: (0..self.operands.len()).map(Some).collect(),
            results: (0..self.results.len()).map(Some).collect(),
            padding: Vec::new(),
        };
        let known: Vec<Option<Elements>> = self
            .operands
            .iter()
            .map(|operand| match operand {
                Tensor::Known(values) => Some(Elements::Integers(values.clone())),
                Tensor::Floats(..) | Tensor::Integers(..) => None,
            })
            .collect();
        let operands = self.operands.iter().zip(&known).map(|(operand, known)| {
            let (dtype, shape) = match operand {
                Tensor::Floats(shape, _) => (DataType::Float, shape.clone()),
                Tensor::Integers(shape, _) => (DataType::Int64, shape.clone()),
                Tensor::Known(values) => (DataType::Int64, vec![values.len()]),
            };
            Some(Operand {
                spec: Spec { dtype, shape },
                is_constant: known.is_some(),
                elements: known.as_ref(),
            })
        });
        let results = self.results.iter().map(|shape| {
            Some(Spec {
                dtype: DataType::Float,
                shape: shape.clone(),
            })
        });
        let site = Site {
            call: &call,
            operands: operands.collect(),
            results: results.collect(),
        };
        lower(&site, target).expect("it is supported")
    }

    /// The results for a kind of device.
    fn run(&self, solo: &Solo) -> Vec<Vec<f32>> {
        let lowered = self.lowered(&solo.target);
        let place = |bytes: Vec<u8>, width: usize| {
            let ahead = vec![0xa5; AHEAD * width];
            let memory = solo.filled(&[ahead, bytes].concat()).unwrap();
            Some(Place {
                memory,
                first: AHEAD as u64,
            })
        };
        let mut places = Places::default();
        for operand in &self.operands {
            places.operands.push(match operand {
                Tensor::Floats(_, values) => place(floats(values), 4),
                Tensor::Integers(_, values) | Tensor::Known(values) => place(
                    values
                        .iter()
                        .flat_map(|value| value.to_le_bytes())
                        .collect(),
                    8,
                ),
            });
        }
        for shape in &self.results {
            let count: usize = shape.iter().product();
            places
                .results
                .push(place(floats(&vec![f32::NAN; count]), 4));
        }
        for scratch in &lowered.scratch {
            places
                .scratch
                .push(solo.context.allocate(scratch.bytes).unwrap());
        }
        for table in &lowered.tables {
            places.tables.push(solo.filled(table).unwrap());
        }
        for phase in [Phase::Setup, Phase::Frame] {
            for launch in launches(&solo.context, &lowered, &places, phase).unwrap() {
                launch.enqueue(&solo.queue, &[]).unwrap();
            }
        }
        solo.queue.finish().unwrap();
        let results = places.results.iter().flatten();
        results
            .map(|place| {
                let bytes = solo.read(&place.memory).unwrap();
                let (before, own) = bytes.split_at(AHEAD * 4);
                assert!(before.iter().all(|&byte| byte == 0xa5), "wrote ahead");
                let (chunks, _) = own.as_chunks::<4>();
                chunks
                    .iter()
                    .map(|&chunk| f32::from_le_bytes(chunk))
                    .collect()
            })
            .collect()
    }

    /// The first result on both kinds of devices, CPUs first.
    fn firsts(&self) -> [(TargetKind, Vec<f32>); 2] {
        let device = devices()
            .expect("these tests need an OpenCL driver")
            .remove(0);
        let mut solo = Solo::new(&device).unwrap();
        [TargetKind::Cpu, TargetKind::Gpu].map(|kind| {
            solo.target.kind = kind;
            (kind, self.run(&solo).remove(0))
        })
    }

    /// Holds the first result, on both kinds of devices, against a function of its indices.
    fn agrees(&self, expected: impl Fn(&[usize]) -> f64) {
        for (kind, found) in self.firsts() {
            for (position, index) in indices(&self.results[0]).enumerate() {
                let (found, expected) = (f64::from(found[position]), expected(&index));
                let allowed = 1e-5 + 1e-4 * expected.abs();
                assert!(
                    (found - expected).abs() <= allowed,
                    "{} for {kind:?} at {index:?}: {found} instead of {expected}",
                    self.op_type
                );
            }
        }
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// All indices of a tensor, row-major.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let count: usize = shape.iter().product();
    (0..count).map(move |mut rest| {
        let mut index = vec![0; shape.len()];
        for (at, &extent) in index.iter_mut().zip(shape).rev() {
            *at = rest % extent;
            rest /= extent;
        }
        index
    })
}

/// Numbers between -2 and 2 without a pattern that an operator could share.
fn noise(shape: &[usize], seed: u32) -> Tensor {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let high = u16::try_from(state >> 16).expect("16 bits are left");
        f32::from(high) / 16384.0 - 2.0
    };
    let count: usize = shape.iter().product();
    Tensor::Floats(shape.to_vec(), (0..count).map(next).collect())
}

/// The element of a tensor at an index.
fn at(tensor: &Tensor, index: &[usize]) -> f64 {
    let Tensor::Floats(shape, values) = tensor else {
        panic!("numbers are read alone");
    };
    let place = shape.iter().zip(index).fold(0, |place, (&extent, &index)| {
        assert!(index < extent);
        place * extent + index
    });
    f64::from(values[place])
}

#[test]
fn unary_operators_cross_the_shares_of_work_items() {
    let x = noise(&[3, 10_007], 1);
    let case = Case::new("Relu", vec![x.clone()], &[3, 10_007]);
    case.agrees(|index| at(&x, index).max(0.0));
    let case = Case::new("Sigmoid", vec![x.clone()], &[3, 10_007]);
    case.agrees(|index| 1.0 / (1.0 + (-at(&x, index)).exp()));
}

#[test]
fn operands_are_broadcast_along_any_axes() {
    let (x, y) = (noise(&[2, 5, 7, 333], 1), noise(&[5, 1, 333], 2));
    let case = Case::new("Add", vec![x.clone(), y.clone()], &[2, 5, 7, 333]);
    case.agrees(|index| at(&x, index) + at(&y, &[index[1], 0, index[3]]));
    let (x, y) = (noise(&[4, 1, 37], 3), noise(&[1, 61, 1], 4));
    let case = Case::new("Mul", vec![x.clone(), y.clone()], &[4, 61, 37]);
    case.agrees(|index| at(&x, &[index[0], 0, index[2]]) * at(&y, &[0, index[1], 0]));
}

#[test]
fn sums_of_many_operands_take_several_launches() {
    let operands: Vec<Tensor> = (0..8).map(|seed| noise(&[3, 1001], seed)).collect();
    let case = Case::new("Sum", operands.clone(), &[3, 1001]);
    case.agrees(|index| operands.iter().map(|operand| at(operand, index)).sum());
}

#[test]
fn transposes_cross_tiles() {
    let x = noise(&[3, 70, 5, 130], 1);
    let case =
        Case::new("Transpose", vec![x.clone()], &[130, 3, 5, 70]).with_ints("perm", &[3, 0, 2, 1]);
    case.agrees(|index| at(&x, &[index[1], index[3], index[2], index[0]]));
    let x = noise(&[2, 197, 12, 64], 2);
    let case =
        Case::new("Transpose", vec![x.clone()], &[2, 12, 64, 197]).with_ints("perm", &[0, 2, 3, 1]);
    case.agrees(|index| at(&x, &[index[0], index[3], index[1], index[2]]));
}

#[test]
fn slices_go_backwards_and_skip() {
    let x = noise(&[9, 40, 1000], 1);
    let known = |values: &[i64]| Tensor::Known(values.to_vec());
    let operands = vec![
        x.clone(),
        known(&[-1, 1]),
        known(&[-1001, i64::MAX]),
        known(&[2, 0]),
        known(&[-3, 2]),
    ];
    let case = Case::new("Slice", operands, &[4, 40, 334]);
    case.agrees(|index| at(&x, &[1 + 2 * index[0], index[1], 999 - 3 * index[2]]));
}

#[test]
fn joined_tensors_lie_behind_each_other() {
    let (x, y, z) = (
        noise(&[2, 3, 1700], 1),
        noise(&[2, 1, 1700], 2),
        noise(&[2, 4, 1700], 3),
    );
    let case = Case::new(
        "Concat",
        vec![x.clone(), y.clone(), z.clone()],
        &[2, 8, 1700],
    )
    .with("axis", Attribute::Int(1));
    case.agrees(|index| match index[1] {
        0..3 => at(&x, index),
        3 => at(&y, &[index[0], 0, index[2]]),
        channel => at(&z, &[index[0], channel - 4, index[2]]),
    });
}

#[test]
fn parts_of_a_split_begin_where_the_one_before_ends() {
    let x = noise(&[3, 1000, 7], 1);
    let mut case = Case::new(
        "Split",
        vec![x.clone(), Tensor::Known(vec![300, 700])],
        &[3, 300, 7],
    )
    .with("axis", Attribute::Int(1));
    case.results.push(vec![3, 700, 7]);
    case.agrees(|index| at(&x, index));
    let solo = Solo::new(&devices().unwrap().remove(0)).unwrap();
    let second = case.run(&solo).remove(1);
    for (found, index) in second.iter().zip(indices(&[3, 700, 7])) {
        let expected = at(&x, &[index[0], index[1] + 300, index[2]]);
        assert!((f64::from(*found) - expected).abs() < 1e-9);
    }
}

#[test]
fn rows_are_gathered_by_what_a_frame_computes() {
    let x = noise(&[100, 777], 1);
    let picked = vec![99, 0, -1, 42, 7, -100];
    let indices = Tensor::Integers(vec![2, 3], picked.clone());
    let case = Case::new("Gather", vec![x.clone(), indices], &[2, 3, 777]);
    case.agrees(|index| {
        let row = picked[index[0] * 3 + index[1]].rem_euclid(100);
        at(&x, &[usize::try_from(row).unwrap(), index[2]])
    });
}

fn softmax(x: &Tensor, index: &[usize], axis: usize, extent: usize) -> f64 {
    let element = |i: usize| {
        let mut place = index.to_vec();
        place[axis] = i;
        at(x, &place)
    };
    let largest = (0..extent).map(element).fold(f64::MIN, f64::max);
    let sum: f64 = (0..extent).map(|i| (element(i) - largest).exp()).sum();
    (element(index[axis]) - largest).exp() / sum
}

#[test]
fn softmax_sums_to_one_along_any_axis() {
    let x = noise(&[9, 197], 1);
    let case = Case::new("Softmax", vec![x.clone()], &[9, 197]);
    case.agrees(|index| softmax(&x, index, 1, 197));
    let x = noise(&[2, 33, 50], 2);
    let case = Case::new("Softmax", vec![x.clone()], &[2, 33, 50]).with("axis", Attribute::Int(1));
    case.agrees(|index| softmax(&x, index, 1, 33));
    let case = Case::new("LogSoftmax", vec![x.clone()], &[2, 33, 50]);
    case.agrees(|index| softmax(&x, index, 2, 50).ln());
}

/// Mean and variance of some numbers.
fn statistics(numbers: &[f64]) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares = numbers.iter().map(|number| (number - mean).powi(2));
    (mean, squares.sum::<f64>() / count)
}

#[test]
fn layers_are_normalised() {
    let (x, scale, shift) = (noise(&[11, 770], 1), noise(&[770], 2), noise(&[770], 3));
    let case = Case::new(
        "LayerNormalization",
        vec![x.clone(), scale.clone(), shift.clone()],
        &[11, 770],
    );
    case.agrees(|index| {
        let row: Vec<f64> = (0..770).map(|i| at(&x, &[index[0], i])).collect();
        let (mean, variance) = statistics(&row);
        let unit = (row[index[1]] - mean) / (variance + 1e-5).sqrt();
        unit * at(&scale, &index[1..]) + at(&shift, &index[1..])
    });
}

#[test]
fn groups_of_channels_are_normalised() {
    let (x, scale, shift) = (noise(&[2, 6, 35], 1), noise(&[6], 2), noise(&[6], 3));
    let mut case = Case::new(
        "GroupNormalization",
        vec![x.clone(), scale.clone(), shift.clone()],
        &[2, 6, 35],
    )
    .with("num_groups", Attribute::Int(3));
    case.opset = 21;
    case.agrees(|index| {
        let first = index[1] / 2 * 2;
        let group = (0..70).map(|i| at(&x, &[index[0], first + i / 35, i % 35]));
        let (mean, variance) = statistics(&group.collect::<Vec<_>>());
        let unit = (at(&x, index) - mean) / (variance + 1e-5).sqrt();
        unit * at(&scale, &index[1..2]) + at(&shift, &index[1..2])
    });
}

#[test]
fn channels_are_normalised_by_known_statistics() {
    let x = noise(&[2, 5, 30, 31], 1);
    let of_channels: Vec<Tensor> = (2..5).map(|seed| noise(&[5], seed)).collect();
    let variance = Tensor::Floats(vec![5], vec![0.5, 1.0, 2.0, 3.0, 4.0]);
    let operands = [vec![x.clone()], of_channels.clone(), vec![variance.clone()]].concat();
    let case = Case::new("BatchNormalization", operands, &[2, 5, 30, 31]);
    case.agrees(|index| {
        let channel = &index[1..2];
        let deviation = (at(&variance, channel) + 1e-5).sqrt();
        let centred = at(&x, index) - at(&of_channels[2], channel);
        centred / deviation * at(&of_channels[0], channel) + at(&of_channels[1], channel)
    });
}

/// The elements of the window of a pool with padding 1, clipped to the image.
fn window(
    x: &Tensor,
    index: &[usize],
    kernel: usize,
    stride: usize,
    extent: [usize; 2],
) -> Vec<f64> {
    let along = |at: usize, extent: usize| {
        let taps = (0..kernel).filter_map(move |tap| (at * stride + tap).checked_sub(1));
        taps.filter(move |&place| place < extent)
    };
    let rows = along(index[2], extent[0]);
    rows.flat_map(|h| along(index[3], extent[1]).map(move |w| at(x, &[index[0], index[1], h, w])))
        .collect()
}

fn pool(op_type: &'static str, x: &Tensor, stride: i64, result: &[usize]) -> Case {
    Case::new(op_type, vec![x.clone()], result)
        .with_ints("kernel_shape", &[3, 3])
        .with_ints("strides", &[stride, stride])
        .with_ints("pads", &[1, 1, 1, 1])
}

#[test]
fn windows_are_pooled_at_every_stride() {
    for (stride, step, result) in [
        (1, 1, [2, 3, 37, 61]),
        (2, 2, [2, 3, 19, 31]),
        (3, 3, [2, 3, 13, 21]),
    ] {
        let x = noise(&[2, 3, 37, 61], 1);
        let case = pool("MaxPool", &x, stride, &result);
        case.agrees(|index| {
            window(&x, index, 3, step, [37, 61])
                .into_iter()
                .fold(f64::MIN, f64::max)
        });
        let case = pool("AveragePool", &x, stride, &result);
        case.agrees(|index| statistics(&window(&x, index, 3, step, [37, 61])).0);
        let case =
            pool("AveragePool", &x, stride, &result).with("count_include_pad", Attribute::Int(1));
        case.agrees(|index| window(&x, index, 3, step, [37, 61]).iter().sum::<f64>() / 9.0);
    }
}

#[test]
fn rows_too_wide_for_a_work_item_are_pooled_too() {
    let x = noise(&[1, 1, 3, 5000], 1);
    let case = pool("MaxPool", &x, 1, &[1, 1, 3, 5000]);
    case.agrees(|index| {
        window(&x, index, 3, 1, [3, 5000])
            .into_iter()
            .fold(f64::MIN, f64::max)
    });
}

#[test]
fn reductions_run_along_inner_and_outer_axes() {
    let x = noise(&[4, 50, 7, 90], 1);
    let case = Case::new("GlobalAveragePool", vec![x.clone()], &[4, 50, 1, 1]);
    case.agrees(|index| {
        let plane = (0..630).map(|i| at(&x, &[index[0], index[1], i / 90, i % 90]));
        statistics(&plane.collect::<Vec<_>>()).0
    });
    let case = Case::new("ReduceMax", vec![x.clone()], &[4, 7, 90])
        .with_ints("axes", &[1])
        .with("keepdims", Attribute::Int(0));
    case.agrees(|index| {
        let column = (0..50).map(|i| at(&x, &[index[0], i, index[1], index[2]]));
        column.fold(f64::MIN, f64::max)
    });
    let case =
        Case::new("ReduceLogSumExp", vec![x.clone()], &[1, 50, 1, 90]).with_ints("axes", &[0, 2]);
    case.agrees(|index| {
        let all = (0..28).map(|i| at(&x, &[i / 7, index[1], i % 7, index[3]]).exp());
        all.sum::<f64>().ln()
    });
    let case = Case::new("ReduceL2", vec![x.clone()], &[]).with("keepdims", Attribute::Int(0));
    case.agrees(|_| {
        let squares = indices(&[4, 50, 7, 90]).map(|index| at(&x, &index).powi(2));
        squares.sum::<f64>().sqrt()
    });
}

#[test]
fn neighbouring_channels_are_normalised() {
    let x = noise(&[2, 9, 21, 23], 1);
    let case = Case::new("LRN", vec![x.clone()], &[2, 9, 21, 23])
        .with("size", Attribute::Int(5))
        .with("alpha", Attribute::Float(0.5));
    case.agrees(|index| {
        let channels = index[1].saturating_sub(2)..(index[1] + 3).min(9);
        let squares = channels.map(|c| at(&x, &[index[0], c, index[2], index[3]]).powi(2));
        at(&x, index) / (1.0 + 0.5 / 5.0 * squares.sum::<f64>()).powf(0.75)
    });
}

#[test]
fn images_are_doubled_linearly() {
    let x = noise(&[1, 2, 20, 40], 1);
    let operands = vec![x.clone()];
    let mut case = Case::new("Resize", operands, &[1, 2, 40, 80])
        .with("mode", Attribute::Text("linear".to_owned()));
    let empty = || Tensor::Floats(vec![0], Vec::new());
    case.operands
        .extend([empty(), empty(), Tensor::Known(vec![1, 2, 40, 80])]);
    let taps = |output: usize, extent: usize| {
        let last = extent - 1;
        // Half pixels: a quarter of the way to the neighbour on one side.
        let (near, far) = (
            output / 2,
            if output.is_multiple_of(2) {
                (output / 2).wrapping_sub(1)
            } else {
                output / 2 + 1
            },
        );
        let far = if far == usize::MAX { 0 } else { far.min(last) };
        [(near, 0.75), (far, 0.25)]
    };
    case.agrees(|index| {
        let mut sum = 0.0;
        for (h, of_row) in taps(index[2], 20) {
            for (w, of_column) in taps(index[3], 40) {
                sum += of_row * of_column * at(&x, &[index[0], index[1], h, w]);
            }
        }
        sum
    });
}

#[test]
fn padding_surrounds_what_it_pads() {
    let x = noise(&[2, 3, 30, 50], 1);
    let pads = Tensor::Known(vec![0, 0, 2, 1, 0, 0, 0, 3]);
    let case = Case::new("Pad", vec![x.clone(), pads], &[2, 3, 32, 54]);
    case.agrees(
        |index| match (index[2].checked_sub(2), index[3].checked_sub(1)) {
            (Some(h), Some(w)) if w < 50 => at(&x, &[index[0], index[1], h, w]),
            _ => 0.0,
        },
    );
}
