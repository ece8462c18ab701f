//! Demands on the command line: where operators may run, what figures must be, and what is said where that cannot be.

use insta::assert_snapshot;
use paracompile::plan::{Constraint, Plan, QueueKind};
use serde_json::Value;

use crate::command::{Desk, Run};

const SQUEEZENET: &str = "squeezenet1_1.onnx";
const MHA: &str = "pyschedcl_mha_h2.onnx";
const CLASSIFIER: &str = "/classifier/classifier.1/Conv";
const FIRST: &str = "/features/features.0/Conv";
const RELU: &str = "/features/features.1/Relu";

fn desk() -> Desk {
    Desk::new().with_model(SQUEEZENET)
}

/// Maps squeezenet to the VIM3 under more arguments, without pictures.
fn mapped(desk: &Desk, more: &[&str]) -> Run {
    let base = [SQUEEZENET, "--soc", "vim3", "--out", "o", "--no-plots"];
    desk.run(&[&base[..], more].concat())
}

fn plans(desk: &Desk, folder: &str) -> Vec<Plan> {
    let plans = desk.files(folder).into_iter();
    plans
        .map(|(_, bytes)| serde_json::from_slice(&bytes).expect("it is a plan"))
        .collect()
}

/// The processor that runs the operator of this output.
fn processor_of<'p>(plan: &'p Plan, output: &str) -> &'p str {
    let task = plan
        .tasks
        .iter()
        .find(|task| task.operators.iter().any(|it| it.output == output))
        .expect("the operator runs");
    &plan.queues[task.queue as usize].processor
}

#[test]
fn a_pinned_operator_is_there_in_every_plan_and_plans_say_so() {
    let desk = desk();
    let pin = format!("{CLASSIFIER}=little");
    let told = mapped(&desk, &["--pin", &pin, "--forbid", "*features.3/*=big"]).done();
    assert!(
        told.contains(&format!(
            "Every plan meets --pin {pin} and --forbid *features.3/*=big"
        )),
        "{told}"
    );
    assert!(
        told.contains(&format!("gpu alone would break --pin {pin}")),
        "{told}"
    );
    for folder in ["o/plans", "o/baselines"] {
        for plan in plans(&desk, folder) {
            let output = format!("{CLASSIFIER}_output_0");
            assert_eq!(processor_of(&plan, &output), "little");
            let [
                Constraint::Pin { operators, .. },
                Constraint::Forbid {
                    operators: banned, ..
                },
            ] = plan.constraints.as_slice()
            else {
                panic!("{:?}", plan.constraints);
            };
            assert_eq!(operators, &[output]);
            // Convolutions, their activations and the concatenation.
            assert_eq!(banned.len(), 7);
            for output in banned {
                assert_ne!(processor_of(&plan, output), "big");
            }
        }
    }
    let check = ["check", "o", "--model", SQUEEZENET, "--soc", "vim3"];
    desk.run(&check).done();
}

#[test]
fn a_plan_that_breaks_a_demand_of_its_own_is_refused() {
    let desk = desk();
    mapped(
        &desk,
        &[
            "--quiet",
            "--pin",
            "/features/features.0/Conv=gpu",
            "--require",
            "latency<=1s",
        ],
    )
    .done();
    let (name, bytes) = desk.files("o/plans").swap_remove(0);
    let mut plan: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    plan["constraints"][0]["processor"] = "big".into();
    plan["constraints"][1]["at_most"] = 5.into();
    desk.put(&format!("o/plans/{name}"), plan.to_string());
    let file = format!("o/plans/{name}");
    let run = desk.run(&["check", &file, "--model", SQUEEZENET, "--soc", "vim3"]);
    let told = format!("{}{}", run.out, run.err);
    assert_eq!(run.code, 1, "{told}");
    assert!(told.contains("constraints[0]: "), "{told}");
    assert!(
        told.contains("constraints[1]: latency is more than 5"),
        "{told}"
    );
}

