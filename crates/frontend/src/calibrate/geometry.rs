//! From the words and shapes of a measured operator to its class and work.
//!
//! Shapes leave some things open, above all the windows of pools; what is put in for them is reported, never silent.

use paracompile_plan::{Bytes, OpClass};

use crate::ir::Work;
use crate::soc::shown;

/// Size of a single-precision element; measurements of other types are told by their shapes alone.
const ELEMENT: u64 = 4;
/// No tensor and no count of operations of a network comes near.
const MOST: u64 = 1 << 50;
/// The window of a pool that does not say it: by far the most frequent one.
const USUAL_WINDOW: u64 = 3;

/// What a row says about an operator, as text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Description<'a> {
    pub(super) name: &'a str,
    pub(super) op_type: &'a str,
    pub(super) input: &'a str,
    pub(super) output: &'a str,
    pub(super) kernel: [Option<&'a str>; 2],
    pub(super) groups: Option<&'a str>,
    pub(super) stride: Option<&'a str>,
    pub(super) dilation: Option<&'a str>,
    pub(super) macs: Option<&'a str>,
}

/// An operator, and what had to be concluded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Geometry {
    pub(super) class: OpClass,
    pub(super) work: Work,
    pub(super) concluded: Vec<Concluded>,
}

/// Something that a row leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Concluded {
    /// The class of a `pool`, from its name and shapes.
    PoolKind(OpClass),
    /// The window of a pool, from its name.
    WindowFromName,
    /// The window of a pool, from nothing.
    UsualWindow,
    /// The stated operations are not those of the shapes.
    OtherMacs,
}

/// Why a row says nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unusable {
    /// A word for a kind of operator that is not known.
    UnknownType(String),
    /// Something that does not parse or fit, and what would.
    Wrong(String),
}

/// Words of measured operators beside the names of classes.
const WORDS: [(&str, OpClass); 16] = [
    ("convolution", OpClass::Conv),
    ("dwconv", OpClass::DepthwiseConv),
    ("depthwise", OpClass::DepthwiseConv),
    ("deconv", OpClass::ConvTranspose),
    ("fc", OpClass::Gemm),
    ("fully_connected", OpClass::Gemm),
    ("avg_pool", OpClass::AveragePool),
    ("relu", OpClass::Activation),
    ("batchnorm", OpClass::BatchNorm),
    ("layernorm", OpClass::LayerNorm),
    ("lrn", OpClass::LocalResponseNorm),
    ("add", OpClass::Elementwise),
    ("mul", OpClass::Elementwise),
    ("permute", OpClass::Transpose),
    // A view for us, but something that the measured framework ran.
    ("reshape", OpClass::Other),
    ("flatten", OpClass::Other),
];

