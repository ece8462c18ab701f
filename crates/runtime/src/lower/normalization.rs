//! Normalisation by statistics of the frame itself: over layers, groups, instances and neighbouring channels.

use super::element::is_single;
use super::map::{Layout, Map, Mapped, VECTOR, local, share, signed, vector};
use super::pointwise::push;
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, TargetKind, Unsupported, axis};

const SOURCE: Source = Source {
    name: "normalize.cl",
    text: include_str!("../kernels/normalize.cl"),
};

/// Work items of a group on a GPU.
const ITEMS: usize = 128;

/// What is normalised together, and which scale belongs to what.
struct Rows {
    count: usize,
    extent: usize,
    /// Rows after which scales repeat.
    groups: usize,
    /// Scales from a group to the next.
    group_step: usize,
    /// Neighbouring elements with one scale.
    plane: usize,
    /// Scales from a plane to the next.
    plane_step: usize,
}

/// Operands and results around the rows.
#[derive(Default)]
struct Ports {
    input: Option<Argument>,
    scale: Option<Argument>,
    shift: Option<Argument>,
    mean: Option<Argument>,
    inverse: Option<Argument>,
}

/// `LayerNormalization` and `RMSNormalization`.
pub(super) fn lower_layers(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let mut lowered = Lowered::default();
    let spec = single(site)?;
    let axis = axis::of(site, site.int("axis", -1), spec.shape.len())?;
    let is_rms = matches!(
        site.call.op_type.as_str(),
        "RMSNormalization" | "SimplifiedLayerNormalization"
    );
    let ports = Ports {
        input: Some(Argument::Operand(0)),
        scale: parameter(site, target, 1, &spec.shape[axis..], &mut lowered)?,
        shift: if is_rms {
            None
        } else {
            parameter(site, target, 2, &spec.shape[axis..], &mut lowered)?
        },
        mean: result(site, 1),
        inverse: result(site, 2),
    };
    let rows = layers(&spec.shape, axis);
    push_rows(site, target, &rows, ports, is_rms, &mut lowered)?;
    Ok(lowered)
}

/// `SkipLayerNormalization`: the sum of operand, skip and bias, and that normalised over the last axis.
pub(super) fn lower_skip(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let spec = single(site)?;
    let shape = spec.shape.clone();
    let mut lowered = Lowered::default();
    let is_rms = site.call.op_type.starts_with("SkipSimplified");
    let bias = if is_rms { 3 } else { 4 };
    let sum = match result(site, 3) {
        Some(argument) => argument,
        None => lowered.add_scratch(spec.bytes()),
    };
    let mut operands = Vec::new();
    for position in [0, 1, bias] {
        if let Some(operand) = site.optional(position) {
            let layout = Layout::broadcast(&operand.spec.shape, &shape)
                .ok_or_else(|| site.unsupported("its operands do not fit each other"))?;
            operands.push(Mapped {
                argument: Argument::Operand(position),
                element: "float",
                layout,
            });
        }
    }
    let expression = if operands.len() == 3 {
        "(x + y + z)"
    } else {
        "(x + y)"
    };
    let map = Map {
        extents: &shape,
        result: Mapped {
            argument: sum.clone(),
            element: "float",
            layout: Layout::row_major(&shape),
        },
        operands,
        expression,
    };
    push(site, &map, &mut lowered, target)?;
    let axis = axis::of(site, -1, shape.len())?;
    let ports = Ports {
        input: Some(sum),
        scale: parameter(site, target, 2, &shape[axis..], &mut lowered)?,
        shift: if is_rms {
            None
        } else {
            parameter(site, target, 3, &shape[axis..], &mut lowered)?
        },
        mean: result(site, 1),
        inverse: result(site, 2),
    };
    push_rows(
        site,
        target,
        &layers(&shape, axis),
        ports,
        is_rms,
        &mut lowered,
    )?;
    Ok(lowered)
}

