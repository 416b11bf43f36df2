//! The definitions for editors and the tables of the manual are those of the registered functions. `BLESS=1` writes them.

use std::path::PathBuf;

use trantor_script::api;

fn compare(path: &str, expected: impl Fn(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let expected = expected(&found);
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, expected).unwrap();
    }
    assert!(
        found == expected,
        "{} differs: run the test with BLESS=1",
        path.display()
    );
}

#[test]
fn the_definitions_and_the_manual_list_the_registered_functions() {
    compare("assets/minds/trantor.d.luau", |_| api::definitions());
    compare("docs/scripting.md", |found| {
        let (before, rest) = found
            .split_once("<!-- functions -->\n")
            .expect("a mark where the tables begin");
        let (_, after) = rest
            .split_once("<!-- end of functions -->")
            .expect("a mark where they end");
        format!(
            "{before}<!-- functions -->\n{}<!-- end of functions -->{after}",
            api::manual()
        )
    });
}
