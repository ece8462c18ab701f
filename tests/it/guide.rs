//! The guide to a chip of one's own, followed to the letter: every command in it runs, in its order, in one folder.

use crate::command::Desk;

const GUIDE: &str = include_str!("../../docs/describe-your-chip.md");

/// Fenced blocks with their language.
fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    GUIDE
        .split("\n```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
}

/// Commands, and whether the guide says that they fail.
fn commands() -> Vec<(Vec<&'static str>, bool)> {
    blocks()
        .filter(|(language, _)| *language == "console")
        .flat_map(|(_, text)| text.lines())
        .map(|line| {
            let line = line
                .strip_prefix("$ ")
                .expect("console blocks hold commands");
            let (command, comment) = match line.split_once(" # ") {
                Some((command, comment)) => (command, comment),
                None => (line, ""),
            };
            let mut words = command.split_whitespace();
            assert_eq!(words.next(), Some("paracompile"), "{line}");
            (words.collect(), comment == "fails")
        })
        .collect()
}

#[test]
fn the_guide_works_as_written() {
    let desk = Desk::new().with_model("googlenet.onnx");
    let (_, profile) = blocks()
        .find(|(language, _)| *language == "json")
        .expect("the guide has a profile");
    desk.put("tiny.json", profile);
    let commands = commands();
    assert!(commands.len() >= 9, "{commands:?}");
    for (arguments, fails) in &commands {
        let run = desk.run(arguments);
        if *fails {
            let picture = run.refused(2);
            assert!(picture.contains("Gemm"), "{picture}");
        } else {
            let told = format!("{arguments:?}: {}", run.err);
            assert_eq!(run.code, 0, "{told}");
            if arguments[..2] == ["soc", "check"] {
                assert!(
                    run.out.contains("  lacks ") || run.out.contains("; lacks "),
                    "{told}"
                );
            }
            assert!(!run.out.is_empty() || run.err.contains("written"), "{told}");
        }
    }
    for file in ["front.json", "pareto.svg"] {
        let path = desk.path("output/googlenet-my-board").join(file);
        assert!(path.exists(), "{}", path.display());
    }
}

#[test]
fn the_mistake_that_the_guide_shows_is_told_in_its_words() {
    let desk = Desk::new();
    let (arguments, _) = &commands()[0];
    desk.run(arguments).done();
    let text = std::fs::read_to_string(desk.path("my-board.json")).expect("it was written");
    let mut profile: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    profile["processors"][0]["operating_points"][0]["models"][3]["features"][1] = "mac".into();
    desk.put("wrong.json", profile.to_string());
    let picture = desk.run(&["soc", "check", "wrong.json"]).refused(2);
    let (_, shown) = blocks()
        .find(|(language, _)| *language == "text")
        .expect("the guide shows a mistake");
    let flat = |text: &str| {
        let words = text.split_whitespace().filter(|word| *word != "│");
        words.collect::<Vec<_>>().join(" ")
    };
    assert!(flat(&picture).contains(&flat(shown)), "{picture}");
}

#[test]
fn a_profile_is_not_overwritten() {
    let desk = Desk::new();
    let (arguments, _) = &commands()[0];
    desk.run(arguments).done();
    let picture = desk.run(arguments).refused(2);
    assert!(picture.contains("my-board.json"), "{picture}");
}
