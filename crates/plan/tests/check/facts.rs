//! Models and chips of the plans in `tests/plans`, written down a second time.

#![expect(
    clippy::many_single_char_names,
    reason = "tensors have the names that the plans give them"
)]

use std::collections::BTreeMap;

use paracompile_plan::facts::{
    ContentionFacts, CostFacts, LinkFacts, MemoryFacts, ModelFacts, OperatorCost, OperatorFacts,
    ProcessorFacts, TensorFacts,
};
use paracompile_plan::plan::{Layout, ModelKind, OperatorRef, Source};
use paracompile_plan::{Bytes, Joules, Milliwatts, Nanoseconds, OpClass, Seconds, Slowdown, Watts};

/// A network under construction; tensors are named by letters.
pub(crate) struct Network {
    facts: ModelFacts,
}

impl Network {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            facts: ModelFacts {
                name: name.to_owned(),
                kind: ModelKind::Onnx,
                graph_digest: "a".repeat(64),
                dims: BTreeMap::new(),
                rewrites: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                operators: Vec::new(),
                tensors: Vec::new(),
            },
        }
    }

    fn add(&mut self, name: &str, bytes: u64, weight: bool, made_of: Vec<usize>) -> usize {
        self.facts.tensors.push(TensorFacts {
            name: name.to_owned(),
            dtype: "float".to_owned(),
            shape: vec![1, bytes / 4],
            bytes: Bytes::new(bytes),
            weight,
            made_of,
        });
        self.facts.tensors.len() - 1
    }

    pub(crate) fn tensor(&mut self, name: &str, bytes: u64) -> usize {
        self.add(name, bytes, false, Vec::new())
    }

    pub(crate) fn weight(&mut self, name: &str, bytes: u64) -> usize {
        self.add(name, bytes, true, Vec::new())
    }

    pub(crate) fn view(&mut self, name: &str, of: usize) -> usize {
        let bytes = self.facts.tensors[of].bytes.count();
        self.add(name, bytes, false, vec![of])
    }

    pub(crate) fn input(&mut self, name: &str, bytes: u64) -> usize {
        let tensor = self.tensor(name, bytes);
        self.facts.inputs.push(tensor);
        tensor
    }

    pub(crate) fn output(&mut self, tensor: usize) {
        self.facts.outputs.push(tensor);
    }

    pub(crate) fn operator(&mut self, node: u32, class: OpClass, reads: &[usize], writes: usize) {
        self.facts.operators.push(OperatorFacts {
            at: OperatorRef {
                node,
                inside: Vec::new(),
                output: self.facts.tensors[writes].name.clone(),
            },
            class,
            reads: reads.to_vec(),
            writes: vec![writes],
            launch: None,
        });
    }

    pub(crate) fn finish(self) -> ModelFacts {
        self.facts
    }
}

/// Time in nanoseconds, energy in nanojoules.
#[expect(
    clippy::unnecessary_wraps,
    reason = "an entry of a cost table, where `None` means not supported"
)]
pub(crate) fn cost(time: f64, energy: f64, workspace: u64, source: Source) -> Option<OperatorCost> {
    Some(OperatorCost {
        time: Seconds::new(time * 1e-9).unwrap(),
        energy: Joules::new(energy * 1e-9).unwrap(),
        workspace: Bytes::new(workspace),
        source,
    })
}

fn slowdown(thousandths: u32) -> Slowdown {
    Slowdown::from_thousandths(thousandths).unwrap()
}

fn processor(
    name: &str,
    memory: usize,
    layout: Layout,
    point: &str,
    static_mw: u64,
) -> ProcessorFacts {
    ProcessorFacts {
        name: name.to_owned(),
        memory,
        layout,
        operating_point: point.to_owned(),
        static_power: Milliwatts::new(static_mw),
        dispatch: Nanoseconds::ZERO,
        sharing: vec![Slowdown::NONE],
        fuses: Vec::new(),
    }
}

