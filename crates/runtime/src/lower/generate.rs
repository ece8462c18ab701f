//! Operators whose elements follow from where they are: constants, triangles, diagonals, and padding.

use paracompile_frontend::ir::DataType;

use super::element::bits_of;
use super::map::{Layout, Map, Mapped, local, share, signed};
use super::pointwise::push;
use super::{
    Argument, Lowered, Phase, Site, Source, Spec, Step, Target, TargetKind, Unsupported, axis,
};

const SOURCE: Source = Source {
    name: "generate.cl",
    text: include_str!("../kernels/generate.cl"),
};

/// Zeros, or another value by its bits.
pub(super) fn fill(
    site: &Site<'_>,
    target: &Target,
    result: usize,
    bits: i64,
) -> Result<Lowered, Unsupported> {
    let mut lowered = Lowered::default();
    let spec = written(site, result)?;
    push_fill(site, target, result, spec, bits, &mut lowered)?;
    Ok(lowered)
}

fn push_fill(
    site: &Site<'_>,
    target: &Target,
    result: usize,
    spec: &Spec,
    bits: i64,
    lowered: &mut Lowered,
) -> Result<(), Unsupported> {
    let element = bits_of(site, spec)?;
    let count = spec.elements();
    if count == 0 {
        return Ok(());
    }
    let block = block(count, target);
    lowered.steps.push(step(
        "fill",
        element,
        vec![
            Argument::Result(result),
            Argument::Long(bits),
            Argument::Long(signed(count)),
            Argument::Long(signed(block)),
        ],
        count.div_ceil(block),
        target,
    ));
    Ok(())
}

/// The bits of a number in a type.
pub(super) fn number_bits(number: f64, dtype: DataType) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number is one of that type"
    )]
    if dtype == DataType::Float {
        Some(i64::from((number as f32).to_bits()))
    } else if dtype == DataType::Double {
        Some(number.to_bits().cast_signed())
    } else {
        (!dtype.is_real()).then_some(number as i64)
    }
}

/// `ConstantOfShape` of zeros; other values lie in the file, so whoever reads it fills them in.
pub(super) fn lower_constant_of_shape(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    if site.call.attributes.contains_key("value") {
        return Err(site.unsupported("its value lies in the file"));
    }
    fill(site, target, 0, 0)
}

/// `Trilu`.
pub(super) fn lower_triangle(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let spec = site.result()?;
    let element = bits_of(site, spec)?;
    let &[.., height, width] = spec.shape.as_slice() else {
        return Err(site.unsupported("its operand is no matrix"));
    };
    let k = match site.integers(1)? {
        Some(k) => k.first().copied().unwrap_or(0),
        None => 0,
    };
    let mut lowered = Lowered::default();
    if spec.elements() > 0 {
        lowered.steps.push(step(
            "triangle",
            element,
            vec![
                Argument::Operand(0),
                Argument::Result(0),
                Argument::Long(signed(height)),
                Argument::Long(signed(width)),
                Argument::Long(k),
                Argument::Int(i32::from(site.int("upper", 1) != 0)),
            ],
            spec.elements() / width,
            target,
        ));
    }
    Ok(lowered)
}

/// `EyeLike`.
pub(super) fn lower_diagonal(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let spec = site.result()?;
    let element = bits_of(site, spec)?;
    let one = number_bits(1.0, spec.dtype)
        .ok_or_else(|| site.unsupported(format!("no kernel writes {}", spec.dtype)))?;
    let &[height, width] = spec.shape.as_slice() else {
        return Err(site.unsupported("its operand is no matrix"));
    };
    let mut lowered = Lowered::default();
    if spec.elements() > 0 {
        lowered.steps.push(step(
            "diagonal",
            element,
            vec![
                Argument::Result(0),
                Argument::Long(one),
                Argument::Long(signed(width)),
                Argument::Long(site.int("k", 0)),
            ],
            height,
            target,
        ));
    }
    Ok(lowered)
}

/// `Pad` in all modes.
pub(super) fn lower_pad(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    const AS_OPERANDS: i64 = 11;
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let rank = from.shape.len();
    let pads = if site.call.opset < AS_OPERANDS {
        site.ints("pads").or_else(|| site.ints("paddings"))
    } else {
        site.integers(1)?
    };
    let pads = pads.ok_or_else(|| site.unsupported("it has no pads"))?;
    let axes = match site.integers(3)? {
        Some(axes) => axis::all(site, axes, rank)?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(site.unsupported("it needs two pads an axis"));
    }
    let (mut before, mut behind) = (vec![0; rank], vec![0; rank]);
    for (position, &axis) in axes.iter().enumerate() {
        before[axis] = pads[position];
        behind[axis] = pads[axes.len() + position];
    }
    let mode = site.text("mode", "constant");
    if mode == "constant" {
        return pad_with_value(site, target, &before);
    }
    let strides = Layout::row_major(&from.shape).strides;
    let mut places = Vec::new();
    for axis in 0..rank {
        // Negative pads cut off first, so that what is cut off is not repeated.
        let cut = before[axis].min(0).saturating_neg();
        let extent = signed(from.shape[axis])
            .saturating_sub(cut)
            .saturating_add(behind[axis].min(0));
        if extent < 1 {
            return Err(site.unsupported("its operand has no elements to repeat"));
        }
        let along = (0..signed(to.shape[axis])).map(|index| {
            let index = index - before[axis].max(0);
            let place = match mode {
                "edge" => index.clamp(0, extent - 1),
                "wrap" => index.rem_euclid(extent),
                _ => reflected(index, extent),
            };
            (cut + place) * strides[axis]
        });
        places.push(along.collect());
    }
    if !matches!(mode, "edge" | "wrap" | "reflect") {
        return Err(site.unsupported(format!("its mode is `{mode}`")));
    }
    lookup(site, target, &places)
}

