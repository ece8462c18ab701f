//! The operators of the default domain that random models are made of, each with operands, results and attributes as the standard has them.
//!
//! One line an operator: name, most operands, most results, attributes.
//! What the importer does not know is here as well, since it has to cope with that too.

/// How many operators [`operator`] knows.
pub(super) fn count() -> usize {
    TABLE.lines().count()
}

/// An operator type.
pub(super) struct Operator {
    pub(super) name: &'static str,
    pub(super) operands: usize,
    pub(super) results: usize,
    pub(super) attributes: Vec<&'static str>,
}

/// The operator with this index.
pub(super) fn operator(index: usize) -> Operator {
    let line = TABLE
        .lines()
        .nth(index)
        .expect("the index is below count()");
    let mut words = line.split(' ');
    let mut word = || words.next().expect("a line has three words at least");
    let name = word();
    let number = |text: &str| text.parse().expect("the second and third word are numbers");
    Operator {
        name,
        operands: number(word()),
        results: number(word()),
        attributes: words.collect(),
    }
}

/// What an attribute holds, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Int,
    Ints,
    Float,
    Floats,
    Text(&'static [&'static str]),
    Tensor,
    Graph,
}

pub(super) fn holds(attribute: &str) -> Holds {
    match attribute {
        "axes"
        | "dilations"
        | "kernel_shape"
        | "pads"
        | "perm"
        | "strides"
        | "output_padding"
        | "output_shape"
        | "starts"
        | "ends"
        | "split"
        | "value_ints"
        | "shape"
        | "shape_ints"
        | "scan_input_axes"
        | "scan_output_axes"
        | "scan_input_directions"
        | "repeats"
        | "block_sizes"
        | "signal_ndim" => Holds::Ints,
        "alpha"
        | "beta"
        | "gamma"
        | "epsilon"
        | "ratio"
        | "value_float"
        | "lambd"
        | "bias"
        | "low"
        | "high"
        | "mean"
        | "scale"
        | "cubic_coeff_a"
        | "extrapolation_value"
        | "clip"
        | "spatial_scale"
        | "max"
        | "min"
        | "momentum"
        | "softcap" => Holds::Float,
        "scales" | "value_floats" | "activation_alpha" => Holds::Floats,
        "value" => Holds::Tensor,
        "then_branch" | "else_branch" | "body" => Holds::Graph,
        "auto_pad" => Holds::Text(&[
            "NOTSET",
            "SAME_UPPER",
            "SAME_LOWER",
            "VALID",
            "nonsense",
            "",
        ]),
        "mode" => Holds::Text(&[
            "constant", "reflect", "edge", "wrap", "linear", "nearest", "cubic", "DCR", "CRD",
            "bilinear",
        ]),
        "coordinate_transformation_mode" => Holds::Text(&[
            "half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
            "pytorch_half_pixel",
        ]),
        "nearest_mode" => Holds::Text(&["floor", "ceil", "round_prefer_floor"]),
        "keep_aspect_ratio_policy" => Holds::Text(&["stretch", "not_larger", "not_smaller"]),
        "direction" => Holds::Text(&["forward", "reverse", "bidirectional", "LEFT", "RIGHT"]),
        "equation" => Holds::Text(&[
            "ij,jk->ik",
            "bij,bjk->bik",
            "...ij,...jk->...ik",
            "ii->i",
            "i,j",
            "->",
            "ij->ji",
            "a..b,c",
            "...",
            "é,b",
            "ij,jk,kl->il",
            "bhid,bhjd->bhij",
        ]),
        "reduction" => Holds::Text(&["none", "sum", "mean", "add"]),
        "value_string" | "approximate" | "padding_mode" | "interpolation_mode" => {
            Holds::Text(&["", "tanh", "zeros", "border"])
        }
        _ => Holds::Int,
    }
}

