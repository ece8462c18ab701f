//! Pools over windows: the largest element, the average, or a norm.

use super::element::{arithmetic_of, is_single};
use super::map::{VECTOR, local, share, signed};
use super::{Argument, Lowered, Phase, Site, Source, Spec, Step, Target, TargetKind, Unsupported};

const SOURCE: Source = Source {
    name: "pool.cl",
    text: include_str!("../kernels/pool.cl"),
};

/// Spatial axes of the kernels.
const AXES: usize = 3;

/// Elements that a work item keeps of a row.
const ROW: usize = 2048;

/// The window along one axis.
#[derive(Clone, Copy, Debug)]
struct Window {
    input: i32,
    output: i32,
    kernel: i32,
    stride: i32,
    dilation: i32,
    before: i32,
    behind: i32,
}

const WHOLE: Window = Window {
    input: 1,
    output: 1,
    kernel: 1,
    stride: 1,
    dilation: 1,
    before: 0,
    behind: 0,
};

/// `MaxPool`, `AveragePool` and `LpPool`.
pub(super) fn lower_pool(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let result = site.results.first().and_then(Option::as_ref);
    let places = site.results.get(1).and_then(Option::as_ref);
    let to = result
        .or(places)
        .ok_or_else(|| site.unsupported("nothing reads its result"))?;
    if from.shape.len() < 3 || from.shape.len() > 2 + AXES || to.shape.len() != from.shape.len() {
        return Err(site.unsupported(format!("its operand has {} axes", from.shape.len())));
    }
    let windows = windows(site, &from.shape[2..], &to.shape[2..])?;
    if to.elements() == 0 {
        return Ok(Lowered::default());
    }
    let (mode, p) = match site.call.op_type.as_str() {
        "MaxPool" => (0, 0),
        "AveragePool" => (1, 0),
        _ => (2, i32::try_from(site.int("p", 2)).unwrap_or(2)),
    };
    if mode != 0 && !from.dtype.is_real() {
        return Err(site.unsupported(format!("no kernel computes it of {}", from.dtype)));
    }
    let pool = Pool {
        windows,
        mode,
        p,
        includes_padding: site.int("count_include_pad", 0) != 0,
    };
    let is_by_rows = target.kind == TargetKind::Cpu
        && is_single(from)
        && mode != 2
        && places.is_none()
        && line(&windows[AXES - 1]).is_some_and(|line| line <= ROW);
    if is_by_rows {
        Ok(pool.by_rows(to, target))
    } else {
        pool.by_elements(site, to, target)
    }
}

struct Pool {
    windows: [Window; AXES],
    mode: u8,
    /// The order of the norm.
    p: i32,
    includes_padding: bool,
}

impl Pool {
    fn table(&self, lowered: &mut Lowered) -> Argument {
        let entries = self.windows.iter().flat_map(|window| {
            [
                window.input,
                window.output,
                window.kernel,
                window.stride,
                window.dilation,
                window.before,
                window.behind,
            ]
        });
        lowered.add_ints(&entries.collect::<Vec<i32>>())
    }

    /// A row of results at a time.
    fn by_rows(&self, to: &Spec, target: &Target) -> Lowered {
        let taps = |window: &Window| usize::try_from(window.kernel).unwrap_or(1);
        let [outer @ .., along] = &self.windows;
        let width = to.shape[to.shape.len() - 1];
        let rows = to.elements() / width;
        let cost = width * (outer.iter().map(taps).product::<usize>() + taps(along));
        let block = (share(rows * cost, target) / cost).max(1);
        let mut lowered = Lowered::default();
        let table = self.table(&mut lowered);
        let mode = self.mode;
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: SOURCE,
            kernel: "pool_rows",
            options: format!(
                "-DT=float -DMODE={mode} -DLOWEST=-INFINITY -DIS_REAL=1 -DROW={ROW} -DV={VECTOR}"
            ),
            arguments: vec![
                Argument::Operand(0),
                Argument::Result(0),
                table,
                Argument::Int(i32::from(self.includes_padding)),
                Argument::Long(signed(rows)),
                Argument::Long(signed(block)),
            ],
            global: vec![rows.div_ceil(block)],
            local: local(target, 1),
        });
        lowered
    }

    /// A result a work item.
    fn by_elements(
        &self,
        site: &Site<'_>,
        to: &Spec,
        target: &Target,
    ) -> Result<Lowered, Unsupported> {
        let from = &site.operand(0)?.spec;
        let is_read = |position: usize| matches!(site.results.get(position), Some(Some(_)));
        let mut lowered = Lowered::default();
        let table = self.table(&mut lowered);
        let result = if is_read(0) {
            Argument::Result(0)
        } else {
            lowered.add_scratch(to.elements() * from.element_bytes())
        };
        let places = if is_read(1) {
            Argument::Result(1)
        } else {
            result.clone()
        };
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: SOURCE,
            kernel: "pool",
            options: format!(
                "-DT={} -DMODE={} -DLOWEST={} -DIS_REAL={}",
                arithmetic_of(site, from)?,
                self.mode,
                if from.dtype.is_real() {
                    "-INFINITY"
                } else {
                    "0"
                },
                u8::from(from.dtype.is_real())
            ),
            arguments: vec![
                Argument::Operand(0),
                result,
                places,
                table,
                Argument::Int(self.p),
                Argument::Int(i32::from(self.includes_padding)),
                Argument::Int(i32::from(is_read(1))),
                Argument::Int(i32::from(site.int("storage_order", 0) != 0)),
            ],
            global: vec![to.elements()],
            local: local(target, 1),
        });
        Ok(lowered)
    }
}

