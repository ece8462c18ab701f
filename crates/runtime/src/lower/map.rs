//! Strided maps: every result element is an expression of one element of each operand.
//!
//! Pointwise operators, broadcasting, casts and copies between any two layouts (transposes, slices, joins, …) are all of this kind.
//! Axes that lie the same way in all tensors are joined, so that most maps are one long loop; what is left is described by a table.

use super::{Argument, Lowered, Phase, Source, Step, Target, TargetKind};

const SOURCE: Source = Source {
    name: "map.cl",
    text: include_str!("../kernels/map.cl"),
};

/// Outer axes that the kernel can count.
const OUTER_AXES: usize = 16;

/// Elements of a vector on a CPU.
pub(super) const VECTOR: usize = 16;

/// Where the elements of a tensor lie: that at index `i` is `first + Σ i·strides`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) first: i64,
    /// One an axis of the map.
    pub(super) strides: Vec<i64>,
}

/// A tensor of a map.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub(super) argument: Argument,
    /// The element type in OpenCL C.
    pub(super) element: &'static str,
    pub(super) layout: Layout,
}

/// A map over the index space `extents`.
#[derive(Clone, Debug)]
pub(super) struct Map<'m> {
    pub(super) extents: &'m [usize],
    pub(super) result: Mapped,
    /// One to three.
    pub(super) operands: Vec<Mapped>,
    /// Over `x`, `y` and `z`.
    pub(super) expression: &'m str,
}

#[derive(Clone, Debug, PartialEq)]
struct Axis {
    extent: i64,
    /// Of the result and of three operands.
    strides: [i64; 4],
}

impl Layout {
    /// Without gaps, the last axis fastest.
    pub(super) fn row_major(shape: &[usize]) -> Self {
        let mut stride = 1;
        let mut strides = vec![0; shape.len()];
        for (axis, &extent) in shape.iter().enumerate().rev() {
            strides[axis] = stride;
            stride *= signed(extent);
        }
        Self { first: 0, strides }
    }

    /// Of a tensor of shape `from` that is broadcast to `to`, aligned at the end.
    pub(super) fn broadcast(from: &[usize], to: &[usize]) -> Option<Self> {
        let missing = to.len().checked_sub(from.len())?;
        let own = Self::row_major(from);
        let mut strides = vec![0; to.len()];
        for (axis, &extent) in from.iter().enumerate() {
            if extent == to[axis + missing] {
                strides[axis + missing] = own.strides[axis];
            } else if extent != 1 {
                return None;
            }
        }
        Some(Self { first: 0, strides })
    }
}

/// An extent as a stride.
pub(super) fn signed(extent: usize) -> i64 {
    i64::try_from(extent).expect("tensors fit into memory")
}

/// A positive `i64` as an extent.
fn unsigned(extent: i64) -> usize {
    usize::try_from(extent).expect("extents are not negative")
}

impl Map<'_> {
    /// Adds its launch; `false` if its tensors have too many axes that lie differently. A map without elements needs no launch.
    pub(super) fn lower(&self, lowered: &mut Lowered, target: &Target) -> bool {
        if self.extents.contains(&0) {
            return true;
        }
        let mut axes = self.axes();
        let inner = axes.pop().unwrap_or(Axis {
            extent: 1,
            strides: [1, 1, 1, 1],
        });
        if axes.len() > OUTER_AXES {
            return false;
        }
        // What reads across should walk along what it reads next to what it writes.
        let along = |axis: &Axis| axis.strides[1] == 1;
        let reads_across = !matches!(inner.strides[1], 0 | 1);
        let mut is_tiled = false;
        if reads_across && let Some(position) = axes.iter().position(along) {
            let crossed = axes.remove(position);
            axes.push(crossed);
            is_tiled = true;
        }
        let rows: i64 = axes.iter().map(|axis| axis.extent).product();
        let (inner_block, row_block) = blocks(inner.extent, rows, is_tiled, target);
        let mut table = inner.strides.to_vec();
        let operand_first = |position: usize| self.operands.get(position).map_or(0, first);
        table.push(first(&self.result));
        table.extend((0..3).map(operand_first));
        for axis in &axes {
            table.push(axis.extent);
            table.extend(axis.strides);
        }
        let mut arguments: Vec<Argument> = self
            .operands
            .iter()
            .chain([&self.result])
            .map(|mapped| mapped.argument.clone())
            .collect();
        let outer = i32::try_from(axes.len()).expect("there are few axes");
        arguments.extend([
            lowered.add_longs(&table),
            Argument::Int(outer),
            Argument::Long(inner.extent),
            Argument::Long(rows),
            Argument::Long(inner_block),
            Argument::Long(row_block),
        ]);
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: SOURCE,
            kernel: "map",
            options: self.options(target),
            arguments,
            global: vec![
                unsigned(inner.extent).div_ceil(unsigned(inner_block)),
                unsigned(rows).div_ceil(unsigned(row_block)),
            ],
            local: local(target, 2),
        });
        true
    }

    /// Axes of more than one element, those joined that lie the same way everywhere.
    fn axes(&self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for (position, &extent) in self.extents.iter().enumerate() {
            if extent == 1 {
                continue;
            }
            let mut strides = [self.result.layout.strides[position], 0, 0, 0];
            for (stride, operand) in strides[1..].iter_mut().zip(&self.operands) {
                *stride = operand.layout.strides[position];
            }
            let next = Axis {
                extent: signed(extent),
                strides,
            };
            match axes.last_mut() {
                Some(before) if joins(before, &next) => {
                    before.extent *= next.extent;
                    before.strides = next.strides;
                }
                Some(_) | None => axes.push(next),
            }
        }
        axes
    }

    fn options(&self, target: &Target) -> String {
        let expression: String = self.expression.split_whitespace().collect();
        let mut options = vec![
            format!("-DEXPR={expression}"),
            format!("-DTR={}", self.result.element),
        ];
        let named = ["TX", "TY", "TZ"].iter().zip(&self.operands);
        options.extend(named.map(|(name, operand)| format!("-D{name}={}", operand.element)));
        let mut all = self.operands.iter().chain([&self.result]);
        let is_plain = all.all(|mapped| matches!(mapped.element, "float"))
            || (self.expression == "x" && self.operands[0].element == self.result.element);
        if target.kind == TargetKind::Cpu && is_plain {
            options.push(format!("-DV={VECTOR}"));
        }
        options.join(" ")
    }
}

