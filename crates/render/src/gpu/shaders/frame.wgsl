// What holds for the whole frame, and the light that everything is seen in.
// Prepended to every shader of the picture; the layout is FrameUniform's.

struct Frame {
    clip_from_world: mat4x4f,
    shadow_from_world: mat4x4f,
    eye: vec4f,            // xyz; w: game time in units
    right: vec4f,          // xyz; w: how much of the paint shows at any distance
    up: vec4f,             // xyz; w: distance at which fog is complete
    window: vec4f,         // middle x, middle z, half width, half depth
    map: vec4f,            // columns, rows, margin of things, margin of bare land
    grid: vec4f,           // the ground that is drawn: least x, least z, cell width, cell depth
    grid_cells: vec4f,     // cells a row; unused
    detail: vec4f,         // distances: detail fades from, until; then shadow texel size; paint of a map of one style
    sun_direction: vec4f,
    sun: vec4f,
    ambient_above: vec4f,
    ambient_below: vec4f,
    sky_top: vec4f,
    sky_bottom: vec4f,
    sky_glow: vec4f,
    ground_a: vec4f,
    ground_b: vec4f,
    ground_patch: vec4f,
    seam: vec4f,
    rim: vec4f,
    viewport: vec4f,       // width, height, 1 / width, 1 / height
}

@group(0) @binding(0) var<uniform> frame: Frame;

// What a pipeline fixes, so that nothing of the other case is left in it: a processor that draws takes both sides of
// every branch.
//
// Whether colours go to the screen at once, without the glow that later steps would add.
override DIRECT: bool = false;
// Whether the sun throws shadows; else what is dark under things leans away from it.
override SHADOWS: bool = true;
// Whether any of the ground's paint can be seen.
override PAINT: bool = true;
// Pixels of the picture, along a side, for each that is drawn.
override PIXEL: f32 = 1.0;
// Whether bodies have parts that move.
override POSED: bool = true;
// Which kind of mark or light is drawn.
override KIND: u32 = 0;

// What leaves a shader for something that covers what is behind it.
fn covering(light: vec3f) -> vec4f {
    if DIRECT {
        return vec4f(encoded(screened(light)), 1.0);
    }
    return vec4f(light, 1.0);
}

// The same for what is broad and smooth: half a step of noise hides that a screen has only 256 of them. Later steps do
// so where there are any.
fn covering_smoothly(light: vec3f, pixel: vec2f) -> vec4f {
    let color = covering(light);
    if DIRECT {
        return vec4f(color.rgb + grain(pixel), 1.0);
    }
    return color;
}

// What leaves a shader for a mark: colour times its opacity; what goes beyond that shines. Where nothing can be brighter
// than white, what shines covers more instead.
fn marking(color: vec4f) -> vec4f {
    if DIRECT {
        let peak = max(color.r, max(color.g, color.b));
        let cover = clamp(max(color.a, peak * 0.8), 0.001, 0.95);
        return vec4f(encoded(screened(color.rgb / cover)) * cover, cover);
    }
    return color;
}

// What leaves a shader for light that is added.
fn shining(light: vec3f, pixel: vec2f) -> vec4f {
    if DIRECT {
        return vec4f(min(light, vec3f(1.0)) * 0.9 + grain(pixel), 0.0);
    }
    return vec4f(light, 0.0);
}

// From a screen's colour to light: a cubic within a step of 255, since corners of small triangles ask for it often.
fn linear(screen: vec3f) -> vec3f {
    return screen * (screen * (screen * 0.305306011 + 0.682171111) + 0.012522878);
}

// The background behind a place of the picture, (0, 0) top left to (1, 1) bottom right.
fn sky(at: vec2f) -> vec3f {
    let height = (1.0 - at.y) * (1.0 - at.y) * (1.0 + 2.0 * at.y);
    let off = (at - vec2f(0.5, 0.56)) * vec2f(frame.viewport.x * frame.viewport.w, 1.25) / 1.1;
    let near = max(1.0 - dot(off, off) * 1.3, 0.0);
    return mix(frame.sky_bottom.rgb, frame.sky_top.rgb, height) + frame.sky_glow.rgb * (0.55 * near * near * near);
}

// How far `at` is beyond the map, as a part of `reach`.
fn beyond(at: vec2f, reach: f32) -> f32 {
    return clamp(length(max(abs(at - frame.window.xy) - frame.window.zw, vec2f(0.0))) / reach, 0.0, 1.0);
}

// How much of a thing on the ground at `at` is there: all within the map, less and less in the margin.
fn presence(at: vec2f) -> f32 {
    let ghost = 1.0 - beyond(at, frame.map.z);
    return ghost * sqrt(ghost);
}

// How much of the land at `at` is there: all within the map, then less and less, long after things have gone.
fn land(at: vec2f) -> f32 {
    let share = beyond(at, frame.map.w);
    return select(0.56 * (1.0 - smoothstep(0.0, 1.0, share)), 1.0, share <= 0.0);
}

// How much of a thing at `position` is hidden by distance.
fn fog(position: vec3f) -> f32 {
    let share = clamp(distance(position, frame.eye.xyz) / frame.up.w, 0.0, 1.0);
    return share * share * share * 0.55;
}

// How much of a mark or a light at `position` is seen: neither faded at the margin nor hidden by distance.
fn seen(position: vec3f) -> f32 {
    return presence(position.xz) * (1.0 - fog(position));
}

// The same of the land, and of what stands on it: that is smaller in the margin, and as dark as the land.
fn lit_up(position: vec3f) -> f32 {
    return land(position.xz) * (1.0 - fog(position));
}

fn ambient(normal: vec3f) -> vec3f {
    return mix(frame.ambient_below.rgb, frame.ambient_above.rgb, normal.y * 0.5 + 0.5);
}
