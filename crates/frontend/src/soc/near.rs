//! Near matches for a misspelt name, by the edit distance of optimal string alignment (Damerau 1964, without repeated edits of a place).

/// Names longer than this are compared with nothing: nobody misspells them, and the distance costs the product of the lengths.
const LONGEST: usize = 64;

/// At most three of `known` that `name` may be a misspelling of, nearest first, ties in the order of `known`.
pub fn near_matches<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let name: Vec<char> = name.chars().take(LONGEST + 1).collect();
    if name.len() > LONGEST {
        return Vec::new();
    }
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|&(distance, candidate)| {
            distance <= (name.len().max(candidate.chars().count()) / 3).max(1)
        })
        .collect();
    found.sort_by_key(|&(distance, _)| distance);
    found
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate.to_owned())
        .collect()
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one to the other; case does not count.
fn distance(name: &[char], candidate: &str) -> usize {
    let candidate: Vec<char> = candidate.chars().collect();
    let same = |i: usize, j: usize| candidate[i].eq_ignore_ascii_case(&name[j]);
    let mut before = vec![0; name.len() + 1];
    let mut above: Vec<usize> = (0..=name.len()).collect();
    for i in 0..candidate.len() {
        let mut row = vec![i + 1; name.len() + 1];
        for j in 0..name.len() {
            let changed = above[j] + usize::from(!same(i, j));
            row[j + 1] = changed.min(row[j] + 1).min(above[j + 1] + 1);
            if i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j) {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = above;
        above = row;
    }
    above[name.len()]
}

/// A name from a file as messages show it: control characters escaped, long ones cut.
pub(crate) fn shown(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars().take(LONGEST) {
        if matches!(c, '"' | '\'' | '\\') {
            text.push(c);
        } else {
            text.extend(c.escape_debug());
        }
    }
    if name.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    text
}

/// `; did you mean a or b?`, or nothing.
pub(crate) fn suggestion(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean `{}`?", near.join("` or `"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_the_textbook() {
        let letters: Vec<char> = "kitten".chars().collect();
        assert_eq!(distance(&letters, "sitting"), 3);
        assert_eq!(distance(&[], "abc"), 3);
        assert_eq!(distance(&letters, "KITTEN"), 0);
        assert_eq!(distance(&letters, "iktten"), 1);
        assert_eq!(distance(&letters, ""), 6);
    }

    #[test]
    fn the_nearest_comes_first_and_strangers_do_not_come() {
        let known = ["softmax", "max_pool", "matmul", "gemm"];
        assert_eq!(near_matches("mxa_pool", known), ["max_pool"]);
        assert_eq!(near_matches("gem", known), ["gemm"]);
        assert!(near_matches("recurrent", known).is_empty());
        assert!(near_matches(&"x".repeat(100_000), known).is_empty());
    }

    #[test]
    fn hostile_names_are_shown_short_and_harmless() {
        assert_eq!(shown("\u{1b}[2J"), "\\u{1b}[2J");
        assert!(shown(&"x".repeat(1000)).chars().count() <= LONGEST + 1);
    }
}
