// The ground: a grid of cells, on which tiles, their slight slopes and their seams are found by arithmetic. The grid
// is there for what changes slowly and is dear: it is found at corners and spread over cells.

struct GroundOut {
    @builtin(position) clip: vec4f,
    @location(0) at: vec2f,
    @location(1) patchy: vec2f,         // how dry and how damp the meadow is
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, @builtin(instance_index) cell: u32) -> GroundOut {
    let row = u32(frame.grid_cells.x);
    let corner = vec2u(cell % row + (index & 1u), cell / row + (index >> 1u));
    let at = frame.grid.xy + vec2f(corner) * frame.grid.zw;
    let patchy = clamp(patches(at) * vec2f(0.6, 0.7) + vec2f(0.3, 0.1), vec2f(0.0), vec2f(0.85));
    return GroundOut(frame.clip_from_world * vec4f(at.x, 0.0, at.y, 1.0), at, patchy);
}

fn scramble(value: u32) -> u32 {
    var mixed = value + 0x7F4A7C15u;
    mixed = (mixed ^ (mixed >> 16u)) * 0x85EBCA6Bu;
    mixed = (mixed ^ (mixed >> 13u)) * 0xC2B2AE35u;
    return mixed ^ (mixed >> 16u);
}

// The tile on the map for a tile of the plane. In floats: no processor divides whole numbers eight at a time.
fn wrapped(cell: vec2f) -> vec2f {
    return cell - floor((cell + 0.5) / frame.map.xy) * frame.map.xy;
}

// Smooth noise of steps of 1 that repeats after `period`, as far as that is whole: 0..1.
fn mottled(at: vec2f, period: vec2f) -> f32 {
    let corner = floor(at);
    let way = at - corner;
    let eased = way * way * (3.0 - 2.0 * way);
    let ahead = corner + 1.0;
    let low = corner - floor(corner / period) * period;
    let high = ahead - floor(ahead / period) * period;
    let above = mix(speck(low), speck(vec2f(high.x, low.y)), eased.x);
    let below = mix(speck(vec2f(low.x, high.y)), speck(high), eased.x);
    return mix(above, below, eased.y);
}

fn speck(corner: vec2f) -> f32 {
    return fract(sin(dot(corner, vec2f(12.9898, 78.233))) * 437.5453);
}

// Broad patches of two kinds that repeat with the map; -1..1 each.
fn patches(at: vec2f) -> vec2f {
    let turns = 6.2831853 * at / frame.map.xy;
    let waves = max(round(frame.map.xy / 8.0), vec2f(1.0));
    let a = sin(turns.x * waves.x + 1.3 * sin(turns.y * waves.y + 0.7));
    let b = sin(turns.y * (waves.y + 1.0) + 1.1 * sin(turns.x * waves.x * 2.0) + 2.1);
    let c = sin(turns.x * waves.x * 3.0 + turns.y * waves.y * 2.0);
    let d = sin(turns.y * waves.y * 2.0 + 1.7 * sin(turns.x * waves.x + 4.0));
    return vec2f(a * 0.45 + b * 0.4 + c * 0.15, d * 0.6 - a * 0.3 + c * 0.2);
}