/// The operator that a row describes.
pub(super) fn geometry(described: &Description<'_>) -> Result<Geometry, Unusable> {
    let input = shape("in_shape_CHW", described.input)?;
    let output = shape("out_shape_CHW", described.output)?;
    let mut concluded = Vec::new();
    let mut class = class(described, input, output, &mut concluded)?;
    let mut work = Work {
        input_bytes: Bytes::new(elements(input)? * ELEMENT),
        output_bytes: Bytes::new(elements(output)? * ELEMENT),
        ..Work::default()
    };
    let stated_macs = described
        .macs
        .map(|text| {
            let macs = text
                .parse::<f64>()
                .ok()
                .filter(|macs| *macs >= 0.0 && macs.is_finite());
            macs.ok_or_else(|| wrong("macs", text, "a count"))
        })
        .transpose()?;
    match class {
        OpClass::Conv | OpClass::DepthwiseConv | OpClass::ConvTranspose => {
            let groups = groups(described, input[0])?;
            let kernel = kernel(described)?.ok_or_else(|| {
                Unusable::Wrong("kh and kw are empty, but a convolution needs them".to_owned())
            })?;
            if class == OpClass::Conv && groups == input[0] && groups > 1 {
                class = OpClass::DepthwiseConv;
            }
            convolve(&mut work, class, described, [input, output], kernel, groups)?;
        }
        OpClass::Gemm => {
            work.rows = 1;
            work.groups = 1;
            work.depth = elements(input)?;
            work.columns = elements(output)?;
            work.macs = product(&[work.depth, work.columns])?;
            work.weight_bytes = Bytes::new(work.macs * ELEMENT);
        }
        OpClass::Matmul | OpClass::Recurrent => {
            let Some(macs) = stated_macs else {
                return Err(Unusable::Wrong(format!(
                    "macs is empty, but shapes alone do not tell the work of class {class}"
                )));
            };
            work.macs = whole(macs);
        }
        OpClass::MaxPool | OpClass::AveragePool => {
            let window = window(described, &mut concluded)?;
            work.kernel = window;
            work.stride = strides(described, input, output)?;
            work.dilation = [1, 1];
            work.window = product(&[elements(output)?, window[0], window[1]])?;
            work.other_flops = work.window;
        }
        OpClass::GlobalPool => {
            work.kernel = [input[1], input[2]];
            work.stride = [1, 1];
            work.dilation = [1, 1];
            work.window = elements(input)?;
            work.other_flops = work.window;
        }
        OpClass::Concat => {
            // A row states the first of the inputs alone; together they are as large as the output.
            work.input_bytes = work.output_bytes;
            work.other_flops = elements(output)?;
        }
        OpClass::Activation
        | OpClass::BatchNorm
        | OpClass::LayerNorm
        | OpClass::LocalResponseNorm
        | OpClass::Softmax
        | OpClass::Elementwise
        | OpClass::Reduce
        | OpClass::Split
        | OpClass::Transpose
        | OpClass::Pad
        | OpClass::Slice
        | OpClass::Gather
        | OpClass::Resize
        | OpClass::Cast
        | OpClass::Other
        | OpClass::Opaque => work.other_flops = elements(output)?,
    }
    if let Some(stated) = stated_macs
        && work.macs > 0
        && (real(work.macs) - stated).abs() > 0.01 * stated.max(1.0)
    {
        concluded.push(Concluded::OtherMacs);
    }
    Ok(Geometry {
        class,
        work,
        concluded,
    })
}

fn class(
    described: &Description<'_>,
    input: [u64; 3],
    output: [u64; 3],
    concluded: &mut Vec<Concluded>,
) -> Result<OpClass, Unusable> {
    let word = described.op_type.to_ascii_lowercase();
    let known = WORDS
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, class)| *class);
    if let Some(class) = known.or_else(|| word.parse().ok()) {
        return Ok(class);
    }
    if word != "pool" {
        return Err(Unusable::UnknownType(described.op_type.to_owned()));
    }
    let name = described.name.to_ascii_lowercase();
    let class = if name.contains("norm") && input == output {
        OpClass::LocalResponseNorm
    } else if output[1] * output[2] == 1 && input[1] * input[2] > 1 {
        OpClass::GlobalPool
    } else if name.contains("avg") || name.contains("average") || name.contains("mean") {
        OpClass::AveragePool
    } else {
        OpClass::MaxPool
    };
    concluded.push(Concluded::PoolKind(class));
    Ok(class)
}

fn convolve(
    work: &mut Work,
    class: OpClass,
    described: &Description<'_>,
    [input, output]: [[u64; 3]; 2],
    kernel: [u64; 2],
    groups: u64,
) -> Result<(), Unusable> {
    if input[0] % groups != 0 || output[0] % groups != 0 {
        return Err(Unusable::Wrong(format!(
            "groups is {groups}, which does not divide {} and {} channels",
            input[0], output[0]
        )));
    }
    let window = product(&kernel)?;
    let of_group = [input[0] / groups, output[0] / groups];
    // A transposed convolution multiplies every input pixel by its window of outputs.
    let (pixels, columns, depth) = if class == OpClass::ConvTranspose {
        (
            product(&input[1..])?,
            product(&[of_group[1], window])?,
            of_group[0],
        )
    } else {
        (
            product(&output[1..])?,
            of_group[1],
            product(&[of_group[0], window])?,
        )
    };
    work.rows = pixels;
    work.columns = columns;
    work.depth = depth;
    work.groups = groups;
    work.kernel = kernel;
    work.stride = strides(described, input, output)?;
    let dilation = pair("dilation", described.dilation)?;
    work.dilation = dilation.unwrap_or([1, 1]);
    work.macs = product(&[pixels, columns, depth, groups])?;
    work.weight_bytes = Bytes::new(product(&[columns, depth, groups, ELEMENT])?);
    Ok(())
}

fn groups(described: &Description<'_>, channels: u64) -> Result<u64, Unusable> {
    match described.groups {
        None if described.op_type.to_ascii_lowercase().contains("dw") => Ok(channels),
        None => Ok(1),
        Some("dw") => Ok(channels),
        Some(text) => positive("groups", text),
    }
}

