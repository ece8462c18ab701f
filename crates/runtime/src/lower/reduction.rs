//! Reductions over any axes, places of extremes, and running sums.
//!
//! Axes that lie side by side are joined; then either the innermost axis is reduced, and a work item (or a group on a GPU) walks along
//! rows, or it is kept, and a work item keeps a vector of neighbouring results.

use paracompile_frontend::ir::DataType;

use super::element::{arithmetic_of, is_single};
use super::generate::fill;
use super::map::{Layout, VECTOR, local, share, signed, vector};
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, TargetKind, Unsupported, axis};

const SOURCE: Source = Source {
    name: "reduce.cl",
    text: include_str!("../kernels/reduce.cl"),
};

/// Work items of a group on a GPU.
const ITEMS: usize = 64;

/// An axis of the operand after joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    extent: usize,
    stride: i64,
    is_reduced: bool,
}

/// `Reduce*` and pools over the whole image.
pub(super) fn lower_reduction(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let rank = from.shape.len();
    let mut is_reduced = vec![false; rank];
    let is_pool = site.call.op_type.starts_with("Global");
    if is_pool {
        is_reduced.iter_mut().skip(2).for_each(|axis| *axis = true);
    } else {
        let axes = axes(site)?;
        if axes.is_empty() {
            if site.int("noop_with_empty_axes", 0) != 0 {
                return lower_to(site, target, &is_reduced);
            }
            is_reduced.fill(true);
        }
        for axis in axis::all(site, axes, rank)? {
            is_reduced[axis] = true;
        }
    }
    lower_to(site, target, &is_reduced)
}

/// The axes that are reduced; none means all, or none where the operator says so.
fn axes<'s>(site: &'s Site<'_>) -> Result<&'s [i64], Unsupported> {
    let since = if site.call.op_type == "ReduceSum" {
        13
    } else {
        18
    };
    Ok(site
        .integers_by_version("axes", 1, since)?
        .unwrap_or_default())
}

fn operation(site: &Site<'_>) -> Result<usize, Unsupported> {
    Ok(match site.call.op_type.as_str() {
        "ReduceSum" => 0,
        "ReduceMean" | "GlobalAveragePool" => 1,
        "ReduceMax" | "GlobalMaxPool" => 2,
        "ReduceMin" => 3,
        "ReduceProd" => 4,
        "ReduceL1" => 5,
        "ReduceL2" => 6,
        "ReduceSumSquare" => 7,
        "ReduceLogSum" => 8,
        "ReduceLogSumExp" => 9,
        _ => return Err(site.unsupported("no kernel computes it")),
    })
}

fn lower_to(site: &Site<'_>, target: &Target, is_reduced: &[bool]) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let operation = operation(site)?;
    let element = arithmetic_of(site, from)?;
    if from.dtype != to.dtype {
        return Err(site.unsupported("its result has another type than its operand"));
    }
    if operation == 9 && !from.dtype.is_real() {
        return Err(site.unsupported(format!("no kernel computes it of {}", from.dtype)));
    }
    if to.elements() == 0 {
        return Ok(Lowered::default());
    }
    if from.elements() == 0 {
        return empty(site, target, operation);
    }
    let axes = joined(&from.shape, is_reduced);
    let (lowest, highest) = limits(from.dtype);
    let is_vector = target.kind == TargetKind::Cpu && is_single(from);
    let options = format!(
        "-DOP={operation} -DT={element} -DLOWEST={lowest} -DHIGHEST={highest} -DIS_REAL={}{}",
        u8::from(from.dtype.is_real()),
        vector(is_vector)
    );
    match axes.split_last() {
        Some((last, kept)) if is_vector && !last.is_reduced && last.extent >= VECTOR => {
            Ok(columns(target, last.extent, kept, options))
        }
        Some(_) | None => Ok(rows(target, &axes, &options, is_vector)),
    }
}

/// The value of a reduction of nothing.
fn empty(site: &Site<'_>, target: &Target, operation: usize) -> Result<Lowered, Unsupported> {
    let dtype = site.result()?.dtype;
    let number = match operation {
        2 | 8 | 9 if dtype.is_real() => f64::NEG_INFINITY,
        3 if dtype.is_real() => f64::INFINITY,
        4 => 1.0,
        1 => f64::NAN,
        2 | 3 | 8 | 9 => return Err(site.unsupported("it reduces nothing")),
        _ => 0.0,
    };
    let bits = super::generate::number_bits(number, dtype)
        .ok_or_else(|| site.unsupported("it reduces nothing"))?;
    fill(site, target, 0, bits)
}

/// The least and the greatest number of a type in OpenCL C.
fn limits(dtype: DataType) -> (&'static str, &'static str) {
    if dtype.is_real() {
        return ("-INFINITY", "INFINITY");
    }
    match dtype {
        DataType::Int64 => ("LONG_MIN", "LONG_MAX"),
        DataType::Int32 => ("INT_MIN", "INT_MAX"),
        DataType::Int16 => ("SHRT_MIN", "SHRT_MAX"),
        DataType::Int8 => ("SCHAR_MIN", "SCHAR_MAX"),
        DataType::Uint64 => ("0", "ULONG_MAX"),
        DataType::Uint32 => ("0", "UINT_MAX"),
        DataType::Uint16 => ("0", "USHRT_MAX"),
        DataType::Uint8
        | DataType::Bool
        | DataType::Float
        | DataType::Double
        | DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Int4
        | DataType::Int2
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => ("0", "UCHAR_MAX"),
    }
}

