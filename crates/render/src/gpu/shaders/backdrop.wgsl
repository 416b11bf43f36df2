// The kept background onto the picture: texel for pixel, or spread where it was drawn coarsely.

@group(1) @binding(0) var kept: texture_2d<f32>;
@group(1) @binding(1) var kept_sampler: sampler;

// Whether the kept picture is smaller than the one that is drawn.
override SPREAD: bool = false;

@vertex
fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    let corner = vec2f(f32((index << 1u) & 2u), f32(index & 2u)) * 2.0 - 1.0;
    return vec4f(corner, 1.0, 1.0);
}

@fragment
fn fragment(@builtin(position) pixel: vec4f) -> @location(0) vec4f {
    if SPREAD {
        return textureSampleLevel(kept, kept_sampler, pixel.xy * frame.viewport.zw, 0.0);
    }
    return textureLoad(kept, vec2i(pixel.xy), 0);
}