const TABLE: &str = "\
Relu 1 1
Add 2 1 axis broadcast
Conv 3 1 auto_pad dilations group kernel_shape pads strides
MatMul 2 1
Gemm 3 1 alpha beta transA transB broadcast
Reshape 2 1 allowzero shape
Transpose 1 1 perm
Concat 6 1 axis
Split 2 6 axis split num_outputs
Slice 5 1 starts ends axes
Gather 2 1 axis
Shape 1 1 start end
Cast 1 1 to saturate
Constant 0 1 value
Constant 0 1 value_ints
Constant 0 1 value_int
Constant 0 1 value_float
Constant 0 1 value_floats
Constant 0 1 value_string
ConstantOfShape 1 1 value
Unsqueeze 2 1 axes
Squeeze 2 1 axes
Expand 2 1
Tile 2 1
Range 3 1
Pad 4 1 mode pads value
Mul 2 1
Sub 2 1
Div 2 1
Pow 2 1
Mod 2 1 fmod
Min 4 1
Max 4 1
Sum 4 1
Mean 4 1
Equal 2 1
Less 2 1
Greater 2 1
And 2 1
Where 3 1
Not 1 1
Neg 1 1
Abs 1 1
Floor 1 1
Ceil 1 1
Sqrt 1 1
Exp 1 1
Size 1 1
NonZero 1 1
TopK 2 2 axis largest sorted k
OneHot 3 1 axis
CumSum 2 1 exclusive reverse
GatherND 2 1 batch_dims
GatherElements 2 1 axis
ScatterND 3 1 reduction
ScatterElements 3 1 axis reduction
Flatten 1 1 axis
Identity 1 1
Dropout 3 2 seed ratio
BatchNormalization 5 5 epsilon momentum spatial training_mode
InstanceNormalization 3 1 epsilon
LayerNormalization 3 3 axis epsilon stash_type
GroupNormalization 3 1 num_groups epsilon
RMSNormalization 2 1 axis epsilon
LpNormalization 1 1 axis p
LRN 1 1 alpha beta bias size
MaxPool 1 2 auto_pad ceil_mode dilations kernel_shape pads storage_order strides
AveragePool 1 1 auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides
LpPool 1 1 auto_pad ceil_mode dilations kernel_shape p pads strides
GlobalAveragePool 1 1
GlobalMaxPool 1 1
ConvTranspose 3 1 auto_pad dilations group kernel_shape output_padding output_shape pads strides
ConvInteger 4 1 auto_pad dilations group kernel_shape pads strides
DeformConv 5 1 dilations group kernel_shape offset_group pads strides
MatMulInteger 4 1
QLinearConv 9 1 auto_pad dilations group kernel_shape pads strides
QLinearMatMul 8 1
QuantizeLinear 3 1 axis saturate block_size output_dtype
DequantizeLinear 3 1 axis block_size
DynamicQuantizeLinear 1 3
Resize 4 1 mode axes coordinate_transformation_mode keep_aspect_ratio_policy nearest_mode
Upsample 2 1 mode scales
ReduceMean 2 1 axes keepdims noop_with_empty_axes
ReduceSum 2 1 axes keepdims noop_with_empty_axes
ReduceMax 2 1 axes keepdims noop_with_empty_axes
ReduceL2 2 1 axes keepdims noop_with_empty_axes
ArgMax 1 1 axis keepdims select_last_index
Softmax 1 1 axis
LogSoftmax 1 1 axis
Clip 3 1 min max
PRelu 2 1
LeakyRelu 1 1 alpha
Gelu 1 1 approximate
DepthToSpace 1 1 blocksize mode
SpaceToDepth 1 1 blocksize
Einsum 3 1 equation
LSTM 8 3 direction hidden_size layout clip activation_alpha
GRU 6 2 direction hidden_size layout linear_before_reset
RNN 6 2 direction hidden_size layout
RandomNormal 0 1 shape dtype mean scale seed
RandomUniformLike 1 1 dtype low high
Bernoulli 1 1 dtype
Multinomial 1 1 dtype sample_size
EyeLike 1 1 dtype k
Trilu 2 1 upper
ReverseSequence 2 1 batch_axis time_axis
RoiAlign 3 1 output_height output_width sampling_ratio spatial_scale mode
MaxRoiPool 2 1 shape spatial_scale
GridSample 2 1 mode align_corners padding_mode
AffineGrid 2 1 align_corners
Compress 2 1 axis
NonMaxSuppression 5 1 center_point_box
Unique 1 4 axis sorted
If 1 2 then_branch else_branch
Loop 4 3 body
Scan 4 3 body num_scan_inputs scan_input_axes scan_output_axes scan_input_directions
SequenceConstruct 3 1
SequenceAt 2 1
SequenceInsert 3 1
SequenceEmpty 0 1 dtype
SplitToSequence 2 1 axis keepdims
ConcatFromSequence 1 1 axis new_axis
SequenceMap 3 2 body
Optional 1 1
OptionalGetElement 1 1
OptionalHasElement 1 1
Attention 6 4 is_causal kv_num_heads q_num_heads scale softcap qk_matmul_output_mode
RotaryEmbedding 4 1 interleaved num_heads rotary_embedding_dim
TensorScatter 3 1 axis mode
DFT 3 1 axis inverse onesided
STFT 4 1 onesided
HannWindow 1 1 output_datatype periodic
MelWeightMatrix 5 1 output_datatype
BlackmanWindow 1 1 output_datatype periodic
Col2Im 3 1 dilations pads strides
CenterCropPad 2 1 axes
ImageDecoder 1 1
StringNormalizer 1 1
TfIdfVectorizer 1 1 mode
BitShift 2 1 direction
Det 1 1
Hardmax 1 1 axis
Swish 1 1 alpha
CastLike 2 1 saturate
Crop 1 1 scale
FusedConv 3 1 kernel_shape
Unknown 3 3 axis";
