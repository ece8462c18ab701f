//! The page as text.
//!
//! Style and script are sources of their own beside this file.
//! A content security policy names them by their hashes, so that the page loads nothing and runs nothing else, whatever names a model file holds.

use serde::Serialize;

use super::build::build;
use super::page::Page;
use super::policy::policy;
use super::request::{ReportError, Request};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// Parts of the script, each of which uses those before it.
const SCRIPT: [&str; 8] = [
    include_str!("script/run.js"),
    include_str!("script/dom.js"),
    include_str!("script/scale.js"),
    include_str!("script/front.js"),
    include_str!("script/plan.js"),
    include_str!("script/gantt.js"),
    include_str!("script/operators.js"),
    include_str!("script/main.js"),
];

/// The page is no larger; what does not fit is left out, and the page says so.
const LARGEST: usize = 6_000_000;

/// The page of a compile run.
///
/// It has at most six megabytes: of very large networks, plans that are best at nothing are shown without tasks.
pub fn html(request: &Request<'_>) -> Result<String, ReportError> {
    let (page, details, order) = build(request)?;
    let style = lines(STYLE);
    let script = script();
    let run = json(&page);
    let mut room = LARGEST.saturating_sub(run.len() + style.len() + script.len() + TEMPLATE.len());
    let mut shown: Vec<Option<String>> = vec![None; details.len()];
    for place in order {
        let detail = json(&details[place]);
        // As much again for brackets and commas of the list.
        if let Some(left) = room.checked_sub(detail.len() + 8) {
            room = left;
            shown[place] = Some(detail);
        }
    }
    let shown: Vec<String> = shown
        .into_iter()
        .map(|detail| detail.unwrap_or_else(|| "null".to_owned()))
        .collect();
    Ok(fill(&[
        &policy(&style, &script),
        &title(&page),
        &style,
        &heading(&page),
        &run,
        &format!("[{}]", shown.join(",\n")),
        &script,
    ]))
}

/// The template with `parts` in the places of its marks, in order; a mark inside a part is none.
fn fill(parts: &[&str]) -> String {
    let mut text = String::with_capacity(parts.iter().map(|part| part.len()).sum());
    let mut parts = parts.iter();
    let mut rest = TEMPLATE;
    while let Some((before, behind)) = rest.split_once("{{") {
        text += before;
        text += parts.next().copied().unwrap_or_default();
        rest = behind.split_once("}}").map_or("", |(_, behind)| behind);
    }
    text + rest
}

fn script() -> String {
    let parts: Vec<String> = SCRIPT.iter().map(|part| lines(part)).collect();
    format!("\"use strict\";\n(() => {{\n{}}})();\n", parts.concat())
}

/// With the line ends that a browser hashes.
fn lines(source: &str) -> String {
    source.replace("\r\n", "\n")
}

fn title(page: &Page<'_>) -> String {
    escaped(&format!("{} on {}", page.model.name, page.soc.name))
}

fn heading(page: &Page<'_>) -> String {
    format!(
        "{} <span class=\"on\">on</span> {}",
        escaped(page.model.name),
        escaped(page.soc.name)
    )
}

