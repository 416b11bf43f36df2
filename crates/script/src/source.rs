//! From a source to bytecode: where a mistake is, and a guard around loops over tables.
//!
//! Luau visits the keys of a table that are tables or functions in the order of their addresses. A `for … in` over a table
//! asks no function that could be replaced, so its list is handed through one, on the same line.

use std::ops::Range;

use mlua::chunk::Compiler;

use crate::limits::SOURCE_BYTES_MAX;

/// The function of the prelude that lists of loops are handed through.
const GUARD: &str = " __in(";

/// The bytecode of a source, or the line, the column and the description of its first mistake.
pub(crate) fn compile(compiler: &Compiler, source: &[u8]) -> Result<Vec<u8>, (u32, Option<u32>, String)> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err((
            0,
            None,
            format!("the source is longer than {SOURCE_BYTES_MAX} bytes"),
        ));
    }
    // Bytecode is not checked by the VM, so only text may come from outside.
    let Ok(source) = std::str::from_utf8(source) else {
        return Err((0, None, "the source is no UTF-8 text".to_owned()));
    };
    let tokens = tokens(source);
    let (line, message) = match first_mistake(compiler, &guarded(source, &tokens)) {
        Ok(bytecode) => return Ok(bytecode),
        // The guard may stand in what is quoted.
        Err(mistake) => first_mistake(compiler, source).err().unwrap_or(mistake),
    };
    Err((line, column_of(compiler, source, &tokens, line), message))
}

/// The bytecode, or the line of the first mistake and what it is.
fn first_mistake(compiler: &Compiler, source: &str) -> Result<Vec<u8>, (u32, String)> {
    compiler.compile(source).map_err(|error| {
        let said = match error {
            mlua::Error::SyntaxError { message, .. } => message,
            other => other.to_string(),
        };
        let placed = said.trim_start_matches(':').split_once(": ");
        match placed.and_then(|(line, message)| Some((line.parse().ok()?, message.to_owned()))) {
            Some(placed) => placed,
            None => (0, said),
        }
    })
}

/// The column of a mistake whose line is known. The compiler says no column, but where its line goes when the line is
/// broken before a token says whether the mistake comes before that token.
fn column_of(compiler: &Compiler, source: &str, tokens: &[Range<usize>], line: u32) -> Option<u32> {
    let begin = match line.checked_sub(2) {
        None => 0,
        Some(before) => source.match_indices('\n').nth(before as usize)?.0 + 1,
    };
    let text = source[begin..].lines().next()?;
    let end = begin + text.len();
    let mut starts: Vec<usize> = tokens.iter().map(|token| token.start).collect();
    starts.retain(|start| (begin..end).contains(start));
    // What is missing is missed at the end.
    starts.push(end);
    let comes_before = starts.partition_point(|start| {
        let broken = [&source[..*start], "\n", &source[*start..]].concat();
        matches!(first_mistake(compiler, &broken), Err((found, _)) if found == line + 1)
    });
    let start = starts.get(comes_before.checked_sub(1)?)?;
    u32::try_from(source[begin..*start].chars().count() + 1).ok()
}

/// The source with the list of each `for … in` handed through the guard. A list that contains a function is left alone: it
/// is no table.
fn guarded(source: &str, tokens: &[Range<usize>]) -> String {
    let mut text = String::with_capacity(source.len() + 64);
    let mut copied = 0;
    let word = |place: usize| tokens.get(place).map_or("", |token| &source[token.clone()]);
    for place in (0..tokens.len()).filter(|place| word(*place) == "for") {
        // Names, and their types, up to `in` or `=`.
        let found =
            |place: usize, words: &[&str]| (place..tokens.len()).find(|at| words.contains(&word(*at)));
        let Some(begin) = found(place, &["in", "="]).filter(|at| word(*at) == "in") else {
            continue;
        };
        let Some(end) = found(begin, &["do", "function"]).filter(|at| word(*at) == "do") else {
            continue;
        };
        let (from, to) = (tokens[begin].end, tokens[end - 1].end);
        // `ipairs` visits places in their order.
        if from < copied || begin + 1 == end || word(begin + 1) == "ipairs" {
            continue;
        }
        text.push_str(&source[copied..from]);
        text.push_str(GUARD);
        text.push_str(&source[from..to]);
        text.push(')');
        copied = to;
    }
    text + &source[copied..]
}

