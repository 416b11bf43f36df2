//! Which seed an agent's brain grows from.

/// The seed of one agent of a team.
///
/// Agents of a team must differ, and which one of them is born first is a matter of connections that race. So an
/// agent is known by `places`, the number it receives at birth: how many places its team has left. That number
/// comes again when others are born later; `replacement` keeps those apart, and is 0 for the first agents of a
/// team. Teams that share `seed` still differ by their names.
pub fn agent_seed(seed: u64, team: &[u8], places: u32, replacement: u64) -> u64 {
    // FNV-1a over the name, then the mixing steps of SplitMix64, which keep neighbouring numbers far apart.
    let name = team.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    [seed, u64::from(places), replacement]
        .into_iter()
        .fold(name, |mixed, number| mix(mixed ^ number))
}

fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
