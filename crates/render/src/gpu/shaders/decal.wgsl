// Marks on the ground: flat squares in which each kind draws itself. Colours leave premultiplied: alpha covers,
// colour beyond alpha shines. A mark of one colour, or of few, finds them at its corners.

const PI = 3.14159265;

struct DecalIn {
    @location(0) position: vec2f,
    @location(1) reach_yaw: vec2f,
    @location(2) params: vec2f,
    @location(3) color: vec4f,
}

struct DecalOut {
    @builtin(position) clip: vec4f,
    @location(0) at: vec2f,                             // -1..1, x to the right and y to the front
    @location(1) @interpolate(flat) params: vec2f,
    @location(2) @interpolate(flat) color: vec4f,       // as it leaves the shader, unless it shades
    @location(3) seen: f32,
    @location(4) @interpolate(flat) lit: vec3f,         // Standing: its ring, up to the level and from there on
    @location(5) @interpolate(flat) unlit: vec3f,
    @location(6) @interpolate(flat) tip: vec3f,
    @location(7) @interpolate(flat) sector: vec3f,      // Standing: the middle of what is lit, and the cosine of half its angle
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, in: DecalIn) -> DecalOut {
    var at = vec2f(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    if KIND == 7u { // Standing: its ring is smaller than its square, and only the point in front reaches the edge.
        at = clamp(at, vec2f(-0.86), vec2f(0.86, 1.0));
    }
    let s = sin(in.reach_yaw.y);
    let c = cos(in.reach_yaw.y);
    // To the right is (cos, sin) on the map, to the front (sin, -cos).
    var off = (vec2f(c, s) * at.x + vec2f(s, -c) * at.y) * in.reach_yaw.x;
    if KIND == 0u && !SHADOWS {
        // Where the sun throws no shadows, the dark spot under a thing leans away from it instead.
        let away = -frame.sun_direction.xz / max(frame.sun_direction.y, 0.2) * in.params.x;
        off += away * (0.5 + 0.5 * dot(off, normalize(away)) / in.reach_yaw.x);
    }
    let place = in.position + off;
    let world = vec3f(place.x, 0.006, place.y);
    let color = linear(in.color.rgb);
    var out: DecalOut;
    out.clip = frame.clip_from_world * vec4f(world, 1.0);
    out.at = at;
    out.params = in.params;
    out.seen = seen(world);
    if KIND == 7u { // Standing
        out.lit = covering(mix(color, vec3f(1.0), 0.45) * 1.35).rgb;
        out.unlit = covering(color * 0.55).rgb;
        out.tip = covering(mix(color, vec3f(1.0), 0.55) * 1.3).rgb;
        // Eight segments; the first is in front.
        let half = in.params.x * (PI / 8.0);
        let middle = half - PI / 8.0;
        out.sector = vec3f(sin(middle), cos(middle), cos(half));
    }
    let gain = select(select(1.0, 1.2, KIND == 8u), 1.3, KIND == 9u);
    out.color = vec4f(select(covering(color * gain).rgb, color, shades()), in.color.a);
    return out;
}

// Whether each pixel has a colour of its own: rings and runes, which shine more in some places than in others.
fn shades() -> bool {
    return KIND == 5u || KIND == 6u;
}

// 1 inside of a band of half width `half` around `middle`, with an edge one pixel wide.
fn band(value: f32, middle: f32, half: f32, soft: f32) -> f32 {
    return 1.0 - smoothstep(half - soft, half + soft, abs(value - middle));
}

// Distance to a triangle's outline with corners on a circle of radius 1.
fn triangle_line(p: vec2f, radius: f32) -> f32 {
    let a = p.y * 0.5 + abs(p.x) * 0.8660254;
    return abs(max(a, -p.y) - radius * 0.5);
}

fn rotated(p: vec2f, angle: f32) -> vec2f {
    let s = sin(angle);
    let c = cos(angle);
    return vec2f(p.x * c - p.y * s, p.x * s + p.y * c);
}

@fragment
fn fragment(in: DecalOut) -> @location(0) vec4f {
    if KIND == 0u { // Contact
        // The square of the distance will do: what falls off is soft anyway.
        let dark = max(1.0 - dot(in.at, in.at), 0.0);
        return vec4f(0.0, 0.0, 0.0, dark * dark * in.color.a * in.seen);
    }
    let r = length(in.at);
    let soft = max(fwidth(in.at.x), fwidth(in.at.y)) * 0.9 + 0.002;
    // From the front, clockwise, 0..1.
    let round = fract(atan2(in.at.x, in.at.y) / (2.0 * PI) + 1.0);
    var out = vec4f(0.0);
    if KIND == 1u { // Aura
        let alpha = in.color.a * (0.5 * smoothstep(0.94 + soft, 0.94 - soft, r) + 0.2 * (1.0 - r) + 0.3 * band(r, 0.95, 0.02, soft));
        out = vec4f(in.color.rgb * alpha, alpha);
    } else if KIND == 2u { // TileFill
        let edge = max(abs(in.at.x), abs(in.at.y));
        let alpha = in.color.a * (smoothstep(1.0, 1.0 - soft * 2.0, edge) + 0.9 * band(edge, 0.95, 0.035, soft));
        out = vec4f(in.color.rgb * alpha, alpha);
    } else if KIND == 3u { // TileFrame
        let edge = max(abs(in.at.x), abs(in.at.y));
        let line = band(edge, 0.93, 0.035, soft);
        let corner = smoothstep(0.35, 0.42, min(abs(in.at.x), abs(in.at.y)));
        let inner = (1.0 - smoothstep(0.3, 0.95, 0.95 - edge)) * step(edge, 0.93) * 0.16;
        let alpha = in.color.a * (line * mix(0.35, 1.0, corner) + inner);
        out = vec4f(in.color.rgb * alpha, alpha);
    } else if KIND == 4u { // Dash
        let p = in.at / vec2f(0.3, 0.8);
        let alpha = in.color.a * smoothstep(1.0, 0.55, length(p));
        out = vec4f(in.color.rgb * alpha, alpha);
    } else if KIND == 5u { // Ring
        let inward = (in.params.x * 0.98 - r) / max(in.params.y, 0.01);
        let shade = select(0.0, pow(1.0 - clamp(inward, 0.0, 1.0), 2.0), inward >= 0.0);
        let crest = band(r, in.params.x * 0.97, 0.012, soft);
        let alpha = in.color.a * max(shade * 0.5, crest);
        out = vec4f(in.color.rgb * alpha * 1.4, alpha * 0.3);
    } else if KIND == 6u { // Rune
        let grown = in.params.x;
        var ink = band(r, 0.965, 0.012, soft) + band(r, 0.885, 0.006, soft);
        let ticks = abs(fract(round * 36.0 + in.params.y) - 0.5);
        ink += band(r, 0.925, 0.03, soft) * smoothstep(0.2, 0.1, ticks) * 0.8;
        // How much is done runs round once.
        let done = smoothstep(0.0, 0.004, grown - round);
        ink += band(r, 0.80, 0.035, soft) * (0.16 + 1.5 * done);
        let p = rotated(in.at, in.params.y * 2.0);
        let q = rotated(in.at, -in.params.y * 2.0 + 3.1415927);
        let lines = min(triangle_line(p, 0.74), triangle_line(q, 0.74));
        ink += (1.0 - smoothstep(0.008, 0.008 + soft * 1.5, lines)) * smoothstep(0.76, 0.74, r) * 0.9;
        ink += band(r, 0.37, 0.01, soft) * 0.8;
        let fill = smoothstep(0.98, 0.2, r) * 0.16 * (0.4 + grown) + smoothstep(0.4, 0.0, r) * 0.3 * grown;
        let shine = min(ink, 1.6) * (0.7 + 0.9 * grown) + fill;
        out = vec4f(in.color.rgb * shine * 1.5, clamp(ink, 0.0, 1.0) * 0.35) * smoothstep(1.0, 0.985, r);
    } else if KIND == 7u { // Standing
        // From a segment's middle, 0, to its border, 0.5, where it is exact: there the tangent is that of an eighth of pi.
        let side = abs(in.at);
        let tangent = min(side.x, side.y) / max(max(side.x, side.y), 1e-4);
        let gap = smoothstep(0.44 + soft * 2.0, 0.44, 0.5 - 1.087 * abs(tangent - 0.41421356));
        let lit = step(r * (in.sector.z - 1e-4), dot(in.at, in.sector.xy));
        let ring = band(r, 0.72, 0.075, soft) * gap;
        let disc = smoothstep(0.62 + soft, 0.62 - soft, r);
        let alpha = ring * mix(0.4, 0.95, lit);
        out = vec4f(mix(in.unlit, in.lit, lit) * alpha, alpha);
        let under = disc * 0.34;
        out += vec4f(in.color.rgb * under, under) * (1.0 - out.a);
        // The point in front.
        let tip = (in.at.y - 0.84) / 0.15;
        let point = smoothstep(soft * 8.0, 0.0, abs(in.at.x) - 0.13 * (1.0 - tip)) * step(0.0, tip) * step(tip, 1.0);
        out = mix(out, vec4f(in.tip, 1.0), point * 0.95);
    } else if KIND == 8u { // Selection
        let dash = smoothstep(0.36, 0.32, abs(fract(round * 4.0 + in.params.x) - 0.5));
        let alpha = in.color.a * (band(r, 0.92, 0.035, soft) * dash + band(r, 0.80, 0.01, soft) * 0.7);
        out = vec4f(in.color.rgb * alpha, alpha);
    } else if KIND == 9u { // Lost
        // A ring in four pieces that drift apart, around a cross.
        let gap = smoothstep(0.30, 0.26, abs(fract(round * 4.0 + 0.125) - 0.5));
        let ring = band(r, 0.72 + 0.2 * in.params.x, 0.055, soft) * gap;
        let p = rotated(in.at, 0.7853982);
        let arms = max(band(p.x, 0.0, 0.065, soft), band(p.y, 0.0, 0.065, soft)) * (1.0 - smoothstep(0.40, 0.40 + soft, max(abs(p.x), abs(p.y))));
        let alpha = in.color.a * max(ring, arms);
        let under = in.color.a * 0.35 * smoothstep(0.75, 0.3, r);
        out = vec4f(in.color.rgb * alpha, alpha + under * (1.0 - alpha));
    }
    if shades() {
        return marking(out * in.seen);
    }
    return out * in.seen;
}
