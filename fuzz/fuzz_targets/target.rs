//! libFuzzer on the target in crates/fuzz that has the name of the binary.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (trantor_fuzz::target_named(env!("CARGO_BIN_NAME")).run)(data));
