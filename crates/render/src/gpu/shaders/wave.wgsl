// Rings that travel over the ground: a band of triangles each, so that a ring around the whole map costs no more
// pixels than it shows.

const STEPS = 96u;

struct WaveOut {
    @builtin(position) clip: vec4f,
    @location(0) crest: f32,                            // 1 at the crest, 0 where the band ends inward
    @location(1) color: vec4f,
    @location(2) dash: f32,                             // grows by 1 with each dash; 0.5 everywhere on a whole ring
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, @location(0) position: vec2f, @location(1) shape: vec3f, @location(2) color: vec4f) -> WaveOut {
    let turn = f32(index / 2u) / f32(STEPS);
    let angle = 6.2831853 * turn;
    let crest = f32(1u - (index & 1u));
    let radius = max(shape.x - shape.y * (1.0 - crest), 0.0);
    let place = position + vec2f(sin(angle), cos(angle)) * radius;
    let world = vec3f(place.x, 0.02, place.y);
    return WaveOut(frame.clip_from_world * vec4f(world, 1.0), crest, vec4f(linear(color.rgb), color.a * lit_up(world)), turn * shape.z + select(0.0, 0.5, shape.z == 0.0));
}

@fragment
fn fragment(in: WaveOut) -> @location(0) vec4f {
    // A sharp crest, and behind it two that are weaker: one call, and its echo.
    let third = in.crest * 3.0;
    let way = third - floor(min(third, 2.999));
    let line = smoothstep(0.45, 0.9, way) * smoothstep(1.0, 0.94, way);
    let dash = smoothstep(0.36, 0.3, abs(fract(in.dash) - 0.5));
    let alpha = in.color.a * in.crest * in.crest * (line * 0.9 + 0.1) * dash;
    return marking(vec4f(in.color.rgb * alpha * 1.3, alpha * 0.6));
}
