// The background: one triangle that covers the picture.

@vertex
fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    let corner = vec2f(f32((index << 1u) & 2u), f32(index & 2u)) * 2.0 - 1.0;
    return vec4f(corner, 1.0, 1.0);
}

@fragment
fn fragment(@builtin(position) pixel: vec4f) -> @location(0) vec4f {
    return covering_smoothly(sky(pixel.xy * PIXEL * frame.viewport.zw), pixel.xy);
}
