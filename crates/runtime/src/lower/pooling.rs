//! Pools over windows: the largest element, the average, or a norm.

use paracompile_frontend::ir::DataType;

use super::element::{arithmetic_of, is_single};
use super::map::{VECTOR, local, share, signed};
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, TargetKind, Unsupported};

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
    let padding = i32::from(site.int("count_include_pad", 0) != 0);
    let mut lowered = Lowered::default();
    let entries: Vec<i32> = windows
        .iter()
        .flat_map(|window| {
            [
                window.input,
                window.output,
                window.kernel,
                window.stride,
                window.dilation,
                window.before,
                window.behind,
            ]
        })
        .collect();
    let table = lowered.add_ints(&entries);
    let line = line(&windows[AXES - 1]);
    let is_by_rows = target.kind == TargetKind::Cpu
        && is_single(from)
        && mode != 2
        && places.is_none()
        && line.is_some_and(|line| line <= ROW);
    if is_by_rows {
        let width = to.shape[to.shape.len() - 1];
        let rows = to.elements() / width;
        let taps: usize = windows[..AXES - 1]
            .iter()
            .map(|window| usize::try_from(window.kernel).unwrap_or(1))
            .product();
        let cost = width * (taps + usize::try_from(windows[AXES - 1].kernel).unwrap_or(1));
        let block = (share(rows * cost, target) / cost).max(1);
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: SOURCE,
            kernel: "pool_rows",
            options: format!("-DT=float -DMODE={mode} -DLOWEST=-INFINITY -DV={VECTOR} -DROW={ROW}"),
            arguments: vec![
                Argument::Operand(0),
                Argument::Result(0),
                table,
                Argument::Int(padding),
                Argument::Long(signed(rows)),
                Argument::Long(signed(block)),
            ],
            global: vec![rows.div_ceil(block)],
            local: local(target, 1),
        });
        return Ok(lowered);
    }
    let result_argument = match result {
        Some(_) => Argument::Result(0),
        None => lowered.add_scratch(to.elements() * from.element_bytes()),
    };
    let places_argument = match places {
        Some(_) => Argument::Result(1),
        None => result_argument.clone(),
    };
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "pool",
        options: format!(
            "-DT={} -DMODE={mode} -DLOWEST={}",
            arithmetic_of(site, from)?,
            if from.dtype.is_real() {
                "-INFINITY"
            } else {
                "0"
            }
        ),
        arguments: vec![
            Argument::Operand(0),
            result_argument,
            places_argument,
            table,
            Argument::Int(p),
            Argument::Int(padding),
            Argument::Int(i32::from(places.is_some())),
            Argument::Int(i32::from(site.int("storage_order", 0) != 0)),
        ],
        global: vec![to.elements()],
        local: local(target, 1),
    });
    debug_assert!(places.is_none_or(|places| places.dtype == DataType::Int64));
    Ok(lowered)
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
    axes: usize,
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
        return Ok((given(axis)?, given(axes + axis)?));
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
