//! The networks that ARM-CO-UP has a pipeline program for, layer by layer as the programs count them.
//!
//! Read off `examples/graph_*_all_pipe_sync.cpp` of github.com/Ehsan-aghapour/ARMCL-pipe-all: each program counts a layer up where
//! it can start another sub-graph. `docs/arm-co-up.md` has the table for people, and what is inferred.

/// A program and the network that it builds.
#[derive(Debug)]
pub(super) struct Network {
    /// For people.
    pub(super) name: &'static str,
    /// The program.
    pub(super) program: &'static str,
    /// Layers, the first being number one.
    pub(super) layers: Vec<Layer>,
    /// In what the program's network differs from those that are taken for it.
    pub(super) note: &'static str,
}

/// A layer: what may be put on a processor.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    /// Its convolutions and matrix products, in any order.
    pub(super) anchors: Vec<Anchor>,
}

/// A convolution or matrix product, by what tells networks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A square kernel of one of these sizes, and output channels.
    Convolution(&'static [u64], u64),
    /// The same over each channel by itself.
    Depthwise(u64, u64),
    /// A classifier: a matrix product or 1×1 convolution, with any number of classes.
    Classifier,
}

use Anchor::{Classifier, Convolution, Depthwise};

fn layer(name: impl Into<String>, anchors: impl Into<Vec<Anchor>>) -> Layer {
    Layer {
        name: name.into(),
        anchors: anchors.into(),
    }
}

/// All of them.
pub(super) fn networks() -> [Network; 4] {
    [googlenet(), resnet50(), squeezenet(), mobilenet()]
}

fn googlenet() -> Network {
    // 1×1; 3×3 reduce, 3×3; 5×5 reduce, 5×5; behind the pool.
    let inception = |name: &str, [a, b, c, d, e, f]: [u64; 6]| {
        let anchors = [
            Convolution(&[1], a),
            Convolution(&[1], b),
            Convolution(&[3], c),
            Convolution(&[1], d),
            // torchvision has 3×3 here, as its authors found too late.
            Convolution(&[3, 5], e),
            Convolution(&[1], f),
        ];
        layer(format!("inception_{name}"), anchors)
    };
    Network {
        name: "GoogLeNet",
        program: "graph_googlenet_all_pipe_sync",
        layers: vec![
            layer("conv1", [Convolution(&[7], 64)]),
            layer("conv2/3x3_reduce", [Convolution(&[1], 64)]),
            layer("conv2/3x3", [Convolution(&[3], 192)]),
            inception("3a", [64, 96, 128, 16, 32, 32]),
            inception("3b", [128, 128, 192, 32, 96, 64]),
            inception("4a", [192, 96, 208, 16, 48, 64]),
            inception("4b", [160, 112, 224, 24, 64, 64]),
            inception("4c", [128, 128, 256, 24, 64, 64]),
            inception("4d", [112, 144, 288, 32, 64, 64]),
            inception("4e", [256, 160, 320, 32, 128, 128]),
            inception("5a", [256, 160, 320, 32, 128, 128]),
            inception("5b", [384, 192, 384, 48, 128, 128]),
            layer("loss3/classifier", [Classifier]),
        ],
        note: "the program builds Caffe's GoogLeNet: local response normalisation, and 5x5 kernels where torchvision has 3x3",
    }
}

fn resnet50() -> Network {
    let mut layers = vec![layer("conv1", [Convolution(&[7], 64)])];
    for (block, (depth, units)) in [(64, 3), (128, 4), (256, 6), (512, 3)]
        .into_iter()
        .enumerate()
    {
        for unit in 1..=units {
            let mut anchors = vec![
                Convolution(&[1], depth),
                Convolution(&[3], depth),
                Convolution(&[1], depth * 4),
            ];
            if unit == 1 {
                anchors.push(Convolution(&[1], depth * 4));
            }
            layers.push(layer(format!("block{}/unit{unit}", block + 1), anchors));
        }
    }
    layers.push(layer("logits", [Classifier]));
    Network {
        name: "ResNet-50",
        program: "graph_resnet50_all_pipe_sync",
        layers,
        note: "the program builds TensorFlow's ResNet-50 v1, which halves the resolution in the last unit of a block; torchvision's halves it in the first one of the next",
    }
}

fn squeezenet() -> Network {
    let mut layers = vec![layer("conv1", [Convolution(&[3], 64)])];
    let fires = [
        (16, 64),
        (16, 64),
        (32, 128),
        (32, 128),
        (48, 192),
        (48, 192),
        (64, 256),
        (64, 256),
    ];
    for (index, (squeeze, expand)) in fires.into_iter().enumerate() {
        let fire = index + 2;
        layers.push(layer(
            format!("fire{fire}/squeeze1x1"),
            [Convolution(&[1], squeeze)],
        ));
        layers.push(layer(
            format!("fire{fire}/expand"),
            [Convolution(&[1], expand), Convolution(&[3], expand)],
        ));
    }
    layers.push(layer("conv10", [Classifier]));
    layers.push(layer("prob", []));
    Network {
        name: "SqueezeNet",
        program: "graph_squeezenet_all_pipe_sync",
        layers,
        note: "the program builds SqueezeNet 1.0: 96 channels of 7x7 in conv1, and pools behind fire4 and fire8; version 1.1 has 64 of 3x3, and pools behind fire3 and fire5",
    }
}

fn mobilenet() -> Network {
    let mut layers = vec![layer("Conv2d_0", [Convolution(&[3], 32)])];
    let mut channels = 32;
    let pointwise = [
        64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024,
    ];
    for (index, next) in pointwise.into_iter().enumerate() {
        let name = format!("Conv2d_{}", index + 1);
        layers.push(layer(format!("{name}_depthwise"), [Depthwise(3, channels)]));
        layers.push(layer(
            format!("{name}_pointwise"),
            [Convolution(&[1], next)],
        ));
        channels = next;
    }
    layers.push(layer("Logits", [Classifier]));
    Network {
        name: "MobileNet v1",
        program: "graph_mobilenet_all_pipe_sync",
        layers,
        note: "the program builds MobileNet v1 at 224 x 224 with a width of 1.0; its classifier has 1001 classes",
    }
}

/// The first convolution of `SqueezeNet` 1.0, beside that of version 1.1.
pub(super) const SQUEEZENET_1_0: Anchor = Convolution(&[7], 96);

#[cfg(test)]
mod tests {
    use super::*;

    /// `Total layers` that the programs print, by counting `Layer++` in their sources and adding one.
    #[test]
    fn layers_are_as_many_as_the_programs_count() {
        let counts: Vec<_> = networks()
            .iter()
            .map(|network| (network.name, network.layers.len()))
            .collect();
        assert_eq!(
            counts,
            [
                ("GoogLeNet", 13),
                ("ResNet-50", 18),
                ("SqueezeNet", 19),
                ("MobileNet v1", 28)
            ]
        );
    }
}