/// JSON that no browser takes for the end of its element.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("the page holds text and finite numbers");
    text.replace('<', "\\u003c").replace('>', "\\u003e")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Known;
    use crate::report::samples::{self, Run};

    const HOSTILE: &str = "</script><script>alert(1)</script><!-- \" ' & \u{2028} \u{0} {{run}} ü";

    #[test]
    fn no_name_of_the_script_is_declared_twice() {
        // The parts are one script, and a browser runs nothing of one that declares a name again.
        let mut names: Vec<&str> = SCRIPT
            .iter()
            .flat_map(|part| part.lines())
            .filter_map(|line| {
                let mut kinds = ["const ", "let ", "function "].into_iter();
                kinds.find_map(|kind| line.strip_prefix(kind))
            })
            .filter_map(|rest| {
                rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
            })
            .filter(|name| !name.is_empty())
            .collect();
        assert!(names.len() > 50, "{names:?}");
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }

    fn page(run: &Run, notes: &[String]) -> String {
        let plans = run.plans();
        html(&Request {
            front: &run.front,
            plans: &plans,
            known: Some(Known {
                model: &run.model,
                costs: &run.costs,
                elsewhere: &[],
            }),
            notes,
        })
        .unwrap()
    }

    /// The texts of the elements whose start tag is `tag`.
    fn elements<'a>(page: &'a str, tag: &str, end: &str) -> Vec<&'a str> {
        page.split(tag)
            .skip(1)
            .map(|rest| rest.split_once(end).expect("elements end").0)
            .collect()
    }

    #[test]
    fn the_page_is_a_function_of_its_inputs() {
        let run = samples::run();
        assert_eq!(page(&run, &[]), page(&run, &[]));
        let mut turned = samples::run();
        turned.plans.reverse();
        assert_eq!(page(&run, &[]), page(&turned, &[]), "the order of files");
    }

    #[test]
    fn nothing_is_loaded() {
        let text = page(&samples::run(), &[]);
        let namespace = "http://www.w3.org/2000/svg";
        let rest = text.replace(namespace, "");
        for word in [
            "http:", "https:", "src=", "@import", "url(\"", "fetch(", "import(",
        ] {
            assert!(!rest.contains(word), "{word}");
        }
        assert!(rest.contains("default-src 'none'"));
        // Links lead inside the page, clip paths to its own shapes.
        assert!(!rest.contains("<link") && !rest.contains("<img"));
    }

    #[test]
    fn hostile_names_stay_names() {
        let mut run = samples::run();
        let long = format!("{HOSTILE}{}", "x".repeat(10_000));
        run.front.model = HOSTILE.to_owned();
        run.front.why = format!("because {HOSTILE}");
        for (_, plan) in &mut run.plans {
            plan.model.name = HOSTILE.to_owned();
            plan.model.inputs = vec![HOSTILE.to_owned()];
            for task in &mut plan.tasks {
                for operator in &mut task.operators {
                    operator.output.clone_from(&long);
                }
            }
            for buffer in &mut plan.buffers {
                buffer.tensor.clone_from(&long);
            }
        }
        let text = page(&run, &[HOSTILE.to_owned()]);
        assert_eq!(
            text.matches("<script").count(),
            3,
            "two with figures, one that runs"
        );
        assert_eq!(text.matches("</script").count(), 3);
        assert!(!text.contains("<!--"));
        assert!(!text.contains("alert(1)</"));
        assert!(
            text.len() < 400_000,
            "long names are shortened: {}",
            text.len()
        );
        let json = elements(&text, "id=\"run\">", "</script>")[0];
        let read: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(read["model"]["name"], HOSTILE);
        assert_eq!(read["notes"][0], HOSTILE);
    }

    #[test]
    fn the_policy_names_the_style_and_the_script_that_are_there() {
        let text = page(&samples::run(), &[]);
        let style = elements(&text, "<style>", "</style>")[0];
        let script = elements(&text, "<script>", "</script>")[0];
        assert!(text.contains(&policy(style, script)));
        assert!(
            script.ends_with("})();\n"),
            "nothing in it ends the element"
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_least_important_on() {
        let run = samples::run();
        let mut front = run.front.clone();
        let mut plans = run.plans.clone();
        // A plan of two megabytes, many times.
        let (_, big) = plans[0].clone();
        let mut big = big;
        let task = big.tasks[0].clone();
        let launch = big
            .frame
            .iter()
            .find(|c| matches!(c.action, paracompile_plan::plan::Action::Launch(0)))
            .unwrap()
            .clone();
        for id in 3u32..60_000 {
            big.tasks
                .push(paracompile_plan::plan::Task { id, ..task.clone() });
            let mut command = launch.clone();
            command.id = u32::try_from(big.frame.len()).unwrap();
            command.action = paracompile_plan::plan::Action::Launch(id);
            command.wait.clear();
            big.frame.push(command);
        }
        for place in 3..8 {
            let file = format!("plans/{place:02}.json");
            let mut entry = front.plans[0].clone();
            entry.file.clone_from(&file);
            entry.labels.clear();
            front.plans.push(entry);
            plans.push((file, big.clone()));
        }
        for (_, plan) in plans.iter_mut().skip(3) {
            plan.labels.clear();
        }
        let run = Run {
            front,
            plans,
            ..run
        };
        let text = page(&run, &[]);
        assert!(text.len() <= LARGEST, "{}", text.len());
        let details = elements(&text, "id=\"details\">", "</script>")[0];
        let details: Vec<serde_json::Value> = serde_json::from_str(details).unwrap();
        assert_eq!(details.len(), 8);
        let left_out: Vec<bool> = details.iter().map(serde_json::Value::is_null).collect();
        assert!(
            !left_out[0] && !left_out[1] && !left_out[7],
            "labelled plans and baselines stay"
        );
        assert!(left_out[6], "{left_out:?}");
    }
}