#[test]
fn a_front_within_limits_is_what_the_whole_front_has_within_them() {
    let desk = desk();
    let front = |more: &[&str]| -> Vec<(f64, f64, f64)> {
        let json = mapped(&desk, &[&["--json"], more].concat()).done();
        let front: Value = serde_json::from_str(&json).expect("it is JSON");
        let plans = front["plans"].as_array().expect("plans are a list").iter();
        let figure = |plan: &Value, name: &str| plan[name].as_f64().expect("a number");
        plans
            .map(|plan| {
                (
                    figure(plan, "latency_s"),
                    figure(plan, "interval_s"),
                    figure(plan, "energy_active_j"),
                )
            })
            .collect()
    };
    let all = front(&[]);
    let within = front(&[
        "--require",
        "latency<=32ms",
        "--require",
        "throughput>=45/s",
    ]);
    assert!(!within.is_empty() && within.len() < all.len());
    for point in &within {
        assert!(point.0 <= 0.032 && 1.0 / point.1 >= 45.0, "{point:?}");
    }
    for point in all
        .iter()
        .filter(|point| point.0 <= 0.032 && 1.0 / point.1 >= 45.0)
    {
        let stands = |other: &&(f64, f64, f64)| {
            other.0 <= point.0 && other.1 <= point.1 && other.2 <= point.2 * 1.01
        };
        assert!(within.iter().any(|other| stands(&other)), "{point:?}");
    }
}

#[test]
fn too_much_power_is_met_by_admitting_frames_more_rarely() {
    let desk = desk();
    let told = mapped(&desk, &["--require", "power<=2W"]).done();
    assert!(
        told.contains("Every plan meets --require power<=2W"),
        "{told}"
    );
    let mut waiting = 0;
    for plan in plans(&desk, "o/plans") {
        let energy = plan.predicted.energy_active_nj.count();
        let interval = plan.admission_interval_ns.count();
        assert!(
            u128::from(energy) <= 2 * u128::from(interval),
            "{energy} {interval}"
        );
        waiting += usize::from(plan.admission_interval_ns > plan.predicted.interval_ns);
    }
    assert!(waiting > 0);
    let (file, slow) = desk
        .files("o/plans")
        .into_iter()
        .find(|(_, bytes)| {
            let plan: Plan = serde_json::from_slice(bytes).unwrap();
            plan.admission_interval_ns > plan.predicted.interval_ns
        })
        .unwrap();
    let plan: Plan = serde_json::from_slice(&slow).unwrap();
    let path = format!("o/plans/{file}");
    let simulated = desk.run(&["simulate", &path, "--json"]).done();
    let simulated: Value = serde_json::from_str(&simulated).unwrap();
    let work: f64 = plan
        .tasks
        .iter()
        .map(|task| task.duration_ns.to_seconds())
        .sum();
    let shares: f64 = simulated["queues"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|load| {
            let queue = usize::try_from(load["queue"].as_u64().unwrap()).unwrap();
            plan.queues[queue].kind == QueueKind::Compute
        })
        .map(|load| load["share"].as_f64().unwrap())
        .sum();
    let expected = work / plan.admission_interval_ns.to_seconds();
    assert!(
        (shares - expected).abs() < 0.05 * expected,
        "{shares} {expected}"
    );
    let check = ["check", "o", "--model", SQUEEZENET, "--soc", "vim3"];
    desk.run(&check).done();
    // Too much energy is not what waiting saves.
    let both = [
        "--require",
        "power<=2W",
        "--require",
        "throughput>=45/s",
        "-q",
    ];
    let told = mapped(&desk, &both).refused(1);
    assert!(told.contains("--require power<=2W: "), "{told}");
    assert!(told.contains("--require throughput>=45/s: "), "{told}");
}

#[test]
fn memory_is_a_limit_of_the_search() {
    let desk = desk();
    mapped(&desk, &["--quiet"]).done();
    let total = |plan: &Plan| -> u64 {
        let peaks = plan.predicted.memory.iter();
        peaks.map(|used| used.peak.count()).sum()
    };
    let least = |folder: &str| plans(&desk, folder).iter().map(total).min().expect("plans");
    let free = least("o/plans");
    let limit = format!("memory<={}B", free - 1);
    let run = mapped(&desk, &["--require", &limit]);
    // Leaner mappings may exist that the whole front does not show, and need not.
    if run.code == 0 {
        assert!(
            plans(&desk, "o/plans")
                .iter()
                .all(|plan| total(plan) < free)
        );
    } else {
        assert!(run.err.contains("--require memory<="), "{}", run.err);
    }
    let limit = format!("memory<={}B", free + free / 4);
    mapped(&desk, &["--require", &limit]).done();
    assert!(
        plans(&desk, "o/plans")
            .iter()
            .all(|plan| total(plan) <= free + free / 4)
    );
}