fn link(from: usize, to: usize, latency: f64) -> LinkFacts {
    LinkFacts {
        from,
        to,
        latency: Seconds::new(latency * 1e-9).unwrap(),
        seconds_per_byte: Seconds::new(1e-9).unwrap(),
        convert_seconds_per_byte: Seconds::new(0.5e-9).unwrap(),
        power: Watts::new(2.0).unwrap(),
    }
}

/// `big` and `little` in `ddr`, `gpu` in `gmem` with another layout.
pub(crate) fn board(operators: Vec<Vec<Option<OperatorCost>>>) -> CostFacts {
    let mut big = processor("big", 0, Layout::Nchw, "high", 1000);
    big.sharing.push(slowdown(1500));
    big.fuses = vec![OpClass::Activation];
    let memory = |name: &str, limit| MemoryFacts {
        name: name.to_owned(),
        limit,
    };
    let contention = |set: &[usize], factor: &[(usize, u32)]| ContentionFacts {
        set: set.to_vec(),
        factor: (factor.iter())
            .map(|&(member, thousandths)| (member, slowdown(thousandths)))
            .collect(),
    };
    CostFacts {
        soc_name: "board".to_owned(),
        soc_digest: "b".repeat(64),
        io: 0,
        memories: vec![
            memory("ddr", Some(Bytes::new(10_000))),
            memory("gmem", None),
        ],
        processors: vec![
            big,
            processor("little", 0, Layout::Nchw, "high", 200),
            processor("gpu", 1, Layout::Nhwc, "max", 500),
        ],
        operators,
        links: vec![link(0, 1, 100.0), link(1, 0, 200.0)],
        contention: vec![
            contention(&[0, 1], &[(0, 1100), (1, 1200)]),
            contention(&[0, 2], &[(0, 1500)]),
            contention(&[0, 1, 2], &[(2, 1300)]),
        ],
        enqueue: Nanoseconds::new(5),
        base: Milliwatts::new(3000),
    }
}

/// Three equal processors in one memory.
fn trio(operators: Vec<Vec<Option<OperatorCost>>>) -> CostFacts {
    CostFacts {
        soc_name: "trio".to_owned(),
        soc_digest: "b".repeat(64),
        io: 0,
        memories: vec![MemoryFacts {
            name: "ram".to_owned(),
            limit: None,
        }],
        processors: (["p0", "p1", "p2"].iter())
            .map(|name| processor(name, 0, Layout::Any, "only", 100))
            .collect(),
        operators,
        links: Vec::new(),
        contention: Vec::new(),
        enqueue: Nanoseconds::ZERO,
        base: Milliwatts::new(50),
    }
}

/// Names of the plans in `tests/plans`, without extension.
pub(crate) const PLANS: [&str; 7] = [
    "single",
    "two_readers",
    "two_stages",
    "skip",
    "hybrid",
    "lanes",
    "one_one_three",
];

/// The facts that a plan in `tests/plans` is about.
pub(crate) fn of_plan(name: &str) -> (ModelFacts, CostFacts) {
    match name {
        "single" => single(),
        "two_readers" => two_readers(),
        "two_stages" => two_stages(),
        "skip" => three("bypass", true),
        "hybrid" => three("merge", false),
        "lanes" => lanes(),
        "one_one_three" => one_one_three(),
        other => panic!("no facts for {other}"),
    }
}

fn single() -> (ModelFacts, CostFacts) {
    let mut network = Network::new("tiny");
    network.facts.dims.insert("batch".to_owned(), 1);
    let x = network.input("x", 400);
    let w = network.weight("w", 200);
    let c = network.tensor("c", 800);
    let r = network.tensor("r", 800);
    let v = network.view("v", r);
    let y = network.tensor("y", 100);
    network.output(y);
    network.operator(0, OpClass::Conv, &[x, w], c);
    network.operator(1, OpClass::Activation, &[c], r);
    network.operator(3, OpClass::GlobalPool, &[v], y);
    let costs = vec![
        vec![cost(1000.0, 2000.0, 64, Source::Measured), None, None],
        vec![cost(100.0, 50.0, 0, Source::Fitted), None, None],
        vec![cost(300.0, 150.0, 32, Source::Assumed), None, None],
    ];
    (network.finish(), board(costs))
}

