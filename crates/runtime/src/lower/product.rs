//! Matrix products: `MatMul` and `Gemm`.

use paracompile_frontend::ir::DataType;

use super::epilogue::{Along, Epilogue, Other, Side};
use super::{Argument, Lowered, Operand, Site, Target, Unsupported, panels, tiled};

/// A batch of products of matrices of equal extents.
#[derive(Clone, Debug)]
pub(super) struct Products {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) left: Matrix,
    pub(super) right: Matrix,
    /// One a product.
    pub(super) each: Vec<Each>,
    /// From a row of the result to the next.
    pub(super) row_stride: usize,
    /// From a column of the result to the next.
    pub(super) column_stride: usize,
}

/// A factor.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) argument: Argument,
    pub(super) is_constant: bool,
    /// From a row of the left factor, or a column of the right one, to the next.
    pub(super) stride: usize,
    /// From a position of the depth to the next.
    pub(super) depth_stride: usize,
}

/// Where the matrices of a product begin, in elements, and which row and column of the epilogue's tensors are its first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Each {
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) result: usize,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Products {
    /// The transposed products: columns for rows.
    pub(super) fn transposed(self) -> Self {
        let each = self.each.into_iter().map(|each| Each {
            left: each.right,
            right: each.left,
            row: each.column,
            column: each.row,
            ..each
        });
        Self {
            rows: self.columns,
            columns: self.rows,
            depth: self.depth,
            left: self.right,
            right: self.left,
            each: each.collect(),
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    fn lower(self, epilogue: &Epilogue, side: impl Fn(usize) -> Side, target: &Target) -> Lowered {
        if self.rows * self.columns * self.each.len() == 0 {
            return Lowered::default();
        }
        if target.is_cpu() {
            panels::lower(self, epilogue, side, target)
        } else {
            tiled::lower(&self, epilogue, side, target)
        }
    }
}

/// Lowers `MatMul`, numpy's `matmul`: vectors are promoted to matrices, leading axes are broadcast.
pub(super) fn matmul(
    site: &Site<'_>,
    epilogue: &Epilogue,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let (left, right) = (factor(site, 0)?, factor(site, 1)?);
    result(site)?;
    let (left_batch, rows, depth) = match left.spec.shape.as_slice() {
        [depth] => (&[][..], 1, *depth),
        [batch @ .., rows, depth] => (batch, *rows, *depth),
        [] => return Err(site.unsupported("a factor is a scalar")),
    };
    let (right_batch, depth_again, columns) = match right.spec.shape.as_slice() {
        [depth] => (&[][..], *depth, 1),
        [batch @ .., depth, columns] => (batch, *depth, *columns),
        [] => return Err(site.unsupported("a factor is a scalar")),
    };
    let batch = broadcast(left_batch, right_batch);
    let count: usize = batch.iter().product();
    if depth != depth_again || count * rows * columns != site.result()?.elements() {
        return Err(site.unsupported("factors and result do not fit"));
    }
    let matrix = |position: usize, operand: &Operand<'_>, stride, depth_stride| Matrix {
        argument: Argument::Operand(position),
        is_constant: operand.is_constant,
        stride,
        depth_stride,
    };
    let mut products = Products {
        rows,
        columns,
        depth,
        left: matrix(0, left, depth, 1),
        right: matrix(1, right, 1, columns),
        each: Vec::new(),
        row_stride: columns,
        column_stride: 1,
    };
    if right_batch.iter().product::<usize>() == 1 {
        // One matrix for the whole batch makes a single tall product.
        products.rows *= count;
        products.each.push(Each::default());
    } else {
        let lefts = starts(left_batch, &batch, rows * depth);
        let rights = starts(right_batch, &batch, depth * columns);
        let each = lefts.into_iter().zip(rights).enumerate();
        products.each = each
            .map(|(index, (left, right))| Each {
                left,
                right,
                result: index * rows * columns,
                ..Each::default()
            })
            .collect();
    }
    Ok(products.lower(epilogue, |_| Side::Column, target))
}

/// The axes of a `MatMul`'s result along which a tensor of an epilogue may lie.
pub(super) fn matmul_axes(site: &Site<'_>) -> Vec<usize> {
    let is_matrix = site
        .optional(1)
        .is_some_and(|right| right.spec.shape.len() > 1);
    match site.result() {
        Ok(result) if is_matrix => vec![result.shape.len() - 1],
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Lowers `Gemm`: `alpha · A · B + beta · C`, where A and B may be transposed.
pub(super) fn gemm(
    site: &Site<'_>,
    later: &Epilogue,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let (left, right) = (factor(site, 0)?, factor(site, 1)?);
    result(site)?;
    let matrix = |position, operand: &Operand<'_>, is_transposed| {
        let &[first, second] = operand.spec.shape.as_slice() else {
            return Err(site.unsupported("a factor is no matrix"));
        };
        let (extents, strides) = if is_transposed {
            ((second, first), (1, second))
        } else {
            ((first, second), (second, 1))
        };
        Ok((position, operand.is_constant, extents, strides))
    };
    let (position, is_constant, (rows, depth), (stride, depth_stride)) =
        matrix(0, left, site.int("transA", 0) != 0)?;
    let left = Matrix {
        argument: Argument::Operand(position),
        is_constant,
        stride,
        depth_stride,
    };
    let (position, is_constant, (depth_again, columns), (depth_stride, stride)) =
        matrix(1, right, site.int("transB", 0) != 0)?;
    if depth != depth_again || site.result()?.shape != [rows, columns] {
        return Err(site.unsupported("factors and result do not fit"));
    }
    let right = Matrix {
        argument: Argument::Operand(position),
        is_constant,
        stride,
        depth_stride,
    };
    let products = Products {
        rows,
        columns,
        depth,
        left,
        right,
        each: vec![Each::default()],
        row_stride: columns,
        column_stride: 1,
    };
    let epilogue = scaled_addend(site)?.followed_by(later);
    let along = |axis| if axis == 0 { Side::Row } else { Side::Column };
    Ok(products.lower(&epilogue, along, target))
}

/// `x · alpha + C · beta`.
fn scaled_addend(site: &Site<'_>) -> Result<Epilogue, Unsupported> {
    let literal = |value: f32| format!("as_float(0x{:08x}u)", value.to_bits());
    let (alpha, beta) = (site.float("alpha", 1.0), site.float("beta", 1.0));
    let mut epilogue = Epilogue::default();
    if alpha.to_bits() != 1.0f32.to_bits() {
        epilogue.push_unary(format!("(x * {})", literal(alpha)));
    }
    if site.optional(2).is_some() && beta.to_bits() & !SIGN != 0 {
        let addend = factor(site, 2)?;
        let along = Along::of(&addend.spec, site.result()?)
            .ok_or_else(|| site.unsupported("the addend is not broadcast to the product"))?;
        let text = if beta.to_bits() == 1.0f32.to_bits() {
            "(x + y)".to_owned()
        } else {
            format!("(x + y * {})", literal(beta))
        };
        let argument = Argument::Operand(2);
        epilogue.push_binary(text, false, Other::Tensor { argument, along });
    }
    Ok(epilogue)
}

const SIGN: u32 = 1 << 31;

/// A single-precision operand, small enough for kernels that count in `int`.
pub(super) fn factor<'s>(
    site: &'s Site<'_>,
    position: usize,
) -> Result<&'s Operand<'s>, Unsupported> {
    let operand = site.operand(position)?;
    if operand.spec.dtype != DataType::Float {
        let dtype = operand.spec.dtype;
        return Err(site.unsupported(format!(
            "operand {position} is of type {dtype:?}, and only Float is supported"
        )));
    }
    is_countable(site, operand.spec.elements())?;
    Ok(operand)
}

/// Refuses results that kernels cannot count in `int`.
pub(super) fn result(site: &Site<'_>) -> Result<(), Unsupported> {
    is_countable(site, site.result()?.elements())
}

fn is_countable(site: &Site<'_>, elements: usize) -> Result<(), Unsupported> {
    match i32::try_from(elements) {
        Ok(_) => Ok(()),
        Err(_) => Err(site.unsupported("a tensor has more than 2^31 elements")),
    }
}

/// A count as kernels take it.
pub(super) fn int(count: usize) -> i32 {
    i32::try_from(count).expect("the elements of all tensors were counted in `int`")
}

fn broadcast(left: &[usize], right: &[usize]) -> Vec<usize> {
    let rank = left.len().max(right.len());
    let extent = |shape: &[usize], axis: usize| {
        let missing = rank - shape.len();
        axis.checked_sub(missing).map_or(1, |axis| shape[axis])
    };
    (0..rank)
        .map(|axis| match (extent(left, axis), extent(right, axis)) {
            (1, other) => other,
            (own, _) => own,
        })
        .collect()
}

/// Where the matrix of each element of `batch` begins, if there is one for each element of `own`.
fn starts(own: &[usize], batch: &[usize], size: usize) -> Vec<usize> {
    let mut starts = vec![0];
    let missing = batch.len() - own.len();
    for (axis, &extent) in batch.iter().enumerate() {
        let own_extent = axis.checked_sub(missing).map_or(1, |axis| own[axis]);
        starts = starts
            .into_iter()
            .flat_map(|start| {
                (0..extent)
                    .map(move |index| start * own_extent + if own_extent == 1 { 0 } else { index })
            })
            .collect();
    }
    starts.into_iter().map(|start| start * size).collect()
}
