// From light to a screen: glow around what is brighter than a screen can show, then one curve for all.

@group(0) @binding(0) var source: texture_2d<f32>;
@group(0) @binding(1) var source_sampler: sampler;
@group(0) @binding(2) var glow: texture_2d<f32>;
@group(0) @binding(3) var<uniform> settings: vec4f;     // strength of the glow; unused

struct PostOut {
    @builtin(position) clip: vec4f,
    @location(0) at: vec2f,
}

@vertex
fn vertex(@builtin(vertex_index) index: u32) -> PostOut {
    let corner = vec2f(f32((index << 1u) & 2u), f32(index & 2u));
    return PostOut(vec4f(corner.x * 2.0 - 1.0, 1.0 - corner.y * 2.0, 0.0, 1.0), corner);
}

// Half the size; only what is brighter than a white thing in the sun passes, softly.
@fragment
fn bright(in: PostOut) -> @location(0) vec4f {
    let texel = 0.5 / vec2f(textureDimensions(source));
    var sum = vec3f(0.0);
    for (var tap = 0u; tap < 4u; tap += 1u) {
        let off = (vec2f(f32(tap & 1u), f32(tap >> 1u)) * 2.0 - 1.0) * texel;
        let color = textureSampleLevel(source, source_sampler, in.at + off, 0.0).rgb;
        let peak = max(color.r, max(color.g, color.b));
        let over = max(peak - 1.4, 0.0);
        // Single very bright pixels must not flicker: what they add is bounded.
        sum += color * min(over / max(peak, 1e-4), 1.0) / (1.0 + peak * 0.25);
    }
    return vec4f(sum * 0.25, 1.0);
}

// Half the size again.
@fragment
fn down(in: PostOut) -> @location(0) vec4f {
    let texel = 1.0 / vec2f(textureDimensions(source));
    var sum = textureSampleLevel(source, source_sampler, in.at, 0.0).rgb * 0.4;
    sum += textureSampleLevel(source, source_sampler, in.at + texel, 0.0).rgb * 0.15;
    sum += textureSampleLevel(source, source_sampler, in.at - texel, 0.0).rgb * 0.15;
    sum += textureSampleLevel(source, source_sampler, in.at + vec2f(texel.x, -texel.y), 0.0).rgb * 0.15;
    sum += textureSampleLevel(source, source_sampler, in.at - vec2f(texel.x, -texel.y), 0.0).rgb * 0.15;
    return vec4f(sum, 1.0);
}

// Twice the size, spread; added to what is there.
@fragment
fn up(in: PostOut) -> @location(0) vec4f {
    let texel = 1.0 / vec2f(textureDimensions(source));
    var sum = textureSampleLevel(source, source_sampler, in.at, 0.0).rgb * 0.3;
    for (var tap = 0u; tap < 4u; tap += 1u) {
        let off = (vec2f(f32(tap & 1u), f32(tap >> 1u)) * 2.0 - 1.0) * texel;
        sum += textureSampleLevel(source, source_sampler, in.at + off, 0.0).rgb * 0.175;
    }
    return vec4f(sum, 1.0);
}

@fragment
fn compose(in: PostOut) -> @location(0) vec4f {
    let light = textureSampleLevel(source, source_sampler, in.at, 0.0).rgb;
    let halo = textureSampleLevel(glow, source_sampler, in.at, 0.0).rgb;
    // Darker towards the corners, so that the eye stays on the board.
    let off = in.at - 0.5;
    let shade = 1.0 - 0.30 * smoothstep(0.25, 0.95, dot(off, off) * 2.0);
    let color = encoded(screened((light + halo * settings.x) * shade));
    return vec4f(color + grain(in.clip.xy), 1.0);
}