fn kernel(described: &Description<'_>) -> Result<Option<[u64; 2]>, Unusable> {
    match described.kernel {
        [Some(height), Some(width)] => Ok(Some([positive("kh", height)?, positive("kw", width)?])),
        [None, None] => Ok(None),
        [Some(_), None] | [None, Some(_)] => Err(Unusable::Wrong(
            "of kh and kw one is empty; write both or none".to_owned(),
        )),
    }
}

/// The window of a pool: stated, else the last `3x3` of its name, else the usual one.
fn window(
    described: &Description<'_>,
    concluded: &mut Vec<Concluded>,
) -> Result<[u64; 2], Unusable> {
    if let Some(stated) = kernel(described)? {
        return Ok(stated);
    }
    let named = described
        .name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| {
            let (height, width) = word.split_once('x')?;
            let sides = [height.parse().ok()?, width.parse().ok()?];
            sides
                .iter()
                .all(|side| (1..=64).contains(side))
                .then_some(sides)
        })
        .next_back();
    concluded.push(match named {
        Some(_) => Concluded::WindowFromName,
        None => Concluded::UsualWindow,
    });
    Ok(named.unwrap_or([USUAL_WINDOW; 2]))
}

/// Strides: stated, else the ratio of the extents, since `out − 1` steps lead over at most `in − 1` pixels.
fn strides(
    described: &Description<'_>,
    input: [u64; 3],
    output: [u64; 3],
) -> Result<[u64; 2], Unusable> {
    if let Some(stated) = pair("stride", described.stride)? {
        return Ok(stated);
    }
    Ok([1, 2].map(|axis| {
        let (steps, pixels) = (output[axis].max(2) - 1, input[axis].max(1) - 1);
        ((2 * pixels + steps) / (2 * steps)).max(1)
    }))
}

fn pair(what: &str, text: Option<&str>) -> Result<Option<[u64; 2]>, Unusable> {
    let Some(text) = text else { return Ok(None) };
    let sides = text.split_once('x').unwrap_or((text, text));
    Ok(Some([positive(what, sides.0)?, positive(what, sides.1)?]))
}

/// Channels, height and width; a vector has the last two one.
fn shape(what: &str, text: &str) -> Result<[u64; 3], Unusable> {
    let mut extents = [1; 3];
    let words: Vec<&str> = text.split('x').collect();
    if words.len() > 3 {
        return Err(wrong(
            what,
            text,
            "channels, height and width, as in 64x56x56",
        ));
    }
    for (extent, word) in extents.iter_mut().zip(words) {
        *extent = word
            .trim()
            .parse()
            .ok()
            .filter(|extent| (1..=MOST).contains(extent))
            .ok_or_else(|| wrong(what, text, "channels, height and width, as in 64x56x56"))?;
    }
    Ok(extents)
}

fn positive(what: &str, text: &str) -> Result<u64, Unusable> {
    // Programs that keep gaps in a column write its integers as decimals.
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits
        .parse()
        .ok()
        .filter(|number| (1..=1 << 32).contains(number))
        .ok_or_else(|| wrong(what, text, "a positive whole number"))
}

fn wrong(what: &str, found: &str, expected: &str) -> Unusable {
    Unusable::Wrong(format!("{what} is `{}`; write {expected}", shown(found)))
}

fn elements(shape: [u64; 3]) -> Result<u64, Unusable> {
    product(&shape)
}

