//! `Softmax`, `LogSoftmax` and `Hardmax`, by the rules of all versions.

use super::element::{arithmetic_of, is_single};
use super::map::{local, share, signed, vector};
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, TargetKind, Unsupported, axis};

const SOURCE: Source = Source {
    name: "softmax.cl",
    text: include_str!("../kernels/softmax.cl"),
};

/// Work items of a group on a GPU.
const ITEMS: usize = 64;

/// Lowers one of the three.
pub(super) fn lower_softmax(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    const ALONG_ONE_AXIS: i64 = 13;
    let spec = &site.operand(0)?.spec;
    let element = arithmetic_of(site, spec)?;
    if !spec.dtype.is_real() {
        return Err(site.unsupported(format!("no kernel computes it of {}", spec.dtype)));
    }
    let mode = match site.call.op_type.as_str() {
        "Softmax" => 0,
        "LogSoftmax" => 1,
        _ => 2,
    };
    let rank = spec.shape.len();
    let (outer, extent, inner) = if site.call.opset >= ALONG_ONE_AXIS {
        axis::split(&spec.shape, axis::of(site, site.int("axis", -1), rank)?)
    } else {
        // All axes from this one on are one row; it may stand behind the last one.
        let given = site.int("axis", 1);
        let axis = if usize::try_from(given) == Ok(rank) {
            rank
        } else {
            axis::of(site, given, rank)?
        };
        let rows = spec.shape[..axis].iter().product();
        (rows, spec.shape[axis..].iter().product(), 1)
    };
    let count = outer * inner;
    if count * extent == 0 {
        return Ok(Lowered::default());
    }
    let is_row = inner == 1 && mode != 2;
    let is_shared = is_row
        && target.kind == TargetKind::Gpu
        && target.max_work_group >= ITEMS
        && extent >= ITEMS / 2;
    let items = if is_shared { ITEMS } else { 1 };
    let vector = vector(target.kind == TargetKind::Cpu && is_single(spec));
    let options = format!("-DT={element} -DMODE={mode} -DITEMS={items}{vector}");
    let block = match target.kind {
        // Exponentials are dear: less than a share of cheap operators is enough.
        TargetKind::Cpu => (share(count * extent, target) / 4 / extent).max(1),
        TargetKind::Gpu => 1,
    };
    let mut arguments = vec![
        Argument::Operand(0),
        Argument::Result(0),
        Argument::Long(signed(extent)),
    ];
    if !is_row {
        arguments.push(Argument::Long(signed(inner)));
    }
    arguments.extend([Argument::Long(signed(count)), Argument::Long(signed(block))]);
    let mut lowered = Lowered::default();
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: if is_row { "rows" } else { "lines" },
        options,
        arguments,
        global: vec![count.div_ceil(block) * items],
        local: if is_shared {
            Some(vec![items])
        } else {
            local(target, 1)
        },
    });
    Ok(lowered)
}
