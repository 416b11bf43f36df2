//! The tables of the manual are those of the definitions for editors, from which functions are registered.

use trantor_script::api;

#[test]
fn the_manual_lists_the_registered_functions() {
    trantor_transcript::check_file(env!("CARGO_MANIFEST_DIR"), "../../docs/scripting.md", |found| {
        let (before, rest) = found
            .split_once("<!-- functions -->\n")
            .expect("a mark where the tables begin");
        let (_, after) = rest
            .split_once("<!-- end of functions -->")
            .expect("a mark where they end");
        let manual = api::manual();
        format!("{before}<!-- functions -->\n{manual}<!-- end of functions -->{after}")
    });
}
