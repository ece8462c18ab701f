//! Tables of rates.

use std::fmt::Write as _;

use super::clblast::{Clblast, ClblastError};
use super::clock::least;
use super::layers::{LAYERS, PRODUCTS};
use super::operators::Operator;
use crate::lower::Unsupported;
use crate::opencl::{DeviceInfo, Memory, OpenclError};
use crate::solo::{Prepared, Solo};
use crate::tune::{self, TuneError};

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// OpenCL objects.
    #[error(transparent)]
    Opencl(#[from] OpenclError),
    /// `CLBlast` objects.
    #[error(transparent)]
    Clblast(#[from] ClblastError),
    /// The tuning that is kept for the device cannot be used.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// An operator is not supported.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Whether a name has the text in it, in small letters or capitals.
pub fn meant(name: &str, filter: &str) -> bool {
    name.to_lowercase().contains(&filter.to_lowercase())
}

/// Names of the products that [`products`] measures, each once.
pub fn product_names() -> Vec<String> {
    let mut names: Vec<String> = PRODUCTS
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    names.dedup();
    names
}

/// Names of the convolutions that [`convolutions`] measures.
pub fn convolution_names() -> Vec<String> {
    LAYERS.iter().map(ToString::to_string).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a rate is approximate")]
fn rate(operations: usize, seconds: f64) -> f64 {
    operations as f64 / seconds / 1e9
}

/// The factors and the result of a product.
fn memory(product: &Prepared) -> [&Memory; 3] {
    let places = product.places();
    let places = [&places.operands[0], &places.operands[1], &places.results[0]];
    places.map(|place| &*place.as_ref().expect("a product has all three").memory)
}

fn run(solo: &Solo, prepared: &Prepared) -> Result<(), BenchError> {
    drop(prepared.enqueue(&solo.queue)?);
    Ok(solo.finish()?)
}

/// The device with the tuning that is kept for it, and a table that says so.
fn begin(device: &DeviceInfo) -> Result<(Solo, String), BenchError> {
    let mut solo = Solo::new(device)?;
    let tuning = tune::load(device)?;
    let how = if tuning.is_some() {
        "tuned"
    } else {
        "not tuned"
    };
    if let Some(tuning) = tuning {
        solo.target.tuning = tuning;
    }
    let table = format!("device: {} ({}), {how}\n", device.name, device.driver);
    Ok((solo, table))
}

/// Matrix products beside those of `CLBlast`, as a table: each size with neither factor constant, as `CLBlast` sees it, and with a
/// constant right one; milliseconds from the call until all is done, the least of many.
pub fn products(device: &DeviceInfo, filter: &str) -> Result<String, BenchError> {
    let (solo, mut table) = begin(device)?;
    let clblast = Clblast::load();
    let _ = match &clblast {
        Ok(_) => writeln!(
            table,
            "CLBlast: {}, {}",
            Clblast::file().display(),
            match Clblast::is_tuned_for(&device.name) {
                Some(true) => "whose database has this device",
                Some(false) => "whose database has not this device",
                None => "whose database cannot be read",
            }
        ),
        Err(error) => writeln!(table, "no CLBlast: {error}"),
    };
    let _ = writeln!(
        table,
        "{:<24}{:>6}{:>7}{:>6}{:>10}{:>10}{:>10}{:>8}",
        "GFLOP/s", "rows", "cols", "depth", "ours", "constant", "CLBlast", "ratio"
    );
    for (name, rows, columns, depth) in PRODUCTS {
        if !meant(name, filter) {
            continue;
        }
        let prepare = |is_constant| -> Result<_, BenchError> {
            let operator = Operator::product(rows, columns, depth, is_constant);
            let lowered = operator.lower(&solo.target)?;
            Ok(operator.prepare(&solo, &lowered)?)
        };
        let (both, constant) = (prepare(false)?, prepare(true)?);
        let [left, right, out] = memory(&both);
        let mut theirs = || -> Result<(), BenchError> {
            if let Ok(clblast) = &clblast {
                clblast.multiply(&solo.queue, (rows, columns, depth), [left, right, out])?;
                solo.finish()?;
            }
            Ok(())
        };
        let times = least(&mut [
            &mut || run(&solo, &both),
            &mut || run(&solo, &constant),
            &mut theirs,
        ])?;
        let rates: Vec<f64> = times
            .iter()
            .map(|&time| rate(2 * rows * columns * depth, time))
            .collect();
        let _ = write!(
            table,
            "{name:<24}{rows:>6}{columns:>7}{depth:>6}{:>10.1}{:>10.1}",
            rates[0], rates[1]
        );
        let _ = match clblast {
            Ok(_) => writeln!(table, "{:>10.1}{:>8.2}", rates[2], rates[0] / rates[2]),
            Err(_) => writeln!(table),
        };
    }
    Ok(table)
}

/// Convolutions of networks, as a table, beside the rate of a large product on the same device.
pub fn convolutions(device: &DeviceInfo, filter: &str) -> Result<String, BenchError> {
    let (solo, mut table) = begin(device)?;
    let (rows, columns, depth) = (1024, 1024, 1024);
    let product = Operator::product(rows, columns, depth, true);
    let product = product.prepare(&solo, &product.lower(&solo.target)?)?;
    let mut totals: Vec<(&str, usize, f64)> = Vec::new();
    let _ = writeln!(
        table,
        "{:<44}{:>6}{:>10}{:>10}{:>10}",
        "convolution", "times", "ms", "GFLOP/s", "of GEMM"
    );
    for layer in LAYERS {
        let name = layer.to_string();
        if !meant(&name, filter) {
            continue;
        }
        let operator = layer.operator();
        let prepared = operator.prepare(&solo, &operator.lower(&solo.target)?)?;
        let times = least(&mut [&mut || run(&solo, &prepared), &mut || run(&solo, &product)])?;
        let own = rate(layer.operations(), times[0]);
        let of_product = rate(2 * rows * columns * depth, times[1]);
        let _ = writeln!(
            table,
            "{name:<44}{:>6}{:>10.3}{own:>10.1}{:>10.2}",
            layer.repetitions,
            times[0] * 1e3,
            own / of_product
        );
        let time = times[0] * f64::from(layer.repetitions);
        let operations = layer.operations() * layer.repetitions as usize;
        match totals.last_mut() {
            Some(total) if total.0 == layer.network => {
                total.1 += operations;
                total.2 += time;
            }
            _ => totals.push((layer.network, operations, time)),
        }
    }
    for (network, operations, time) in totals {
        let _ = writeln!(
            table,
            "{network}: {:.2} ms, {:.1} GFLOP/s",
            time * 1e3,
            rate(operations, time)
        );
    }
    Ok(table)
}
