//! The built-in profiles on the networks of `models/`: every operator runs somewhere.

use std::path::Path;

use paracompile_frontend::cost::{CostOverrides, CostTable};
use paracompile_frontend::import::onnx::{ImportOptions, import};
use paracompile_frontend::soc::Soc;

#[test]
fn every_network_maps_on_every_built_in_profile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut networks = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("entries can be read").path();
        if path.extension().is_none_or(|extension| extension != "onnx") {
            continue;
        }
        networks += 1;
        let graph = import(&path, &ImportOptions::default())
            .expect("committed models are valid")
            .graph;
        for name in Soc::builtin_names() {
            let soc = Soc::builtin(name).expect("the name is built in");
            if let Err(error) = CostTable::new(&graph, &soc, &CostOverrides::default(), None) {
                panic!("{} on {name}: {error}", path.display());
            }
        }
    }
    assert!(networks >= 13);
}

#[test]
fn the_accelerator_of_the_a1000_leaves_work_for_its_dsps() {
    let soc = Soc::builtin("bst-a1000").expect("it is built in");
    let classes = |index: usize| {
        soc.processors.as_slice()[index].operating_points[0]
            .models
            .len()
    };
    assert!(classes(0) < classes(1));
    assert_eq!(classes(1), classes(2), "the DSPs are alike");
    assert!(soc.synthetic);
}
