//! Any bytes as a model file that looks valid: names that lead somewhere, attributes that the operator has, small shapes.
//!
//! A fuzzer that flips bytes of files hardly gets past the decoder; here a flipped byte is another operator, operand or extent.
//! Half of the models are calm: tensors fit each other and no name leads astray, so that most of them are accepted and what lies behind inference is reached.
//! In the others everything is possible at a low rate: missing and duplicate names, cycles, absurd numbers, wrong types, nested graphs,
//! functions, external, sparse and string constants, sequences.

use super::choices::Choices;
use super::operators::{self, Holds};
use crate::onnx::Message;

/// How deep graphs in attributes nest.
const DEPTH: usize = 5;

/// The most nodes of a graph.
const NODES: usize = 24;

/// The file that `data` describes.
pub fn model(data: &[u8]) -> Vec<u8> {
    let mut writer = Writer {
        choices: Choices::new(data),
        names: Vec::new(),
        next: 0,
        functions: Vec::new(),
        is_calm: data.first().is_some_and(|byte| byte % 2 == 1),
    };
    writer.model().into_bytes()
}

struct Writer<'a> {
    choices: Choices<'a>,
    /// Tensors that may be read, those of outer graphs first.
    names: Vec<String>,
    next: usize,
    functions: Vec<String>,
    is_calm: bool,
}

