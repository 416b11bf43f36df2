//! From a source to bytecode: where a mistake is, and what the compiler does not refuse.
//!
//! Luau's compiler reads the source, and it bounds the depth that it nests to. What else is to be known is read off what it
//! makes ([`bytecode`](crate::bytecode)): there is no second reader that could understand a source another way.

use mlua::chunk::Compiler;

use crate::bytecode::Chunk;
use crate::limits::{COLUMN_BYTES_MAX, COMPILE_STACK_BYTES, SOURCE_BYTES_MAX};
use crate::names;

/// Places on a line that are asked for the column of a mistake.
const COLUMNS_MAX: usize = 16;

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
    let bytecode = on_a_large_stack(|| {
        first_mistake(compiler, source).map_err(|(line, message)| {
            let column = column_of(compiler, source, line, &message);
            (line, column, message)
        })
    })?;
    let Some(mut chunk) = Chunk::read(&bytecode) else {
        return Err((0, None, "the source was compiled to something unknown".to_owned()));
    };
    names::check(&chunk).map_err(|unknown| {
        let column = column_of_name(source, unknown.line, &unknown.written);
        (unknown.line, column, unknown.message)
    })?;
    chunk.guard().map_err(|(line, message)| (line, None, message))?;
    Ok(chunk.write())
}

/// The compiler goes as deep as the source nests, which it bounds to 1,000: too deep for the stack of a usual thread.
fn on_a_large_stack<T: Send>(
    compile: impl FnOnce() -> Result<T, (u32, Option<u32>, String)> + Send,
) -> Result<T, (u32, Option<u32>, String)> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("compile".to_owned())
            .stack_size(COMPILE_STACK_BYTES)
            .spawn_scoped(scope, compile);
        let compiled = thread.map(std::thread::ScopedJoinHandle::join);
        let failed = |what: &str| Err((0, None, format!("the compiler has failed: {what}")));
        match compiled {
            Ok(Ok(compiled)) => compiled,
            Ok(Err(_)) => failed("it panicked"),
            Err(error) => failed(&error.to_string()),
        }
    })
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

/// The column of a mistake whose line is known. The compiler says no column, but which word it found; of several such words
/// the right one is the last before which a broken line moves the mistake to the next line.
fn column_of(compiler: &Compiler, source: &str, line: u32, message: &str) -> Option<u32> {
    let (begin, text) = line_of(source, line)?;
    let column = |at: usize| u32::try_from(text[..at].chars().count() + 1).ok();
    if message.ends_with("got <eof>") {
        return column(text.len());
    }
    let found = message
        .rsplit_once("got '")
        .and_then(|(_, word)| word.strip_suffix('\''));
    let found = found.filter(|word| !word.is_empty());
    let starts: Vec<usize> = match found {
        Some(word) => text.match_indices(word).map(|(at, _)| at).collect(),
        None => word_starts(text),
    };
    if let ([start], Some(_)) = (&*starts, found) {
        return column(*start);
    }
    if source.len() > COLUMN_BYTES_MAX {
        return None;
    }
    let moves = |start: &&usize| {
        let at = begin + **start;
        let broken = [&source[..at], "\n", &source[at..]].concat();
        matches!(first_mistake(compiler, &broken), Err((found, same)) if found == line + 1 && same == message)
    };
    column(*starts.iter().rev().take(COLUMNS_MAX).find(moves)?)
}

/// Where a line begins, and what it says.
fn line_of(source: &str, line: u32) -> Option<(usize, &str)> {
    let begin = match line.checked_sub(2) {
        None => 0,
        Some(before) => source.match_indices('\n').nth(before as usize)?.0 + 1,
    };
    Some((begin, source[begin..].lines().next()?))
}

/// The column of a name on a line, with the sign before it.
fn column_of_name(source: &str, line: u32, written: &str) -> Option<u32> {
    let (_, text) = line_of(source, line)?;
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut found = text.match_indices(written);
    let (at, _) = found.find(|(at, _)| !text[at + written.len()..].starts_with(is_name))?;
    u32::try_from(text[..at].chars().count() + 2).ok()
}

/// Where a run of letters and digits, or of other signs, begins.
fn word_starts(text: &str) -> Vec<usize> {
    let kind = |sign: char| (sign.is_alphanumeric() || sign == '_', sign.is_whitespace());
    let mut last = (false, true);
    let starts = text.char_indices().filter(|(_, sign)| {
        let before = std::mem::replace(&mut last, kind(*sign));
        before != last && !last.1
    });
    starts.map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_their_line_and_column() {
        for (source, line, column) in [
            ("local x = = 1", 1, 11),
            ("\n  return (1 + 'a b' c d)", 2, 21),
            ("for k in t do\n  x(`{1}`, \"é\" y)\nend", 2, 16),
            ("x = 1 +", 1, 8),
            ("x = 1\ny = 2 foo bar = 1", 2, 7),
        ] {
            let (found, at, said) = compile(&Compiler::new(), source.as_bytes()).unwrap_err();
            assert_eq!((found, at), (line, Some(column)), "{said}");
        }
        assert!(compile(&Compiler::new(), b"\x1bLua").is_err());
    }
}