fn product(factors: &[u64]) -> Result<u64, Unusable> {
    factors
        .iter()
        .try_fold(1u64, |all, &factor| all.checked_mul(factor))
        .filter(|&all| all <= MOST)
        .ok_or_else(|| Unusable::Wrong("its shapes make more work than any network has".to_owned()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts are compared within a percent"
)]
fn real(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and the cast saturates"
)]
fn whole(count: f64) -> u64 {
    (count as u64).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described<'a>(op_type: &'a str, input: &'a str, output: &'a str) -> Description<'a> {
        Description {
            op_type,
            input,
            output,
            ..Description::default()
        }
    }

    #[test]
    fn a_convolution_is_the_product_that_its_shapes_make() {
        let row = Description {
            kernel: [Some("7"), Some("7.0")],
            macs: Some("118013952"),
            ..described("conv", "3x224x224", "64x112x112")
        };
        let found = geometry(&row).unwrap();
        assert_eq!(found.class, OpClass::Conv);
        assert_eq!(found.work.macs, 118_013_952);
        assert_eq!(found.work.rows, 112 * 112);
        assert_eq!((found.work.depth, found.work.columns), (147, 64));
        assert_eq!(found.work.stride, [2, 2]);
        assert_eq!(found.work.weight_bytes, Bytes::new(4 * 147 * 64));
        assert!(found.concluded.is_empty());
    }

    #[test]
    fn strides_follow_from_extents_whatever_the_padding() {
        for (input, output, stride) in [
            ("3x227x227", "96x55x55", 4),
            ("32x149x149", "32x147x147", 1),
            ("64x147x147", "64x73x73", 2),
            ("8x7x7", "8x7x7", 1),
            ("768x17x17", "768x8x8", 2),
        ] {
            let row = Description {
                kernel: [Some("3"), Some("3")],
                ..described("conv", input, output)
            };
            assert_eq!(geometry(&row).unwrap().work.stride, [stride; 2], "{input}");
        }
    }

    #[test]
    fn a_depthwise_convolution_is_one_by_its_groups_or_its_name() {
        for (op_type, groups) in [
            ("dwconv", None),
            ("conv", Some("32")),
            ("dwconv", Some("dw")),
        ] {
            let row = Description {
                kernel: [Some("3"), Some("3")],
                groups,
                ..described(op_type, "32x112x112", "32x112x112")
            };
            let found = geometry(&row).unwrap();
            assert_eq!(found.class, OpClass::DepthwiseConv);
            assert_eq!(found.work.macs, 9 * 32 * 112 * 112);
        }
    }

    #[test]
    fn pools_are_told_by_name_and_shape_and_say_so() {
        let cases = [
            (
                "a/AvgPool_0a_3x3/AvgPool",
                "8x9x9",
                "8x9x9",
                OpClass::AveragePool,
                [3, 3],
            ),
            ("pool5/7x7_s1", "8x7x7", "8", OpClass::GlobalPool, [7, 7]),
            (
                "pool1/norm1",
                "8x9x9",
                "8x9x9",
                OpClass::LocalResponseNorm,
                [0, 0],
            ),
            ("pool2/2x2_s2", "8x8x8", "8x4x4", OpClass::MaxPool, [2, 2]),
            ("pool1", "96x55x55", "96x27x27", OpClass::MaxPool, [3, 3]),
        ];
        for (name, input, output, class, kernel) in cases {
            let row = Description {
                name,
                ..described("pool", input, output)
            };
            let found = geometry(&row).unwrap();
            assert_eq!((found.class, found.work.kernel), (class, kernel), "{name}");
            assert_eq!(found.concluded[0], Concluded::PoolKind(class));
        }
    }

    #[test]
    fn what_does_not_parse_is_named() {
        let kernel = [Some("3"), Some("3")];
        let cases = [
            (
                described("conv", "3x224", "x"),
                "out_shape_CHW is `x`; write channels",
            ),
            (described("conv", "3x8x8", "4x8x8"), "kh and kw are empty"),
            (
                Description {
                    kernel: [Some("3"), None],
                    ..described("conv", "3x8x8", "4x8x8")
                },
                "of kh and kw one is empty",
            ),
            (
                Description {
                    kernel,
                    groups: Some("2"),
                    ..described("conv", "3x8x8", "4x8x8")
                },
                "groups is 2, which does not divide",
            ),
            (described("matmul", "8x8", "8x8"), "macs is empty"),
            (described("relu", "0x8", "8"), "in_shape_CHW is `0x8`"),
            (
                described("relu", "999999999x999999x9", "8"),
                "more work than any network",
            ),
            (
                described("relu", "1x2x3x4", "8"),
                "in_shape_CHW is `1x2x3x4`",
            ),
        ];
        for (row, expected) in cases {
            let Err(Unusable::Wrong(message)) = geometry(&row) else {
                panic!("{expected}");
            };
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(
            geometry(&described("magic", "1", "1")),
            Err(Unusable::UnknownType("magic".to_owned()))
        );
    }

    #[test]
    fn other_operations_than_the_shapes_make_are_noticed() {
        let row = Description {
            macs: Some("17"),
            ..described("fc", "100", "10")
        };
        let found = geometry(&row).unwrap();
        assert_eq!(found.work.macs, 1000);
        assert_eq!(found.concluded, [Concluded::OtherMacs]);
    }
}