/// The index that mirrors at both ends without repeating them.
fn reflected(index: i64, extent: i64) -> i64 {
    let period = 2 * (extent - 1);
    if period <= 0 {
        return 0;
    }
    let index = index.rem_euclid(period);
    if index < extent {
        index
    } else {
        period - index
    }
}

/// A value everywhere, and the operand, or what is left of it, in the middle.
fn pad_with_value(
    site: &Site<'_>,
    target: &Target,
    before: &[i64],
) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let element = bits_of(site, to)?;
    let mut lowered = Lowered::default();
    let whole = Mapped {
        argument: Argument::Result(0),
        element,
        layout: Layout::row_major(&to.shape),
    };
    if site
        .optional(2)
        .is_some_and(|value| value.spec.elements() > 0)
    {
        let map = Map {
            extents: &to.shape,
            result: whole.clone(),
            operands: vec![Mapped {
                argument: Argument::Operand(2),
                element,
                layout: Layout {
                    first: 0,
                    strides: vec![0; to.shape.len()],
                },
            }],
            expression: "x",
        };
        push(site, &map, &mut lowered, target)?;
    } else {
        let value = f64::from(site.float("value", 0.0));
        let bits = number_bits(value, to.dtype)
            .ok_or_else(|| site.unsupported(format!("no kernel writes {}", to.dtype)))?;
        push_fill(site, target, 0, to, bits, &mut lowered)?;
    }
    let (mut source, mut whole) = (Layout::row_major(&from.shape), whole);
    let mut extents = Vec::new();
    for (axis, &before) in before.iter().enumerate() {
        // What is cut off in front and behind, and what is added in front.
        let cut = (-before).max(0);
        let added = before.max(0);
        let kept = signed(from.shape[axis])
            .saturating_sub(cut)
            .min(signed(to.shape[axis]).saturating_sub(added));
        source.first += cut * source.strides[axis];
        whole.layout.first += added * whole.layout.strides[axis];
        extents.push(usize::try_from(kept).unwrap_or(0));
    }
    let map = Map {
        extents: &extents,
        result: whole,
        operands: vec![Mapped {
            argument: Argument::Operand(0),
            element,
            layout: source,
        }],
        expression: "x",
    };
    push(site, &map, &mut lowered, target)?;
    Ok(lowered)
}

/// `r[i0, i1, …] = x[places[0][i0] + places[1][i1] + …]`.
pub(super) fn lookup(
    site: &Site<'_>,
    target: &Target,
    places: &[Vec<i64>],
) -> Result<Lowered, Unsupported> {
    let spec = site.result()?;
    let element = bits_of(site, spec)?;
    let count = spec.elements();
    let mut lowered = Lowered::default();
    if count == 0 {
        return Ok(lowered);
    }
    let mut table = Vec::new();
    let mut start = signed(2 * places.len());
    for along in places {
        table.extend([signed(along.len()), start]);
        start += signed(along.len());
    }
    table.extend(places.iter().flatten());
    let block = block(count, target);
    let rank = i32::try_from(places.len()).map_err(|_| site.unsupported("too many axes"))?;
    let arguments = vec![
        Argument::Operand(0),
        Argument::Result(0),
        lowered.add_longs(&table),
        Argument::Int(rank),
        Argument::Long(signed(count)),
        Argument::Long(signed(block)),
    ];
    lowered.steps.push(step(
        "lookup",
        element,
        arguments,
        count.div_ceil(block),
        target,
    ));
    Ok(lowered)
}

/// Elements a work item.
pub(super) fn block(count: usize, target: &Target) -> usize {
    match target.kind {
        TargetKind::Cpu => share(count, target),
        TargetKind::Gpu => 1,
    }
}

fn written<'s>(site: &'s Site<'_>, result: usize) -> Result<&'s Spec, Unsupported> {
    let spec = site.results.get(result).and_then(Option::as_ref);
    spec.ok_or_else(|| site.unsupported("nothing reads its result"))
}

fn step(
    kernel: &'static str,
    element: &str,
    arguments: Vec<Argument>,
    items: usize,
    target: &Target,
) -> Step {
    Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel,
        options: format!("-DT={element}"),
        arguments,
        global: vec![items],
        local: local(target, 1),
    }
}
