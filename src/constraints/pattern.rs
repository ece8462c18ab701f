//! Patterns for names: `*`, `?` and `[…]`, as shells have them, over the whole name.
//!
//! `/` is a character like any other, because names in models are paths whose depth nobody remembers.
//! A backslash takes the meaning from `*`, `?`, `[`, `]` and itself; before anything else it is a backslash, since some exporters write Windows paths.

/// A pattern that matches names as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    One(char),
    AnyOne,
    Any,
    /// One character of the ranges, or of none of them.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Pattern {
    /// Reads a pattern; every text is one, as a bracket without its partner stands for itself.
    pub fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(&letter) = letters.get(at) {
            at += 1;
            let part = match letter {
                '*' if parts.last() == Some(&Part::Any) => continue,
                '*' => Part::Any,
                '?' => Part::AnyOne,
                '[' => match class(&letters[at..]) {
                    Some((class, length)) => {
                        at += length;
                        class
                    }
                    None => Part::One('['),
                },
                '\\' => match letters.get(at) {
                    Some(&escaped @ ('*' | '?' | '[' | ']' | '\\')) => {
                        at += 1;
                        Part::One(escaped)
                    }
                    _ => Part::One('\\'),
                },
                plain => Part::One(plain),
            };
            parts.push(part);
        }
        Self { parts }
    }

    /// The one name that it matches, if it is a name without wildcards.
    pub fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::One(letter) => Some(*letter),
                Part::AnyOne | Part::Any | Part::Class { .. } => None,
            })
            .collect()
    }

    /// Whether it matches all of `name`; takes at most the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut part, mut letter) = (0, 0);
        // The last `*` and how much of the name it has taken: only that choice is ever worth changing.
        let mut star: Option<(usize, usize)> = None;
        while letter < name.len() {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    star = Some((part, letter));
                    part += 1;
                }
                Some(one) if one.takes(name[letter]) => {
                    part += 1;
                    letter += 1;
                }
                _ => {
                    let Some((at, taken)) = star else {
                        return false;
                    };
                    star = Some((at, taken + 1));
                    part = at + 1;
                    letter = taken + 1;
                }
            }
        }
        self.parts[part..].iter().all(|rest| *rest == Part::Any)
    }

    /// The same for names in lower case, whatever the case of the pattern; for hints.
    pub fn in_any_case(text: &str) -> Self {
        Self::new(&text.to_lowercase())
    }
}

impl Part {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::One(own) => *own == letter,
            Self::AnyOne => true,
            Self::Any => false,
            Self::Class { negated, ranges } => {
                let inside = ranges.iter().any(|&(a, b)| (a..=b).contains(&letter));
                inside != *negated
            }
        }
    }
}

/// The class behind a `[` and how many characters it takes, the closing bracket included; `None` if nothing closes it.
fn class(letters: &[char]) -> Option<(Part, usize)> {
    let negated = matches!(letters.first(), Some('!' | '^'));
    let start = usize::from(negated);
    // A bracket that stands first is a member.
    let end = start + 1 + letters.get(start + 1..)?.iter().position(|&c| c == ']')?;
    let members = &letters[start..end];
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < members.len() {
        if let [from, '-', to, ..] = members[at..] {
            ranges.push((from, to));
            at += 3;
        } else {
            ranges.push((members[at], members[at]));
            at += 1;
        }
    }
    Some((Part::Class { negated, ranges }, end + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).matches(name)
    }

    #[test]
    fn wildcards_stand_for_what_shells_let_them_stand_for() {
        assert!(matches("*conv*", "/features/conv/Conv_output_0"));
        assert!(matches("conv?", "conv1") && !matches("conv?", "conv12"));
        assert!(matches("conv[0-3]", "conv2") && !matches("conv[0-3]", "conv4"));
        assert!(matches("conv[!0-3]", "conv4") && !matches("conv[^0-3]", "conv1"));
        assert!(matches("a*b*c", "axxbyybzzc") && !matches("a*b*c", "axxbyyb"));
        assert!(matches("*", "") && matches("**", "x") && !matches("?", ""));
        assert!(matches("[]]", "]") && matches("[]a]", "a"));
    }

    #[test]
    fn what_closes_nothing_or_is_escaped_stands_for_itself() {
        assert!(matches("a[0", "a[0") && !matches("a[0", "a0"));
        assert!(matches(r"a\*", "a*") && !matches(r"a\*", "ab"));
        assert!(matches(r"C:\net\conv", r"C:\net\conv"));
        assert_eq!(Pattern::new(r"x\[0\]").literal().as_deref(), Some("x[0]"));
        assert_eq!(Pattern::new("x[0]").literal(), None);
        assert!(!matches("[", "") && !matches("[!", "x") && matches("[!", "[!"));
    }

    /// The definition, without any cleverness.
    fn by_definition(pattern: &[Part], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((Part::Any, rest)) => {
                (0..=name.len()).any(|taken| by_definition(rest, &name[taken..]))
            }
            Some((one, rest)) => name
                .split_first()
                .is_some_and(|(&letter, behind)| one.takes(letter) && by_definition(rest, behind)),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "[ab*?\\[\\]!-]{0,8}", name in "[ab\\[]{0,8}") {
            let compiled = Pattern::new(&pattern);
            let letters: Vec<char> = name.chars().collect();
            prop_assert_eq!(compiled.matches(&name), by_definition(&compiled.parts, &letters));
        }

        #[test]
        fn a_name_without_wildcards_matches_itself_alone(name in "[a-z/:.=#]{0,12}", other in "[a-z/:.=#]{0,12}") {
            prop_assert!(matches(&name, &name));
            prop_assert_eq!(matches(&name, &other), name == other);
        }
    }
}