/// Neighbouring axes of the same fate as one.
fn joined(shape: &[usize], is_reduced: &[bool]) -> Vec<Axis> {
    let strides = Layout::row_major(shape).strides;
    let mut axes: Vec<Axis> = Vec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        if extent == 1 {
            continue;
        }
        match axes.last_mut() {
            Some(before) if before.is_reduced == is_reduced[axis] => {
                before.extent *= extent;
                before.stride = strides[axis];
            }
            Some(_) | None => axes.push(Axis {
                extent,
                stride: strides[axis],
                is_reduced: is_reduced[axis],
            }),
        }
    }
    axes
}

/// Extents and strides of some axes, and how many elements they have.
fn table<'a>(axes: impl Iterator<Item = &'a Axis>, table: &mut Vec<i64>) -> (i32, usize) {
    let before = table.len();
    let mut elements = 1;
    for axis in axes {
        table.extend([signed(axis.extent), axis.stride]);
        elements *= axis.extent;
    }
    let axes = (table.len() - before) / 2;
    (i32::try_from(axes).expect("there are few axes"), elements)
}

fn rows(target: &Target, axes: &[Axis], options: &str, is_vector: bool) -> Lowered {
    let mut reduced: Vec<Axis> = axes
        .iter()
        .copied()
        .filter(|axis| axis.is_reduced)
        .collect();
    let inner = reduced.pop().unwrap_or(Axis {
        extent: 1,
        stride: 1,
        is_reduced: true,
    });
    let mut entries = Vec::new();
    let kept = axes.iter().filter(|axis| !axis.is_reduced);
    let (kept, outputs) = table(kept, &mut entries);
    let (outer, turns) = table(reduced.iter(), &mut entries);
    let is_shared = !is_vector
        && target.kind == TargetKind::Gpu
        && inner.stride == 1
        && inner.extent >= ITEMS
        && target.max_work_group >= ITEMS;
    let items = if is_shared { ITEMS } else { 1 };
    let block = match target.kind {
        TargetKind::Cpu => {
            (share(outputs * turns * inner.extent, target) / (turns * inner.extent)).max(1)
        }
        TargetKind::Gpu => 1,
    };
    let mut lowered = Lowered::default();
    let arguments = vec![
        Argument::Operand(0),
        Argument::Result(0),
        lowered.add_longs(&entries),
        Argument::Int(kept),
        Argument::Int(outer),
        Argument::Long(signed(inner.extent)),
        Argument::Long(inner.stride),
        Argument::Long(signed(turns)),
        Argument::Long(signed(outputs)),
        Argument::Long(signed(block)),
    ];
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "reduce_rows",
        options: format!("{options} -DITEMS={items}"),
        arguments,
        global: vec![outputs.div_ceil(block) * items],
        local: if is_shared {
            Some(vec![items])
        } else {
            local(target, 1)
        },
    });
    lowered
}

fn columns(target: &Target, width: usize, outer: &[Axis], options: String) -> Lowered {
    let mut entries = Vec::new();
    let kept = outer.iter().filter(|axis| !axis.is_reduced);
    let (kept, lines) = table(kept, &mut entries);
    let reduced = outer.iter().filter(|axis| axis.is_reduced);
    let (reduced, count) = table(reduced, &mut entries);
    // Rows of results come first; what is left of a core's share is split along them.
    let most = (share(lines * width * count, target) / count).max(VECTOR);
    let block = most.next_multiple_of(VECTOR).min(width);
    let mut lowered = Lowered::default();
    let arguments = vec![
        Argument::Operand(0),
        Argument::Result(0),
        lowered.add_longs(&entries),
        Argument::Int(kept),
        Argument::Int(reduced),
        Argument::Long(signed(width)),
        Argument::Long(signed(count)),
        Argument::Long(signed(block)),
    ];
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "reduce_columns",
        options: options + " -DITEMS=1",
        arguments,
        global: vec![width.div_ceil(block), lines],
        local: local(target, 2),
    });
    lowered
}

/// `ArgMax` and `ArgMin`.
pub(super) fn lower_extreme(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let axis = axis::of(site, site.int("axis", 0), from.shape.len())?;
    let (outer, extent, inner) = axis::split(&from.shape, axis);
    if outer * extent * inner == 0 {
        return Err(site.unsupported("its operand is empty"));
    }
    Ok(lines(
        "extreme",
        arithmetic_of(site, from)?,
        [outer, extent, inner],
        [
            site.call.op_type == "ArgMax",
            site.int("select_last_index", 0) != 0,
        ],
        target,
    ))
}

/// `CumSum`.
pub(super) fn lower_running_sum(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let along = site.integers(1)?.and_then(|axis| axis.first());
    let along = along.ok_or_else(|| site.unsupported("it has no axis"))?;
    let axis = axis::of(site, *along, from.shape.len())?;
    let (outer, extent, inner) = axis::split(&from.shape, axis);
    if outer * extent * inner == 0 {
        return Ok(Lowered::default());
    }
    Ok(lines(
        "running_sum",
        arithmetic_of(site, from)?,
        [outer, extent, inner],
        [site.int("exclusive", 0) != 0, site.int("reverse", 0) != 0],
        target,
    ))
}

fn lines(
    kernel: &'static str,
    element: &str,
    [outer, extent, inner]: [usize; 3],
    flags: [bool; 2],
    target: &Target,
) -> Lowered {
    let mut lowered = Lowered::default();
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel,
        options: format!("-DT={element}"),
        arguments: vec![
            Argument::Operand(0),
            Argument::Result(0),
            Argument::Long(signed(extent)),
            Argument::Long(signed(inner)),
            Argument::Int(i32::from(flags[0])),
            Argument::Int(i32::from(flags[1])),
        ],
        global: vec![outer * inner],
        local: local(target, 1),
    });
    lowered
}