#[test]
fn demands_that_cannot_be_understood_are_told_all_at_once() {
    let desk = desk();
    desk.put(
        "demands",
        "# a comment\npin #0=gpu\n\nforbidden x=gpu\nrequire\n",
    );
    let mut pictures = String::new();
    for arguments in [
        &["--pin", "nowhere=gpu"][..],
        &["--pin", "features.3/Concat=gpu"],
        &["--pin", "*CONCAT*=gpu"],
        &["--pin", "*concat[0-9]=gpu"],
        &["--pin", "#0=npu"],
        &["--pin", "#0"],
        &["--pin", "=gpu"],
        &["--pin", "#0=gpu=gpu"],
        &["--pin", "/Flatten=gpu"],
        &["--forbid", "*Flatten*=gpu"],
        &["--require", "latency"],
        &["--require", "latency>=3ms"],
        &[
            "--require",
            "latency<=3",
            "--require",
            "size<=3MB",
            "--pin",
            "-=gpu",
        ],
        &["--require", "memory[dram]<=3MB"],
        &["--constraints", "demands"],
        &["--constraints", "nothing"],
    ] {
        let picture = mapped(&desk, arguments).refused(2);
        pictures.push_str("$ ");
        pictures.push_str(&arguments.join(" "));
        pictures.push('\n');
        pictures.push_str(&picture);
        pictures.push('\n');
    }
    assert_snapshot!(pictures);
    assert_eq!(desk.names(), ["demands", SQUEEZENET]);
}

#[test]
fn demands_that_exclude_each_other_are_named_and_no_others() {
    let desk = desk();
    let mut pictures = String::new();
    let on = |name: &str, processor: &str| format!("{name}={processor}");
    for arguments in [
        // One task has one processor.
        &["--pin", &on(FIRST, "big"), "--pin", &on(RELU, "gpu")][..],
        &[
            "--pin",
            &on(FIRST, "big"),
            "--forbid",
            "*=big",
            "--require",
            "latency<=1ms",
        ],
        &[
            "--forbid",
            &on(FIRST, "big"),
            "--forbid",
            &on(FIRST, "gpu"),
            "--forbid",
            "*/features.[01]/*=gpu",
            "--forbid",
            "*/features.0/*=little",
        ],
        &[
            "--require",
            "latency<=1ms",
            "--require",
            "energy<=10J",
            "--pin",
            &on(FIRST, "gpu"),
        ],
        // Everything on the small cluster is slow.
        &[
            "--pin",
            "*=little",
            "--require",
            "energy<=1J",
            "--require",
            "latency<=35ms",
            "--forbid",
            &on(FIRST, "gpu"),
        ],
        &["--require", "latency<=32ms", "--require", "energy<=60mJ"],
        &["--require", "memory<=1MB", "--require", "latency<=1s"],
        &["--require", "power<=1mW", "--require", "board-power<=1W"],
    ] {
        let picture = mapped(&desk, arguments).refused(1);
        pictures.push_str("$ ");
        pictures.push_str(&arguments.join(" "));
        pictures.push('\n');
        pictures.push_str(&picture);
        pictures.push('\n');
    }
    assert_snapshot!(pictures);
    assert!(!desk.path("o").exists());
}