/// Elements of a padded line that is walked along a window with whole vectors.
fn line(window: &Window) -> Option<usize> {
    let vector = i32::try_from(VECTOR).ok()?;
    let walked = (window.output.checked_add(vector)?).checked_mul(window.stride)?;
    let reach = (window.kernel - 1).checked_mul(window.dilation)?;
    let walked = walked.checked_add(reach)?;
    let padded = window.before.checked_add(window.input)?;
    usize::try_from(walked.max(padded)).ok()
}

/// The window along each axis, absent axes first.
fn windows(
    site: &Site<'_>,
    input: &[usize],
    output: &[usize],
) -> Result<[Window; AXES], Unsupported> {
    let axes = input.len();
    let too_large = || site.unsupported("its window is too large");
    let int = |value: i64| i32::try_from(value).map_err(|_| too_large());
    let of = |name: &str, axis: usize| {
        let values = site.ints(name);
        int(values
            .and_then(|values| values.get(axis))
            .copied()
            .unwrap_or(1))
    };
    if site.ints("kernel_shape").map(<[i64]>::len) != Some(axes) {
        return Err(site.unsupported("it needs one kernel extent a spatial axis"));
    }
    let mut windows = [WHOLE; AXES];
    for axis in 0..axes {
        let window = &mut windows[AXES - axes + axis];
        window.input = int(signed(input[axis]))?;
        window.output = int(signed(output[axis]))?;
        window.kernel = of("kernel_shape", axis)?;
        window.stride = of("strides", axis)?;
        window.dilation = of("dilations", axis)?;
        if window.kernel < 1 || window.stride < 1 || window.dilation < 1 {
            return Err(site.unsupported("its window is empty"));
        }
        let (before, behind) = padding(site, axes, axis, window)?;
        (window.before, window.behind) = (before, behind);
        let folded = |position: usize| {
            let padding = site.call.padding.get(position).copied().unwrap_or(0);
            i32::try_from(padding).map_err(|_| too_large())
        };
        window.before += folded(axis)?;
        window.behind += folded(axes + axis)?;
    }
    Ok(windows)
}

fn padding(
    site: &Site<'_>,
    spatial: usize,
    axis: usize,
    window: &Window,
) -> Result<(i32, i32), Unsupported> {
    let given = |position: usize| {
        let pads = site.ints("pads");
        let pad = pads
            .and_then(|pads| pads.get(position))
            .copied()
            .unwrap_or(0);
        i32::try_from(pad)
            .ok()
            .filter(|&pad| pad >= 0)
            .ok_or_else(|| site.unsupported("its padding is too large or negative"))
    };
    let auto = site.text("auto_pad", "NOTSET");
    if !auto.starts_with("SAME") {
        if auto == "VALID" {
            return Ok((0, 0));
        }
        return Ok((given(axis)?, given(spatial + axis)?));
    }
    let reach = (i64::from(window.kernel) - 1) * i64::from(window.dilation) + 1;
    let total =
        (i64::from(window.output) - 1) * i64::from(window.stride) + reach - i64::from(window.input);
    let total =
        i32::try_from(total.max(0)).map_err(|_| site.unsupported("its padding is too large"))?;
    let smaller = total / 2;
    Ok(if auto == "SAME_LOWER" {
        (total - smaller, smaller)
    } else {
        (smaller, total - smaller)
    })
}
