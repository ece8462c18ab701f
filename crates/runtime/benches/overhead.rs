//! What a frame costs the host, beside a bare loop that enqueues the same launches: one run, so that the ratio counts.
//!
//! `cargo bench -p paracompile-runtime --bench overhead`

#![expect(clippy::print_stdout, reason = "the report")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use opencl3::device::SubDevice;
use paracompile_frontend::import::onnx::{ImportOptions, load};
use paracompile_frontend::ir::WeightRef;
use paracompile_plan::{Plan, read_plan};
use paracompile_runtime::execute::{Bound, Mode, Options, Request, prepare};
use paracompile_runtime::opencl::{DeviceInfo, DeviceKind, devices};

const FRAMES: usize = 400;

fn fixture(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.join("tests/fixtures").join(name)
}

fn parts(device: &DeviceInfo, plan: &Plan) -> Vec<SubDevice> {
    const BY_COUNTS: isize = 0x1087;
    let counts = plan.processors.iter().map(|_| 1);
    let properties: Vec<isize> = [BY_COUNTS]
        .into_iter()
        .chain(counts)
        .chain([0, 0])
        .collect();
    let parts = device.device.create_sub_devices(&properties);
    parts.expect("a CPU with two compute units")
}

fn main() {
    let found = devices().expect("an OpenCL driver");
    let is_cpu = |device: &&DeviceInfo| device.kind == DeviceKind::Cpu && device.splits_by_counts;
    let device = found.iter().find(is_cpu).expect("a CPU that can be split");
    let program = load(&fixture("branches.onnx"), &ImportOptions::default()).expect("a model");
    let values = program.values.iter().enumerate();
    let constants = values
        .filter_map(|(id, value)| match value.stored {
            Some(WeightRef::Inline { offset, length }) => {
                let start = usize::try_from(offset).ok()?;
                let length = usize::try_from(length).ok()?;
                Some((id, program.file[start..start + length].to_vec()))
            }
            _ => None,
        })
        .collect();
    println!("plan                  commands  frame, µs  bare, µs  ratio");
    for name in [
        "shared-single-1",
        "shared-para-only-1",
        "shared-pipe-only-2",
    ] {
        let plan = read_plan(&fixture(&format!("{name}.json"))).expect("a plan");
        let parts = parts(device, &plan);
        let bound: Vec<Bound> = plan
            .processors
            .iter()
            .zip(&parts)
            .map(|(processor, part)| Bound {
                processor: processor.name.clone(),
                device: device.clone(),
                id: part.id(),
                units: 1,
            })
            .collect();
        let options = Options::for_plan(&plan);
        let prepared = prepare(&plan, &program, &bound, &constants, options).expect("prepared");
        let inputs = prepared
            .inputs
            .iter()
            .map(|port| vec![0; port.spec.bytes()]);
        prepared
            .set_inputs(&inputs.collect::<Vec<_>>())
            .expect("inputs");
        let interrupted = AtomicBool::new(false);
        let request = Request {
            mode: Mode::Alone,
            frames: FRAMES,
            patience: Duration::from_secs(60),
            interrupted: &interrupted,
        };
        prepared.run(request, None, None).expect("a warm device");
        let timeline = prepared.run(request, None, None).expect("frames");
        let ours = median(
            timeline
                .frames
                .iter()
                .map(|frame| frame.enqueueing)
                .collect(),
        );
        let bare = median(prepared.enqueue_bare(FRAMES).expect("frames"));
        println!(
            "{name:<20}  {:>8}  {:>9.1}  {:>8.1}  {:>5.2}",
            prepared.launches,
            micro(ours),
            micro(bare),
            micro(ours) / micro(bare),
        );
    }
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "printed figures")]
fn micro(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}