impl Writer<'_> {
    fn model(&mut self) -> Message {
        let opset = i64::try_from(self.choices.below(24)).expect("small") + 6;
        let mut model = Message::new().int(1, 8 + self.choices.integer().rem_euclid(6));
        let functions = if self.choices.happens(60) { 3 } else { 0 };
        for index in 0..self.choices.below(functions + 1) {
            let function = self.function(index);
            model = model.message(25, &function);
            self.functions.push(format!("F{index}"));
        }
        self.names.clear();
        let graph = self.graph(0);
        for domain in ["", "local", "com.example"] {
            model = model.message(8, &Message::new().text(1, domain).int(2, opset));
        }
        model.message(7, &graph)
    }

    /// A function; it may call itself and others.
    fn function(&mut self, index: usize) -> Message {
        self.names = vec!["a".to_owned(), "b".to_owned()];
        let mut function = Message::new()
            .text(1, &format!("F{index}"))
            .text(10, "local");
        for input in ["a", "b"] {
            function = function.text(4, input);
        }
        self.functions.push(format!("F{}", self.choices.below(3)));
        function = function.text(6, "alpha");
        for _ in 0..=self.choices.below(4) {
            let node = self.node(DEPTH - 1);
            function = function.message(7, &node);
        }
        let output = self.read();
        function
            .text(5, &output)
            .message(9, &Message::new().text(1, "").int(2, 17))
    }

    fn graph(&mut self, depth: usize) -> Message {
        let outer = self.names.len();
        let mut graph = Message::new().text(2, "g");
        for _ in 0..self
            .choices
            .below(4)
            .max(usize::from(self.is_calm && depth == 0))
        {
            let value = self.fresh();
            let declared = self.declared(&value);
            graph = graph.message(11, &declared);
        }
        if self.is_calm && depth == 0 {
            graph = graph.messages(5, &calm_constants());
        }
        for _ in 0..self.choices.below(8) {
            let name = self.fresh();
            graph = if self.choices.happens(4) {
                let values = self.tensor(&name);
                let indices = self.tensor("");
                let sparse = Message::new().message(1, &values).message(2, &indices);
                graph.message(15, &sparse.int(3, 4))
            } else {
                let tensor = self.tensor(&name);
                graph.message(5, &tensor)
            };
        }
        let most = if depth == 0 { NODES } else { 4 };
        for _ in 0..most {
            if self.choices.is_done() {
                break;
            }
            let node = self.node(depth);
            graph = graph.message(1, &node);
        }
        for position in 0..=self.choices.below(3) {
            // The last results, so that most nodes are needed.
            let recent = self.names.len().checked_sub(position + 1);
            let name = match recent {
                Some(index) if !self.choices.happens(30) => self.names[index].clone(),
                _ => self.read(),
            };
            let declared = self.declared(&name);
            graph = graph.message(12, &declared);
        }
        for _ in 0..self.choices.below(4) {
            let name = self.read();
            let declared = self.declared(&name);
            graph = graph.message(13, &declared);
        }
        self.names.truncate(outer);
        graph
    }

    fn node(&mut self, depth: usize) -> Message {
        let is_call = !self.functions.is_empty() && self.choices.happens(40);
        let known = operators::operator(self.choices.below(256) % operators::count());
        let mut node = Message::new();
        let operands = if self.choices.happens(20) {
            self.choices.below(9)
        } else {
            known.operands.min(self.choices.below(16) + 1)
        };
        for position in 0..operands {
            let name = if self.is_calm && position > 0 && self.choices.happens(200) {
                self.choices.one_of(&CALM_NAMES).to_owned()
            } else {
                self.read()
            };
            node = node.text(1, &name);
        }
        for attribute in &known.attributes {
            let often = if self.is_calm { 60 } else { 150 };
            if self.choices.happens(often) || matches!(operators::holds(attribute), Holds::Graph) {
                let attribute = self.attribute(attribute, depth);
                node = node.message(5, &attribute);
            }
        }
        for _ in 0..known.results.min(self.choices.below(8) + 1) {
            let name = if !self.is_calm && self.choices.happens(6) {
                self.read()
            } else {
                self.fresh()
            };
            node = node.text(2, &name);
        }
        if self.choices.happens(100) {
            node = node.text(3, ["n", "", "m", "\u{1b}[31m\n"][self.choices.below(4)]);
        }
        if is_call {
            let callee = self.choices.below(self.functions.len());
            return node.text(4, &self.functions[callee]).text(7, "local");
        }
        let domain = ["", "", "", "", "", "ai.onnx", "com.example", "ai.onnx.ml"];
        match domain[self.choices.below(domain.len())] {
            _ if self.is_calm => node.text(4, known.name),
            "" => node.text(4, known.name),
            other => node.text(4, known.name).text(7, other),
        }
    }

    fn attribute(&mut self, name: &str, depth: usize) -> Message {
        let mut message = Message::new().text(1, name);
        if self.is_calm
            && let Some(sane) = self.calm_attribute(name)
        {
            for value in &sane {
                message = message.int(8, *value);
            }
            return message.int(20, 7);
        }
        let holds = if self.choices.happens(3) {
            Holds::Ints
        } else {
            operators::holds(name)
        };
        if self.choices.happens(4) {
            message = message.text(21, "alpha");
        }
        match holds {
            Holds::Int => message.int(3, self.choices.integer()).int(20, 2),
            Holds::Ints => {
                for _ in 0..self.choices.below(7) {
                    message = message.int(8, self.choices.integer());
                }
                message.int(20, 7)
            }
            Holds::Float => message.float(2, self.choices.float()).int(20, 1),
            Holds::Floats => {
                for _ in 0..self.choices.below(5) {
                    message = message.float(7, self.choices.float());
                }
                message.int(20, 6)
            }
            Holds::Text(texts) => message.text(4, self.choices.one_of(texts)).int(20, 3),
            Holds::Tensor => {
                let tensor = self.tensor("");
                message.message(5, &tensor).int(20, 4)
            }
            Holds::Graph if depth + 1 < DEPTH => {
                let graph = self.graph(depth + 1);
                message.message(6, &graph).int(20, 5)
            }
            Holds::Graph => message.message(6, &Message::new()).int(20, 5),
        }
    }

    /// Integers that suit two spatial axes and four axes in all; `None` if the attribute is no list.
    fn calm_attribute(&mut self, name: &str) -> Option<Vec<i64>> {
        let small = i64::try_from(self.choices.below(3)).expect("small");
        Some(match name {
            "kernel_shape" | "strides" | "dilations" => vec![1 + small; 2],
            "pads" => vec![small; 4],
            "perm" => [[0, 1, 2, 3], [0, 2, 3, 1], [3, 2, 1, 0]][self.choices.below(3)].to_vec(),
            "axes" | "repeats" => vec![small + 1],
            "split" => vec![2, 2],
            "starts" => vec![small],
            "ends" => vec![4],
            _ => return None,
        })
    }

    /// A constant: mostly a short list of integers, which may decide a shape.
    fn tensor(&mut self, name: &str) -> Message {
        let mut tensor = Message::new().text(8, name);
        match self.choices.below(16) {
            0..=7 => {
                let count = self.choices.below(6);
                let raw: Vec<u8> = (0..count)
                    .flat_map(|_| self.choices.integer().to_le_bytes())
                    .collect();
                let extent = i64::try_from(count).expect("small");
                tensor.int(1, extent).int(2, 7).bytes(9, &raw)
            }
            8 => tensor
                .int(2, 7)
                .bytes(9, &self.choices.integer().to_le_bytes()),
            9 => tensor
                .int(2, 1)
                .bytes(9, &self.choices.float().to_le_bytes()),
            10 | 11 => {
                let dims: Vec<i64> = (0..self.choices.below(5))
                    .map(|_| i64::try_from(self.choices.below(5)).expect("small"))
                    .collect();
                let bytes: i64 = dims.iter().product::<i64>() * 4;
                for extent in dims {
                    tensor = tensor.int(1, extent);
                }
                let fill = self.choices.byte();
                let bytes = usize::try_from(bytes).expect("small");
                tensor.int(2, 1).bytes(9, &vec![fill; bytes])
            }
            12 => {
                let location = self
                    .choices
                    .one_of(&["w.bin", "../w.bin", "/w", "", "a/./b"]);
                let entry = |key: &str, value: &str| Message::new().text(1, key).text(2, value);
                let offset = self.choices.integer().to_string();
                tensor
                    .int(1, self.choices.extent())
                    .int(1, self.choices.extent())
                    .int(2, 1)
                    .int(14, 1)
                    .message(13, &entry("location", location))
                    .message(13, &entry("offset", &offset))
            }
            13 => tensor.int(1, 2).int(2, 8).text(6, "a").text(6, "b"),
            14 => {
                // Variable-length integers, as `int64_data` and `int32_data`.
                let (field, dtype) =
                    self.choices
                        .one_of(&[(7, 7), (5, 6), (5, 9), (5, 3), (11, 13)]);
                let count = self.choices.below(5);
                let packed: Vec<u8> = (0..count).map(|_| self.choices.byte()).collect();
                let extent = i64::try_from(count).expect("small");
                tensor.int(1, extent).int(2, dtype).bytes(field, &packed)
            }
            _ => {
                for _ in 0..self.choices.below(5) {
                    tensor = tensor.int(1, self.choices.integer());
                }
                let raw: Vec<u8> = (0..self.choices.below(17))
                    .map(|_| self.choices.byte())
                    .collect();
                tensor.int(2, self.choices.integer()).bytes(9, &raw)
            }
        }
    }

    /// A declared value, mostly a tensor of four axes.
    fn declared(&mut self, name: &str) -> Message {
        if self.is_calm {
            let bare = Message::new().text(1, name);
            return if name == "t0" || self.choices.happens(40) {
                crate::onnx::fixed(name, 1, &[1, 4, 4, 4])
            } else {
                bare
            };
        }
        let declared = Message::new().text(1, name);
        let dtype = [1, 1, 1, 1, 7, 6, 9, 10, 2, 3, 11, 8, 16, 22][self.choices.below(14)];
        let mut tensor = Message::new().int(1, dtype);
        match self.choices.byte() {
            0..=8 => return declared,
            9..=20 => {}
            21..=26 => {
                // A sequence of tensors.
                let element = Message::new().message(1, &tensor);
                let sequence = Message::new().message(1, &element);
                return declared.message(2, &Message::new().message(4, &sequence));
            }
            byte => {
                let rank = [4, 4, 4, 3, 2, 1, 0, 5][usize::from(byte) % 8];
                let mut shape = Message::new();
                for _ in 0..rank {
                    let dimension = match self.choices.byte() {
                        0..=9 => Message::new().text(2, "N"),
                        10..=15 => Message::new(),
                        _ => Message::new().int(1, self.choices.extent()),
                    };
                    shape = shape.message(1, &dimension);
                }
                tensor = tensor.message(2, &shape);
            }
        }
        declared.message(2, &Message::new().message(1, &tensor))
    }

    /// A tensor that exists, most times.
    fn read(&mut self) -> String {
        match self.choices.byte() {
            0..=8 if self.is_calm => "t0".to_owned(),
            0..=5 => String::new(),
            6 => "nowhere".to_owned(),
            // What a later node may write.
            7 | 8 => format!("t{}", self.next + self.choices.below(3)),
            byte if self.names.is_empty() => format!("t{}", byte % 4),
            byte => {
                // Recent ones twice as often as all others.
                let count = self.names.len();
                let index = if byte < 100 {
                    usize::from(byte) % count
                } else {
                    count - 1 - usize::from(byte) % count.min(4)
                };
                self.names[index].clone()
            }
        }
    }

    fn fresh(&mut self) -> String {
        let name = format!("t{}", self.next);
        self.next += 1;
        self.names.push(name.clone());
        name
    }
}