#[test]
fn a_conflict_is_json_where_that_is_asked_for() {
    let desk = desk();
    let run = mapped(
        &desk,
        &[
            "--json",
            "--require",
            "latency<=1ms",
            "--pin",
            "/features/features.0/Conv=gpu",
        ],
    );
    assert_eq!(run.code, 1);
    let told: Value = serde_json::from_str(&run.out).expect("it is JSON");
    assert_eq!(told["error"], "conflict");
    assert_eq!(told["smallness"], "smallest");
    assert_eq!(told["proven"], true);
    assert_eq!(told["demands"][0]["option"], "--require latency<=1ms");
    assert_eq!(told["demands"][0]["at_most"], 1_000_000);
    assert!(told["demands"][0]["best"].as_u64() >= told["demands"][0]["bound"].as_u64());
    let run = mapped(
        &desk,
        &[
            "--json",
            "--pin",
            "/features/features.0/Conv=gpu",
            "--forbid",
            "/features/features.0/Conv=gpu",
        ],
    );
    assert_eq!(run.code, 1);
    let told: Value = serde_json::from_str(&run.out).expect("it is JSON");
    assert_eq!(told["error"], "stranded");
    assert_eq!(
        told["tasks"][0]["demands"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn every_mistake_of_a_file_is_told_with_its_line() {
    let desk = desk();
    let text =
        format!("pin\n# a comment\nforbid a b\nrequire latency<=50\npin {FIRST}=tpu\nfoo x=1\n");
    desk.put("demands.txt", text);
    let told = mapped(
        &desk,
        &["--constraints", "demands.txt", "--require", "speed<=1"],
    )
    .refused(2);
    for place in [1, 3, 4, 5, 6] {
        assert!(told.contains(&format!("demands.txt:{place}: ")), "{told}");
    }
    assert!(told.contains("6 problems"), "{told}");
}

#[test]
fn the_least_power_of_the_board_is_enough_to_ask_for() {
    let desk = desk();
    let run = mapped(&desk, &["--require", "board-power<=1W", "--json"]);
    assert_eq!(run.code, 1, "{}", run.err);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    let best = told["demands"][0]["best"].as_u64().unwrap();
    assert!(best > 1_000_000_000, "{told}");
    let enough = format!("board-power<={}mW", best.div_ceil(1_000_000));
    mapped(&desk, &["--require", &enough]).done();
}

#[test]
fn a_thousand_pins_come_from_a_file() {
    let desk = desk();
    let pins: String = (0..1000)
        .map(|index| format!("pin {}=gpu\n", [FIRST, RELU][index % 2]))
        .chain(["require throughput >= 1/s\n".to_owned()])
        .collect();
    desk.put("demands", pins);
    let told = mapped(&desk, &["--constraints", "demands"]).done();
    let said = format!(
        "Every plan meets --pin {FIRST}=gpu, --pin {RELU}=gpu and --require throughput >= 1/s"
    );
    assert!(told.contains(&said), "{told}");
}

#[test]
fn an_explanation_names_the_demand_behind_a_place() {
    let desk = desk();
    let pin = format!("{CLASSIFIER}=little");
    let told = mapped(&desk, &["-q", "--pin", &pin, "--explain", CLASSIFIER]).done();
    assert!(
        told.contains(&format!("as demanded by --pin {pin}")),
        "{told}"
    );
    assert!(
        told.contains(&format!("on gpu instead: excluded by --pin {pin}")),
        "{told}"
    );
}

#[test]
fn demands_keep_bytes_independent_of_threads() {
    let desk = Desk::new().with_model(MHA);
    let run = |out: &str, threads: &str| {
        let base = [
            MHA,
            "--soc",
            "vim3",
            "-q",
            "--out",
            out,
            "--threads",
            threads,
        ];
        let demands = ["--forbid", "*gemm*=little", "--require", "power<=4W"];
        desk.run(&[&base[..], &demands].concat()).done();
        desk.files(out)
    };
    assert_eq!(run("one", "1"), run("two", "2"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_leaves_a_whole_directory_of_valid_plans() {
    let desk = Desk::new().with_model("bert_base.onnx");
    let base = ["bert_base.onnx", "--soc", "vim3", "--out", "o", "-q"];
    let child = desk
        .command(&[&base[..], &["--effort", "thorough"]].concat())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // From the moment on at which it catches SIGINT, an interrupt keeps what is complete.
    let status = format!("/proc/{}/status", child.id());
    loop {
        let text = std::fs::read_to_string(&status).expect("it runs");
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask & 2 != 0) {
            break;
        }
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("there is a kill").success());
    let run = Run::of(child.wait_with_output().expect("it ends"));
    assert_eq!(run.code, 130, "{}", run.err);
    let front = desk.read("o/front.json");
    let front: Value = serde_json::from_slice(&front).expect("it is JSON");
    assert_eq!(front["stopped_by"], "interrupt");
    let check = ["check", "o", "--model", "bert_base.onnx", "--soc", "vim3"];
    desk.run(&check).done();
}

#[test]
fn the_smallest_limit_leaves_a_valid_plan_that_says_so() {
    let desk = desk();
    mapped(&desk, &["-q", "--time-limit", "0.000001"]).done();
    let front: Value = serde_json::from_slice(&desk.read("o/front.json")).expect("it is JSON");
    assert_eq!(front["stopped_by"], "time");
    let plans = plans(&desk, "o/plans");
    assert!(!plans.is_empty());
    for plan in plans {
        assert_eq!(plan.proof.stopped_by, paracompile::plan::StoppedBy::Time);
    }
    let check = ["check", "o", "--model", SQUEEZENET, "--soc", "vim3"];
    desk.run(&check).done();
}
