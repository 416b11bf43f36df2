// Panels: triangles with a colour at each corner and a texture, both as on a screen and premultiplied.

@group(0) @binding(0) var<uniform> screen: vec4f;       // width and height in points; unused
@group(0) @binding(1) var image: texture_2d<f32>;
@group(0) @binding(2) var image_sampler: sampler;

struct PanelOut {
    @builtin(position) clip: vec4f,
    @location(0) at: vec2f,
    @location(1) color: vec4f,
}

@vertex
fn vertex(@location(0) position: vec2f, @location(1) at: vec2f, @location(2) color: vec4f) -> PanelOut {
    let place = position / screen.xy * vec2f(2.0, -2.0) + vec2f(-1.0, 1.0);
    return PanelOut(vec4f(place, 0.0, 1.0), at, color);
}

@fragment
fn fragment(in: PanelOut) -> @location(0) vec4f {
    return in.color * textureSampleLevel(image, image_sampler, in.at, 0.0);
}
