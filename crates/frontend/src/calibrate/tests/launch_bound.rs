//! Operators whose time is what it takes to start them, and whatever else the usual rates do not explain.

use super::*;

/// The line of an operator whose channels give its size.
fn row(index: usize, op_type: &str, input: &str, output: &str, microseconds: f64) -> String {
    format!("A,gpu,{index},{op_type},,,{input},{output},{microseconds:?}\n")
}

fn table(rows: &[String]) -> Measurements {
    let header = "graph,processor,op_index,op_type,kh,kw,in_shape_CHW,out_shape_CHW,time_us\n";
    read(&format!("{header}{}", rows.concat()), None).unwrap()
}

/// Three sizes of an activation: 0.2 ms and so much for each byte.
fn activations(launch_us: f64, us_a_byte: f64) -> Vec<String> {
    [16_u32, 64, 256]
        .into_iter()
        .enumerate()
        .map(|(index, channels)| {
            let shape = format!("{channels}x16x16");
            let bytes = f64::from(channels * 16 * 16 * 4);
            row(index, "relu", &shape, &shape, launch_us + us_a_byte * bytes)
        })
        .collect()
}

fn error_of(fit: &ProcessorFit, measured: &Measurements, class: OpClass) -> f64 {
    let model = &fit.models[&class];
    measured
        .operators
        .iter()
        .filter(|one| one.class == class)
        .map(|one| (model.seconds(&one.work) / one.seconds.unwrap() - 1.0).abs())
        .fold(0.0, f64::max)
}

#[test]
fn three_sizes_tell_what_it_takes_to_start_from_the_rate() {
    let measured = table(&activations(200.0, 1e-3));
    let fit = fitted(&measured, "gpu");
    let relu = &fit.models[&OpClass::Activation];
    assert_near(relu.rate(&[Feature::Launch]), 2e-4, 1e-2, "launch");
    assert_near(relu.rate(&[Feature::OutputBytes]), 1e-9, 1e-2, "rate");
    assert!(
        relu.note.contains("a constant and one rate"),
        "{}",
        relu.note
    );
    // What follows from it is started too.
    let softmax = &fit.models[&OpClass::Softmax];
    assert_near(softmax.rate(&[Feature::Launch]), 2e-4, 1e-2, "softmax");
}

#[test]
fn operators_that_all_take_the_same_get_a_constant_in_every_class() {
    let mut rows = Vec::new();
    let types = [
        "relu",
        "add",
        "softmax",
        "concat",
        "lrn",
        "max_pool",
        "batchnorm",
        "global_pool",
        "fc",
    ];
    for op_type in types {
        for channels in [16_u32, 64, 256] {
            let input = format!("{channels}x16x16");
            let output = match op_type {
                "fc" => "1000".to_owned(),
                "global_pool" => format!("{channels}x1x1"),
                _ => input.clone(),
            };
            rows.push(row(rows.len(), op_type, &input, &output, 200.0));
        }
    }
    for channels in [16_u32, 64, 256] {
        let shape = format!("{channels}x16x16");
        rows.push(row(rows.len(), "conv", &shape, &shape, 200.0).replacen(",,,", ",3,3,", 1));
    }
    let measured = table(&rows);
    let fit = fitted(&measured, "gpu");
    let classes: std::collections::BTreeSet<_> =
        measured.operators.iter().map(|one| one.class).collect();
    assert_eq!(classes.len(), types.len() + 1);
    for class in classes {
        let error = error_of(&fit, &measured, class);
        assert!(error < 0.01, "{class}: {error} {:?}", fit.models[&class]);
    }
}

#[test]
fn borrowed_rates_that_take_longer_than_measured_are_scaled_and_the_note_says_so() {
    let mut rows = activations(0.0, 1e-3);
    rows.push(row(9, "softmax", "64x16x16", "64x16x16", 20.0));
    let measured = table(&rows);
    let fit = fitted(&measured, "gpu");
    let softmax = &fit.models[&OpClass::Softmax];
    assert!(error_of(&fit, &measured, OpClass::Softmax) < 0.01);
    assert_eq!(softmax.source, Source::Estimated);
    // Three passes over 65536 bytes would take 197 µs.
    assert!(
        softmax
            .note
            .contains("one factor is fitted: 1.02e-1 times the whole model from activation"),
        "{}",
        softmax.note
    );
    assert!(
        !softmax.note.contains("only a constant"),
        "{}",
        softmax.note
    );
    assert_near(
        softmax.rate(&[Feature::OutputBytes]),
        3.05e-10,
        0.01,
        "rate",
    );
}

