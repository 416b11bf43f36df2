//! The tables of the manual are those of the definitions for editors, from which functions are registered.

use std::path::Path;

use trantor_script::api;

/// `BLESS=1` writes them.
#[test]
fn the_manual_lists_the_registered_functions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scripting.md");
    let found = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = found
        .split_once("<!-- functions -->\n")
        .expect("a mark where the tables begin");
    let (_, after) = rest
        .split_once("<!-- end of functions -->")
        .expect("a mark where they end");
    let manual = api::manual();
    let expected = format!("{before}<!-- functions -->\n{manual}<!-- end of functions -->{after}");
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, expected).unwrap();
    }
    assert!(found == expected, "the tables differ: run the test with BLESS=1");
}
