//! Rust sources as text: paths and names in them, without comments, strings and code for tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A source file.
pub(crate) struct Source {
    /// Path from the root of the repository, with slashes.
    pub(crate) path: String,
    /// Paths in it that start at a crate, each as its segments; `super` and `self` are resolved to `crate`.
    pub(crate) paths: BTreeSet<Vec<String>>,
    code: String,
}

impl Source {
    /// Whether the code names this package, module or macro.
    pub(crate) fn names(&self, name: &str) -> bool {
        words(&self.code).any(|(at, word)| {
            let before = self.code[..at].trim_end();
            let after = self.code[at + word.len()..].trim_start();
            // `name::…`, `…::name`, `name!`; a local variable or field of that name is neither.
            word == name
                && (after.starts_with("::") || after.starts_with('!') || before.ends_with("::"))
        })
    }
}

/// Every `.rs` file below the folders that is not for tests alone, by path.
pub(crate) fn read_all(root: &Path, folders: &[PathBuf]) -> Vec<Source> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = folders.to_vec();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is committed") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut for_tests = BTreeSet::new();
    let mut sources = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("sources are text");
        let (code, modules) = without_tests(&code_only(&text));
        for module in modules {
            let folder = folder_of_children(&file);
            for_tests.insert(folder.join(format!("{module}.rs")));
            for_tests.insert(folder.join(module));
        }
        sources.push((file, code));
    }
    sources
        .into_iter()
        .filter(|(file, _)| !file.ancestors().any(|path| for_tests.contains(path)))
        .map(|(file, code)| {
            let path = file
                .strip_prefix(root)
                .expect("folders lie below the root")
                .to_string_lossy()
                .replace('\\', "/");
            let paths = paths(&code, &module_path(&path));
            Source { path, paths, code }
        })
        .collect()
}

/// Where the modules that a file declares lie.
fn folder_of_children(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.parent().unwrap_or(Path::new(""));
    if stem == "mod" || stem == "lib" || stem == "main" {
        folder.to_owned()
    } else {
        folder.join(stem)
    }
}

/// The module of a file, from its path: `src/mapping/fine.rs` is `mapping::fine`.
fn module_path(path: &str) -> Vec<String> {
    let inside = path.rsplit_once("src/").map_or(path, |(_, inside)| inside);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let mut segments: Vec<String> = inside.split('/').map(str::to_owned).collect();
    if segments.first().is_some_and(|first| first == "bin") {
        segments.drain(..segments.len().min(2));
    }
    if segments
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        segments.pop();
    }
    segments
}

/// The text with comments, strings and characters blanked out.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest, code.chars().next_back());
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
            code.extend(rest[..length].chars().map(blank));
            rest = &rest[length..];
        }
    }
    code
}

/// How many bytes at the start are a comment, a string or a character.
fn skipped(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if let Some(inside) = rest.strip_prefix('"') {
        return 1 + until_unescaped(inside, '"');
    }
    let starts_word = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if starts_word && let Some(raw) = rest.strip_prefix('r').or_else(|| rest.strip_prefix("br")) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = rest.len() - raw.len() + hashes + 1;
            return rest[start..]
                .find(&end)
                .map_or(rest.len(), |at| start + at + end.len());
        }
    }
    if let Some(inside) = rest.strip_prefix('\'') {
        let mut characters = inside.chars();
        let first = characters.next();
        // A lifetime has no closing quote behind one character.
        if first == Some('\\') || characters.next() == Some('\'') {
            return 1 + until_unescaped(inside, '\'');
        }
    }
    0
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// Bytes up to and with the closing quote.
fn until_unescaped(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    rest.len()
}

/// The code without items behind `#[cfg(test)]`, and the names of modules in files of their own among these.
fn without_tests(code: &str) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::new();
    let mut modules = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        kept.push_str(&rest[..at]);
        let item = &rest[at + MARK.len()..];
        let length = item_length(item);
        let declaration = item[..length]
            .trim()
            .trim_start_matches("pub(crate)")
            .trim();
        if let Some(name) = declaration
            .strip_prefix("mod ")
            .and_then(|name| name.strip_suffix(';'))
        {
            modules.push(name.trim().to_owned());
        }
        rest = &item[length..];
    }
    kept.push_str(rest);
    (kept, modules)
}