#[test]
fn a_constant_alone_is_kept_where_one_size_shows_that_borrowed_rates_are_wrong() {
    let mut rows = activations(0.0, 1e-3);
    for (index, channels) in [16_u32, 24, 32, 48].into_iter().enumerate() {
        let shape = format!("{channels}x16x16");
        rows.push(row(10 + index, "softmax", &shape, &shape, 60.0));
    }
    let measured = table(&rows);
    let fit = fitted(&measured, "gpu");
    let softmax = &fit.models[&OpClass::Softmax];
    assert_eq!(softmax.terms, [(Feature::Launch, 6e-5)]);
    assert!(
        softmax.note.ends_with("a constant alone is fitted"),
        "{}",
        softmax.note
    );
    assert_eq!(softmax.source, Source::Estimated);
    let notices = calibrate(&measured, &base(), None).unwrap().notices;
    let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
    let wanted = "gpu, softmax: all 4 operators are about one size; and the rates";
    assert!(said.iter().any(|one| one.starts_with(wanted)), "{said:#?}");
}

#[test]
fn few_groups_of_short_kernels_give_a_constant_a_kernel() {
    let mut operators =
        "graph,processor,group,op_index,op_type,kh,kw,in_shape_CHW,out_shape_CHW,time_ms\n"
            .to_owned();
    let mut groups = "graph,processor,group,time_ms\n".to_owned();
    for (group, (kernels, channels)) in [(4, 64), (2, 16), (6, 32)].into_iter().enumerate() {
        for index in 0..kernels {
            let (op_type, kernel) = [("conv", "3,3"), ("relu", ",")][index % 2];
            let shape = format!("{channels}x8x8");
            let _ = writeln!(
                operators,
                "A,gpu,{group},{},{op_type},{kernel},{shape},{shape},",
                group * 10 + index
            );
        }
        let _ = writeln!(
            groups,
            "A,gpu,{group},{:?}",
            0.2 * f64::from(u8::try_from(kernels).unwrap())
        );
    }
    let measured = read(&operators, Some(&groups)).unwrap();
    let fit = fitted(&measured, "gpu");
    assert!(fit.groups.unwrap().error < 0.01);
    for class in [OpClass::Conv, OpClass::Activation] {
        assert_near(
            fit.models[&class].rate(&[Feature::Launch]),
            2e-4,
            0.01,
            class.name(),
        );
    }
}

#[test]
fn a_bad_fit_is_named_with_what_follows_from_it() {
    let rows: Vec<String> = [16_u32, 24, 64, 96, 256, 384]
        .into_iter()
        .zip([1000.0, 100.0].into_iter().cycle())
        .enumerate()
        .map(|(index, (channels, time))| {
            let shape = format!("{channels}x16x16");
            row(index, "relu", &shape, &shape, time)
        })
        .collect();
    let notices = calibrate(&table(&rows), &base(), None).unwrap().notices;
    let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
    let named = said
        .iter()
        .find(|one| one.starts_with("gpu, activation: an error of "))
        .unwrap_or_else(|| panic!("{said:#?}"));
    assert!(
        named.contains("follows from it is as uncertain") && named.contains("softmax"),
        "{named}"
    );
}

#[test]
fn without_measured_power_the_base_s_sources_are_named() {
    let notices = calibrate(&table(&activations(200.0, 1e-3)), &base(), None)
        .unwrap()
        .notices;
    let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
    let wanted = "gpu: no power was measured; powers remain those of the base, ";
    assert!(said.iter().any(|one| one.starts_with(wanted)), "{said:#?}");
    assert!(
        !said.iter().any(|one| one.contains("too few groups")),
        "{said:#?}"
    );
}

#[test]
fn a_profile_gets_the_name_that_is_wanted_if_files_can_have_it() {
    let measured = table(&activations(200.0, 1e-3));
    let base = base().named("board-1").unwrap();
    assert_eq!(
        calibrate(&measured, &base, None).unwrap().profile.name,
        "board-1"
    );
    let error = base.named("../board").unwrap_err().to_string();
    assert!(
        error.starts_with("--name: `../board` does not fit into file names"),
        "{error}"
    );
}