fn layers(shape: &[usize], axis: usize) -> Rows {
    Rows {
        count: shape[..axis].iter().product(),
        extent: shape[axis..].iter().product(),
        groups: 1,
        group_step: 0,
        plane: 1,
        plane_step: 1,
    }
}

/// `GroupNormalization` and `InstanceNormalization`.
pub(super) fn lower_groups(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let spec = single(site)?;
    let &[batch, channels, ref image @ ..] = spec.shape.as_slice() else {
        return Err(site.unsupported("its operand has no channels"));
    };
    let groups = if site.call.op_type == "InstanceNormalization" {
        channels
    } else {
        usize::try_from(site.int("num_groups", 0)).unwrap_or(0)
    };
    if groups == 0 || channels % groups != 0 {
        return Err(site.unsupported("its groups do not divide its channels"));
    }
    let plane: usize = image.iter().product();
    let scales = site.operand(1)?.spec.elements();
    let (group_step, plane_step) = if scales == channels {
        (channels / groups, 1)
    } else if scales == groups {
        (1, 0)
    } else {
        return Err(site.unsupported("its scales are neither one a channel nor one a group"));
    };
    if site.operand(2)?.spec.elements() != scales {
        return Err(site.unsupported("it has other shifts than scales"));
    }
    let rows = Rows {
        count: batch * groups,
        extent: channels / groups * plane,
        groups,
        group_step,
        plane: plane.max(1),
        plane_step,
    };
    let ports = Ports {
        input: Some(Argument::Operand(0)),
        scale: Some(Argument::Operand(1)),
        shift: Some(Argument::Operand(2)),
        ..Ports::default()
    };
    let mut lowered = Lowered::default();
    push_rows(site, target, &rows, ports, false, &mut lowered)?;
    Ok(lowered)
}

fn push_rows(
    site: &Site<'_>,
    target: &Target,
    rows: &Rows,
    ports: Ports,
    is_rms: bool,
    lowered: &mut Lowered,
) -> Result<(), Unsupported> {
    if rows.count * rows.extent == 0 {
        return Ok(());
    }
    let ports_present = [
        ports.scale.is_some(),
        ports.shift.is_some(),
        ports.mean.is_some(),
        ports.inverse.is_some(),
    ];
    let has = ports_present
        .iter()
        .enumerate()
        .map(|(bit, &is_there)| i32::from(is_there) << bit)
        .sum();
    let is_shared = target.kind == TargetKind::Gpu && target.max_work_group >= ITEMS;
    let items = if is_shared { ITEMS } else { 1 };
    let vector = vector(target.kind == TargetKind::Cpu);
    let options = format!("-DIS_RMS={} -DITEMS={items}{vector}", u8::from(is_rms));
    let block = match target.kind {
        TargetKind::Cpu => (share(rows.count * rows.extent, target) / 2 / rows.extent).max(1),
        TargetKind::Gpu => 1,
    };
    // What is left out is never touched.
    let input = ports
        .input
        .ok_or_else(|| site.unsupported("it has no operand"))?;
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "normalize_rows",
        options,
        arguments: vec![
            input.clone(),
            ports.scale.unwrap_or_else(|| input.clone()),
            ports.shift.unwrap_or(input),
            Argument::Result(0),
            ports.mean.unwrap_or(Argument::Result(0)),
            ports.inverse.unwrap_or(Argument::Result(0)),
            Argument::Long(signed(rows.extent)),
            Argument::Long(signed(rows.count)),
            Argument::Long(signed(block)),
            Argument::Long(signed(rows.groups)),
            Argument::Long(signed(rows.group_step)),
            Argument::Long(signed(rows.plane)),
            Argument::Long(signed(rows.plane_step)),
            Argument::Int(has),
            Argument::Float(site.float("epsilon", 1e-5)),
        ],
        global: vec![rows.count.div_ceil(block) * items],
        local: if is_shared {
            Some(vec![items])
        } else {
            local(target, 1)
        },
    });
    Ok(())
}