@fragment
fn fragment(in: GroundOut) -> @location(0) vec4f {
    let p = in.at + 0.5;
    let cell = floor(p);
    let inside = p - cell;
    let home = vec2i(wrapped(cell));
    let world = vec3f(in.at.x, 0.0, in.at.y);
    // Tiles per pixel: where tiles are small, what is within a tile fades into its mean.
    let step = max(fwidth(p.x), fwidth(p.y));
    let fine = 1.0 - smoothstep(0.06, 0.3, step);

    let lots = scramble(u32(home.x) * 0x10001u ^ u32(home.y) * 0x9E3779B9u);
    let checker = f32((home.x + home.y) & 1);
    let lot = f32(lots & 255u) / 255.0;
    var albedo = mix(frame.ground_a.rgb, frame.ground_b.rgb, checker * mix(0.5, 1.0, fine));
    albedo = mix(albedo, frame.ground_patch.rgb, in.patchy.x);
    albedo = mix(albedo, albedo * vec3f(0.6, 0.82, 0.98), in.patchy.y);
    albedo *= 1.0 + (lot - 0.5) * 0.16 * fine;
    // Blotches of moss and dust that know nothing of tiles, and a fleck here and there.
    let blotch = mottled(p * 2.0, frame.map.xy * 2.0) * 0.55 + mottled(p * 7.0, frame.map.xy * 7.0) * 0.45;
    albedo *= mix(vec3f(0.74, 0.82, 0.92), vec3f(1.28, 1.20, 1.00), mix(0.5, blotch, fine));

    // Each tile is two triangles, each leaning a little its own way.
    let across = select(inside.x + inside.y > 1.0, inside.x > inside.y, (lots & 256u) != 0u);
    let side = scramble(lots + u32(across));
    var tilt = (vec2f(f32(side & 255u), f32((side >> 8u) & 255u)) / 255.0 - 0.5) * 0.2;
    // Edges are bevelled towards the seam.
    let from_middle = inside - 0.5;
    let to_edge = 0.5 - abs(from_middle);
    let bevel = 0.05;
    tilt += sign(from_middle) * (1.0 - smoothstep(vec2f(bevel * 0.4), vec2f(bevel), to_edge)) * 0.42;
    let normal = normalize(vec3f(tilt.x * fine, 1.0, tilt.y * fine));
    let edge = min(to_edge.x, to_edge.y);
    let seam = (1.0 - smoothstep(0.008, 0.03, edge)) * fine;
    albedo = mix(albedo, frame.seam.rgb, seam * 0.55);

    // What lies here, as a colour: far away, or everywhere for a heat map.
    var shining = 0.0;
    if PAINT {
        // A heat map has one colour a tile, until tiles are smaller than pixels: then their means, or they would flicker.
        // Otherwise what is seen is the land, and a tile's own share of it small.
        let shown = frame.right.w;
        let near = textureLoad(paint, home, 0);
        let wide = textureSampleLevel(paint, paint_sampler, p / frame.map.xy, max(log2(max(step, 0.01)) + 0.5, 2.0 - 2.0 * shown));
        let texel = mix(near, wide, mix(max(0.7, smoothstep(0.1, 0.3, step)), smoothstep(0.3, 0.8, step), shown));
        let away = distance(world, frame.eye.xyz);
        let everywhere = shown * (1.0 - 0.5 * seam);
        let far = max(smoothstep(frame.detail.x * 0.7, frame.detail.y, away), frame.detail.w) * 0.7;
        albedo = mix(albedo, linear(texel.rgb), texel.a * max(everywhere, far));
        shining = shown * texel.a * 0.35;
        // Who is where, once agents are too small to be told apart.
        let teams = textureSampleLevel(crowd, paint_sampler, p / frame.map.xy, 0.0);
        let crowded = teams.a * smoothstep(0.25, 0.9, step) * (1.0 - shown);
        albedo = mix(albedo, linear(teams.rgb), crowded);
        shining += crowded * 0.3;
    }

    let sun = max(dot(normal, frame.sun_direction.xyz), 0.0) * sunlit(world, vec3f(0.0, 1.0, 0.0));
    var color = albedo * (frame.sun.rgb * sun + ambient(normal));
    color += albedo * shining;

    // Where the map ends and begins again: a dashed line of light.
    let from_start = (in.at + 0.5) / frame.map.xy;
    let to_seam = abs(from_start - round(from_start)) * frame.map.xy;
    let wide = max(step * 1.2, 0.022);
    let on_line = 1.0 - smoothstep(vec2f(wide * 0.5), vec2f(wide * 1.3), to_seam);
    let dashes = vec2f(smoothstep(0.28, 0.32, abs(fract(p.y) - 0.5)), smoothstep(0.28, 0.32, abs(fract(p.x) - 0.5)));
    let line = max(on_line.x * mix(1.0, dashes.x, fine), on_line.y * mix(1.0, dashes.y, fine));
    color = mix(color, frame.rim.rgb, line * 0.65);
    let haze = max(1.0 - min(to_seam.x, to_seam.y) * 1.6, 0.0);
    color += frame.rim.rgb * (haze * haze * 0.035);

    return covering_smoothly(mix(sky(in.clip.xy * PIXEL * frame.viewport.zw), color, lit_up(world)), in.clip.xy);
}
