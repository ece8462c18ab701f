//! Elements picked, or put, by indices that a frame computes.

use paracompile_frontend::ir::DataType;

use super::element::{arithmetic_of, bits_of};
use super::map::{Layout, VECTOR, local, share, signed};
use super::movement::lower_pick;
use super::pointwise::lower_copy;
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, TargetKind, Unsupported, axis};

const SOURCE: Source = Source {
    name: "gather.cl",
    text: include_str!("../kernels/gather.cl"),
};

/// `Gather`.
pub(super) fn lower_gather(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let indices = site.operand(1)?;
    let axis = axis::of(site, site.int("axis", 0), from.shape.len())?;
    if let Ok(Some(&[index])) = site.integers(1) {
        return lower_pick(site, target, axis, index);
    }
    let options = options(site, bits_of(site, to)?, 1)?;
    let (outer, extent, inner) = axis::split(&from.shape, axis);
    let count = indices.spec.elements();
    let mut lowered = Lowered::default();
    if to.elements() == 0 {
        return Ok(lowered);
    }
    not_empty(site, extent)?;
    let (options, block) = match target.kind {
        TargetKind::Cpu => (
            format!("{options} -DV={VECTOR}"),
            share(inner, target).min(inner),
        ),
        TargetKind::Gpu => (options, 1),
    };
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "gather",
        options,
        arguments: vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Result(0),
            Argument::Long(signed(extent)),
            Argument::Long(signed(count)),
            Argument::Long(signed(inner)),
            Argument::Long(signed(block)),
        ],
        global: vec![inner.div_ceil(block), outer * count],
        local: local(target, 2),
    });
    Ok(lowered)
}

/// `GatherElements`.
pub(super) fn lower_gather_elements(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let rank = from.shape.len();
    let axis = axis::of(site, site.int("axis", 0), rank)?;
    if to.shape.len() != rank {
        return Err(site.unsupported("its indices have other axes than its operand"));
    }
    let mut lowered = Lowered::default();
    if to.elements() == 0 {
        return Ok(lowered);
    }
    not_empty(site, from.shape[axis])?;
    let strides = Layout::row_major(&from.shape).strides;
    let extents = to.shape.iter().map(|&extent| signed(extent));
    let table: Vec<i64> = extents.zip(strides).flat_map(<[i64; 2]>::from).collect();
    let table = lowered.add_longs(&table);
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "gather_elements",
        options: options(site, bits_of(site, to)?, 1)?,
        arguments: vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Result(0),
            table,
            int(site, rank)?,
            int(site, axis)?,
            Argument::Long(signed(from.shape[axis])),
        ],
        global: vec![to.elements()],
        local: local(target, 1),
    });
    Ok(lowered)
}

/// `GatherND`.
pub(super) fn lower_gather_tuples(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let indices = &site.operand(1)?.spec;
    let batch = usize::try_from(site.int("batch_dims", 0)).unwrap_or(usize::MAX);
    let components = indices.shape.last().copied().unwrap_or(0);
    let behind = batch.saturating_add(components);
    if behind > from.shape.len() || batch >= indices.shape.len() {
        return Err(site.unsupported("its indices have more components than its operand axes"));
    }
    let mut lowered = Lowered::default();
    if to.elements() == 0 {
        return Ok(lowered);
    }
    not_empty(site, from.elements())?;
    let inner: usize = from.shape[behind..].iter().product();
    let batch_stride: usize = from.shape[batch..].iter().product();
    let tuples: usize = indices.shape[batch..indices.shape.len() - 1]
        .iter()
        .product();
    let table = components_table(&from.shape, batch, components);
    let table = lowered.add_longs(&table);
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "gather_tuples",
        options: options(site, bits_of(site, to)?, 1)?,
        arguments: vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Result(0),
            table,
            int(site, components)?,
            Argument::Long(signed(tuples)),
            Argument::Long(signed(batch_stride)),
            Argument::Long(signed(inner)),
        ],
        global: vec![inner, to.elements() / inner],
        local: local(target, 2),
    });
    Ok(lowered)
}

/// `OneHot`.
pub(super) fn lower_one_hot(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (indices, to) = (&site.operand(0)?.spec, site.result()?);
    let axis = axis::of(site, site.int("axis", -1), to.shape.len())?;
    let (_, depth, inner) = axis::split(&to.shape, axis);
    let index = arithmetic_of(site, indices)?;
    let element = bits_of(site, to)?;
    if site.operand(2)?.spec.dtype != to.dtype {
        return Err(site.unsupported("its values have another type than its result"));
    }
    let mut lowered = Lowered::default();
    if to.elements() > 0 {
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: SOURCE,
            kernel: "one_hot",
            options: format!("-DT={element} -DI={index}"),
            arguments: vec![
                Argument::Operand(0),
                Argument::Operand(2),
                Argument::Result(0),
                Argument::Long(signed(depth)),
                Argument::Long(signed(inner)),
            ],
            global: vec![to.elements()],
            local: local(target, 1),
        });
    }
    Ok(lowered)
}

