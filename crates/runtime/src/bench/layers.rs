//! The products and convolutions that are measured: those of published networks.

use paracompile_frontend::import::onnx::Attribute;

use super::operators::Operator;

/// Rows, columns and depth.
pub(super) const PRODUCTS: [(&str, usize, usize, usize); 20] = [
    ("square", 256, 256, 256),
    ("square", 512, 512, 512),
    ("square", 1024, 1024, 1024),
    ("square", 2048, 2048, 2048),
    ("GoogLeNet conv2", 192, 3136, 576),
    ("GoogLeNet 3a 3x3", 128, 784, 864),
    ("GoogLeNet 4e 3x3", 320, 196, 1440),
    ("GoogLeNet 5b 1x1", 384, 49, 832),
    ("ResNet stem", 64, 12544, 147),
    ("ResNet 2 3x3", 64, 3136, 576),
    ("ResNet 3 1x1", 512, 784, 128),
    ("ResNet 4 3x3", 256, 196, 2304),
    ("ResNet 5 3x3", 512, 49, 4608),
    ("ResNet 5 1x1", 2048, 49, 512),
    ("classifier", 1, 1000, 2048),
    ("BERT projection", 128, 768, 768),
    ("BERT feed forward", 128, 3072, 768),
    ("ViT projection", 197, 768, 768),
    ("ViT feed forward", 197, 3072, 768),
    ("BERT-384 feed forward", 384, 768, 3072),
];

/// A convolution of square images: channels, features, input extent, kernel, stride, padding, groups, and how often the network has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pub(super) network: &'static str,
    channels: usize,
    features: usize,
    input: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    groups: usize,
    pub(super) repetitions: u32,
}

#[expect(clippy::too_many_arguments, reason = "a row of a table")]
const fn layer(
    network: &'static str,
    channels: usize,
    features: usize,
    input: usize,
    kernel: usize,
    stride: usize,
    groups: usize,
    repetitions: u32,
) -> Layer {
    Layer {
        network,
        channels,
        features,
        input,
        kernel,
        stride,
        padding: kernel / 2,
        groups,
        repetitions,
    }
}

const RESNET: &str = "ResNet-50";
const GOOGLENET: &str = "GoogLeNet";
const MOBILENET: &str = "MobileNet-v2";

/// All convolutions of ResNet-50, and some of GoogLeNet and MobileNet-v2.
pub(super) const LAYERS: [Layer; 38] = [
    layer(RESNET, 3, 64, 224, 7, 2, 1, 1),
    layer(RESNET, 64, 64, 56, 1, 1, 1, 1),
    layer(RESNET, 64, 64, 56, 3, 1, 1, 3),
    layer(RESNET, 64, 256, 56, 1, 1, 1, 4),
    layer(RESNET, 256, 64, 56, 1, 1, 1, 2),
    layer(RESNET, 256, 128, 56, 1, 1, 1, 1),
    layer(RESNET, 128, 128, 56, 3, 2, 1, 1),
    layer(RESNET, 128, 512, 28, 1, 1, 1, 4),
    layer(RESNET, 256, 512, 56, 1, 2, 1, 1),
    layer(RESNET, 512, 128, 28, 1, 1, 1, 3),
    layer(RESNET, 128, 128, 28, 3, 1, 1, 3),
    layer(RESNET, 512, 256, 28, 1, 1, 1, 1),
    layer(RESNET, 256, 256, 28, 3, 2, 1, 1),
    layer(RESNET, 256, 1024, 14, 1, 1, 1, 6),
    layer(RESNET, 512, 1024, 28, 1, 2, 1, 1),
    layer(RESNET, 1024, 256, 14, 1, 1, 1, 5),
    layer(RESNET, 256, 256, 14, 3, 1, 1, 5),
    layer(RESNET, 1024, 512, 14, 1, 1, 1, 1),
    layer(RESNET, 512, 512, 14, 3, 2, 1, 1),
    layer(RESNET, 512, 2048, 7, 1, 1, 1, 3),
    layer(RESNET, 1024, 2048, 14, 1, 2, 1, 1),
    layer(RESNET, 2048, 512, 7, 1, 1, 1, 2),
    layer(RESNET, 512, 512, 7, 3, 1, 1, 2),
    layer(GOOGLENET, 64, 192, 56, 3, 1, 1, 1),
    layer(GOOGLENET, 192, 64, 28, 1, 1, 1, 1),
    layer(GOOGLENET, 96, 128, 28, 3, 1, 1, 1),
    layer(GOOGLENET, 16, 32, 28, 5, 1, 1, 1),
    layer(GOOGLENET, 480, 192, 14, 1, 1, 1, 1),
    layer(GOOGLENET, 112, 224, 14, 3, 1, 1, 1),
    layer(GOOGLENET, 160, 320, 7, 3, 1, 1, 1),
    layer(GOOGLENET, 832, 384, 7, 1, 1, 1, 1),
    layer(MOBILENET, 32, 32, 112, 3, 1, 32, 1),
    layer(MOBILENET, 96, 96, 112, 3, 2, 96, 1),
    layer(MOBILENET, 144, 144, 56, 3, 1, 144, 1),
    layer(MOBILENET, 192, 192, 28, 3, 1, 192, 2),
    layer(MOBILENET, 384, 384, 14, 3, 1, 384, 4),
    layer(MOBILENET, 960, 960, 7, 3, 1, 960, 3),
    layer(MOBILENET, 96, 24, 56, 1, 1, 1, 1),
];

impl Layer {
    fn output(&self) -> usize {
        (self.input + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Multiplications and additions.
    pub(super) fn operations(&self) -> usize {
        let pixels = self.output() * self.output();
        2 * pixels * self.features * self.channels / self.groups * self.kernel * self.kernel
    }

    pub(super) fn operator(&self) -> Operator {
        let pair = |value: usize| {
            let value = i64::try_from(value).expect("layers are small");
            Attribute::Ints(vec![value; 2])
        };
        let pads = i64::try_from(self.padding).expect("layers are small");
        let groups = i64::try_from(self.groups).expect("layers are small");
        let (input, output) = (self.input, self.output());
        let channels = self.channels / self.groups;
        Operator {
            op_type: "Conv",
            attributes: vec![
                ("strides", pair(self.stride)),
                ("pads", Attribute::Ints(vec![pads; 4])),
                ("group", Attribute::Int(groups)),
            ],
            operands: vec![
                (vec![1, self.channels, input, input], false),
                (
                    vec![self.features, channels, self.kernel, self.kernel],
                    true,
                ),
                (vec![self.features], true),
            ],
            result: vec![1, self.features, output, output],
        }
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            network,
            channels,
            features,
            input,
            kernel,
            stride,
            groups,
            ..
        } = self;
        write!(
            formatter,
            "{network} {channels}>{features} {input}x{input} {kernel}x{kernel}/{stride}"
        )?;
        if *groups > 1 {
            write!(formatter, " depthwise")?;
        }
        Ok(())
    }
}
