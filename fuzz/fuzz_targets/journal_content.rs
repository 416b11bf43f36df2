//! libFuzzer on the target of this name in crates/fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trantor_fuzz::run("journal_content", data));