/// A scale or shift, spread over `shape` where it has fewer elements.
fn parameter(
    site: &Site<'_>,
    target: &Target,
    position: usize,
    shape: &[usize],
    lowered: &mut Lowered,
) -> Result<Option<Argument>, Unsupported> {
    let Some(operand) = site.optional(position) else {
        return Ok(None);
    };
    let elements: usize = shape.iter().product();
    if operand.spec.elements() == elements {
        return Ok(Some(Argument::Operand(position)));
    }
    let layout = Layout::broadcast(&operand.spec.shape, shape)
        .ok_or_else(|| site.unsupported("its scale differs between rows"))?;
    let spread = lowered.add_scratch(elements * size_of::<f32>());
    let map = Map {
        extents: shape,
        result: Mapped {
            argument: spread.clone(),
            element: "float",
            layout: Layout::row_major(shape),
        },
        operands: vec![Mapped {
            argument: Argument::Operand(position),
            element: "float",
            layout,
        }],
        expression: "x",
    };
    push(site, &map, lowered, target)?;
    Ok(Some(spread))
}

fn result(site: &Site<'_>, position: usize) -> Option<Argument> {
    site.results
        .get(position)?
        .as_ref()
        .map(|_| Argument::Result(position))
}

fn single<'s>(site: &'s Site<'_>) -> Result<&'s super::Spec, Unsupported> {
    let spec = &site.operand(0)?.spec;
    site.result()?;
    if is_single(spec) {
        Ok(spec)
    } else {
        Err(site.unsupported(format!("no kernel computes it of {}", spec.dtype)))
    }
}

/// `LRN`.
pub(super) fn lower_across_channels(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let spec = single(site)?;
    let &[batch, channels, ref image @ ..] = spec.shape.as_slice() else {
        return Err(site.unsupported("its operand has no channels"));
    };
    let plane: usize = image.iter().product();
    let window = i32::try_from(site.int("size", 1)).unwrap_or(0);
    if window < 1 {
        return Err(site.unsupported("it needs a positive size"));
    }
    if spec.elements() == 0 {
        return Ok(Lowered::default());
    }
    let (options, block) = match target.kind {
        TargetKind::Cpu => (
            format!("-DIS_RMS=0 -DITEMS=1 -DV={VECTOR}"),
            share(spec.elements(), target),
        ),
        TargetKind::Gpu => ("-DIS_RMS=0 -DITEMS=1".to_owned(), 1),
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a window has a handful of channels"
    )]
    let scale = site.float("alpha", 1e-4) / window as f32;
    let mut lowered = Lowered::default();
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "across_channels",
        options,
        arguments: vec![
            Argument::Operand(0),
            Argument::Result(0),
            Argument::Long(signed(channels)),
            Argument::Long(signed(plane)),
            Argument::Long(signed(block)),
            Argument::Int((window - 1) / 2),
            Argument::Int(window / 2),
            Argument::Float(scale),
            Argument::Float(site.float("beta", 0.75)),
            Argument::Float(site.float("bias", 1.0)),
        ],
        global: vec![plane.div_ceil(block), batch * channels],
        local: local(target, 2),
    });
    Ok(lowered)
}

/// `LpNormalization`.
pub(super) fn lower_unit(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let spec = single(site)?;
    let axis = axis::of(site, site.int("axis", -1), spec.shape.len())?;
    let (outer, extent, inner) = axis::split(&spec.shape, axis);
    let order = site.int("p", 2);
    if !matches!(order, 1 | 2) {
        return Err(site.unsupported(format!("no kernel computes norms of order {order}")));
    }
    let mut lowered = Lowered::default();
    if outer * extent * inner > 0 {
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: SOURCE,
            kernel: "unit",
            options: "-DIS_RMS=0 -DITEMS=1".to_owned(),
            arguments: vec![
                Argument::Operand(0),
                Argument::Result(0),
                Argument::Long(signed(extent)),
                Argument::Long(signed(inner)),
                Argument::Int(if order == 1 { 1 } else { 2 }),
            ],
            global: vec![outer * inner],
            local: local(target, 1),
        });
    }
    Ok(lowered)
}