/// Bytes up to the end of the first item: its semicolon, or the brace that closes it.
fn item_length(item: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in item.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == '}' {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

/// Identifiers and keywords with their offsets.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_word)?;
        let length = code[start..]
            .find(|c| !is_word(c))
            .unwrap_or(code.len() - start);
        at = start + length;
        Some((start, &code[start..at]))
    })
}

/// Paths that start at a crate, or at `self` or `super`.
fn paths(code: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let mut paths = BTreeSet::new();
    for (at, word) in words(code) {
        let starts = matches!(word, "crate" | "self" | "super") || word.starts_with("paracompile");
        let is_inner = code[..at].trim_end().ends_with("::");
        if starts && !is_inner {
            let mut found = Vec::new();
            expand(&code[at..], &mut Vec::new(), &mut found);
            paths.extend(found.into_iter().filter_map(|path| resolve(path, module)));
        }
    }
    paths
}

/// Collects the paths of a path or a tree of paths at the start of `code`; returns its length.
fn expand(code: &str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let depth = prefix.len();
    let mut at = 0;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        let rest = &code[at..];
        if rest.starts_with('{') {
            at += 1;
            loop {
                at += expand(&code[at..], prefix, found);
                at += code[at..].len() - code[at..].trim_start().len();
                match code[at..].chars().next() {
                    Some(',') => at += 1,
                    Some('}') => {
                        at += 1;
                        break;
                    }
                    _ => break,
                }
            }
            break;
        }
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        if length == 0 {
            at += usize::from(rest.starts_with('*'));
            break;
        }
        prefix.push(rest[..length].to_owned());
        at += length;
        let behind = code[at..].trim_start();
        if let Some(inside) = behind.strip_prefix("::") {
            at = code.len() - inside.len();
            continue;
        }
        found.push(prefix.clone());
        if let Some(renamed) = behind.strip_prefix("as ") {
            let name = renamed
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(renamed.len());
            at = code.len() - renamed.len() + name;
        }
        break;
    }
    prefix.truncate(depth);
    at
}

/// A path from its crate; `None` for `self` as a value.
fn resolve(path: Vec<String>, module: &[String]) -> Option<Vec<String>> {
    let first = path.first()?.as_str();
    if first != "self" && first != "super" {
        return Some(path);
    }
    if path.len() == 1 {
        return None;
    }
    let mut here = module.to_vec();
    let mut segments = path.into_iter().peekable();
    while let Some(segment) = segments.next_if(|segment| segment == "self" || segment == "super") {
        if segment == "super" {
            here.pop();
        }
    }
    let mut resolved = vec!["crate".to_owned()];
    resolved.extend(here);
    resolved.extend(segments);
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<_> = module.iter().map(|&segment| segment.to_owned()).collect();
        let (code, _) = without_tests(&code_only(code));
        paths(&code, &module)
            .into_iter()
            .map(|path| path.join("::"))
            .collect()
    }

    #[test]
    fn paths_in_comments_strings_and_tests_do_not_count() {
        let code = r##"
            // crate::a
            /* crate::b /* crate::c */ */
            const S: &str = "crate::d \" crate::e";
            const R: &str = r#"crate::f " "#;
            const C: char = '"';
            fn f<'a>(x: &'a str) -> crate::yes::T { x }
            #[cfg(test)]
            mod tests { use crate::g; fn f() { {} } }
            use crate::last;
        "##;
        assert_eq!(found(code, &["m"]), ["crate::last", "crate::yes::T"]);
    }

    #[test]
    fn trees_of_paths_are_taken_apart() {
        let code = "use crate::{a::{B, c::*}, d as e, f};";
        assert_eq!(found(code, &[]), ["crate::a::B", "crate::d", "crate::f"],);
        assert_eq!(
            found("use paracompile_plan::{X, y::Z};", &[]),
            ["paracompile_plan::X", "paracompile_plan::y::Z",]
        );
    }

    #[test]
    fn relative_paths_are_resolved() {
        assert_eq!(
            found("use super::super::b::C;", &["a", "x"]),
            ["crate::b::C"]
        );
        assert_eq!(
            found("use super::C; self::d();", &["a", "x"]),
            ["crate::a::C", "crate::a::x::d"]
        );
        assert_eq!(found("self.x; &mut self", &["a"]), Vec::<String>::new());
    }

    #[test]
    fn a_test_module_in_a_file_of_its_own_is_noticed() {
        let (_, modules) = without_tests("mod a;\n#[cfg(test)]\nmod oracle;\nmod b;");
        assert_eq!(modules, ["oracle"]);
    }
}
