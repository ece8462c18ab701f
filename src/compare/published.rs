//! What Para-Pipe publishes (arXiv 2609.04168, sections VII.C and VII.D): averages over six networks, measured on two boards over streams of 50 frames.

use serde::Serialize;

use super::relation::Pair;

/// A board of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Board {
    /// Amlogic A311D on the Khadas VIM3 Pro; measured.
    Amlogic,
    /// BST A1000, an accelerator and two DSPs; simulated by the authors.
    Bst,
}

/// Published changes in percent; `None` where the paper has no figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Published {
    /// Of the latency in a stream.
    pub latency: Option<f64>,
    /// Of frames a second.
    pub throughput: Option<f64>,
    /// Of frames a joule.
    pub efficiency: Option<f64>,
}

/// Names of our models that stand for the six networks of the paper.
///
/// The paper names the Inception family and two irregular networks, one of them with PETR's decoder; the weights and sizes of its networks are not published, so these are kin and not copies.
pub const PUBLISHED_MODELS: [&str; 6] = [
    "googlenet",
    "inception_v3",
    "inception_v4",
    "inception_resnet_v2",
    "randwire_ws",
    "petr_r50",
];

impl Board {
    /// The board that a profile describes.
    pub fn of_soc(name: &str) -> Option<Self> {
        match name {
            "vim3" => Some(Self::Amlogic),
            "bst-a1000" => Some(Self::Bst),
            _ => None,
        }
    }

    /// What the paper says about `pair` on this board.
    pub const fn published(self, pair: Pair) -> Published {
        const NOTHING: Published = Published {
            latency: None,
            throughput: None,
            efficiency: None,
        };
        match self {
            Self::Amlogic => match pair {
                Pair::ParaOnlyOverList => Published {
                    latency: Some(-10.9),
                    throughput: Some(12.5),
                    ..NOTHING
                },
                Pair::PipeOnlyOverParaOnly => Published {
                    latency: Some(113.8),
                    ..NOTHING
                },
                Pair::ParaOnlyOverPipeOnly => Published {
                    throughput: Some(-26.6),
                    ..NOTHING
                },
                Pair::HybridLOverPipeOnly => Published {
                    latency: Some(-36.0),
                    throughput: Some(-12.4),
                    efficiency: Some(8.7),
                },
                Pair::HybridTOverPipeOnly => Published {
                    latency: Some(-26.8),
                    throughput: Some(-7.3),
                    efficiency: Some(11.0),
                },
                Pair::HybridLOverParaOnly => Published {
                    efficiency: Some(16.7),
                    ..NOTHING
                },
                Pair::HybridTOverParaOnly => Published {
                    efficiency: Some(23.3),
                    ..NOTHING
                },
                Pair::ClustersOverBig => Published {
                    latency: Some(-16.4),
                    throughput: Some(19.8),
                    efficiency: Some(14.2),
                },
                Pair::FineOverCoarse => Published {
                    latency: Some(-3.35),
                    throughput: Some(4.28),
                    ..NOTHING
                },
            },
            Self::Bst => match pair {
                Pair::ParaOnlyOverList => Published {
                    latency: Some(-15.5),
                    throughput: Some(18.8),
                    ..NOTHING
                },
                Pair::HybridTOverParaOnly => Published {
                    throughput: Some(16.2),
                    ..NOTHING
                },
                Pair::PipeOnlyOverParaOnly
                | Pair::ParaOnlyOverPipeOnly
                | Pair::HybridLOverPipeOnly
                | Pair::HybridTOverPipeOnly
                | Pair::HybridLOverParaOnly
                | Pair::ClustersOverBig
                | Pair::FineOverCoarse => NOTHING,
            },
        }
    }
}