fn first(mapped: &Mapped) -> i64 {
    mapped.layout.first
}

/// Whether `inner` continues `outer` in every tensor.
fn joins(outer: &Axis, inner: &Axis) -> bool {
    outer
        .strides
        .iter()
        .zip(inner.strides)
        .all(|(&outer, stride)| outer == stride * inner.extent)
}

/// How much of the innermost axis, and how many rows, a work item takes.
fn blocks(inner: i64, rows: i64, is_tiled: bool, target: &Target) -> (i64, i64) {
    const TILE: i64 = 64;
    match target.kind {
        TargetKind::Gpu => (1, 1),
        TargetKind::Cpu if is_tiled => (inner.min(TILE), rows.min(TILE)),
        TargetKind::Cpu => {
            let share = signed(share(unsigned(inner * rows), target));
            if inner >= share {
                (share, 1)
            } else {
                (inner, (share / inner).max(1))
            }
        }
    }
}

/// The option that makes kernels use vectors, where they should.
pub(super) fn vector(is_vector: bool) -> String {
    if is_vector {
        format!(" -DV={VECTOR}")
    } else {
        String::new()
    }
}

/// How many of `elements` a work item of a CPU takes: enough to be worth a work group, few enough for all cores.
pub(super) fn share(elements: usize, target: &Target) -> usize {
    const LEAST: usize = 1024;
    const MOST: usize = 16384;
    const GROUPS_PER_UNIT: usize = 4;
    let share = elements.div_ceil(GROUPS_PER_UNIT * target.compute_units.max(1));
    share.clamp(LEAST, MOST).next_multiple_of(64)
}

/// The size of a work group: one item, which is a loop, on a CPU; the driver's choice elsewhere.
pub(super) fn local(target: &Target, dimensions: usize) -> Option<Vec<usize>> {
    match target.kind {
        TargetKind::Cpu => Some(vec![1; dimensions]),
        TargetKind::Gpu => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(shape: &[usize], to: &[usize]) -> Mapped {
        Mapped {
            argument: Argument::Operand(0),
            element: "float",
            layout: Layout::broadcast(shape, to).unwrap(),
        }
    }

    fn axes(from: &[usize], to: &[usize]) -> Vec<i64> {
        let map = Map {
            extents: to,
            result: mapped(to, to),
            operands: vec![mapped(to, to), mapped(from, to)],
            expression: "(x+y)",
        };
        map.axes().iter().map(|axis| axis.extent).collect()
    }

    #[test]
    fn axes_that_lie_alike_are_joined() {
        assert_eq!(axes(&[2, 3, 4], &[2, 3, 4]), [24]);
        assert_eq!(axes(&[], &[2, 3, 4]), [24]);
        assert_eq!(axes(&[4], &[2, 3, 4]), [6, 4]);
        assert_eq!(axes(&[3, 1], &[2, 3, 4]), [2, 3, 4]);
        assert_eq!(axes(&[1, 3, 1, 1], &[1, 3, 5, 7]), [3, 35]);
    }

    #[test]
    fn shapes_that_do_not_broadcast_have_no_layout() {
        assert_eq!(Layout::broadcast(&[2], &[3]), None);
        assert_eq!(Layout::broadcast(&[1, 1], &[3]), None);
    }
}
