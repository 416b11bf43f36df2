// Light without a body: it is added to what is behind it.

struct GlowIn {
    @location(0) position: vec3f,
    @location(1) size: vec2f,
    @location(2) strength_param: vec2f,
    @location(3) color: vec4f,
}

struct GlowOut {
    @builtin(position) clip: vec4f,
    @location(0) at: vec2f,
    @location(1) @interpolate(flat) param: f32,
    @location(2) color: vec3f,
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, in: GlowIn) -> GlowOut {
    var at = vec2f(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    var world: vec3f;
    if KIND == 1u {
        // A column stands upright and turns its face to the eye.
        at.y = at.y * 0.5 + 0.5;
        world = in.position + frame.right.xyz * at.x * in.size.x * 2.2 + vec3f(0.0, at.y * in.size.y, 0.0);
    } else {
        world = in.position + frame.right.xyz * at.x * in.size.x + frame.up.xyz * at.y * in.size.y;
    }
    let color = linear(in.color.rgb) * (in.strength_param.x * seen(world));
    return GlowOut(frame.clip_from_world * vec4f(world, 1.0), at, in.strength_param.y, color);
}

@fragment
fn fragment(in: GlowOut) -> @location(0) vec4f {
    var light = 0.0;
    if KIND == 0u { // Spark
        let r = length(in.at);
        let soft = max(1.0 - r, 0.0);
        light = soft * soft + 0.8 * smoothstep(0.5, 0.2, r);
    } else if KIND == 1u { // Column
        let x = in.at.x * 2.2;
        let core = exp(-x * x * 14.0);
        let shaft = exp(-x * x * 2.2);
        let top = pow(max(1.0 - in.at.y, 0.0), 1.3);
        let rising = 0.75 + 0.25 * sin(in.at.y * 22.0 - in.param * 6.2831853 + x * 2.0);
        let foot = smoothstep(0.0, 0.04, in.at.y);
        let cut = smoothstep(1.0, 0.75, abs(in.at.x));
        light = (core * 0.75 + shaft * 0.34 * rising) * top * mix(0.6, 1.0, foot) * cut;
    } else { // Halo
        let soft = max(1.0 - length(in.at), 0.0);
        light = soft * soft;
    }
    return shining(in.color * light, in.clip.xy);
}
