//! Pointwise operators as expressions of OpenCL C, for kernels of their own and for the ends of convolutions and products.
//!
//! Sources: the definitions of the operators in the ONNX standard.

use super::Site;

/// A number as an exact literal.
pub(super) fn literal(value: f32) -> String {
    format!("as_float(0x{:08x}u)", value.to_bits())
}

/// The expression of a single-precision operator of one operand, with `x` for the operand; `None` if it is none.
///
/// It holds for vectors too: conditions are ternary, and literals are scalars.
pub fn unary(site: &Site<'_>) -> Option<String> {
    if !site.call.domain.is_empty() {
        return unary_of_others(site);
    }
    let alpha = |default: f32| literal(site.float("alpha", default));
    let beta = |default: f32| literal(site.float("beta", default));
    let text = match site.call.op_type.as_str() {
        "Clip" => {
            let (low, high) = limits(site)?;
            // Limits that cross give the upper one.
            let (low, high) = (literal(low.min(high)), literal(high));
            format!("(x < {low} ? {low} : (x > {high} ? {high} : x))")
        }
        "Celu" => format!("(x < 0.0f ? {0} * expm1(x / {0}) : x)", alpha(1.0)),
        "Elu" => format!("(x < 0.0f ? {} * expm1(x) : x)", alpha(1.0)),
        "Gelu" if site.text("approximate", "none") == "tanh" => TANH_GELU.to_owned(),
        "Gelu" => GELU.to_owned(),
        "HardSigmoid" => unit(&format!("(x * {} + {})", alpha(0.2), beta(0.5))),
        "LeakyRelu" => format!("(x < 0.0f ? x * {} : x)", alpha(0.01)),
        "Selu" => {
            let gamma = literal(site.float("gamma", 1.050_701));
            format!(
                "({gamma} * (x > 0.0f ? x : {} * expm1(x)))",
                alpha(1.673_263_2)
            )
        }
        "Shrink" => {
            let (limit, bias) = (
                literal(site.float("lambd", 0.5)),
                literal(site.float("bias", 0.0)),
            );
            format!("(x < -{limit} ? x + {bias} : (x > {limit} ? x - {bias} : 0.0f))")
        }
        "Swish" => format!("(x / (1.0f + exp(-({} * x))))", alpha(1.0)),
        "HardSwish" => format!("(x * {})", unit("(x * (1.0f / 6.0f) + 0.5f)")),
        "ThresholdedRelu" => format!("(x > {} ? x : 0.0f)", alpha(1.0)),
        op_type => without_parameters(op_type)?.to_owned(),
    };
    Some(text)
}

const GELU: &str = "(0.5f * x * (1.0f + erf(x * 0.70710678118f)))";

/// With x / (1 + exp(-2u)) for x / 2 (1 + tanh(u)), whose sum cancels for small u.
const TANH_GELU: &str = "(x / (1.0f + exp(-1.5957691216f * (x + 0.044715f * x * x * x))))";

/// An expression limited to what lies between 0 and 1.
fn unit(text: &str) -> String {
    format!("({text} < 0.0f ? 0.0f : ({text} > 1.0f ? 1.0f : {text}))")
}

fn without_parameters(op_type: &str) -> Option<&'static str> {
    Some(match op_type {
        "Abs" => "fabs(x)",
        "Acos" => "acos(x)",
        "Acosh" => "acosh(x)",
        "Asin" => "asin(x)",
        "Asinh" => "asinh(x)",
        "Atan" => "atan(x)",
        "Atanh" => "atanh(x)",
        "Ceil" => "ceil(x)",
        "Cos" => "cos(x)",
        "Cosh" => "cosh(x)",
        "Erf" => "erf(x)",
        "Exp" => "exp(x)",
        "Floor" => "floor(x)",
        "Identity" => "x",
        "Log" => "log(x)",
        // Where exp(x) would overflow, the logarithm is x.
        "Mish" => "(x * tanh(fmax(x, 0.0f) + log1p(exp(-fabs(x)))))",
        "Neg" => "(-x)",
        "Reciprocal" => "(1.0f / x)",
        // Here and elsewhere comparisons keep what is not a number, which fmax, fmin and clamp would drop.
        "Relu" => "(x < 0.0f ? 0.0f : x)",
        "Round" => "rint(x)",
        "Sigmoid" => "(1.0f / (1.0f + exp(-x)))",
        "Sign" => "(x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x))",
        // PoCL 3.1 has no sine and tangent of denormal numbers.
        "Sin" => "(fabs(x) < 1e-30f ? x : sin(x))",
        "Sinh" => "sinh(x)",
        "Softplus" => "(fmax(x, 0.0f) + log1p(exp(-fabs(x))))",
        "Softsign" => "(x / (1.0f + fabs(x)))",
        "Sqrt" => "sqrt(x)",
        "Tan" => "(fabs(x) < 1e-30f ? x : tan(x))",
        "Tanh" => "tanh(x)",
        _ => return None,
    })
}

/// Operators of other domains that exporters write.
fn unary_of_others(site: &Site<'_>) -> Option<String> {
    match (site.call.domain.as_str(), site.call.op_type.as_str()) {
        ("com.microsoft", "Gelu") => Some(GELU.to_owned()),
        ("com.microsoft", "FastGelu") if site.operands.len() == 1 => Some(TANH_GELU.to_owned()),
        ("com.microsoft", "QuickGelu") => {
            let alpha = literal(site.float("alpha", 1.702));
            Some(format!("(x / (1.0f + exp(-({alpha} * x))))"))
        }
        _ => None,
    }
}

/// The limits of a `Clip` that are known.
fn limits(site: &Site<'_>) -> Option<(f32, f32)> {
    const AS_OPERANDS: i64 = 11;
    if site.call.opset < AS_OPERANDS {
        return Some((site.float("min", f32::MIN), site.float("max", f32::MAX)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the elements are single-precision numbers"
    )]
    let limit = |position: usize, default: f32| match site.reals(position) {
        Ok(None) => Some(default),
        Ok(Some([value])) => Some(*value as f32),
        Ok(Some(_)) | Err(_) => None,
    };
    Some((limit(1, f32::NEG_INFINITY)?, limit(2, f32::INFINITY)?))
}

/// The expression of a single-precision operator of two operands, with `x` and `y` for them; `None` if it is none.
///
/// Operands are broadcast by numpy's rule: what says otherwise has none.
pub fn binary(site: &Site<'_>) -> Option<&'static str> {
    if !site.call.domain.is_empty() || is_aligned_by_attribute(site) {
        return None;
    }
    Some(match site.call.op_type.as_str() {
        "Add" | "Sum" if site.operands.len() == 2 => "(x + y)",
        "Sub" => "(x - y)",
        "Mul" => "(x * y)",
        "Div" => "(x / y)",
        "Max" if site.operands.len() == 2 => "LARGER(x, y)",
        "Min" if site.operands.len() == 2 => "SMALLER(x, y)",
        "Mean" if site.operands.len() == 2 => "((x + y) * 0.5f)",
        "PRelu" => "(x < 0.0f ? x * y : x)",
        "Pow" => "pow(x, y)",
        _ => return None,
    })
}

/// Whether it is of a version in which an attribute says where the second operand goes.
pub(super) fn is_aligned_by_attribute(site: &Site<'_>) -> bool {
    const NUMPY: i64 = 7;
    site.call.opset < NUMPY && site.int("broadcast", 0) != 0
}
