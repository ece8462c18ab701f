//! Matrix products beside `CLBlast`'s, and convolutions, on one device: `cargo bench -p paracompile-runtime --bench gemm -- [tune|products|convolutions] [NAME]`.
//!
//! `PARARUN_DEVICE` is the index of the device; the first otherwise.

#![expect(clippy::print_stdout, reason = "the report")]

use paracompile_runtime::bench::{BenchError, convolutions, products};
use paracompile_runtime::opencl::devices;
use paracompile_runtime::solo::Solo;
use paracompile_runtime::tune;

fn main() -> Result<(), BenchError> {
    let index = std::env::var("PARARUN_DEVICE").ok();
    let index: usize = index.and_then(|index| index.parse().ok()).unwrap_or(0);
    let all = devices()?;
    let device = &all[index.min(all.len() - 1)];
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let what = arguments.first().map_or("", String::as_str);
    let name = arguments.get(1).map_or("", String::as_str);
    if what == "tune" {
        let tuning = tune::tune(&Solo::new(device)?, device)?;
        println!("{tuning:#?}\n{}", tune::save(device, &tuning)?.display());
        return Ok(());
    }
    if what != "convolutions" {
        println!("{}", products(device, name)?);
    }
    if what != "products" {
        println!("{}", convolutions(device, name)?);
    }
    Ok(())
}