/// Constants of calm models.
const CALM_NAMES: [&str; 8] = [
    "w", "v", "shape", "one", "scalar", "pads", "vector", "indices",
];

fn calm_constants() -> [Message; 8] {
    [
        crate::onnx::zeros("w", &[4, 4, 1, 1]),
        crate::onnx::floats("v", &[1.0; 4]),
        crate::onnx::integers("shape", &[1, 4, 4, 4]),
        crate::onnx::integers("one", &[1]),
        Message::new().text(8, "scalar").int(2, 1).bytes(9, &[0; 4]),
        crate::onnx::integers("pads", &[0, 0, 1, 1, 0, 0, 1, 1]),
        crate::onnx::floats("vector", &[1.0, 1.0, 2.0, 2.0]),
        crate::onnx::integers("indices", &[0, -1, 2]),
    ]
}

#[cfg(test)]
mod tests {
    use paracompile_frontend::import::onnx::{ImportOptions, import_bytes};

    use super::*;

    #[test]
    fn calm_models_are_accepted_often_enough_to_matter() {
        let mut accepted = 0;
        for seed in 0..200u32 {
            let data: Vec<u8> = (0..60u32)
                .map(|index| {
                    let mixed = (index + 1)
                        .wrapping_mul(seed * 2 + 1)
                        .wrapping_mul(2_654_435_761);
                    if index == 0 {
                        1
                    } else {
                        mixed.to_be_bytes()[0]
                    }
                })
                .collect();
            let file = bytes::Bytes::from(model(&data));
            accepted += usize::from(import_bytes("calm", &file, &ImportOptions::default()).is_ok());
        }
        assert!(accepted > 5, "{accepted} of 200");
    }

    #[test]
    fn any_bytes_are_a_model() {
        for seed in 0..64u8 {
            let data: Vec<u8> = (0..400u32)
                .map(|index| (index * 37 + u32::from(seed) * 101).to_le_bytes()[0])
                .collect();
            assert!(!model(&data).is_empty());
        }
        assert!(!model(&[]).is_empty());
    }
}