fn two_readers() -> (ModelFacts, CostFacts) {
    let mut network = Network::new("fork");
    let x = network.input("x", 400);
    let a = network.tensor("a", 1000);
    let b = network.tensor("b", 600);
    let c = network.tensor("c", 600);
    let d = network.tensor("d", 500);
    let y = network.tensor("y", 200);
    network.output(y);
    network.operator(0, OpClass::Conv, &[x], a);
    network.operator(1, OpClass::Conv, &[a], b);
    network.operator(2, OpClass::Conv, &[a], c);
    network.operator(3, OpClass::Conv, &[a], d);
    network.operator(4, OpClass::Elementwise, &[b, c, d], y);
    let costs = vec![
        vec![cost(1000.0, 2000.0, 0, Source::Measured), None, None],
        vec![None, None, cost(700.0, 700.0, 0, Source::Fitted)],
        vec![None, None, cost(500.0, 500.0, 0, Source::Fitted)],
        vec![cost(400.0, 800.0, 0, Source::Measured), None, None],
        vec![None, None, cost(300.0, 300.0, 0, Source::Estimated)],
    ];
    (network.finish(), board(costs))
}

fn two_stages() -> (ModelFacts, CostFacts) {
    let mut network = Network::new("halves");
    let x = network.input("x", 400);
    let w1 = network.weight("w1", 200);
    let a = network.tensor("a", 1000);
    let w2 = network.weight("w2", 300);
    let y = network.tensor("y", 200);
    network.output(y);
    network.output(a);
    network.operator(0, OpClass::Conv, &[x, w1], a);
    network.operator(1, OpClass::Gemm, &[a, x, w2], y);
    let costs = vec![
        vec![cost(1000.0, 2000.0, 0, Source::Measured), None, None],
        vec![None, None, cost(700.0, 700.0, 128, Source::Fitted)],
    ];
    (network.finish(), board(costs))
}

/// Tensors 0 to 3 are the input x, then a, b and the output y; operator `i` writes tensor `i + 1`.
fn of_three_operators(
    name: &str,
    bytes: [u64; 4],
    operators: [(OpClass, &[usize]); 3],
) -> ModelFacts {
    let mut network = Network::new(name);
    network.input("x", bytes[0]);
    for (name, bytes) in ["a", "b", "y"].into_iter().zip(&bytes[1..]) {
        network.tensor(name, *bytes);
    }
    network.output(3);
    for ((node, writes), (class, reads)) in (0..).zip(1..).zip(operators) {
        network.operator(node, class, reads, writes);
    }
    network.finish()
}

/// x → a, then b of a or of x, then y of both.
fn three(name: &str, chained: bool) -> (ModelFacts, CostFacts) {
    let facts = of_three_operators(
        name,
        [400, 1000, 600, 200],
        [
            (OpClass::Conv, &[0]),
            (OpClass::Conv, if chained { &[1] } else { &[0] }),
            (OpClass::Elementwise, &[1, 2]),
        ],
    );
    let costs = vec![
        vec![cost(1000.0, 2000.0, 0, Source::Measured), None, None],
        vec![None, cost(500.0, 250.0, 0, Source::Borrowed), None],
        vec![None, None, cost(700.0, 700.0, 0, Source::Fitted)],
    ];
    (facts, board(costs))
}

fn lanes() -> (ModelFacts, CostFacts) {
    let costs = [600.0, 400.0, 300.0]
        .map(|time| vec![cost(time, time, 0, Source::Assumed), None, None])
        .to_vec();
    (three("lanes", false).0, board(costs))
}

fn one_one_three() -> (ModelFacts, CostFacts) {
    let facts = of_three_operators(
        "row",
        [40, 80, 80, 40],
        [
            (OpClass::Conv, &[0]),
            (OpClass::Conv, &[1]),
            (OpClass::Conv, &[2]),
        ],
    );
    let costs = [1000.0, 1000.0, 3000.0]
        .map(|time| vec![cost(time, time / 10.0, 0, Source::Measured); 3])
        .to_vec();
    (facts, trio(costs))
}