/// Words, texts and single signs, without comments.
fn tokens(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80;
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let is_comment = bytes[at..].starts_with(b"--");
        let long = long_bracket(&source[at + if is_comment { 2 } else { 0 }..]);
        at = match bytes[at] {
            _ if is_comment => match long {
                Some(length) => at + 2 + length,
                None => at + source[at..].find('\n').unwrap_or(source.len() - at),
            },
            b'[' if long.is_some() => at + long.unwrap_or(1),
            quote @ (b'"' | b'\'' | b'`') => text_end(bytes, at, quote),
            byte if is_word(byte) => {
                let length = bytes[at..].iter().position(|byte| !is_word(*byte));
                at + length.unwrap_or(bytes.len() - at)
            }
            _ => at + 1,
        };
        at = at.min(bytes.len());
        if !is_comment && !bytes[start].is_ascii_whitespace() {
            tokens.push(start..at);
        }
    }
    tokens
}

/// The length of `[[ … ]]` or `[=[ … ]=]` at the beginning.
fn long_bracket(source: &str) -> Option<usize> {
    let inner = source.strip_prefix('[')?;
    let level = inner.bytes().take_while(|byte| *byte == b'=').count();
    inner[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    Some(source.find(&close).map_or(source.len(), |at| at + close.len()))
}

/// Where the text that begins at `start` ends. Between backticks the parts in braces may have texts of their own.
fn text_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut braces = 0u32;
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'\\' => at + 2,
            b'\n' if quote != b'`' => return at,
            b'{' if quote == b'`' => {
                braces += 1;
                at + 1
            }
            b'}' if quote == b'`' => {
                braces = braces.saturating_sub(1);
                at + 1
            }
            inner @ (b'"' | b'\'' | b'`') if braces > 0 => text_end(bytes, at, inner),
            byte if byte == quote => return at + 1,
            _ => at + 1,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_loops_are_guarded_and_nothing_else_is() {
        for (source, expected) in [
            ("for k, v in t do end", "for k, v in __in( t) do end"),
            (
                "for k: string, v in pairs(t) do end",
                "for k: string, v in __in( pairs(t)) do end",
            ),
            (
                "for i = 1, 2 do for k in t do end end",
                "for i = 1, 2 do for k in __in( t) do end end",
            ),
            ("for k in t -- in\ndo end", "for k in __in( t) -- in\ndo end"),
            (
                "for k in f(function() end) do end",
                "for k in f(function() end) do end",
            ),
            (
                "x = 'for k in t do' -- for k in t do",
                "x = 'for k in t do' -- for k in t do",
            ),
            ("x = [=[ for k in t do ]] ]=] --[[ for\nk in t do ]] y()", ""),
            (
                "x = `for {f('`', `in {t} do`)} in` y = \"\\\" for k in t do\"",
                "",
            ),
            ("for in do", "for in do"),
            ("x = \"for", "x = \"for"),
        ] {
            let expected = if expected.is_empty() { source } else { expected };
            assert_eq!(guarded(source, &tokens(source)), expected);
        }
    }

    #[test]
    fn mistakes_have_their_line_and_column() {
        for (source, line, column) in [
            ("local x = = 1", 1, 11),
            ("\n  return (1 + 'a b' c d)", 2, 21),
            ("for k in t do\n  x(`{1}`, \"é\" y)\nend", 2, 16),
            ("x = 1 +", 1, 8),
        ] {
            let (found, at, said) = compile(&Compiler::new(), source.as_bytes()).unwrap_err();
            assert_eq!((found, at), (line, Some(column)), "{said}");
        }
        assert!(compile(&Compiler::new(), b"\x1bLua").is_err());
    }
}