/// `ScatterElements`, and `Scatter` as it was called before.
pub(super) fn lower_scatter_elements(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let (to, indices) = (site.result()?, &site.operand(1)?.spec);
    let rank = to.shape.len();
    let axis = axis::of(site, site.int("axis", 0), rank)?;
    if indices.shape.len() != rank {
        return Err(site.unsupported("its indices have other axes than its operand"));
    }
    let mut lowered = lower_copy(site, target)?;
    if to.elements() == 0 || indices.elements() == 0 {
        return Ok(lowered);
    }
    let own = Layout::row_major(&indices.shape).strides;
    let strides = Layout::row_major(&to.shape).strides;
    let table: Vec<i64> = (0..rank)
        .flat_map(|axis| [signed(indices.shape[axis]), own[axis], strides[axis]])
        .collect();
    let table = lowered.add_longs(&table);
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "scatter_elements",
        options: scattering(site)?,
        arguments: vec![
            Argument::Operand(1),
            Argument::Operand(2),
            Argument::Result(0),
            table,
            int(site, rank)?,
            int(site, axis)?,
            Argument::Long(signed(to.shape[axis])),
        ],
        global: vec![indices.elements() / indices.shape[axis]],
        local: local(target, 1),
    });
    Ok(lowered)
}

/// `ScatterND`.
pub(super) fn lower_scatter_tuples(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let (to, indices) = (site.result()?, &site.operand(1)?.spec);
    let components = indices.shape.last().copied().unwrap_or(0);
    if components > to.shape.len() {
        return Err(site.unsupported("its indices have more components than its operand axes"));
    }
    let mut lowered = lower_copy(site, target)?;
    if to.elements() == 0 || indices.elements() == 0 {
        return Ok(lowered);
    }
    let inner: usize = to.shape[components..].iter().product();
    let table = components_table(&to.shape, 0, components);
    let table = lowered.add_longs(&table);
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "scatter_tuples",
        options: scattering(site)?,
        arguments: vec![
            Argument::Operand(1),
            Argument::Operand(2),
            Argument::Result(0),
            table,
            int(site, components)?,
            Argument::Long(signed(indices.elements() / components)),
            Argument::Long(signed(inner)),
        ],
        global: vec![inner],
        local: local(target, 1),
    });
    Ok(lowered)
}

fn scattering(site: &Site<'_>) -> Result<String, Unsupported> {
    let to = site.result()?;
    let (mode, element) = match site.text("reduction", "none") {
        "none" => (0, bits_of(site, to)?),
        "add" => (1, arithmetic_of(site, to)?),
        "mul" => (2, arithmetic_of(site, to)?),
        "max" => (3, arithmetic_of(site, to)?),
        "min" => (4, arithmetic_of(site, to)?),
        other => return Err(site.unsupported(format!("its reduction is `{other}`"))),
    };
    let is_real = u8::from(to.dtype.is_real());
    Ok(options(site, element, 1)? + &format!(" -DMODE={mode} -DIS_REAL={is_real}"))
}

/// Extents and strides of the axes that the components of a tuple name.
fn components_table(shape: &[usize], batch: usize, components: usize) -> Vec<i64> {
    let strides = Layout::row_major(shape).strides;
    let axes = batch..batch + components;
    axes.flat_map(|axis| [signed(shape[axis]), strides[axis]])
        .collect()
}

/// Options for elements and the indices of operand `position`.
fn options(site: &Site<'_>, element: &str, position: usize) -> Result<String, Unsupported> {
    let indices = &site.operand(position)?.spec;
    let index = if indices.dtype == DataType::Int64 {
        "long"
    } else if indices.dtype == DataType::Int32 {
        "int"
    } else {
        return Err(site.unsupported(format!("its indices are {}", indices.dtype)));
    };
    Ok(format!("-DT={element} -DI={index}"))
}

fn int(site: &Site<'_>, value: usize) -> Result<Argument, Unsupported> {
    i32::try_from(value)
        .map(Argument::Int)
        .map_err(|_| site.unsupported("it has too many axes"))
}

fn not_empty(site: &Site<'_>, elements: usize) -> Result<(), Unsupported> {
    if elements > 0 {
        Ok(())
    } else {
        Err(site.unsupported("it picks from an empty tensor"))
    }
}
